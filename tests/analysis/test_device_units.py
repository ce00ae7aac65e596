"""Units of devices: the rows repeat what other analyses tell, against the peaks that are known."""

import json

import numpy as np
import pytest

from stepscope.analysis.capture import merge
from stepscope.analysis.ceilings import ceilings_of
from stepscope.analysis.collectives import collective_runs
from stepscope.analysis.counted_work import CountedWork, counted_operators
from stepscope.analysis.device_units import device_units
from stepscope.analysis.gpu import gpus
from stepscope.analysis.kernel_runs import kernel_runs
from stepscope.analysis.launches import link
from stepscope.analysis.operators import operator_calls
from stepscope.analysis.steps import find_steps
from stepscope.schema import Device, Events, Kind
from tests.analysis.table import Table

A100 = Device(
    0,
    "NVIDIA A100-SXM4-40GB",
    sm_count=108,
    memory_bytes=42_297_786_368,
    properties={"maxThreadsPerMultiprocessor": 2048, "warpSize": 32},
)


def units(table, *args, devices=(A100,), work=()):
    """Rows by device and unit; the k-th row of device work has the k-th args."""
    events = table.events()
    events.args_values = [json.dumps(a) for a in args]
    rows = np.flatnonzero(events.of_kind(Kind.KERNEL, Kind.COLLECTIVE))
    events.args[rows[: len(args)]] = np.arange(len(args))
    capture = merge([events])
    links = link(events)
    steps = find_steps(Events.empty(), capture, links)
    used = gpus(events, steps, kernel_runs(events, links, devices))
    found = device_units(events, steps, used, collective_runs(events, links), devices, work)
    return {(row.device, row.unit): row for row in found}, used


class TestKernels:
    def test_they_repeat_the_use_of_the_gpu_in_units_of_the_device(self):
        # half of [0,100] busy; 54 of 108 blocks over that half: a quarter of the multiprocessors
        table = Table().step(0, 0, 100).kernel("sgemm", 0, 50)
        found, (gpu,) = units(table, {"grid": [54, 1, 1], "est. achieved occupancy %": 25})
        compute, sms, warps = (found[0, unit] for unit in ("compute", "multiprocessors", "warps"))
        assert (compute.achieved, compute.peak, compute.utilization, compute.busy) == (50, 100, 0.5, 0.5)
        assert compute.utilization == gpu.utilization_steps
        assert (sms.achieved, sms.peak, sms.utilization) == (pytest.approx(27), 108, pytest.approx(gpu.sm_efficiency))
        assert (warps.achieved, warps.peak, warps.utilization) == (16, 64, gpu.occupancy)
        assert (found[0, "matrix_units"].achieved, found[0, "matrix_units"].measured) == (
            gpu.tensor_core_time,
            "estimated",
        )

    def test_a_device_that_does_not_tell_its_parts_has_ratios(self):
        table = Table().step(0, 0, 100).kernel("a", 0, 50)
        found, _ = units(table, {"blocks per SM": 0.5, "est. achieved occupancy %": 25}, devices=())
        for unit, ratio in (("multiprocessors", 0.25), ("warps", 0.25)):
            row = found[0, unit]
            assert (row.achieved, row.peak, row.quantity, row.utilization) == (ratio, 1, "ratio", ratio)

    def test_without_steps_the_reason_stands_in_place_of_a_zero(self):
        found, _ = units(Table().kernel("a", 0, 50))
        row = found[0, "compute"]
        assert (row.achieved, row.utilization, row.measured) == (None, None, None)
        assert "steps" in row.why

    def test_amd_has_its_own_words(self):
        device = Device(0, "AMD Instinct MI300X", sm_count=304)
        found, _ = units(Table().step(0, 0, 100).kernel("a", 0, 50), devices=(device,))
        assert found[0, "multiprocessors"].label == "Compute units"
        assert found[0, "matrix_units"].label == "Matrix Cores"


