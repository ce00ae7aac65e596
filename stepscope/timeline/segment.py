"""Slices sorted into rows: those of one deep window, or of the always-on stream."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from stepscope.analysis import intervals
from stepscope.lod import RowIndex
from stepscope.schema import COLUMN_DTYPES, NONE, Events, Kind
from stepscope.store.rows import row_order


class Rows:
    """Slices sorted into rows, ready to be drawn and picked.

    Row numbers of the timeline are ``base`` plus the position in ``events``. ``name`` maps the names of
    ``events`` to those of the timeline.

    Args:
        events: the slices, perhaps among others.
        order: their places in ``events`` by lane, depth and start; None: all, as they lie.
        lane: lane id of each in that order.
        depth: in that order.
    """

    def __init__(
        self, events: Events, order: np.ndarray | None, lane: np.ndarray, depth: np.ndarray, name: np.ndarray, base: int
    ) -> None:
        self.events = events
        self.base = base
        self.name = name
        self._order = order
        begins = np.flatnonzero(_changes(lane) | _changes(depth))
        self.index = RowIndex(self._sorted(events.ts_ns), self._sorted(events.dur_ns), np.append(begins, len(lane)))
        self.row_lane = lane[begins]
        self.row_depth = depth[begins]
        firsts = np.flatnonzero(_changes(self.row_lane))
        lasts = np.append(firsts[1:], len(begins))[: len(firsts)]
        self.rows_of = dict(
            zip(self.row_lane[firsts].tolist(), zip(firsts.tolist(), lasts.tolist(), strict=True), strict=True)
        )
        ts_ns = self.index.ts_ns
        self.begin_ns = int(ts_ns.min()) if len(ts_ns) else 0
        self.end_ns = int((ts_ns + self.index.dur_ns).max()) if len(ts_ns) else 0

    def at(self, positions: np.ndarray) -> np.ndarray:
        """Positions in ``events`` of positions in the index."""
        return positions if self._order is None else self._order[positions]

    @property
    def nbytes(self) -> int:
        """Bytes held besides the events."""
        own = 0 if self._order is None else self._order.nbytes + self.index.ts_ns.nbytes + self.index.dur_ns.nbytes
        return own + self.index.nbytes

    @cached_property
    def lane_sizes(self) -> dict[int, tuple[int, int, int]]:
        """For each lane: rows, events, and the time in ns that its slices cover."""
        sizes = {}
        for lane, (first, last) in self.rows_of.items():
            low, high = self.index.bounds[first], self.index.bounds[last]
            start = self.index.ts_ns[low:high]
            covered = intervals.union(start, start + self.index.dur_ns[low:high])
            sizes[lane] = (int(self.row_depth[last - 1]) + 1, int(high - low), intervals.length(covered))
        return sizes

    @cached_property
    def operator_depths(self) -> dict[int, np.ndarray]:
        """For each lane with Python frames: at each depth the time in ns of operators that lie in no other one."""
        kinds = self._sorted(self.events.kind)
        depths = {}
        for lane, (first, last) in self.rows_of.items():
            of_lane = kinds[self.index.bounds[first] : self.index.bounds[last]]
            if not (of_lane == Kind.PYTHON).any() or not (of_lane == Kind.OP).any():
                continue
            time_ns = np.zeros(int(self.row_depth[last - 1]) + 1, np.int64)
            outer = np.empty(0, np.int64)  # those of the rows above, by start
            for row in range(first, last):
                low = self.index.bounds[row]
                here = low + np.flatnonzero(kinds[low : self.index.bounds[row + 1]] == Kind.OP)
                here = here[~self._inside(here, outer)]
                time_ns[self.row_depth[row]] = self.index.dur_ns[here].sum()
                outer = np.concatenate([outer, here])
                outer = outer[np.argsort(self.index.ts_ns[outer], kind="stable")]
            depths[lane] = time_ns
        return depths

    def _inside(self, slices: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Mask of the slices that begin while one of the others, sorted by start and without overlaps, runs."""
        if len(others) == 0:
            return np.zeros(len(slices), bool)
        start = self.index.ts_ns[others]
        before = np.searchsorted(start, self.index.ts_ns[slices], "right") - 1
        return (before >= 0) & (self.index.ts_ns[slices] < (start + self.index.dur_ns[others])[before])

    def _sorted(self, column: np.ndarray) -> np.ndarray:
        return column if self._order is None else column[self._order]


