"""Which slice encloses which, on every lane at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.groups import apart
from stepscope.schema import NONE, Events


@dataclass(frozen=True, eq=False)
class Nest:
    """Slices ordered by lane, start, longest first; all arrays have one entry a slice in that order.

    ``rows`` are rows of the event table. ``parent`` is the position of the innermost slice of the same
    lane that encloses the start, or ``NONE``. ``stop`` is the position after the last slice that starts
    before this one ends, so that ``position + 1 .. stop`` are what lies below it. ``inside_ns`` is how
    much of the slice lies inside its parent: all of it unless the two overlap without nesting.
    """

    rows: np.ndarray
    parent: np.ndarray
    stop: np.ndarray
    inside_ns: np.ndarray


def nest(events: Events, rows: np.ndarray) -> Nest:
    """The nesting of these rows among themselves. Slices of length 0 nest as if they took 1 ns."""
    ts, dur = events.ts_ns[rows], events.dur_ns[rows]
    start, end = apart(events.lane[rows], ts, ts + np.maximum(dur, 1))
    # Equal intervals: the one that was laid out, entered or named first is the outer one, in whatever order rows come.
    order = np.lexsort((events.name[rows], events.external_id[rows], events.depth[rows], -dur, start))
    rows, start, end = rows[order], start[order], end[order]
    n = len(rows)
    position = np.arange(n)
    depth = position - np.searchsorted(np.sort(end), start, "right")
    # The parent is the last earlier slice one level up: one search in (depth, position) order.
    by_depth = np.argsort(depth, kind="stable")
    keys = depth[by_depth] * n + by_depth
    found = np.searchsorted(keys, (depth - 1) * n + position, "right") - 1
    parent = np.full(n, NONE, np.int64)
    nested = depth > 0
    parent[nested] = by_depth[np.maximum(found[nested], 0)]
    parent[nested & (end[parent] <= start)] = NONE  # overlaps without nesting on this lane
    nested = parent != NONE
    inside = events.dur_ns[rows].copy()
    parent_end = events.end_ns[rows[parent[nested]]]
    inside[nested] = np.minimum(inside[nested], np.maximum(parent_end - events.ts_ns[rows[nested]], 0))
    return Nest(rows, parent, np.searchsorted(start, end, "left"), inside)
