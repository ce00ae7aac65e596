"""Estimates: multiprocessor efficiency, occupancy, Tensor Core time, precision."""

import json

import numpy as np
import pytest

from stepscope.analysis.capture import merge
from stepscope.analysis.gpu import gpus
from stepscope.analysis.kernel_names import on_matrix_units, precision_of
from stepscope.analysis.kernel_runs import kernel_runs
from stepscope.analysis.kernels import kernels, kernels_by_config, precision
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
        failed, few = {"warps per SM": 12}, {"warps per SM": 0.2}
        key = "est. achieved occupancy %"
        assert gpu(table, {key: 0} | failed, {key: 60}).occupancy == 0.6
        assert gpu(table, {key: 0} | few, {key: 60}).occupancy == pytest.approx(60 * 10 / 40 / 100)

    def test_the_order_of_the_records_changes_no_digit(self):
        percent = [7, 13, 61, 29, 3, 47, 11, 83]
        found = set()
        for order in (range(8), range(7, -1, -1), (3, 0, 6, 1, 7, 5, 2, 4)):
            table = Table().step(0, 0, 500)
            for k in order:
                table.kernel(f"k{k}", 50 * k, 3 + k)
            args = [{"est. achieved occupancy %": percent[k], "blocks per SM": percent[k] / 70} for k in order]
            found.add((gpu(table, *args).occupancy, gpu(table, *args).sm_efficiency))
        assert len(found) == 1


class TestLaunchConfig:
    def configs(self, table, devices=()):
        events = table.events()
        return kernels_by_config(kernel_runs(events, link(events), devices))

    def test_one_name_with_two_grids_is_two_entries(self):
        table = Table().kernel("a", 0, 10).told(grid=[4, 1, 1], block=[128, 1, 1])
        table.kernel("a", 20, 30).told(grid=[8, 1, 1], block=[128, 1, 1])
        table.kernel("a", 45, 10).told(grid=[8, 1, 1], block=[128, 1, 1])
        large, small = self.configs(table)
        assert (large.grid, large.block, large.count, large.total_ns) == ([8, 1, 1], [128, 1, 1], 2, 40)
        assert large.clipped_ns == 35  # [20,50] and [45,55] on one stream
        assert (small.grid, small.count, small.min_ns, small.max_ns) == ([4, 1, 1], 1, 10, 10)

    def test_blocks_and_occupancy_are_means_over_time(self):
        key = "est. achieved occupancy %"
        table = Table().kernel("a", 0, 30).told(**{"blocks per SM": 1, key: 20})
        table.kernel("a", 50, 10).told(**{"blocks per SM": 5, key: 60}).kernel("a", 80, 99)
        (kernel,) = kernels(kernel_runs(table.events()))
        assert kernel.blocks_per_sm == pytest.approx((1 * 30 + 5 * 10) / 40)
        assert kernel.occupancy == pytest.approx((0.2 * 30 + 0.6 * 10) / 40)

    def test_the_launch_call_tells_where_the_record_does_not(self):
        table = Table().launch(0, 5, 1, name="hipLaunchKernel").told(grid=[52, 2, 1], block=[256, 1, 1])
        (config,) = self.configs(table.kernel("a", 10, 10, 1).told(kind="Dispatch Kernel"), [Device(0, sm_count=104)])
        assert (config.grid, config.block, config.blocks_per_sm) == ([52, 2, 1], [256, 1, 1], 1.0)

    def test_one_hip_call_counts_its_grid_in_work_items(self):
        table = Table().launch(0, 5, 1, name="hipExtModuleLaunchKernel")
        (config,) = self.configs(table.kernel("a", 10, 10, 1).told(grid=[73728, 1, 1], block=[256, 1, 1]))
        assert config.grid == [288, 1, 1]

    @pytest.mark.parametrize(("sm_counts", "expected"), [((104, 104), 0.5), ((104, 52), None), ((), None)])
    def test_a_device_that_the_header_does_not_number_has_what_all_have(self, sm_counts, expected):
        devices = [Device(i, sm_count=n) for i, n in enumerate(sm_counts)]
        (config,) = self.configs(Table().kernel("a", 0, 10, device=2).told(grid=[52, 1, 1]), devices)
        assert config.blocks_per_sm == expected

    def test_an_xplane_tells_in_one_text(self):
        table = Table().kernel("a", 10, 10).told(kernel_details=" grid:219,40,1 block:256,1,1 occ_pct:0")
        (config,) = self.configs(table, [Device(0, sm_count=304)])
        assert (config.grid, config.block, config.occupancy) == ([219, 40, 1], [256, 1, 1], None)
        assert config.blocks_per_sm == pytest.approx(219 * 40 / 304)

    @pytest.mark.parametrize("damage", [[1, 2], [1, 0, 1], "8", [1, 1, 10**30], [True, 1, 1], None, {"x": 1}])
    def test_a_damaged_grid_is_unknown(self, damage):
        (config,) = self.configs(Table().kernel("a", 0, 10).told(grid=damage, block=[1, 1, 1]), [Device(0, sm_count=4)])
        assert (config.grid, config.block, config.blocks_per_sm) == (None, [1, 1, 1], None)


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


