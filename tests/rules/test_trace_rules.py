"""Rules about what a trace shows, each on a trace where it speaks and on one where it must not."""

import pytest

from stepscope.rules import Case, find, verdict
from stepscope.runs import open_run
from stepscope.summary import analyse_worker
from tests.rules.cases import STEP_US, case_of, found_in, trace, work


def of(body, **more):
    return found_in(case_of(trace(body, **more)))


def test_a_healthy_training_has_no_finding_but_its_largest_kernel_and_is_gpu_bound():
    case = case_of(trace(work))
    found = find(case)
    assert {f.severity for f in found.findings} <= {"info"}
    told = verdict(found.findings, [found.bound])
    assert (told.severity, told.rule, told.bound.by) == ("ok", None, "device")
    assert told.sentence == (
        "GPU-bound: kernels cover 96.0 % of the step time; "
        "the largest is gemm_bf16 with 100.0 % of the compute kernels' time."
    )


def cut(tmp_path, built):
    """The case of a trace file whose last bytes are missing."""
    path = built.write(tmp_path / "cut.pt.trace.json")
    path.write_bytes(path.read_bytes()[:-30])
    analysis = analyse_worker(open_run(path).workers[0])
    return Case(analysis.summary, analysis.steps, analysis.activity, analysis.phases)


def test_an_incomplete_file_is_never_called_fine(tmp_path):
    found = find(cut(tmp_path, trace(work).op("aten::lost", 0, 1)))
    told = verdict(found.findings, [found.bound])
    assert (told.severity, told.bound.by) == ("info", "unknown")
    assert told.sentence.startswith("GPU-bound: kernels cover 96.0 % of the step time")
    assert told.sentence.endswith(", as far as the incomplete file tells.")


def test_a_file_that_lost_its_device_work_is_not_cpu_bound(tmp_path):
    def body(built, at, number):
        built.op("aten::mm", at + 100, 800).memory(at + 200, 4096, device=0, total=1 << 20)
        built.python("nn.Module: Net_0", at + 100, 800)

    bound = find(cut(tmp_path, trace(body).op("aten::lost", 0, 1))).bound
    assert bound.by == "unknown"
    assert "the capture holds no work of the device" in bound.sentence


def test_idle_time_before_work_without_a_launch_is_blamed_on_nobody():
    def body(built, at, number):
        built.kernel("gemm_bf16", at + 400, 100).kernel("gemm_bf16", at + 900, 50)

    case = case_of(trace(body))
    found = find(case)
    assert "device_waits" not in {finding.rule for finding in found.findings}
    assert (case.idle_for_others_ns, found.bound.by) == (0, "unknown")
    assert "the trace lacks what launched its work" in found.bound.sentence


class TestInput:
    def waits(self, us):
        def body(built, at, number):
            built.dataloader(at, us)
            work(built, at, number, begin=us + 20)

        return of(body)

    def test_the_wait_is_told_with_its_cause_and_what_it_would_gain(self):
        finding = self.waits(300)["input_bound"]
        assert finding.severity == "critical"
        assert "num_workers=0" in finding.message
        # The wait ends 10 us before the launch and 20 us before the kernel: all 300 us of 1000 are idle.
        assert finding.gain.ns_per_step == 300_000
        assert finding.gain.ratio == pytest.approx(0.3)
        assert finding.places[0].what == "step"

    def test_a_short_wait_is_none(self):
        assert "input_bound" not in self.waits(40)

    def test_a_wait_during_which_the_device_works_is_not_lost(self):
        def body(built, at, number):
            built.dataloader(at, 300)
            work(built, at, number)

        assert "input_bound" not in of(body)


