"""Kernel names in short: the examples of tb_plugin/frontend/test/names.test.ts."""

import pytest

from stepscope.report import format as fmt
from stepscope.report.names import brief

ADD = "at::native::CUDAFunctor_add<c10::BFloat16>"
COPY = "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const"
LONG = f"void at::native::vectorized_elementwise_kernel<4, {ADD}, std::array<char*, 3ul> >(int, {ADD})"


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (LONG, "vectorized_elementwise_kernel<4, CUDAFunctor_add<BFloat16>>"),
        (
            f"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<{ADD} >(int, {ADD})"
            "::{lambda(int)#1}>(int)",
            "elementwise_kernel<128, 2, CUDAFunctor_add<BFloat16>>",
        ),
        (
            "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2>(float*, int)",
            "CatArrayBatchedCopy<float, unsigned int, 2>",
        ),
        ("void cub::DeviceScanKernel<int>(int*, int) [clone .isra.0]", "DeviceScanKernel<int> [clone .isra.0]"),
        (
            f"void at::native::unrolled_elementwise_kernel<{COPY}::{{lambda()#7}}::operator()() const"
            "::{lambda(float)#1}, 4>(int)",
            "unrolled_elementwise_kernel<direct_copy_kernel_cuda(float), 4>",
        ),
        (
            "Cijk_Alik_Bljk_BBS_BH_UserArgs_MT16x16x128_MI16x16x1_SN_LDSB0_AFC1_WSGRB0_WS64_WG16_4_4",
            "Cijk_Alik_Bljk_BBS_BH_MT16x16x128_WG16_4_4",
        ),
    ],
)
def test_what_tells_kernels_apart_stays(name, short):
    assert brief(name) == short


@pytest.mark.parametrize(
    "name",
    [
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
        "Memcpy DtoH (Device -> Pinned memory)",
        "threading.py(1032): _bootstrap_inner_of_a_thread",
        "<built-in function _cuda_synchronize>",
        "aten::_scaled_dot_product_flash_attention",
        "my_annotation(learning_rate=3, x=4)",
        "void at::native::broken<int, (at::native::half>",
    ],
)
def test_other_texts_stay_as_they_are(name):
    assert brief(name) == name


def test_a_message_tells_a_kernel_in_short_where_its_name_is_wide():
    assert fmt.name(LONG) == "vectorized_elementwise_kernel<4, CUDAFunctor_add<BFloat16>>"