class Segment(Rows):
    """The slices of a source on the lanes where they belong.

    Args:
        events: in any order; what the store wrote is taken as it lies.
        lane: lane id of each event, shape (n,).
        name: shape (len(events.names),).
        base: number of the first row.
    """

    def __init__(self, events: Events, lane: np.ndarray, name: np.ndarray, base: int) -> None:
        self.lane = lane
        self.depth = events.depth
        order = None
        if not _in_rows(lane, events.depth, events.ts_ns, events.dur_ns):
            order, depth = row_order(lane, events.ts_ns, events.dur_ns, _queues(events, lane))
            self.depth = np.empty(len(events), COLUMN_DTYPES["depth"])
            self.depth[order] = depth
        in_order = slice(None) if order is None else order
        super().__init__(events, order, lane[in_order], self.depth[in_order], name, base)

    @cached_property
    def nbytes(self) -> int:
        """Bytes of the arrays; the texts are counted as their Python objects, roughly."""
        arrays = [getattr(self.events, c) for c in COLUMN_DTYPES] + [self.lane, self.depth]
        texts = sum(100 + len(t) for t in self.events.args_values) + 100 * len(self.events.names)
        return sum(a.nbytes for a in arrays) + super().nbytes + texts

    # -- one slice -----------------------------------------------------------------------------------

    def children(self, event: int) -> np.ndarray:
        """The direct children of a slice: those of the next row that lie within it."""
        start, end = int(self.events.ts_ns[event]), int(self.events.ts_ns[event] + self.events.dur_ns[event])
        below = self._row(int(self.lane[event]), int(self.depth[event]) + 1)
        if below == NONE or end <= start:
            return np.empty(0, np.int64)
        return self._within(below, start, end)

    def within(self, lane: int, depth: int, start_ns: int, end_ns: int) -> np.ndarray:
        """The slices of one row that lie within [start_ns, end_ns]."""
        row = self._row(lane, depth)
        return np.empty(0, np.int64) if row == NONE else self._within(row, start_ns, end_ns)

    def ancestors(self, event: int) -> list[int]:
        """The slices around a slice on its lane, the innermost first."""
        start, end = int(self.events.ts_ns[event]), int(self.events.ts_ns[event] + self.events.dur_ns[event])
        found = []
        for depth in range(int(self.depth[event]) - 1, -1, -1):
            row = self._row(int(self.lane[event]), depth)
            if row == NONE:
                continue
            lo, hi = self.index.in_view(np.array([row]), start, start + 1)
            if hi[0] > lo[0]:
                around = int(self.at(lo)[0])
                if self.events.ts_ns[around] <= start and end <= self.events.ts_ns[around] + self.events.dur_ns[around]:
                    found.append(around)
        return found

    def _within(self, row: int, start_ns: int, end_ns: int) -> np.ndarray:
        lo, hi = self.index.in_view(np.array([row]), start_ns, end_ns)
        inside = self.at(np.arange(lo[0], hi[0]))
        ts, dur = self.events.ts_ns[inside], self.events.dur_ns[inside]
        return inside[(ts >= start_ns) & (ts + dur <= end_ns)]

    def _row(self, lane: int, depth: int) -> int:
        first, last = self.rows_of.get(lane, (0, 0))
        row = first + int(np.searchsorted(self.row_depth[first:last], depth))
        return row if row < last and self.row_depth[row] == depth else NONE


def kinds_of(values: np.ndarray) -> np.ndarray:
    """The distinct values, ascending, of a column in which most equal ones lie side by side."""
    return np.unique(values[_changes(values)])


def _changes(values: np.ndarray) -> np.ndarray:
    """Mask of the entries that differ from the one before; the first does."""
    out = np.ones(len(values), bool)
    out[1:] = values[1:] != values[:-1]
    return out


def _queues(events: Events, lane: np.ndarray) -> set[int]:
    """The lanes that are no threads."""
    of_queue = np.array([source.type != "thread" for source in events.lanes], dtype=bool)
    return set(np.unique(lane[of_queue[events.lane]]).tolist()) if of_queue.any() else set()


def _in_rows(lane: np.ndarray, depth: np.ndarray, ts_ns: np.ndarray, dur_ns: np.ndarray) -> bool:
    """Whether slices already lie in rows: lane by lane, each by depth from 0 on, then start, without overlaps."""
    new_lane = _changes(lane)
    heads = lane[new_lane]
    if len(np.unique(heads)) != len(heads) or np.any(depth[new_lane] != 0):
        return False
    same_lane = ~new_lane[1:]
    if np.any(same_lane & (depth[1:] < depth[:-1])):
        return False
    same_row = same_lane & (depth[1:] == depth[:-1])
    ends = ts_ns[:-1] + np.maximum(dur_ns[:-1], 1)
    return not np.any(same_row & (ts_ns[1:] < ends))
