"""A measure of all steps of all workers as a map of bounded width: stretches of steps instead of steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.ranks import Measures
from stepscope.schema import NONE


@dataclass(frozen=True, eq=False)
class RankMap:
    """Equally long stretches of consecutive steps, each a column; arrays have one entry a column.

    Attributes:
        first, last: positions of the first and the last step of each stretch among all steps.
        mean, min, max: over all steps and workers that measured them; NaN and ``NONE`` where there are none.
        slowest: the worker that was the slowest in most of these steps (the first of several), ``NONE`` without any.
        cells: shape (workers, columns), the mean over the worker's steps, NaN where it measured none.
    """

    first: np.ndarray
    last: np.ndarray
    mean: np.ndarray
    min: np.ndarray
    max: np.ndarray
    slowest: np.ndarray
    cells: np.ndarray


def rank_map(found: Measures, measure: str, offset: int, limit: int, columns: int) -> RankMap:
    """The map of ``limit`` steps from ``offset`` on, in at most so many columns.

    Args:
        found: the steps of the workers.
        measure: one of ``found.names``.
        offset, limit: which steps.
        columns: the most columns; there are fewer where there are fewer steps.
    """
    at, values = found.alignment, found.values(measure)
    begin, end = min(offset, len(at.id)), min(offset + limit, len(at.id))
    steps, width = end - begin, min(columns, end - begin)
    stretch = np.arange(steps) * width // max(steps, 1)  # of each shown step
    own = np.flatnonzero((values != NONE) & (at.column >= begin) & (at.column < end))
    column, value, worker = stretch[at.column[own] - begin], values[own], at.worker[own]
    count = np.bincount(column, minlength=width)
    low, high = np.full(width, np.iinfo(np.int64).max), np.full(width, NONE, np.int64)
    np.minimum.at(low, column, value)
    np.maximum.at(high, column, value)
    cell = worker * width + column
    in_cell = np.bincount(cell, minlength=at.workers * width)
    first = np.flatnonzero(np.diff(stretch, prepend=-1))
    return RankMap(
        first=begin + first,
        last=begin + np.append(first[1:], steps)[: len(first)] - 1,
        mean=_ratio(np.bincount(column, value, width), count),
        min=np.where(count > 0, low, NONE),
        max=high,
        slowest=_most_often(found.spread(measure).slowest[begin:end], stretch, at.workers, width),
        cells=_ratio(np.bincount(cell, value, at.workers * width), in_cell).reshape(at.workers, width),
    )


def part_means(found: Measures, shown: RankMap) -> dict[str, np.ndarray]:
    """Of each part of the step (``activity.<class>``, ``phase.<phase>``) the mean over all workers and steps of each
    column of a map, NaN where none measured it."""
    at = found.alignment
    edges = np.append(shown.first, shown.last[-1:] + 1)
    column = np.searchsorted(edges, at.column, "right") - 1
    inside = (column >= 0) & (column < len(shown.first))
    out = {}
    for part in found.names:
        if "." in part:
            values = found.values(part)
            own = inside & (values != NONE)
            total = np.bincount(column[own], values[own], len(shown.first))
            out[part] = _ratio(total, np.bincount(column[own], minlength=len(shown.first)))
    return out


def _most_often(slowest: np.ndarray, stretch: np.ndarray, workers: int, width: int) -> np.ndarray:
    known = slowest != NONE
    wins = np.bincount(stretch[known] * workers + slowest[known], minlength=width * workers).reshape(width, workers)
    return np.where(wins.any(axis=1), wins.argmax(axis=1), NONE)


def _ratio(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    return np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)
