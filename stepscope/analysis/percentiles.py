"""Percentiles as values that occurred."""

from __future__ import annotations

import numpy as np


def nearest_rank(values: np.ndarray, *percents: int) -> list[int]:
    """The p-th percentile is the smallest value that at least p % of all values do not exceed.

    Nearest rank, so each answer is one of the (integer, non-empty) ``values`` and none is interpolated.
    """
    at = [max(-(-percent * len(values) // 100), 1) - 1 for percent in percents]  # ceil in integers: no float edge
    there = np.partition(values, sorted(set(at)))  # a tenth of the time of sorting them all
    return [int(there[i]) for i in at]


def weighted(values: np.ndarray, weights: np.ndarray, *percents: int) -> list[float]:
    """Nearest rank where each value counts as much as its weight (weights >= 0, some > 0)."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    at = np.searchsorted(reached, np.array(percents) / 100 * reached[-1] * (1 - 1e-12), "left")
    return [float(v) for v in values[order][np.minimum(at, len(values) - 1)]]
