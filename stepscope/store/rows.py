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
    order, depth = row_order(events.lane, events.ts_ns, events.dur_ns)
    events = events.take(order)
    events.depth = depth
    return events


def row_order(lane: np.ndarray, ts_ns: np.ndarray, dur_ns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The order (n,) that sorts slices by lane, depth, start, and the depth of each in that order."""
    order = np.lexsort((-dur_ns, ts_ns, lane))
    lane, ts_ns = lane[order], ts_ns[order]
    end_ns = ts_ns + np.maximum(dur_ns[order], 1)
    depth = np.zeros(len(order), np.int64)
    bounds = np.append(np.flatnonzero(np.diff(lane, prepend=lane[:1] - 1)), len(lane))
    for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        depth[a:b] = _open_at_start(ts_ns[a:b], end_ns[a:b])
    dtype = COLUMN_DTYPES["depth"]
    depth = np.minimum(depth, np.iinfo(dtype).max).astype(dtype)
    by_depth = np.lexsort((ts_ns, depth, lane))
    return order[by_depth], depth[by_depth]


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
