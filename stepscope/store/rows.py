"""Sorts events and gives each slice of a lane its row, so that no slice hides another."""

from __future__ import annotations

import itertools
from collections.abc import Collection

import numpy as np

from stepscope.schema import COLUMN_DTYPES, Events

#: Rows of a queue that are looked through for room; with more slices open at once the next takes one below all.
_SEARCHED_ROWS = 64


def layout_rows(events: Events) -> Events:
    """Sort in place by lane, depth, start and fill ``depth``: the number of slices of the lane open at the start.

    For slices that nest properly that is their nesting level. Where slices overlap without nesting (two
    kernels recorded on one stream) it can put two open slices on one row; such lanes are laid out again
    with a row kept until its slice ends. Instants take up one nanosecond.
    """
    queues = [i for i, lane in enumerate(events.lanes) if lane.type != "thread"]
    order, events.depth = row_order(events.lane, events.ts_ns, events.dur_ns, queues)
    for column in COLUMN_DTYPES:  # one by one, so that the whole table is not there twice
        if column != "depth":
            setattr(events, column, getattr(events, column)[order])
    return events


def row_order(
    lane: np.ndarray, ts_ns: np.ndarray, dur_ns: np.ndarray, queues: Collection[int] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """The order (n,) that sorts slices by lane, depth, start, and the depth of each in that order.

    Args:
        queues: the lanes whose slices have no callers: where they overlap, rows are used again as soon as they are
            free. On other lanes a slice stays next to the one that it was called in.
    """
    order = np.argsort(_narrow(lane), kind="stable")
    lanes = lane[order]
    bounds = np.append(np.flatnonzero(np.diff(lanes, prepend=lanes[:1] - 1)), len(lane)).tolist()
    depth: np.ndarray = np.empty(len(order), COLUMN_DTYPES["depth"])
    for a, b in itertools.pairwise(bounds):
        rows = _by_start(order[a:b], ts_ns, dur_ns)
        ts = ts_ns[rows]
        end = ts + np.maximum(dur_ns[rows], 1)
        open_slices = _open_at_start(ts, end)
        by_row = np.argsort(open_slices, kind="stable")
        if _overlap(open_slices[by_row], ts[by_row], end[by_row]):
            open_slices = _first_free(ts, end) if lanes[a] in queues else _below_all_open(ts, end)
            by_row = np.argsort(open_slices, kind="stable")
        order[a:b] = rows[by_row]
        depth[a:b] = open_slices[by_row]
    return order, depth


def _narrow(lane: np.ndarray) -> np.ndarray:
    """The same numbers in 16 bits if they fit: those numpy sorts without comparisons, five times as fast."""
    fits = len(lane) and lane.min() >= 0 and lane.max() <= np.iinfo(np.uint16).max
    return lane.astype(np.uint16) if fits else lane


def _by_start(rows: np.ndarray, ts_ns: np.ndarray, dur_ns: np.ndarray) -> np.ndarray:
    """The rows of one lane by start, of one start the longest first. Most come sorted by start or nearly so."""
    ts = ts_ns[rows]
    if np.any(ts[1:] < ts[:-1]):
        by_ts = np.argsort(ts, kind="stable")
        rows, ts = rows[by_ts], ts[by_ts]
    same = np.zeros(len(ts) + 1, bool)
    same[1:-1] = ts[1:] == ts[:-1]
    ties = np.flatnonzero(same[1:] | same[:-1])
    if len(ties):
        tied = rows[ties]
        rows[ties] = tied[np.lexsort((-dur_ns[tied], ts[ties]))]
    return rows


def _open_at_start(ts: np.ndarray, end: np.ndarray) -> np.ndarray:
    """How many slices of the lane are open where each begins; the slices sorted by (ts, -dur)."""
    if not np.any(ts[1:] < end[:-1]):  # one after the other, as on most streams
        return np.zeros(len(ts), COLUMN_DTYPES["depth"])
    return _as_depth(np.arange(len(ts)) - np.searchsorted(np.sort(end, kind="stable"), ts, "right"))


def _overlap(depth: np.ndarray, ts: np.ndarray, end: np.ndarray) -> bool:
    """Whether slices sorted by (depth, ts) hide others of their row."""
    return bool(np.any((depth[1:] == depth[:-1]) & (ts[1:] < end[:-1])))


def _below_all_open(ts: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The first row below every open slice; a loop, but only over lanes with partial overlaps."""
    free_at: list[int] = []
    depth = np.zeros(len(ts), np.int64)
    for i, (start, stop) in enumerate(zip(ts.tolist(), end.tolist(), strict=True)):
        while free_at and free_at[-1] <= start:
            free_at.pop()
        depth[i] = len(free_at)
        free_at.append(stop)
    return _as_depth(depth)


def _first_free(ts: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The first free row below every slice around; below all open slices a chain in which each one overlaps the next,
    as kernels do that start before the one ahead of them ends, would go down by a row a slice."""
    free_at: list[int] = []
    depth = np.zeros(len(ts), np.int64)
    for i, (start, stop) in enumerate(zip(ts.tolist(), end.tolist(), strict=True)):
        while free_at and free_at[-1] <= start:
            free_at.pop()
        row = len(free_at)
        if row <= _SEARCHED_ROWS:
            place = row  # below the innermost slice that is open for as long
            while place and free_at[place - 1] < stop:
                place -= 1
            while place < row and free_at[place] > start:
                place += 1
            row = place
        depth[i] = row
        free_at[row : row + 1] = [stop]
    return _as_depth(depth)


def _as_depth(rows: np.ndarray) -> np.ndarray:
    dtype = COLUMN_DTYPES["depth"]
    return np.minimum(rows, np.iinfo(dtype).max).astype(dtype)
