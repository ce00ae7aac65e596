"""The innermost slice around a moment, against its definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analysis.enclosing import innermost, inside
from stepscope.analysis.select import host_rows
from stepscope.schema import NONE, Kind
from tests.analysis.table import Table


@given(
    st.lists(st.integers(0, 60), max_size=24), st.lists(st.tuples(st.integers(0, 62), st.integers(1, 2)), max_size=8)
)
def test_it_is_the_last_that_began_of_those_that_are_open(cuts: list[int], calls: list[tuple[int, int]]) -> None:
    """Slices that nest: each of a pair of cuts of the axis, unless it would overlap an earlier one."""
    table = Table()
    slices: list[tuple[int, int, int]] = []
    for a, b, tid in zip(cuts[::2], cuts[1::2], [1, 1, 2] * 4, strict=False):
        low, high = min(a, b), max(a, b)
        own = [s for s in slices if s[2] == tid]
        crossing = any(s[0] < low < s[1] < high or low < s[0] < high < s[1] or (low, high) == s[:2] for s in own)
        if low < high and not crossing:
            slices.append((low, high, tid))
            table.op(f"op {low} {high} {tid}", low, high - low, tid)
    for at, tid in calls:
        table.launch(at, 1, correlation=at, tid=tid)
    events = table.events()
    rows = host_rows(events, Kind.LAUNCH)
    found = innermost(events, host_rows(events, Kind.OP), rows)
    told = ["" if row == NONE else events.text(row) for row in found.tolist()]
    expected = []
    for row in rows.tolist():
        at, tid = int(events.ts_ns[row]), int(events.lanes[events.lane[row]].tid)
        around = [s for s in slices if s[0] <= at < s[1] and s[2] == tid]
        low, high, _ = max(around, key=lambda s: (s[0], -s[1]), default=(0, 0, 0))
        expected.append(f"op {low} {high} {tid}" if around else "")
    assert told == expected
    assert inside(events, host_rows(events, Kind.OP), rows).tolist() == (found != NONE).tolist()


def test_of_slices_that_overlap_without_nesting_it_is_the_last_too() -> None:
    table = Table().op("a", 0, 100).op("b", 1, 9).op("c", 5, 15).op("d", 6, 12).launch(15, 1, correlation=1)
    events = table.events()
    [found] = innermost(events, host_rows(events, Kind.OP), host_rows(events, Kind.LAUNCH)).tolist()
    assert events.text(found) == "d"
    assert np.array_equal(inside(events, host_rows(events, Kind.OP), host_rows(events, Kind.LAUNCH)), [True])
