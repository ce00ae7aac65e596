"""Steps and phases as two strips above a chart: what a width in pixels shows of them, and which name holds a moment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.lod import RowIndex
from stepscope.schema import Events, Kind


@dataclass(frozen=True, eq=False)
class Strip:
    """One entry a rectangle, by start: ``count`` neighbours narrower than a pixel are one, from the first's start.

    ``first`` and ``last`` are the numbers of its steps (``NONE`` where they have none), ``name`` that of the longest.
    """

    start_ns: np.ndarray
    end_ns: np.ndarray
    count: np.ndarray
    first: np.ndarray
    last: np.ndarray
    name: list[str]


def strip(events: Events, kind: Kind, t0_ns: int, t1_ns: int, px: int) -> Strip:
    """What ``px`` pixels show of the outermost spans of a kind in [t0_ns, t1_ns)."""
    rows = _outermost(events, np.flatnonzero(events.kind == kind))
    index = RowIndex(events.ts_ns[rows], events.dur_ns[rows], np.array([0, len(rows)]))
    shown = index.view(np.array([0]), t0_ns, t1_ns, max(1, -(-(t1_ns - t0_ns) // px)))
    begin = np.searchsorted(index.ts_ns, shown.start_ns)
    last = np.minimum(begin + shown.count, len(rows)) - 1
    step = events.step[rows]
    names = events.name[rows[shown.longest]] if len(rows) else np.empty(0, np.int64)
    return Strip(
        start_ns=shown.start_ns,
        end_ns=shown.end_ns,
        count=shown.count,
        first=step[begin] if len(rows) else begin,
        last=step[last] if len(rows) else begin,
        name=[events.names[i] for i in names.tolist()],
    )


def _outermost(events: Events, rows: np.ndarray) -> np.ndarray:
    """Rows of the thread with the most of them, by start, without those inside others."""
    if len(rows) == 0:
        return rows
    rows = rows[events.lane[rows] == np.bincount(events.lane[rows]).argmax()]
    rows = rows[np.lexsort((-events.dur_ns[rows], events.ts_ns[rows]))]
    end = np.maximum.accumulate(events.ts_ns[rows] + events.dur_ns[rows])
    return rows[np.concatenate(([True], events.ts_ns[rows][1:] >= end[:-1]))]


def has_steps(events: Events) -> bool:
    return bool((events.kind == Kind.STEP).any())
