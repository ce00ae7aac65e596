"""Rows of the timeline: no slice hides another."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.schema import Events, Lane
from stepscope.store import layout_rows


def laid_out(slices: list[tuple[int, int, int]], type: str = "thread") -> list[tuple[int, int, int, int]]:
    """(lane, depth, start, duration) after the layout of (lane, start, duration)."""
    lane, ts, dur = (np.array(column, dtype=np.int64) for column in zip(*slices, strict=True))
    lanes = [Lane(type, str(i)) for i in range(int(lane.max()) + 1)]
    events = layout_rows(Events.from_columns({"lane": lane, "ts_ns": ts, "dur_ns": dur}, [], lanes))
    columns = (events.lane, events.depth, events.ts_ns, events.dur_ns)
    return list(zip(*(c.tolist() for c in columns), strict=True))


def test_depth_is_the_nesting_level() -> None:
    assert laid_out([(0, 10, 20), (0, 0, 100), (0, 12, 5), (0, 40, 10)]) == [
        (0, 0, 0, 100),
        (0, 1, 10, 20),
        (0, 1, 40, 10),
        (0, 2, 12, 5),
    ]


def test_of_slices_with_one_start_the_longest_is_outermost() -> None:
    assert laid_out([(0, 5, 1), (0, 5, 10), (0, 5, 3)]) == [(0, 0, 5, 10), (0, 1, 5, 3), (0, 2, 5, 1)]


def test_slices_that_touch_share_a_row() -> None:
    assert laid_out([(0, 0, 10), (0, 10, 10)]) == [(0, 0, 0, 10), (0, 0, 10, 10)]


def test_lanes_are_apart() -> None:
    assert laid_out([(1, 0, 10), (0, 5, 10)]) == [(0, 0, 5, 10), (1, 0, 0, 10)]


def test_overlaps_without_nesting_get_rows_of_their_own() -> None:
    # 0-10 and 5-15 overlap; 10-12 would share row 1 with 5-15 if only the number of open slices counted
    assert laid_out([(0, 0, 10), (0, 5, 10), (0, 10, 2)]) == [(0, 0, 0, 10), (0, 1, 5, 10), (0, 2, 10, 2)]


def test_a_chain_of_overlaps_on_a_stream_takes_two_rows() -> None:
    chain = [(0, 10 * i, 12) for i in range(100)]
    assert [depth for _, depth, *_ in laid_out(chain, "stream")] == [0] * 50 + [1] * 50


def test_on_a_stream_too_what_lies_inside_is_below() -> None:
    # 2-20 outlives 0-10; 12-18 lies inside it, and the free row above is none for it
    assert laid_out([(0, 0, 10), (0, 2, 18), (0, 12, 6)], "stream") == [(0, 0, 0, 10), (0, 1, 2, 18), (0, 2, 12, 6)]


def test_very_many_open_slices_on_a_stream() -> None:
    rows = laid_out([(0, i, 10_000) for i in range(300)], "stream")
    assert [depth for _, depth, *_ in rows] == list(range(300))


def test_an_instant_takes_up_a_nanosecond() -> None:
    assert laid_out([(0, 5, 0), (0, 5, 0), (0, 6, 0)]) == [(0, 0, 5, 0), (0, 0, 6, 0), (0, 1, 5, 0)]


def test_an_empty_table_stays_empty() -> None:
    assert len(layout_rows(Events.empty())) == 0


slices = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 60), st.integers(0, 30)), min_size=1, max_size=60)


@given(slices, st.sampled_from(["thread", "stream"]))
def test_no_two_slices_of_a_row_overlap_and_none_is_lost(slices: list[tuple[int, int, int]], type: str) -> None:
    rows = laid_out(slices, type)
    assert sorted((lane, ts, dur) for lane, _, ts, dur in rows) == sorted(slices)
    for (lane, depth, ts, dur), (next_lane, next_depth, next_ts, _) in itertools.pairwise(rows):
        assert (lane, depth, ts) <= (next_lane, next_depth, next_ts)
        if (lane, depth) == (next_lane, next_depth):
            assert ts + max(dur, 1) <= next_ts


@given(slices, st.sampled_from(["thread", "stream"]), st.randoms(use_true_random=False))
def test_the_order_of_the_source_does_not_matter(slices: list[tuple[int, int, int]], type: str, random) -> None:
    shuffled = list(slices)
    random.shuffle(shuffled)
    assert laid_out(shuffled, type) == laid_out(slices, type)