@pytest.mark.parametrize(
    ("name", "expected", "matrix"),
    [
        ("nvjet_sm90_tst_192x8_64x8_2x1_v_bz_TNT", "bf16", True),
        ("nvjet_sm100_tst_64x16_64x16_2x4_2cta_h_bz_splitK_TNT", "bf16", True),
        ("nvjet_sm120_qqtst_mma_128x128x128", "fp8", True),
        ("nvjet_sss_tf32_128x256_TNT", "tf32", True),
        ("nvjet_sm100_ootst_128x128_256x7_4x1_2cta_v_bx_Avec16UE4M3_Bvec16UE4M3_TNT", "other", True),
        ("cutlass3x_sm90_tensorop_s64x128x16gemm_bf16_bf16_f32_bf16_bf16_128x128x64_2x1x1_0_ntn_align8", "bf16", True),
        ("cutlass3x_sm90_tensorop_s64x128x32gemm_e4m3_e4m3_f32_bf16_bf16_64x128x128_2x1x1_0_tnt", "fp8", True),
        ("cutlass3x_sm100_tensorop_s128x128x8tf32gemm_f32_f32_f32_f32", "tf32", True),
        ("cutlass3x_sm100_bstensorop_s256x192x64gemm_block_scaled_ue4m3xf4_ue4m3xf4_f32_f16_f16", "other", True),
        ("cutlass3x_sm100_simt_sgemm_f32_f32_f32_f32_f32_64x128x16_1x1x1_3_tnn_align1_bias_f32_relu", "fp32", False),
        ("cutlass_80_tensorop_i16832gemm_s8_128x256_128x3_tn_align16", "int8", True),
        ("_ZN19cutlass_cudnn_train6KernelINS_4gemm_NS_10tfloat32_tENS_12MmaTensorOpE", "tf32", True),
        ("sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize64x64x32_stage5_warpsize2x2x1_tensor16x8x8", "tf32", True),
        ("sm80_xmma_gemm_f64f64_f64f64_f64_tn_n_tilesize64x64x16_stage4_warpsize2x2x1_tensor8x8x4", "fp64", True),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1", "other", True),
        ("fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::Params)", "bf16", True),
        ("fmha_cutlassF_f32_aligned_64x64_rf_sm50(PyTorchMemEffAttention::Params)", "fp32", False),
        ("void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<cutlass::half_t>", "fp16", True),
        ("void flash::flash_bwd_dot_do_o_kernel<true, cutlass::bfloat16_t>", "bf16", False),
        ("void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<cutlass::bfloat16_t>>>", "bf16", True),
        ("void flash::FlashAttnFwdCombine<cutlass::bfloat16_t, float>", "bf16", False),
        ("kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_object_at_", "other", True),
        ("void deep_gemm::fp8_gemm_kernel<6144u, 4096u>", "fp8", True),
        ("void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16>", "bf16", False),
        ("Cijk_Alik_Bljk_S_MX_B_Bias_HA_S_SAV_UserArgs_MT128x128x32_MI16x16x1", "tf32", True),
        ("Cijk_Alik_Bljk_F8BS_BH_Bias_SHB_HA_S_SABV_MT64x64x512_MI16x16x1", "fp8", True),
        ("void ck::kernel_gemm_xdl_cshuffle_v3<GridwiseGemm<bf16>>", "bf16", True),
        ("miopenSp3AsmConv_v21_1_2_gfx9_fp32_f3x2_stride1", "fp32", False),
        ("bwd_kernel_dk_dv", "other", True),
        ("block_summary_kernel", "other", False),
    ],
)
def test_names_of_recent_libraries(name, expected, matrix):
    assert (precision_of(name), on_matrix_units(name)) == (expected, matrix)


class TestPrecision:
    def of(self, table):
        events = table.events()
        return precision(kernel_runs(events, link(events)))

    def attention(self, types):
        table = Table().op("aten::_scaled_dot_product_attention", 0, 100).told(**{"Input type": types})
        return table.launch(20, 5, 1).kernel("attn_fwd", 50, 30, 1)

    def test_the_operator_tells_where_the_name_does_not(self):
        assert self.of(self.attention(["c10::BFloat16", "c10::BFloat16", "", "Scalar"])).bf16 == 30
        assert self.of(self.attention(["c10::Half", "float"])).fp16 == 30  # the narrower one
        assert self.of(self.attention(["c10::Float8_e4m3fn"])).fp8 == 30

    @pytest.mark.parametrize("types", [["long int", "Scalar"], [], "float", None, [3]])
    def test_without_a_floating_type_it_stays_unknown(self, types):
        assert self.of(self.attention(types)).other == 30

    def test_a_name_that_tells_wins(self):
        table = Table().op("mm", 0, 100).told(**{"Input type": ["float"]}).launch(20, 5, 1)
        assert self.of(table.kernel("ampere_bf16_s16816gemm_bf16", 50, 30, 1)).bf16 == 30

    def test_a_kernel_has_the_precision_of_most_of_its_time(self):
        table = self.attention(["float"])
        table.op("sdpa", 200, 100).told(**{"Input type": ["c10::Half"]}).launch(220, 5, 2)
        events = table.kernel("attn_fwd", 250, 31, 2).events()
        runs = kernel_runs(events, link(events))
        assert kernels(runs)[0].precision == "fp16"
        assert (precision(runs).fp16, precision(runs).fp32) == (31, 30)

    def test_collectives_have_none(self):
        table = Table().device(Kind.COLLECTIVE, "ncclDevKernel_AllReduce_Sum_bf16", 0, 10)
        assert kernels(kernel_runs(table.events()))[0].precision is None


def test_precision_sums_compute_kernels():
    table = Table().kernel("volta_sgemm", 0, 30).kernel("x", 40, 5).device(Kind.COLLECTIVE, "ncclDevKernel_f32", 0, 99)
    found = precision(kernel_runs(table.events()))
    assert (found.fp32, found.other, found.fp16) == (30, 5, 0)
    assert precision(kernel_runs(Table().events())) is None
