"""Estimates: multiprocessor efficiency, occupancy, Tensor Core time, precision."""

import json

import numpy as np
import pytest

from stepscope.analysis.capture import merge
from stepscope.analysis.gpu import gpus
from stepscope.analysis.kernel_names import on_matrix_units, precision_of
from stepscope.analysis.kernel_runs import kernel_runs
from stepscope.analysis.kernels import precision
from stepscope.analysis.launches import link
from stepscope.analysis.steps import find_steps
from stepscope.schema import NONE, Device, Events, Kind
from tests.analysis.table import Table


def gpu(table, *args, devices=()):
    """The only device; the k-th kernel of the table has the k-th args."""
    events = table.events()
    events.args_values = [json.dumps(a) for a in args]
    rows = np.flatnonzero(events.of_kind(Kind.KERNEL))
    events.args[rows] = np.arange(len(args)) if args else NONE
    capture = merge([events])
    links = link(events)
    (found,) = gpus(events, find_steps(Events.empty(), capture, links), kernel_runs(events, links, devices))
    return found


class TestEfficiency:
    def test_blocks_of_kernels_that_run_together_add_up_to_at_most_1(self):
        # 0.6 blocks per SM over [0,50] and over [25,75]: (0.6 * 25 + 1 * 25 + 0.6 * 25) / 100
        table = Table().step(0, 0, 100).kernel("a", 0, 50).kernel("b", 25, 50, stream=8)
        found = gpu(table, {"blocks per SM": 0.6}, {"blocks per SM": 0.6})
        assert found.sm_efficiency == pytest.approx(0.55)

    def test_only_time_in_steps_counts(self):
        # steps [0,100] and [200,300], a kernel of half the SMs over [50,250]: (0.5 * 50 + 0.5 * 50) / 200
        table = Table().step(0, 0, 100).step(1, 200, 100).kernel("a", 50, 200)
        assert gpu(table, {"blocks per SM": 0.5}).sm_efficiency == pytest.approx(0.25)

    def test_the_grid_over_the_multiprocessors_stands_in(self):
        table = Table().step(0, 0, 100).kernel("a", 0, 100)
        assert gpu(table, {"grid": [9, 6, 1]}, devices=[Device(0, sm_count=108)]).sm_efficiency == pytest.approx(0.5)

    def test_a_kernel_that_does_not_tell_makes_it_unknown(self):
        table = Table().step(0, 0, 100).kernel("a", 0, 10).kernel("b", 20, 10)
        assert gpu(table, {"blocks per SM": 1}, {}).sm_efficiency is None

    @pytest.mark.parametrize("damage", [10**30, "2", None, True, [1]])
    def test_a_damaged_value_makes_it_unknown(self, damage):
        table = Table().step(0, 0, 100).kernel("a", 0, 10)
        assert (
            gpu(table, {"blocks per SM": damage, "grid": [1, damage, 1]}, devices=[Device(0, sm_count=4)]).sm_efficiency
            is None
        )


class TestOccupancy:
    def test_weighted_by_duration(self):
        table = Table().step(0, 0, 100).kernel("a", 0, 30).kernel("b", 50, 10)
        key = "est. achieved occupancy %"
        assert gpu(table, {key: 20}, {key: 60}).occupancy == pytest.approx((20 * 30 + 60 * 10) / 40 / 100)

    def test_what_was_not_estimated_has_no_weight(self):
        table = Table().step(0, 0, 100).kernel("a", 0, 30).kernel("b", 50, 10)
        assert gpu(table, {"est. achieved occupancy %": -100}, {"est. achieved occupancy %": 60}).occupancy == 0.6
        assert gpu(table).occupancy is None


def test_tensor_core_time_is_a_share_of_kernel_time():
    table = (
        Table().step(0, 0, 100).kernel("volta_fp16_s884gemm_fp16_128x128", 0, 30).kernel("volta_sgemm_32x32", 40, 10)
    )
    assert gpu(table).tensor_core_time == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("name", "expected", "matrix"),
    [
        ("volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", "fp16", True),
        ("turing_fp16_s1688cudnn_fp16_256x128", "fp16", True),
        ("ampere_bf16_s16816gemm_bf16_128x256_ldg8", "bf16", True),
        ("sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwc", "tf32", True),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8", "fp32", False),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1", "bf16", True),
        ("sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n", "fp8", True),
        ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT", "bf16", True),
        ("nvjet_hsh_128x256_64x4_1x2_h_bz_NTN", "fp16", True),
        ("nvjet_sm100_qqtst_128x256_128x4_TNT", "fp8", True),
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_tn_align4>()", "tf32", True),
        ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64>", "bf16", True),
        ("void cutlass::Kernel<cutlass_75_tensorop_i8816gemm_s8_128x128>", "int8", True),
        ("cutlass_80_tensorop_d884gemm_64x64_16x4_nn_align1", "fp64", True),
        ("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, cutlass::bfloat16_t>>", "bf16", True),
        ("bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16_m128x16x32_cga1x1x1_sm100f", "fp8", True),
        ("Cijk_Alik_Bljk_HHS_BH_Bias_MT16x16x128_MI16x16x1_SN", "fp16", True),
        ("Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT16x16x128_MI16x16x1", "bf16", True),
        ("Cijk_Alik_Bljk_SB_Bias_AS_SAV_UserArgs_MT64x16x32_MI16x16x1", "fp32", True),
        ("volta_sgemm_128x32_nt", "fp32", False),
        ("volta_dgemm_64x64_nn", "fp64", False),
        ("volta_scudnn_128x64_relu_interior_nn_v1", "fp32", False),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::Half>>", "fp16", False),
        ("void at::native::elementwise<BinaryFunctor<c10::BFloat16, MulFunctor<float> > >", "bf16", False),
        ("void multi_tensor_apply_kernel<FusedAdamMathFunctor<float>, double, float const*>", "fp32", False),
        ("void at::native::reduce_kernel<512, 1, ReduceOp<double, MeanOps>>", "fp64", False),
        ("void cudnn::detail::dgrad_engine<float, 512, 6, 5>", "fp32", False),
        ("triton_poi_fused_add_0", "other", False),
        ("attn_fwd", "other", True),
    ],
)
def test_what_names_tell(name, expected, matrix):
    assert (precision_of(name), on_matrix_units(name)) == (expected, matrix)


def test_precision_sums_compute_kernels():
    table = Table().kernel("volta_sgemm", 0, 30).kernel("x", 40, 5).device(Kind.COLLECTIVE, "ncclDevKernel_f32", 0, 99)
    found = precision(kernel_runs(table.events()))
    assert (found.fp32, found.other, found.fp16) == (30, 5, 0)
    assert precision(kernel_runs(Table().events())) is None
