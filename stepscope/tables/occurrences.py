"""What a row of a table stands for: the occurrences in order of time, which are typical, and how long they take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.histogram import Histogram, histogram
from stepscope.tables.frame import Frame, Occurrences

_BINS = 40


@dataclass(frozen=True, eq=False)
class Details:
    """The occurrences of a row by start. ``rows`` are rows of the timeline.

    ``median`` and ``slowest`` are positions in them, None without any.
    """

    rows: np.ndarray
    start_ns: np.ndarray
    dur_ns: np.ndarray
    median: int | None
    slowest: int | None
    histogram: Histogram | None


def row_of(frame: Frame, id: int, occurrences: Occurrences) -> int | None:
    """The row with an id; of a grouped table also the one that holds this occurrence."""
    at = np.flatnonzero(frame.id == id)
    if len(at):
        return int(at[0])
    if frame.of is None or frame.parent is not None:
        return None
    at = frame.of[occurrences.rows == id]
    return int(at[0]) if len(at) else None


def details(frame: Frame, row: int, occurrences: Occurrences) -> Details:
    """The occurrences of one row."""
    at = frame.occurrences_of(row)
    at = at[np.lexsort((occurrences.rows[at], occurrences.ts_ns[at]))]
    dur = occurrences.dur_ns[at]
    by_length = np.argsort(dur, kind="stable")
    return Details(
        rows=occurrences.rows[at],
        start_ns=occurrences.ts_ns[at],
        dur_ns=dur,
        median=int(by_length[(len(at) - 1) // 2]) if len(at) else None,
        slowest=int(np.argmax(dur)) if len(at) else None,
        histogram=histogram(dur, _BINS),
    )
