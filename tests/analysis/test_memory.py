"""Memory of devices over time (records in us; sizes in bytes)."""

import pytest

from stepscope.analysis.autograd import link_backward
from stepscope.analysis.capture import merge
from stepscope.analysis.memory import MAX_ENTRIES, MAX_LARGEST, MAX_POINTS, memory
from stepscope.analysis.modules import module_owners
from stepscope.analysis.quality import numbered_differently
from tests.builders import T0_NS, TraceBuilder


def record(trace, ts, size, address=None, total=None, reserved=None, device=0, tid=4117):
    args = {"Device Type": 0 if device is None else 1, "Device Id": -1 if device is None else device, "Bytes": size}
    args |= {} if address is None else {"Addr": address}
    args |= {} if total is None else {"Total Allocated": total}
    args |= {} if reserved is None else {"Total Reserved": reserved}
    fields = {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 4117, "tid": tid}
    return trace.event(fields, ts, None, args)


def of(*traces, modules=False):
    capture = merge([t.window().events for t in traces])
    owners = module_owners(capture.events, link_backward(capture.events)) if modules else None
    return memory(capture, owners)


def curve(found):
    return [((t - T0_NS) // 1000, n) for t, n in zip(found.curve.ts_ns, found.curve.allocated, strict=True)]


class TestNumbers:
    def told(self, memory_of, work_on):
        trace = record(TraceBuilder(), 10, 100, 1, total=1100, device=memory_of)
        if work_on is not None:
            trace.kernel("k", 20, 5, device=work_on)
        events = trace.window().events
        return numbered_differently([m.device for m in memory(merge([events]))], events)

    def test_devices_that_are_counted_differently_are_told(self):
        assert self.told(0, 2).startswith("The allocator tells of GPU 0, the device work of GPU 2:")

    @pytest.mark.parametrize(("memory_of", "work_on"), [(2, 2), (None, 2), (0, None)])
    def test_nothing_where_they_fit_or_one_is_not_there(self, memory_of, work_on):
        assert self.told(memory_of, work_on) is None


class TestLevels:
    def test_totals_that_the_source_tells(self):
        trace = record(TraceBuilder(), 10, 100, 1, total=1100, reserved=2000)
        record(trace, 20, 50, 2, total=1150, reserved=2000)
        record(trace, 30, -100, 1, total=1050, reserved=3000)
        (found,) = of(trace)
        assert curve(found) == [(10, 1100), (20, 1150), (30, 1050)]
        assert found.curve.reserved == [2000, 2000, 3000]
        assert (found.start_bytes, found.peak_bytes, found.end_bytes) == (1000, 1150, 1050)
        assert (found.peak_ns, found.peak_reserved_bytes) == (T0_NS + 20_000, 3000)
        assert (found.allocations, found.frees, found.allocated_bytes, found.freed_bytes) == (2, 1, 150, 100)
        assert found.is_absolute

    def test_without_totals_the_lowest_level_is_0(self):
        trace = record(TraceBuilder(), 10, -300)
        record(trace, 20, 500)
        record(trace, 30, -100)
        (found,) = of(trace)
        assert curve(found) == [(10, 0), (20, 500), (30, 400)]
        assert (found.start_bytes, found.end_bytes) == (300, 400)
        assert not found.is_absolute
        assert found.peak_reserved_bytes is None
        assert found.at_peak is None  # no addresses: frees match nothing

    def test_records_of_one_instant_count_together(self):
        trace = record(TraceBuilder(), 10, 100, 1, total=1100)
        record(trace, 20, 70, 2, total=1170)
        record(trace, 20, -100, 1, total=1070)
        (found,) = of(trace)
        assert curve(found) == [(10, 1100), (20, 1170)]  # the point of the peak shows the peak
        assert (found.peak_bytes, found.end_bytes) == (1170, 1070)

    def test_a_lost_record_does_not_shift_what_follows(self):
        trace = record(TraceBuilder(), 10, 100, 1, total=1100)  # between: 5000 allocated, the record is lost
        record(trace, 30, 50, 2, total=6150)
        (found,) = of(trace)
        assert curve(found) == [(10, 1100), (30, 6150)]

    def test_devices_and_the_host_apart(self):
        trace = record(TraceBuilder(), 10, 100, 1, total=100, device=1)
        record(trace, 20, 200, 1, total=200, device=0)
        record(trace, 30, 8, 1, total=8, device=None)
        assert [(m.device, m.peak_bytes) for m in of(trace)] == [(0, 200), (1, 100), (None, 8)]

    def test_windows_follow_one_another_and_each_starts_anew(self):
        first = record(TraceBuilder(), 10, 100)
        second = record(TraceBuilder(), 1000, 30)
        (found,) = of(first, second)
        assert curve(found) == [(10, 100), (1000, 30)]

    def test_nothing_recorded_is_not_an_empty_list(self):
        assert of(TraceBuilder().op("aten::mm", 0, 10)) is None

    def test_a_long_curve_keeps_its_extremes(self):
        trace, level = TraceBuilder(), 10**6
        for i in range(5000):
            size = 7919 * (i % 13) - 40_000
            level += size
            record(trace, 10 * i, size, i, total=level)
        (found,) = of(trace)
        assert len(found.curve.ts_ns) <= MAX_POINTS + 2
        assert max(found.curve.allocated) == found.peak_bytes
        levels = [10**6]
        for i in range(5000):
            levels.append(levels[-1] + 7919 * (i % 13) - 40_000)
        assert (found.peak_bytes, min(found.curve.allocated)) == (max(levels[1:]), min(levels[1:]))
        assert (found.curve.allocated[0], found.curve.allocated[-1]) == (levels[1], levels[-1])


class TestPeak:
    def test_what_was_alive_by_operator_and_module(self):
        trace = TraceBuilder().python("nn.Module: Net_0", 0, 100).python("nn.Module: Linear_0", 5, 40)
        trace.op("aten::addmm", 10, 20).op("aten::empty", 12, 5)
        record(trace, 13, 400, 0xA, total=1400)
        trace.op("aten::relu", 60, 10)
        record(trace, 62, 300, 0xB, total=1700)
        record(trace, 64, -300, 0xB, total=1400)
        trace.op("aten::add", 75, 10)
        record(trace, 80, 500, 0xB, total=1900)
        record(trace, 200, -400, 0xA, total=1500)
        (found,) = of(trace, modules=True)
        peak = found.at_peak
        assert (found.peak_bytes, peak.earlier_bytes) == (1900, 1000)
        assert [(s.name, s.count, s.bytes) for s in peak.operators] == [("aten::add", 1, 500), ("aten::addmm", 1, 400)]
        assert [(s.name, s.bytes) for s in peak.modules] == [(["Net_0"], 500), (["Net_0", "Linear_0"], 400)]
        assert found.unmatched_frees == 0

    def test_allocations_are_listed_with_their_lifetime(self):
        trace = TraceBuilder().op("aten::mm", 0, 20)
        record(trace, 10, 400, 0xA, total=400)
        record(trace, 50, -400, 0xA, total=0)
        record(trace, 60, 100, 0xA, total=100)
        (found,) = of(trace)
        assert [(a.bytes, a.freed_ns and a.freed_ns - T0_NS, a.operator) for a in found.largest] == [
            (400, 50_000, "aten::mm"),
            (100, None, None),
        ]

    def test_a_free_of_something_older_matches_nothing(self):
        trace = record(TraceBuilder(), 10, -700, 0xC, total=300)
        record(trace, 20, 100, 0xA, total=400)
        (found,) = of(trace)
        assert found.unmatched_frees == 1
        assert (found.start_bytes, found.peak_bytes, found.at_peak.earlier_bytes) == (1000, 400, 300)

    def test_an_address_that_is_taken_anew_was_free(self):
        trace = record(TraceBuilder(), 10, 100, 0xA, total=100)  # its free is lost
        record(trace, 20, 60, 0xA, total=60)
        (found,) = of(trace)
        assert [(a.bytes, a.freed_ns and a.freed_ns - T0_NS) for a in found.largest] == [(100, 20_000), (60, None)]

    def test_backward_allocations_belong_to_the_module_of_the_forward_operator(self):
        trace = TraceBuilder().python("nn.Module: Linear_0", 0, 50)
        trace.op("aten::addmm", 10, 20, **{"Sequence number": 3, "Fwd thread id": 0})
        trace.op("AddmmBackward0", 100, 20, tid=9, **{"Sequence number": 3, "Fwd thread id": 1})
        record(trace, 110, 64, 0xA, total=64, tid=9)
        (found,) = of(trace, modules=True)
        assert [(s.name, s.bytes) for s in found.at_peak.modules] == [(["Linear_0"], 64)]

    def test_lists_are_bounded_and_lose_no_byte(self):
        trace, total = TraceBuilder(), 0
        for i in range(MAX_ENTRIES + 30):
            total += i + 1
            trace.op(f"op{i}", 100 * i, 50)
            record(trace, 100 * i + 10, i + 1, i, total=total)
        (found,) = of(trace)
        assert len(found.operators) == len(found.at_peak.operators) == MAX_ENTRIES
        assert sum(s.bytes for s in found.operators) == sum(s.bytes for s in found.at_peak.operators) == total
        assert sum(s.count for s in found.operators) == MAX_ENTRIES + 30
        assert found.operators[-1].name is None
        assert len(found.largest) == MAX_LARGEST


@pytest.mark.parametrize("size", [None, "many", 0])
def test_records_without_a_size_change_no_level(size):
    trace = record(TraceBuilder(), 10, 100, 1, total=100)
    record(trace, 20, size, 2, total=100)
    (found,) = of(trace)
    assert (found.allocations, found.frees, found.peak_bytes) == (1, 0, 100)
