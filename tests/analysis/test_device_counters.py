"""Hardware counters: what files carry of them, and the use of units that they tell."""

import json

import numpy as np
import pytest

from stepscope.analysis.counter_units import counter_units
from stepscope.analysis.device_counters import (
    adds_up,
    counter_values,
    device_counters,
    ranges_by_kernel,
    ranges_by_operator,
    unit_of,
)
from stepscope.analysis.launches import link
from stepscope.analysis.quality import counter_notes
from stepscope.analysis.tpu_units import tpu_units
from stepscope.importers import import_file
from stepscope.schema import Kind
from tests.analysis.table import Table
from tests.importers.xspace import PlaneBuilder, xspace

FFMA = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
FADD = "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"
BUSY = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
#: Counters of TPU v7x, by their numbers in xprof's tpu_counter_ids_v7x.h.
CYCLES, MXU_BUSY_1, VREG_BF16_MXU_0, TC_CYCLES = 2847490056, 2791875024, 2791874968, 2791874568
HBM_READS = (2705724472, 2709001280)  # two of the 128 of the first die


def ranges(*told, launches=None):
    """A trace in which ``aten::mm`` launches the first kernel and ``aten::add`` all others."""
    table = Table()
    for i in range(len(told) if launches is None else launches):
        table.host(Kind.OP, "aten::mm" if i == 0 else "aten::add", 100 * i, 50)
        table.host(Kind.LAUNCH, "cudaLaunchKernel", 100 * i + 10, 5)
    for i, (name, _) in enumerate(told):
        table.device(Kind.DEVICE_ANNOTATION, name, 10 * i, 10)
    events = table.events()
    events.args_values = [json.dumps(args) for _, args in told]
    events.args[np.flatnonzero(events.of_kind(Kind.DEVICE_ANNOTATION))] = np.arange(len(told))
    return events


class TestRanges:
    events = ranges(("gemm", {FFMA: 100, BUSY: 40.0}), ("add", {FFMA: 1, BUSY: 10.0}), ("add", {FFMA: 3, BUSY: 30.0}))

    def test_counts_add_up_and_shares_have_a_mean(self):
        flops, busy = sorted(device_counters(counter_values(self.events)), key=lambda one: one.unit)
        assert (flops.counter, flops.sum, flops.mean, flops.min, flops.max, flops.samples) == (
            FFMA,
            104,
            104 / 3,
            1,
            100,
            3,
        )
        assert (busy.sum, busy.mean, busy.unit, busy.source) == (None, pytest.approx(80 / 3), "percent", "range")

    def test_by_kernel(self):
        add, gemm = ranges_by_kernel(self.events, counter_values(self.events))
        assert (add.name, add.ranges, add.values) == ("add", 2, {FFMA: 4, BUSY: 20})
        assert (gemm.name, gemm.ranges, gemm.values) == ("gemm", 1, {FFMA: 100, BUSY: 40})

    def test_by_operator_in_the_order_of_the_launches(self):
        (add, mm), why = ranges_by_operator(self.events, link(self.events), counter_values(self.events))
        assert why is None
        assert (add.name, add.values[FFMA]) == ("aten::add", 4)
        assert (mm.name, mm.values[FFMA]) == ("aten::mm", 100)

    def test_with_other_numbers_of_launches_no_operator_is_guessed(self):
        events = ranges(("gemm", {FFMA: 100}), launches=2)
        found, why = ranges_by_operator(events, link(events), counter_values(events))
        assert found == []
        assert why == "1 ranges and 2 launches of kernels: which is whose is not told."

    def test_sums_by_kernel_and_operator_are_those_of_the_counter(self):
        values = counter_values(self.events)
        total = next(one.sum for one in device_counters(values) if one.counter == FFMA)
        assert sum(one.values[FFMA] for one in ranges_by_kernel(self.events, values)) == total
        assert sum(one.values[FFMA] for one in ranges_by_operator(self.events, link(self.events), values)[0]) == total

    def test_units_have_the_share_of_the_peak_and_the_flops(self):
        flop, busy = sorted(counter_units(counter_values(self.events), []), key=lambda row: row.quantity)
        assert (flop.achieved, flop.peak, flop.measured) == (208, None, "counter")
        assert "duration" in flop.why
        assert (busy.achieved, busy.peak, busy.utilization) == (pytest.approx(80 / 3), 100, pytest.approx(0.8 / 3))

    @pytest.mark.parametrize("damage", [None, "7", True, [1], 10**400, float("nan"), 1e308, -1e308])
    def test_a_damaged_value_is_none_and_is_counted(self, damage):
        """Sums of what a double just holds are infinite, which no JSON can tell."""
        found = counter_values(ranges(("k", {FFMA: damage}), ("k", {FFMA: damage, BUSY: 3.0})))
        assert (len(found), [note.count for note in counter_notes(found)]) == (1, [2])

    def test_other_args_of_device_annotations_are_no_counters(self):
        assert len(counter_values(ranges(("region", {"External id": 5, "my__note": "x", "a__b c": 1})))) == 0


