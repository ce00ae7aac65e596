"""The innermost of some slices around a moment of a host lane: the operator that made a call, and the like."""

from __future__ import annotations

import numpy as np

from stepscope.analysis import intervals
from stepscope.analysis.groups import apart
from stepscope.analysis.nesting import outer_first
from stepscope.analysis.order import stable_order
from stepscope.schema import NONE, Events

_MOST_STEPS_BACK = 10_000


def inside(events: Events, slices: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Mask of ``rows`` that start while any of ``slices`` is open on their lane: where ``innermost`` finds one."""
    if len(slices) == 0 or len(rows) == 0:
        return np.zeros(len(rows), bool)
    n = len(slices)
    both = np.concatenate((slices, rows))
    ts = events.ts_ns[both]
    ends = ts + np.concatenate((events.dur_ns[slices], np.ones(len(rows), np.int64)))
    start, end = apart(events.lane[both], ts, ends)
    begin, reach = intervals.union(start[:n], end[:n]).T
    at = np.searchsorted(begin, start[n:], "right") - 1
    return (at >= 0) & (start[n:] < np.append(reach, 0)[at])


def innermost(events: Events, slices: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """For each of ``rows`` the row of the innermost of ``slices`` on its lane that is open when it starts.

    A slice is open from its start up to, not including, its end; the innermost is the last one that began. Of
    slices with the same span ``outer_first`` tells the inner one. ``NONE`` where none is open.
    """
    out = np.full(len(rows), NONE, np.int64)
    slices = slices[np.isin(events.lane[slices], np.unique(events.lane[rows])) & (events.dur_ns[slices] > 0)]
    if len(slices) == 0 or len(rows) == 0:
        return out
    n = len(slices)
    both = np.concatenate((slices, rows))
    ts = events.ts_ns[both]
    start, end = apart(
        events.lane[both], ts, ts + np.concatenate((events.dur_ns[slices], np.ones(len(rows), np.int64)))
    )
    order = outer_first(events, slices, start[:n], end[:n])
    starts, ends, at = start[:n][order], end[:n][order], start[n:]
    begun = np.searchsorted(starts, at, "right")
    candidate = begun - 1
    # Most calls lie right in the slice that began last; only the others need the levels.
    left = np.flatnonzero((begun > 0) & (ends[candidate] <= at))
    candidate[left] = _of_level(starts, ends, at[left], begun[left])
    found_one = np.flatnonzero(candidate >= 0)
    out[found_one] = slices[order[candidate[found_one]]]
    return out


def _of_level(starts: np.ndarray, ends: np.ndarray, at: np.ndarray, begun: np.ndarray) -> np.ndarray:
    """The last slice that began and is open at each moment, ``NONE`` without one.

    Args:
        starts: of the slices, an outer one before those inside it.
        begun: how many of them have begun at each moment.
    """
    if len(at) == 0:
        return begun
    closed = np.sort(ends, kind="stable")
    depth = np.arange(len(starts)) - np.searchsorted(closed, starts, "right")
    level = begun - np.searchsorted(closed, at, "right") - 1  # that of the innermost open slice, counted from 0
    # The last slice of this level that began: one search in (level, position) order.
    by_level = stable_order(depth)
    keys = depth[by_level] * len(starts) + by_level
    found = np.maximum(np.searchsorted(keys, level * len(starts) + begun - 1, "right") - 1, 0)
    candidate = by_level[found]
    open_there = (level >= 0) & (starts[candidate] <= at) & (at < ends[candidate])
    candidate[~open_there] = begun[~open_there] - 1
    # Slices that overlap without nesting (rounded times) spoil the levels: there, go back one by one.
    going = np.flatnonzero((level >= 0) & ~open_there)
    for _ in range(_MOST_STEPS_BACK):
        going = going[ends[candidate[going]] <= at[going]]
        if len(going) == 0:
            break
        candidate[going] -= 1
    return np.where((level >= 0) & (at < ends[candidate]), candidate, NONE)
