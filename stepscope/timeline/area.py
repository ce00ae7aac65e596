"""What an interval holds on some lanes, exactly: busy and idle time, and sums by kind, by name and by lane."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from stepscope.analysis import intervals
from stepscope.schema import DEVICE_WORK, NONE, Kind
from stepscope.timeline import LIVE_BASE, Timeline
from stepscope.timeline.segment import Rows
from stepscope.timeline.select import Picked, absolute, below, pick

_IS_DEVICE_WORK = np.zeros(256, bool)
_IS_DEVICE_WORK[list(DEVICE_WORK)] = True

#: The most names that are listed, those with the largest sums.
MAX_NAMES = 1000


def area(timeline: Timeline, t0: int, t1: int, lanes: Iterable[int] | None) -> dict[str, Any]:
    """Statistics of the slices that meet [t0, t1) (ns from the origin) on the given lanes and those below them.

    A slice that reaches over an edge counts as one, with the part of its time that lies inside.

    Returns:
        ``span``: t1 - t0. ``busy``: time that slices cover together, ``idle`` the rest. ``count``, ``total``:
        slices and the sum of their times; ``self``: the same without direct children on the same lane, where
        each moment of a thread counts once. ``kinds``, ``names`` (at most ``MAX_NAMES``, ``name_count`` tells
        all) and ``lanes`` hold the same as columns; of kinds and lanes also ``busy``; of names the ``kind`` and the
        shortest and longest time.
    """
    t0_ns, t1_ns = absolute(timeline, t0, max(t1, t0))
    name, kind, time, own, lane, start = (_Column() for _ in range(6))
    lane_ids: dict[int, int] = {}  # lanes in order of appearance
    before: Picked | None = None
    for picked in pick(timeline, t0_ns, t1_ns, below(timeline, lanes)):
        segment = picked.segment
        at = np.arange(picked.lo, picked.hi)
        begin, length = _clip(segment, at, t0_ns, t1_ns)
        events = segment.at(at)
        kinds = segment.events.kind[events]
        name.add(segment.name[segment.events.name[events]])
        kind.add(kinds)
        start.add(begin)
        time.add(length)
        own.add(length - _phases(timeline, segment, picked, events, t0_ns, t1_ns))
        lane.add(np.full(len(at), lane_ids.setdefault(picked.lane, len(lane_ids)), np.int32))
        if before is not None and (before.segment, before.lane, before.row) == (segment, picked.lane, picked.row - 1):
            _take_from_parents(own, before, picked, length)
        before = picked
    return {
        "origin_ns": str(timeline.origin_ns),
        "t0": t0,
        "t1": max(t1, t0),
        **_sums(timeline, t1_ns - t0_ns, list(lane_ids), *(c.joined() for c in (name, kind, time, own, lane, start))),
    }


class _Column:
    """Arrays that are joined at the end."""

    def __init__(self) -> None:
        self.parts: list[np.ndarray] = []

    def add(self, values: np.ndarray) -> None:
        self.parts.append(values)

    def joined(self) -> np.ndarray:
        return np.concatenate(self.parts).astype(np.int64, copy=False) if self.parts else np.empty(0, np.int64)


def _clip(segment: Rows, at: np.ndarray, t0_ns: int, t1_ns: int) -> tuple[np.ndarray, np.ndarray]:
    ts, dur = segment.index.ts_ns[at], segment.index.dur_ns[at]
    begin = np.maximum(ts, t0_ns)
    return begin, np.maximum(np.minimum(ts + dur, t1_ns) - begin, 0)


def _take_from_parents(own: _Column, outer: Picked, inner: Picked, length: np.ndarray) -> None:
    """Subtract the time of the slices of a row from that of the slices of the row above that they lie within.

    What else runs on a device queue is no part of a device's work, as for one slice (``Timeline.slice``).
    """
    index = outer.segment.index
    ts = index.ts_ns[outer.lo : outer.hi]
    end = ts + index.dur_ns[outer.lo : outer.hi]
    child = slice(inner.lo, inner.hi)
    parent = np.searchsorted(ts, index.ts_ns[child], "right") - 1
    inside = (parent >= 0) & (index.ts_ns[child] + index.dur_ns[child] <= end[parent])
    kinds = outer.segment.events.kind[outer.segment.at(np.arange(outer.lo, outer.hi))]
    inside &= ~_IS_DEVICE_WORK[kinds][parent]
    taken = np.zeros(outer.hi - outer.lo, np.int64)
    np.add.at(taken, parent[inside], length[inside])
    own.parts[-2] = own.parts[-2] - taken


def _phases(
    timeline: Timeline, segment: Rows, picked: Picked, events: np.ndarray, t0_ns: int, t1_ns: int
) -> np.ndarray:
    """Time of the phases inside always-on steps, which lie on the lane below theirs."""
    out = np.zeros(len(events), np.int64)
    steps = np.flatnonzero(segment.events.kind[events] == Kind.STEP)
    if len(steps) == 0 or segment.base < LIVE_BASE:
        return out
    lane = timeline.lanes.phases_beside(picked.lane)
    if lane == NONE or lane not in segment.rows_of:
        return out
    row = np.array([segment.rows_of[lane][0]])
    lo, hi = segment.index.in_view(row, t0_ns, t1_ns)
    at = np.arange(lo[0], hi[0])
    _, length = _clip(segment, at, t0_ns, t1_ns)
    ts = segment.index.ts_ns[at]
    begins = segment.events.ts_ns[events[steps]]
    parent = np.searchsorted(begins, ts, "right") - 1
    inside = (parent >= 0) & (ts + segment.index.dur_ns[at] <= segment.events.ends_ns(events[steps])[parent])
    np.add.at(out, steps[parent[inside]], length[inside])
    return out


def _sums(
    timeline: Timeline,
    span: int,
    lane_ids: list[int],
    name: np.ndarray,
    kind: np.ndarray,
    time: np.ndarray,
    own: np.ndarray,
    lane: np.ndarray,
    start: np.ndarray,
) -> dict[str, Any]:
    by_start = np.argsort(start, kind="stable")  # rows lie in order, and many of them merge fast
    covering = _Covering(by_start, start[by_start], (start + time)[by_start])
    busy = intervals.length(intervals.union(covering.start, covering.end))
    kinds = _Groups(kind, 256, time, own)
    lanes = _Groups(lane, len(lane_ids), time, own)
    width = int(kind.max(initial=0)) + 1
    names = _Groups(name * width + kind, len(timeline.names.texts) * width, time, own)
    most = np.lexsort((names.key, -names.total))[:MAX_NAMES]
    return {
        "span": span,
        "busy": busy,
        "idle": span - busy,
        "count": len(time),
        "total": int(time.sum()),
        "self": int(own.sum()),
        "kinds": {"kind": kinds.key.tolist(), **kinds.columns(), "busy": kinds.busy(covering)},
        "names": {
            "name": [timeline.names.texts[i] for i in (names.key[most] // width).tolist()],
            "kind": (names.key[most] % width).tolist(),
            **names.columns(most),
            "min": names.reduced(np.minimum, time, 1 << 62)[most].tolist(),
            "max": names.reduced(np.maximum, time, 0)[most].tolist(),
        },
        "name_count": len(names.key),
        "lanes": {"lane": [lane_ids[i] for i in lanes.key.tolist()], **lanes.columns(), "busy": lanes.busy(covering)},
    }


class _Covering(NamedTuple):
    """Slices in order of their start; ``by_start`` holds their places among all."""

    by_start: np.ndarray
    start: np.ndarray
    end: np.ndarray


class _Groups:
    """Slices with the same key (0 up to ``size``) together.

    ``key`` holds those that occur, ascending; ``of`` has for each slice the place of its own in it.
    """

    def __init__(self, keys: np.ndarray, size: int, time: np.ndarray, own: np.ndarray) -> None:
        if size > 4 * len(keys) + 65_536:  # few slices of many names: sorting them is cheaper than counting all
            self.key, self.of, self.count = np.unique(keys, return_inverse=True, return_counts=True)
        else:
            count = np.bincount(keys, minlength=size)
            self.key = np.flatnonzero(count)
            number = np.zeros(size, np.int64)
            number[self.key] = np.arange(len(self.key))
            self.of = number[keys]
            self.count = count[self.key]
        self.total = self.reduced(np.add, time, 0)
        self.own = self.reduced(np.add, own, 0)

    def reduced(self, how: np.ufunc, values: np.ndarray, first: int) -> np.ndarray:
        """Values of each group folded into one, beginning with ``first``; exact where float sums would not be."""
        out = np.full(len(self.key), first, np.int64)
        how.at(out, self.of, values)
        return out

    def columns(self, which: np.ndarray | slice = slice(None)) -> dict[str, list[int]]:
        return {
            "count": self.count[which].tolist(),
            "total": self.total[which].tolist(),
            "self": self.own[which].tolist(),
        }

    def busy(self, slices: _Covering) -> list[int]:
        """The time that the slices of each group cover together."""
        small = np.int16 if len(self.key) < 1 << 15 else np.int64  # sorted by counting, in linear time
        order = np.argsort(self.of[slices.by_start].astype(small), kind="stable")
        start, end = slices.start[order], slices.end[order]
        edges = np.append(0, np.cumsum(self.count)).tolist()
        return [intervals.length(intervals.union(start[a:b], end[a:b])) for a, b in pairwise(edges)]
