"""Curves in few points that keep their highest and lowest values."""

from __future__ import annotations

import numpy as np


def extremes(values: np.ndarray, most: int) -> np.ndarray:
    """Positions of at most ``most`` (6 or more) values, rising: the first, the last, and of each stretch of equally
    many values the lowest and the highest."""
    if len(values) <= most:
        return np.arange(len(values))
    stretches = max((most - 2) // 2, 1)
    stretch = np.arange(len(values)) * stretches // len(values)
    begins = np.flatnonzero(np.diff(stretch, prepend=-1))
    lowest = np.flatnonzero(values == np.minimum.reduceat(values, begins)[stretch])
    highest = np.flatnonzero(values == np.maximum.reduceat(values, begins)[stretch])
    first = np.flatnonzero(np.diff(stretch[lowest], prepend=-1))  # of equal values the first, and
    last = np.flatnonzero(np.diff(stretch[highest], append=stretches))  # the last
    return np.unique(np.concatenate((lowest[first], highest[last], [0, len(values) - 1])))