@pytest.mark.parametrize(
    ("name", "unit", "adds"),
    [
        (FADD, "instructions", True),
        ("sm__cycles_active.avg", "cycles", False),
        ("dram__bytes_read.sum", "bytes", True),
        ("dram__bytes_read.sum.per_second", "bytes_per_s", False),
        (BUSY, "percent", False),
        ("gpu__time_duration.sum", "ns", True),
        ("TCC_HIT_sum", None, True),
    ],
)
def test_what_names_tell(name, unit, adds):
    assert (unit_of(name), adds_up(name)) == (unit, adds)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    start = 1_700_000_000 * 10**9
    gpu = PlaneBuilder("/device:GPU:0").line(9, "_counters_", start)
    for i in range(4):
        gpu.event("SM Active Cycles (%)", i * 10**6, 0, **{BUSY: 10.0 * i})
        gpu.event("Tensor Instructions", i * 10**6, 0, **{"sm__inst_executed_pipe_tensor.sum": 100.0 * i})
    tpu = PlaneBuilder("/device:TPU:1", device_type_string="TPU v7x").line(0, "Stream 1", start)
    for name, number, value in (
        ("CYCLES", CYCLES, 2000.0),
        ("MXU_BUSY_1", MXU_BUSY_1, 800),
        ("MATMUL", VREG_BF16_MXU_0, 100),
    ):
        tpu.event(name, 0, 10**6, performance_counter_id=number, counter_value=value)
    path = tmp_path_factory.mktemp("xplane") / "host.xplane.pb"
    path.write_bytes(xspace(gpu, tpu))
    return import_file(path)


class TestXPlane:
    def test_values_are_no_device_work(self, recorded):
        assert set(recorded.events.kind.tolist()) == {Kind.COUNTER}

    def test_samples_and_values_by_device(self, recorded):
        found = {(one.device, one.counter): one for one in device_counters(counter_values(recorded.events))}
        share = found[0, BUSY]
        assert (share.mean, share.sum, share.label, share.source) == (15, None, "SM Active Cycles (%)", "sample")
        assert found[0, "sm__inst_executed_pipe_tensor.sum"].sum == 600
        assert (found[1, "CYCLES"].sum, found[1, "CYCLES"].source) == (2000, "value")

    def test_values_that_the_runtime_read_are_of_their_line(self, recorded):
        (line,) = ranges_by_kernel(recorded.events, counter_values(recorded.events))
        assert (line.name, line.ranges) == ("Stream 1", 1)
        assert line.values == {"CYCLES": 2000, "MXU_BUSY_1": 800, "MATMUL": 100}

    def test_samples_are_of_no_operator_whatever_is_launched(self, recorded):
        launching = ranges(launches=2)
        assert ranges_by_operator(launching, link(launching), counter_values(recorded.events)) == ([], None)

    def test_units_of_both(self, recorded):
        rows = {row.unit: row for row in counter_units(counter_values(recorded.events), recorded.devices)}
        assert (rows[BUSY].device, rows[BUSY].utilization) == (0, 0.15)
        # half of the 800 cycles in which one of two units was busy; 8 cycles a product
        mean, unit = rows["Tensor core 0: matrix units, mean"], rows["Tensor core 0: matrix unit 0"]
        assert (mean.device, mean.achieved, mean.peak, mean.quantity) == (1, 400, 2000, "cycles")
        assert (unit.achieved, unit.utilization) == (800, 0.4)


class TestTpu:
    def test_memory_counts_32_bytes_a_beat_of_all_channels(self):
        # 1.9e9 cycles are a second of 3433 GiB/s
        (row,) = tpu_units("TPU v7x", {TC_CYCLES: 1.9e9, HBM_READS[0]: 1000.0, HBM_READS[1]: 24.0})
        assert (row.name, row.achieved) == ("Memory of core 0", 32 * 1024)
        assert row.peak == pytest.approx(3433 * 2**30)

    def test_the_second_core_has_its_own_registers(self):
        die = 1 << 29
        (one, mean) = tpu_units("TPU v7x", {CYCLES + die: 1000.0, MXU_BUSY_1 + die: 500.0})
        assert one.name.startswith("Tensor core 1")
        assert (one.achieved, mean.achieved) == (500, 250)

    def test_sparse_cores_sum_their_tiles(self):
        # TPU v6e: cycles of the first tile; vector issue of tiles 0 and 15 of core 1
        told = {3534225416: 100.0, 3534226368: 40.0, 3534226368 + 15 * (1 << 21): 8.0}
        (row,) = tpu_units("TPU v6 Lite", told)
        assert (row.name, row.achieved, row.peak) == ("Sparse core 1: vector issue", 48, 1600)

    def test_no_cycles_no_unit(self):
        assert tpu_units("TPU v7x", {MXU_BUSY_1: 500.0}) == []

    def test_a_model_whose_registers_are_not_known_has_none(self):
        assert tpu_units("TPU v4", {CYCLES: 1000.0, MXU_BUSY_1: 500.0}) == []
        assert tpu_units(None, {CYCLES: 1000.0}) == []
