"""Which slices of a timeline an interval and some lanes pick out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from stepscope.timeline import Timeline
from stepscope.timeline.segment import Rows

_FAR = 1 << 62


@dataclass(frozen=True)
class Picked:
    """Slices of one row of a segment (one lane, one depth): ``lo`` up to ``hi`` are places in its index."""

    segment: Rows
    lane: int
    depth: int
    row: int
    lo: int
    hi: int


def below(timeline: Timeline, lanes: Iterable[int] | None) -> set[int]:
    """The lanes and all that lie below them; every lane for None. Lanes that show slices of others once more
    (``stepscope.timeline.mirror``) only where they are given themselves."""
    by_id = timeline.lanes.by_id
    mirrored = {mirror.lane_id for mirror in timeline.mirrors}
    if lanes is None:
        return set(by_id) - mirrored
    wanted = set(lanes)
    children: dict[int | None, list[int]] = {}
    for lane in list(by_id.values()):
        if lane.id not in mirrored:
            children.setdefault(lane.parent, []).append(lane.id)
    stack = list(wanted)
    while stack:
        for child in children.get(stack.pop(), ()):
            if child not in wanted:
                wanted.add(child)
                stack.append(child)
    return wanted


def absolute(timeline: Timeline, t0: int, t1: int) -> tuple[int, int]:
    """An interval relative to the origin as Unix ns, kept within what 64 bits hold."""
    begin, end = t0 + timeline.origin_ns, t1 + timeline.origin_ns
    return min(max(begin, -_FAR), _FAR), min(max(end, -_FAR), _FAR)


def pick(timeline: Timeline, t0_ns: int, t1_ns: int, lanes: set[int]) -> Iterator[Picked]:
    """The rows with slices that meet [t0_ns, t1_ns), by segment, lane and depth. An instant takes up 1 ns.

    A mirror is left out where a lane that its slices lie on is picked too: no slice is picked twice.
    """
    shown = [mirror for mirror in timeline.mirrors if not mirror.sources & lanes]
    for segment in (*timeline.segments(), *shown):
        for lane in sorted(lanes & segment.rows_of.keys()):
            rows = np.arange(*segment.rows_of[lane])
            lo, hi = segment.index.in_view(rows, t0_ns, t1_ns)
            for row, a, b in zip(rows.tolist(), lo.tolist(), hi.tolist(), strict=True):
                if b > a:
                    yield Picked(segment, lane, int(segment.row_depth[row]), row, a, b)
