"""Which slice encloses which, on every lane at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stepscope.analysis.groups import apart
from stepscope.analysis.order import by_first, stable_order, tied
from stepscope.schema import NONE, Events

#: Starts and durations are rounded to the source's own unit, which is never coarser than this.
COARSEST_UNIT_NS = 1000


@dataclass(frozen=True, eq=False)
class Nest:
    """Slices ordered by lane, start, longest first; all arrays have one entry a slice in that order.

    ``rows`` are rows of the event table. ``parent`` is the position of the innermost slice of the same
    lane that encloses the start, or ``NONE``. ``stop`` is the position after the last slice that starts
    before this one ends, so that ``position + 1 .. stop`` are what lies below it. ``inside_ns`` is how
    much of the slice lies inside its parent: all of it unless the two overlap without nesting. A parent's
    ``depth`` is always smaller than that of its children.
    """

    rows: np.ndarray
    parent: np.ndarray
    stop: np.ndarray
    inside_ns: np.ndarray
    depth: np.ndarray

    @property
    def outermost(self) -> np.ndarray:
        """Mask of the slices that lie in no other."""
        return self.parent == NONE

    def self_ns(self, events: Events) -> np.ndarray:
        """Duration of each slice without what its children cover, at least 0."""
        own = events.dur_ns[self.rows]
        nested = ~self.outermost
        np.subtract.at(own, self.parent[nested], self.inside_ns[nested])
        return np.maximum(own, 0)  # children that overlap one another would take a moment twice

    def overlapping(self, events: Events) -> int:
        """How many slices reach beyond the one that they begin in, by more than the source's clock rounds."""
        if len(self.rows) == 0:
            return 0
        unit = rounding_ns(events.ts_ns[self.rows])
        return int(np.count_nonzero(events.dur_ns[self.rows] - self.inside_ns > unit))

    def sum_inside(self, values: np.ndarray) -> np.ndarray:
        """For each slice the sum of ``values`` (one a slice) over itself and all below it."""
        before = np.concatenate((np.zeros(1, values.dtype), np.cumsum(values)))
        return before[self.stop] - before[:-1]


def rounding_ns(starts_ns: np.ndarray) -> int:
    """What the source's clock rounds to, as far as starts tell; there is at least one."""
    return min(int(np.gcd.reduce(starts_ns - starts_ns.min())) or COARSEST_UNIT_NS, COARSEST_UNIT_NS)


def nest(events: Events, rows: np.ndarray) -> Nest:
    """The nesting of these rows among themselves. Slices of length 0 nest as if they took 1 ns."""
    ts, dur = events.ts_ns[rows], events.dur_ns[rows]
    start, end = apart(events.lane[rows], ts, ts + np.maximum(dur, 1))
    order = outer_first(events, rows, start, end)
    rows, start, end = rows[order], start[order], end[order]
    n = len(rows)
    position = np.arange(n)
    depth = position - np.searchsorted(np.sort(end, kind="stable"), start, "right")
    # The parent is the last earlier slice one level up. Where that is not the one right before, one search in
    # (depth, position) order finds it.
    parent = np.full(n, NONE, np.int64)
    nested = depth > 0
    deeper = np.flatnonzero(depth[1:] == depth[:-1] + 1)
    parent[deeper + 1] = deeper
    later = np.flatnonzero(nested & (parent == NONE))
    by_depth = stable_order(depth)
    found = np.searchsorted(depth[by_depth] * n + by_depth, (depth[later] - 1) * n + later, "right") - 1
    parent[later] = by_depth[np.maximum(found, 0)]
    parent[nested & (end[parent] <= start)] = NONE  # overlaps without nesting on this lane
    nested = parent != NONE
    inside = events.dur_ns[rows].copy()
    parent_end = events.ends_ns(rows[parent[nested]])
    inside[nested] = np.minimum(inside[nested], np.maximum(parent_end - events.ts_ns[rows[nested]], 0))
    stop = position + 1
    above = np.flatnonzero(start[1:] < end[:-1])  # slices with something below them
    stop[above] = np.searchsorted(start, end[above], "left")
    return Nest(rows, parent, stop, inside, depth)


def outer_first(events: Events, rows: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The order of slices in which an outer one precedes those inside it: by start, the longest first.

    Of slices with the same span the one that was laid out first, entered first, or has the first name is the
    outer one, in whatever order rows and names come.
    """
    keys = (start, -end, events.depth[rows], events.external_id[rows])
    order = by_first(*keys)
    ties = order[tied(start[order])]
    if any_equal(ties, keys[::-1]):
        text = np.array(events.names, dtype=object)
        rank = np.unique(text, return_inverse=True)[1].reshape(-1)
        order = by_first(*keys, rank[events.name[rows]])
    return order


def any_equal(order: np.ndarray, keys: tuple[np.ndarray, ...]) -> bool:
    """Whether neighbours in this order agree in all keys."""
    same = np.ones(max(len(order) - 1, 0), bool)
    for key in reversed(keys):
        at = order[:-1][same], order[1:][same]
        same[same] = key[at[0]] == key[at[1]]
    return bool(same.any())


@dataclass(frozen=True, eq=False)
class Paths:
    """Chains of enclosing slices by what the slices are called, each distinct chain once.

    ``of`` holds the path of each slice of the nest. ``parent`` (``NONE`` at the top) and ``label`` have one
    entry a path; a parent comes before its children.
    """

    of: np.ndarray
    parent: np.ndarray
    label: np.ndarray

    def __len__(self) -> int:
        return len(self.label)


def paths(tree: Nest, label: np.ndarray) -> Paths:
    """The paths of slices that are called ``label`` (integers >= 0, one a slice)."""
    of = np.full(len(tree.rows), NONE, np.int64)
    level = np.zeros(len(tree.rows), np.int64)
    for slices in _by_value(tree.depth):
        above = tree.parent[slices]
        level[slices] = np.where(above != NONE, level[above] + 1, 0)
    parents: list[np.ndarray] = []
    labels: list[np.ndarray] = []
    count = 0
    width = int(label.max()) + 1 if len(label) else 1
    for slices in _by_value(level):
        above = tree.parent[slices]
        above = np.where(above != NONE, of[above], NONE)
        distinct, code = np.unique((above + 1) * width + label[slices], return_inverse=True)
        of[slices] = code + count
        parents.append(distinct // width - 1)
        labels.append(distinct % width)
        count += len(distinct)
    none = np.empty(0, np.int64)
    return Paths(of, np.concatenate([none, *parents]), np.concatenate([none, *labels]))


def _by_value(values: np.ndarray) -> Iterator[np.ndarray]:
    """Positions of equal values together, in rising order of the value."""
    order = np.argsort(values, kind="stable")
    borders = np.flatnonzero(np.diff(values[order], prepend=-1, append=-1))
    for a, b in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
        yield order[a:b]
