"""Curves in few points that keep their highest and lowest values."""

from __future__ import annotations

import numpy as np


def extremes(values: np.ndarray, most: int) -> np.ndarray:
    """Positions of at most ``most`` (6 or more) values, rising: the first, the last, and of each stretch of equally
    many values the lowest and the highest."""
    if len(values) <= most:
        return np.arange(len(values))
    stretches = max((most - 2) // 2, 1)
    ends = -(-np.arange(1, stretches + 1) * len(values) // stretches)
    begins = np.concatenate(([0], ends[:-1]))
    least, greatest = np.minimum.reduceat(values, begins), np.maximum.reduceat(values, begins)
    lowest = np.flatnonzero(values == np.repeat(least, ends - begins))
    highest = np.flatnonzero(values == np.repeat(greatest, ends - begins))
    first = lowest[np.searchsorted(lowest, begins)]  # of equal values the first, and
    last = highest[np.searchsorted(highest, ends) - 1]  # the last
    return np.unique(np.concatenate((first, last, [0, len(values) - 1])))
