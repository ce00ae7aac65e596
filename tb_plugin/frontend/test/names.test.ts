// Kernel names in short: what tells two apart stays, and what is no C++ signature is left alone.

import assert from "node:assert/strict";
import { test } from "node:test";
import { brief } from "../src/names";

const ADD = "at::native::CUDAFunctor_add<c10::BFloat16>";
const COPY = "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const";

test("return type, namespaces, parameters and plumbing go", () => {
  assert.equal(
    brief(`void at::native::vectorized_elementwise_kernel<4, ${ADD}, std::array<char*, 3ul> >(int, ${ADD})`),
    "vectorized_elementwise_kernel<4, CUDAFunctor_add<BFloat16>>",
  );
  assert.equal(
    brief(
      `void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<${ADD} >(int, ${ADD})::{lambda(int)#1}>(int)`,
    ),
    "elementwise_kernel<128, 2, CUDAFunctor_add<BFloat16>>",
  );
  assert.equal(
    brief("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2>(float*, int)"),
    "CatArrayBatchedCopy<float, unsigned int, 2>",
  );
});

test("what stands behind the parameters stays", () => {
  assert.equal(
    brief("void cub::DeviceScanKernel<int>(int*, int) [clone .isra.0]"),
    "DeviceScanKernel<int> [clone .isra.0]",
  );
});

test("parameters of which the middle is left out go too", () => {
  assert.equal(
    brief("void fbgemm::lookup<float, 5ul>(at::Accessor<int, at::Acc … s, int>, at::Accessor<int>, float)"),
    "lookup<float, 5>",
  );
});

test("of lambdas the types remain, which tell the variants of one function apart", () => {
  assert.equal(
    brief(
      `void at::native::unrolled_elementwise_kernel<${COPY}::{lambda()#7}::operator()() const::{lambda(float)#1}, 4>(int)`,
    ),
    "unrolled_elementwise_kernel<direct_copy_kernel_cuda(float), 4>",
  );
});

test("of AMD's matrix products the sizes of tiles and work groups remain", () => {
  assert.equal(
    brief("Cijk_Alik_Bljk_BBS_BH_UserArgs_MT16x16x128_MI16x16x1_SN_LDSB0_AFC1_WSGRB0_WS64_WG16_4_4"),
    "Cijk_Alik_Bljk_BBS_BH_MT16x16x128_WG16_4_4",
  );
});

test("other texts stay as they are", () => {
  for (const name of [
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
    "Memcpy DtoH (Device -> Pinned memory)",
    "threading.py(1032): _bootstrap_inner_of_a_thread",
    "<built-in function _cuda_synchronize>",
    "aten::_scaled_dot_product_flash_attention",
    "my_annotation(learning_rate=3, x=4)",
    "void at::native::broken<int, (at::native::half>",
  ])
    assert.equal(brief(name), name);
});
