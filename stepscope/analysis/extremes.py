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
    by_value = np.lexsort((values, stretch))
    first = np.flatnonzero(np.diff(stretch[by_value], prepend=-1))
    last = np.append(first[1:], len(values)) - 1
    return np.unique(np.concatenate((by_value[first], by_value[last], [0, len(values) - 1])))
