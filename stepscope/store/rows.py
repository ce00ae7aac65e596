"""Sorts events and gives each slice of a lane its row, so that no slice hides another."""

from __future__ import annotations

import numpy as np

from stepscope.schema import COLUMN_DTYPES, Events


def layout_rows(events: Events) -> Events:
    """Sort by lane, depth, start and fill ``depth``: the number of slices of the lane open at the start.

    For slices that nest properly that is their nesting level. Where slices overlap without nesting (two
    kernels recorded on one stream) it can put two open slices on one row; such lanes are laid out again
    with a row kept until its slice ends. Instants take up one nanosecond.
    """
    if len(events) == 0:
        return events
    events = events.take(np.lexsort((-events.dur_ns, events.ts_ns, events.lane)))
    end = events.ts_ns + np.maximum(events.dur_ns, 1)
    depth = np.zeros(len(events), np.int64)
    bounds = np.flatnonzero(np.diff(events.lane, prepend=events.lane[0] - 1, append=events.lane[-1] + 1))
    for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        depth[a:b] = _open_at_start(events.ts_ns[a:b], end[a:b])
    events.depth = np.minimum(depth, np.iinfo(COLUMN_DTYPES["depth"]).max).astype(np.int16)
    return events.take(np.lexsort((events.ts_ns, events.depth, events.lane)))


def _open_at_start(ts: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Rows of one lane, its slices sorted by (ts, -dur)."""
    depth = np.arange(len(ts)) - np.searchsorted(np.sort(end), ts, "right")
    by_row = np.lexsort((ts, depth))
    same_row = depth[by_row][1:] == depth[by_row][:-1]
    if np.any(same_row & (ts[by_row][1:] < end[by_row][:-1])):
        return _below_all_open(ts, end)
    return depth


def _below_all_open(ts: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The first row below every open slice; a loop, but only over lanes with partial overlaps."""
    free_at: list[int] = []
    depth = np.zeros(len(ts), np.int64)
    for i, (start, stop) in enumerate(zip(ts.tolist(), end.tolist(), strict=True)):
        while free_at and free_at[-1] <= start:
            free_at.pop()
        depth[i] = len(free_at)
        free_at.append(stop)
    return depth
