"""A measure of all steps of all workers as a map of bounded width: stretches of steps instead of steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.ranks import Measures, mean_of
from stepscope.schema import NONE


@dataclass(frozen=True, eq=False)
class RankMap:
    """Equally many consecutive steps each column, of those that some worker measured; arrays have one entry a column.

    Attributes:
        count: steps that some worker measured.
        first, last: positions of the first and the last step of each column among all steps.
        mean, min, max: over the column's steps and the workers that measured them.
        slowest: the worker that was the slowest in most of these steps (the first of several), ``NONE`` without any.
        cells: shape (workers, columns), the mean over the worker's steps, NaN where it measured none.
        column_of: the column of every step of the run, ``NONE`` where it is in none.
    """

    count: int
    first: np.ndarray
    last: np.ndarray
    mean: np.ndarray
    min: np.ndarray
    max: np.ndarray
    slowest: np.ndarray
    cells: np.ndarray
    column_of: np.ndarray


def rank_map(found: Measures, measure: str, offset: int, limit: int, columns: int) -> RankMap:
    """The map of ``limit`` measured steps from ``offset`` on, in at most so many columns.

    Args:
        found: the steps of the workers.
        measure: one of ``found.names``.
        offset, limit: which of the measured steps.
        columns: the most columns; there are fewer where there are fewer steps.
    """
    at, values = found.alignment, found.values(measure)
    spread = found.spread(measure)
    measured = np.flatnonzero(spread.workers)
    steps = measured[offset : offset + limit]
    width = min(columns, len(steps))
    stretch = np.arange(len(steps)) * width // max(len(steps), 1)
    column_of = np.full(len(at.id), NONE, np.int64)
    column_of[steps] = stretch
    begins = np.flatnonzero(np.diff(stretch, prepend=-1))
    ends = np.append(begins[1:], len(steps))[: len(begins)] - 1
    count, total = spread.workers[steps], spread.mean[steps] * spread.workers[steps]
    own = np.flatnonzero((values != NONE) & (column_of[at.column] != NONE))
    cell = at.worker[own] * width + column_of[at.column[own]]
    return RankMap(
        count=len(measured),
        first=steps[begins],
        last=steps[ends],
        mean=mean_of(np.bincount(stretch, total, width), np.bincount(stretch, count, width)),
        min=np.minimum.reduceat(spread.min[steps], begins) if width else steps,
        max=np.maximum.reduceat(spread.max[steps], begins) if width else steps,
        slowest=_most_often(spread.slowest[steps], stretch, at.workers, width),
        cells=mean_of(
            np.bincount(cell, values[own], at.workers * width), np.bincount(cell, minlength=at.workers * width)
        ).reshape(at.workers, width),
        column_of=column_of,
    )


def part_means(found: Measures, shown: RankMap) -> dict[str, np.ndarray]:
    """Of each part of the step (``activity.<class>``, ``phase.<phase>``) the mean over all workers and steps of each
    column of a map, NaN where none measured it."""
    column, width = shown.column_of[found.alignment.column], len(shown.first)
    out = {}
    for part in found.names:
        if "." in part:
            values = found.values(part)
            own = (column != NONE) & (values != NONE)
            out[part] = mean_of(np.bincount(column[own], values[own], width), np.bincount(column[own], minlength=width))
    return out


def _most_often(slowest: np.ndarray, stretch: np.ndarray, workers: int, width: int) -> np.ndarray:
    known = slowest != NONE
    wins = np.bincount(stretch[known] * workers + slowest[known], minlength=width * workers).reshape(width, workers)
    return np.where(wins.any(axis=1), wins.argmax(axis=1), NONE)
