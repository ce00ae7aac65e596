"""What a row of a table stands for: the occurrences in order of time, which are typical, and how long they take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.annotations import Distribution, distribution
from stepscope.tables.frame import Frame, Occurrences

#: The longest may take this many times the median before bins grow with the durations.
_WIDE = 20
_BINS = 40


@dataclass(frozen=True, eq=False)
class Details:
    """The occurrences of a row by start. ``rows`` are rows of the timeline.

    ``median`` and ``slowest`` are positions in them, None without any. ``is_logarithmic`` tells that the bins of the
    histogram grow by the same factor instead of being equally wide.
    """

    rows: np.ndarray
    start_ns: np.ndarray
    dur_ns: np.ndarray
    median: int | None
    slowest: int | None
    histogram: Distribution | None
    is_logarithmic: bool


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
    histogram, is_logarithmic = histogram_of(dur)
    return Details(
        rows=occurrences.rows[at],
        start_ns=occurrences.ts_ns[at],
        dur_ns=dur,
        median=int(by_length[(len(at) - 1) // 2]) if len(at) else None,
        slowest=int(np.argmax(dur)) if len(at) else None,
        histogram=histogram,
        is_logarithmic=is_logarithmic,
    )


def histogram_of(dur_ns: np.ndarray) -> tuple[Distribution | None, bool]:
    """Durations in bins, and whether these grow: where a few are far longer than most, equal ones show nothing."""
    if len(dur_ns) == 0 or dur_ns.max() <= _WIDE * max(float(np.median(dur_ns)), 1.0):
        return distribution(dur_ns, _BINS), False
    low, high = max(int(dur_ns.min()), 1), int(dur_ns.max())
    edges = sorted({int(dur_ns.min()), *np.geomspace(low, high, _BINS).astype(np.int64).tolist(), high})
    at = np.minimum(np.searchsorted(edges, dur_ns, "right") - 1, len(edges) - 2)
    return Distribution(edges, np.bincount(at, minlength=len(edges) - 1).tolist()), True