class TestHost:
    def short_kernels(self, kernel_us):
        def body(built, at, number):
            for i in range(10):
                correlation = number * 100 + i + 1
                built.launch(at + i * 100, 20, correlation)
                built.kernel("k", at + i * 100 + 25, kernel_us, correlation=correlation)

        return of(body)

    def test_many_short_kernels_are_launch_bound(self):
        finding = self.short_kernels(10)["host_bound"]
        assert finding.severity == "critical"
        assert "100.0 % of its launches" in finding.message
        assert "CUDA graphs" in finding.fix[0]
        assert finding.confidence == "medium"  # how much of it the profiler causes is not known

    @pytest.mark.parametrize(("call_us", "first"), [(30, "Launch less"), (60, "Look at the long calls of the runtime")])
    def test_long_calls_of_the_runtime_are_looked_at_first(self, call_us, first):
        def body(built, at, number):
            for i in range(10):
                correlation = number * 100 + i
                built.launch(at + i * 100, call_us, correlation).kernel(
                    "k", at + i * 100 + call_us, 9, correlation=correlation
                )

        finding = of(body)["host_bound"]
        assert finding.fix[0].startswith(first)

    def test_kernels_that_keep_the_device_busy_are_not(self):
        assert "host_bound" not in self.short_kernels(95)

    def test_a_capture_without_steps_that_mostly_pauses_is_no_warning(self):
        built = trace(work)
        built.events = [e for e in built.events if not e["name"].startswith("ProfilerStep")]
        built.launch(10_000_000, 5, 99_999).kernel("k", 10_000_010, 10, correlation=99_999)
        finding = found_in(case_of(built))["host_bound"]
        assert finding.severity == "info"
        assert any("No step is marked" in against for against in finding.counter_evidence)
        assert not any("slowest step" in advice for advice in finding.fix)


class TestSynchronisation:
    def item(self, idle_us):
        def body(built, at, number):
            correlation = number * 10 + 1
            built.launch(at + 5, 5, correlation).kernel("k", at + 20, 480, correlation=correlation)
            built.op("aten::_local_scalar_dense", at + 100, 420)
            built.runtime("cudaStreamSynchronize", at + 110, 400)  # returns 10 us after the kernel
            begin = 500 + idle_us
            built.launch(at + begin - 10, 5, correlation + 1)
            built.kernel("k", at + begin, STEP_US - begin, correlation=correlation + 1)

        return of(body)

    def test_the_device_runs_dry_after_item(self):
        finding = self.item(200)["synchronisation"]
        assert finding.evidence["operator"] == "aten::_local_scalar_dense"
        assert finding.gain.ns_per_step == pytest.approx(200_000, rel=0.01)
        assert ".item()" in finding.message

    def test_the_same_time_is_not_told_twice(self):
        assert "host_bound" not in self.item(200)

    def test_a_wait_with_work_behind_it_costs_nothing(self):
        assert "synchronisation" not in self.item(20)


class TestCommunicationAndCopies:
    def collective(self, begin):
        def body(built, at, number):
            work(built, at, number, end=700)
            correlation = number * 10 + 5
            built.launch(at + 15, 5, correlation)
            where = {"stream": 20, "correlation": correlation}
            built.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + begin, 280, **where)

        return of(body)

    def test_exposed(self):
        finding = self.collective(700)["exposed_communication"]
        assert finding.gain.ns_per_step == 280_000
        assert finding.severity == "warning"
        assert finding.evidence["stall_ns"] == 0  # the next work is launched later, in the next step
        assert any("the host launches too slowly" in line for line in finding.counter_evidence)

    def test_exposed_where_work_waits_for_it(self):
        def body(built, at, number):
            work(built, at, number, end=700)
            ids = number * 10 + 5, number * 10 + 6
            built.launch(at + 15, 5, ids[0]).launch(at + 25, 5, ids[1])
            built.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", at + 700, 280, stream=20, correlation=ids[0])
            built.kernel("sgd", at + 982, 10, correlation=ids[1])

        finding = of(body)["exposed_communication"]
        assert finding.evidence["stall_ns"] > 250_000
        assert not any("the host launches too slowly" in line for line in finding.counter_evidence)

    def test_hidden(self):
        assert "exposed_communication" not in self.collective(100)

    def copies(self, begin, name="HtoD"):
        def body(built, at, number):
            work(built, at, number, begin=220)
            correlation = number * 10 + 5
            built.launch(at, 5, correlation, name="cudaMemcpyAsync")
            built.memcpy(name, at + begin, 190, bytes=1 << 20, stream=9, correlation=correlation)

        return body

    def test_exposed_copies(self):
        finding = of(self.copies(10))["exposed_copies"]
        assert finding.evidence["exposed_copies_ns"] == 10 * 190_000
        assert "pin_memory" in finding.fix[0]
        assert "exposed_copies" not in of(self.copies(300))

    def test_only_pageable_copies_are_told_to_be_pinned(self):
        pinned = trace(self.copies(10))
        assert "pageable_copies" not in found_in(case_of(pinned))
        for event in pinned.events:
            event["name"] = event["name"].replace("Pinned", "Pageable")
        assert found_in(case_of(pinned))["pageable_copies"].severity == "warning"


