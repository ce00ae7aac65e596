"""The slice before or after another one in its row."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.timeline import Timeline


def neighbour(timeline: Timeline, row: int, by: int) -> dict[str, Any] | None:
    """The slice ``by`` places (1 or -1) further on the same lane at the same depth, in any window; None at the end.

    Raises:
        NoSuchSlice: there is no such row.
    """
    home, event = timeline.locate(row)
    lane, depth = int(home.lane[event]), int(home.depth[event])
    here = (int(home.events.ts_ns[event]), row)
    best: tuple[int, int] | None = None
    for segment in timeline.segments():
        first, last = segment.rows_of.get(lane, (0, 0))
        at = first + int(np.searchsorted(segment.row_depth[first:last], depth))
        if at >= last or segment.row_depth[at] != depth:
            continue
        lo, hi = int(segment.index.bounds[at]), int(segment.index.bounds[at + 1])
        near = int(np.searchsorted(segment.index.ts_ns[lo:hi], here[0])) + lo
        # Slices of one row differ in start, those of two windows may not: the row number breaks the tie.
        for position in range(max(lo, near - 1), min(hi, near + 2)):
            other = int(segment.at(np.array([position]))[0])
            key = (int(segment.events.ts_ns[other]), segment.base + other)
            if (key > here) if by > 0 else (key < here):
                closer = best is None or ((key < best) if by > 0 else (key > best))
                best = key if closer else best
    if best is None:
        return None
    return timeline.place(*timeline.locate(best[1]))
