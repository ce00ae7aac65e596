"""Memory at a moment, in an interval and after each step (records in us; sizes in bytes)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analysis.allocations import allocators
from stepscope.analysis.capture import merge
from stepscope.analysis.memory import memory
from stepscope.analysis.memory_moments import alive_at, courses, growth, in_interval, outliving, step_levels
from tests.analysis.test_memory import record
from tests.builders import T0_NS, TraceBuilder


def of(*traces: TraceBuilder):
    capture = merge([trace.window().events for trace in traces])
    (allocator,) = allocators(capture) or []
    return capture, allocator, courses(allocator, capture.extent_ns)


def steps(*numbers_and_intervals: tuple[int, int, int]):
    rows = np.array(numbers_and_intervals, np.int64)
    return rows[:, 0], T0_NS + rows[:, 1] * 1000, T0_NS + rows[:, 2] * 1000


def alive(found, ts: int, by: str = "operator", window: int = 0):
    capture, allocator, tracks = found
    return alive_at(allocator, tracks[window], capture.events, None, T0_NS + ts * 1000, by)


def leaking() -> TraceBuilder:
    """Four steps of 100 us; each allocates 30 bytes that stay and 70 that it frees."""
    trace = TraceBuilder()
    for i in range(4):
        at = 100 * i
        trace.step(i, at, 100).op("aten::clone", at + 10, 5).op("aten::mm", at + 20, 5)
        record(trace, at + 11, 30, 1000 + i, total=530 + 30 * i)
        record(trace, at + 21, 70, 2000, total=600 + 30 * i)
        record(trace, at + 90, -70, 2000, total=530 + 30 * i)
    return trace


class TestAlive:
    def test_the_parts_add_up_to_the_curve(self):
        found = of(leaking())
        told = alive(found, 150)
        assert (told.level_bytes, told.earlier_bytes, told.count) == (630, 500, 3)
        assert [(row.count, row.bytes) for row in told.rows] == [(1, 70), (2, 60)]

    def test_by_size(self):
        assert [(row.name, row.count) for row in alive(of(leaking()), 395, "size").rows] == [(30, 4)]

    def test_before_the_first_record_all_is_from_before(self):
        told = alive(of(leaking()), 5)
        assert (told.level_bytes, told.earlier_bytes, told.rows) == (500, 500, [])

    def test_without_addresses_it_is_not_known(self):
        trace = record(record(TraceBuilder(), 10, 100), 20, -100)
        assert alive(of(trace), 15) is None

    def test_at_the_peak_it_is_what_the_summary_tells(self):
        trace = leaking()
        (told,) = memory(merge([trace.window().events]))
        found = alive(of(trace), (told.peak_ns - T0_NS) // 1000)
        assert (found.level_bytes, found.earlier_bytes) == (told.peak_bytes, told.at_peak.earlier_bytes)
        assert found.rows == told.at_peak.operators

    @given(st.lists(st.tuples(st.integers(2, 100), st.integers(1, 8)), min_size=1, max_size=30), st.integers(0, 400))
    def test_any_moment_adds_up(self, made, at):
        """Each allocation is freed by the one at its address after it."""
        trace, held, now, ts = TraceBuilder(), {}, 1000, 0
        for size, address in made:
            ts += 10
            if address in held:
                now -= held[address]
                record(trace, ts, -held.pop(address), address, total=now)
            else:
                now, held[address] = now + size, size
                record(trace, ts, size, address, total=now)
        told = alive(of(trace), at)
        assert told.earlier_bytes == 1000
        assert told.earlier_bytes + sum(row.bytes for row in told.rows) == told.level_bytes


class TestCurve:
    def test_a_window_begins_and_ends_with_its_events(self):
        _, _, (course,) = of(leaking())
        assert ((course.ts_ns[[0, -1]] - T0_NS) // 1000).tolist() == [0, 400]
        assert course.allocated[[0, 1, -1]].tolist() == [500, 530, 620]

    def test_few_points_keep_the_highest_and_the_lowest(self):
        trace = TraceBuilder()
        for i in range(500):
            record(trace, 2 * i, 5 if i != 250 else 5000, i, total=1005 if i != 250 else 6000)
            record(trace, 2 * i + 1, -5 if i != 250 else -5000, i, total=1000)
        _, _, (course,) = of(trace)
        at = in_interval(course, T0_NS, T0_NS + 1_000_000, 40)
        assert len(at) <= 40
        assert {int(course.allocated[at].max()), int(course.allocated[at].min())} == {6000, 1000}

    def test_an_interval_holds_the_level_that_it_begins_with(self):
        _, _, (course,) = of(leaking())
        at = in_interval(course, T0_NS + 150_000, T0_NS + 160_000, 100)
        assert course.allocated[at[0]] == 630  # since 121 us


class TestSteps:
    def test_growth_after_every_step_is_steady(self):
        _, _, tracks = of(leaking())
        levels = step_levels(tracks, steps(*((i, 100 * i, 100 * i + 100) for i in range(4))))
        assert levels.allocated.tolist() == [530, 560, 590, 620]
        assert levels.peak.tolist() == [600, 630, 660, 690]
        found = growth(levels)
        assert (found.changes, found.rises, found.per_step_bytes, found.is_steady) == (3, 3, 30, True)

    def test_a_step_that_is_partly_outside_tells_nothing(self):
        _, _, tracks = of(leaking())
        assert step_levels(tracks, steps((7, -50, 50), (8, 350, 450))).number.tolist() == []
        assert growth(step_levels(tracks, steps((7, -50, 50)))).per_step_bytes is None

    def test_from_one_window_to_the_next_there_is_no_change(self):
        later = TraceBuilder().step(9, 1000, 100)
        record(later, 1010, 10, 5, total=5000)
        _, _, tracks = of(leaking(), later)
        levels = step_levels(tracks, steps((2, 200, 300), (3, 300, 400), (9, 1000, 1100)))
        assert (growth(levels).changes, growth(levels).per_step_bytes) == (1, 30)

    @pytest.mark.parametrize(("least", "count"), [(1, 4), (2, 3), (4, 1), (5, 0)])
    def test_what_outlives_steps(self, least, count):
        capture, allocator, tracks = of(leaking())
        levels = step_levels(tracks, steps(*((i, 100 * i, 100 * i + 100) for i in range(4))))
        told = outliving(allocator, levels, capture.events, None, "operator", least)
        assert told[:2] == (count, 30 * count)
        assert [row.name for row in told[2]] == (["aten::clone"] if count else [])