class TestTraffic:
    def table(self):
        return (
            Table()
            .step(0, 0, 100)
            .kernel("a", 0, 10)
            .device(Kind.MEMCPY, "Memcpy HtoD (Pinned -> Device)", 0, 20, stream=8, size=200)
            .device(Kind.MEMCPY, "Memcpy HtoD (Pinned -> Device)", 10, 20, stream=9, size=200)
            .device(Kind.MEMCPY, "Memcpy DtoD (Device -> Device)", 40, 10, stream=8, size=1000)
            .device(Kind.MEMSET, "Memset (Device)", 50, 10, stream=8, size=500)
        )

    def test_copy_engines_have_a_rate_and_a_busy_time_and_no_peak(self):
        # 400 bytes in 20 + 20 ns, [0,30] of [0,100]
        row = units(self.table())[0][0, "copy_to_device"]
        assert (row.achieved, row.busy, row.peak, row.utilization) == (10e9, 0.3, None, None)
        assert row.measured == "trace"
        assert "link" in row.why

    def test_copies_inside_the_device_are_read_and_written(self):
        # (2 x 1000 + 500) bytes in 10 + 10 ns, of 1555 GB/s
        row = units(self.table())[0][0, "memory"]
        assert (row.achieved, row.peak, row.busy) == (125e9, 1555e9, 0.2)
        assert row.utilization == pytest.approx(125 / 1555)

    def test_what_did_not_happen_says_so(self):
        row = units(self.table())[0][0, "copy_from_device"]
        assert (row.achieved, row.busy, row.measured) == (None, None, None)
        assert row.why == "No copy to the host of known size is in the capture."

    def test_a_copy_of_unknown_size_is_in_no_rate_but_keeps_the_engine_busy(self):
        table = Table().step(0, 0, 100).kernel("a", 0, 10).device(Kind.MEMCPY, "Memcpy DtoH", 0, 20, stream=8)
        row = units(table)[0][0, "copy_from_device"]
        assert (row.achieved, row.busy) == (None, 0.2)

    def test_each_device_has_its_own_copies(self):
        table = self.table().kernel("b", 0, 10, device=1)
        table.device(Kind.MEMCPY, "Memcpy HtoD", 20, 10, stream=8, device=1, size=50)
        found, _ = units(table)
        assert found[0, "copy_to_device"].achieved == 10e9
        assert found[1, "copy_to_device"].achieved == 5e9

    def test_the_interconnect_is_the_bus_bandwidth_of_the_collectives(self):
        # 4 floats of a group of 2: 2 (2-1)/2 = 1 of 16 bytes, in 8 ns
        told = {"Collective name": "allreduce", "In msg nelems": 4, "dtype": "Float", "Group size": 2}
        table = Table().step(0, 0, 100).device(Kind.COLLECTIVE, "ncclDevKernel_AllReduce", 10, 8)
        row = units(table, told)[0][0, "interconnect"]
        assert (row.achieved, row.busy, row.peak) == (2e9, 0.08, None)


class TestArithmetic:
    def test_flops_against_the_peak_of_their_types(self):
        work = CountedWork(0, "products", flops=10**6, flops_ns=100, peak_ns=25.0)
        row = units(Table().step(0, 0, 100).kernel("a", 0, 100), work=[work])[0][0, "arithmetic"]
        assert (row.achieved, row.peak, row.utilization) == (10**13, 4 * 10**13, 0.25)

    def test_xla_also_tells_bytes(self):
        work = CountedWork(0, "HLO", flops=1, flops_ns=1, peak_ns=None, bytes=1555, bytes_ns=2)
        found, _ = units(Table().kernel("a", 0, 100), work=[work])
        assert found[0, "memory_hlo"].utilization == pytest.approx(0.5)
        assert found[0, "arithmetic"].peak is None
        assert "model" in found[0, "arithmetic"].why

    def test_products_of_recorded_shapes_with_the_time_of_their_kernels(self):
        # 2 m n k = 2 x 2 x 4 x 3 twice; the third call has no kernel, and no time
        args = {"Input Dims": [[2, 3], [3, 4]], "Input type": ["float", "float"]}
        table = Table()
        for i in range(3):
            table.host(Kind.OP, "aten::mm", 100 * i, 50)
            table.host(Kind.LAUNCH, "cudaLaunchKernel", 100 * i + 10, 5, correlation=i)
            if i < 2:
                table.kernel("sgemm", 100 * i + 20, 30, correlation=i)
        events = table.events()
        events.args_values = [json.dumps(args)]
        events.args[events.of_kind(Kind.OP)] = 0
        calls = operator_calls(events, link(events))
        (found,) = counted_operators(events, calls, [0], ceilings_of(A100))
        assert (found.flops, found.flops_ns) == (96, 60)
        assert found.peak_ns == pytest.approx(96e9 / 19.5e12)
        assert counted_operators(events, calls, [0, 1], None) == []