class TestKernels:
    def kernel(self, name, device="NVIDIA A100-SXM4-40GB", **args):
        def body(built, at, number):
            correlation = number + 1
            built.launch(at + 5, 5, correlation).kernel(name, at + 20, 960, correlation=correlation, **args)

        return of(body, device=device)

    @pytest.mark.parametrize("name", ["ampere_sgemm_128x64_nn", "cudnn::cnn::wgrad_alg0_engine<float, 128>"])
    def test_single_precision_products_on_plain_units(self, name):
        finding = self.kernel(name)["matrix_units"]
        assert "TF32" in finding.fix[0]
        assert finding.gain.ratio == pytest.approx(0.48)

    def test_a_v100_has_no_tf32(self):
        assert "float16" in self.kernel("volta_sgemm_128x64_nn", "Tesla V100-SXM2-16GB")["matrix_units"].fix[0]

    @pytest.mark.parametrize(
        "name",
        [
            "nvjet_tst_128x64_64x7_1x2_h_bz_coopA_TNT",
            "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 64, 64, 4>>",
            "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64",
            "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32",
            "triton_poi_fused_add_gemm_0",
            "void cudnn::ops::nchwToNhwcKernel<float, float, float>",
            "void gemv2T_kernel_val<int, int, float, float>",
        ],
    )
    def test_no_advice_where_matrix_units_work_or_cannot(self, name):
        assert "matrix_units" not in self.kernel(name)

    @pytest.mark.parametrize("device", ["Tesla P100-PCIE-16GB", "NVIDIA GeForce GTX 1080", ""])
    def test_no_advice_for_devices_without_matrix_units(self, device):
        assert "matrix_units" not in self.kernel("maxwell_sgemm_128x64_nn", device)

    def test_elementwise_kernels(self):
        name = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"
        assert self.kernel(name)["unfused_kernels"].gain.ratio == pytest.approx(0.48)
        assert "unfused_kernels" not in self.kernel("triton_poi_fused_add_mul_0")

    def test_small_grids(self):
        small = {"grid": [10, 1, 1], "block": [128, 1, 1], "blocks per SM": 10 / 108}
        assert "small_grids" in self.kernel("k", **small)
        assert "small_grids" not in self.kernel("k", **small | {"blocks per SM": 2.0})


def test_memory_near_capacity():
    def body(bytes):
        def at_step(built, at, number):
            work(built, at, number)
            built.memory(at + 50, 1000, device=0, total=bytes)

        return at_step

    capacity = 42297786368
    assert of(body(int(capacity * 0.98)))["memory_near_capacity"].severity == "critical"
    assert "memory_near_capacity" not in of(body(int(capacity * 0.5)))


def test_data_parallel_on_two_devices():
    def body(built, at, number):
        built.op("DataParallel.forward", at, 100)
        work(built, at, number)
        built.launch(at + 6, 2, number * 10 + 7).kernel("k", at + 20, 900, device=1, correlation=number * 10 + 7)

    assert "data_parallel" in of(body)


class TestConfidence:
    def idle(self, **more):
        def body(built, at, number):
            work(built, at, number, end=300)
            work(built, at, number, begin=800, end=980)

        return found_in(case_of(trace(body, **more)))["host_bound"]

    def test_few_steps_lower_it(self):
        assert self.idle().confidence == "medium"
        few = self.idle(steps=2)
        assert few.confidence == "low"
        assert "The capture in depth holds only 2 steps." in few.counter_evidence

    def test_notes_of_data_quality_lower_it(self):
        def body(built, at, number):
            work(built, at, number, end=300)
            work(built, at, number, begin=800, end=980)
            built.launch(at + 400, 5, 5000 + number)  # its run is missing

        finding = found_in(case_of(trace(body)))["host_bound"]
        assert finding.confidence == "low"
        assert "launch_without_run" in finding.weakened_by
