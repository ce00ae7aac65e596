"""Orders and codes of integer columns, faster than by comparing: most keys are few or lie close together."""

from __future__ import annotations

import numpy as np

_FEW = 1 << 16


def stable_order(keys: np.ndarray) -> np.ndarray:
    """``np.argsort(keys, kind="stable")``. Keys of 16 bits numpy counts, in a fifth of the time."""
    if len(keys) and keys.dtype.itemsize > 2 and keys.min() >= 0 and keys.max() < _FEW:
        keys = keys.astype(np.uint16)
    return np.argsort(keys, kind="stable")


def coded(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values, ascending, and for each value its place among them.

    ``np.unique(values, return_inverse=True)``, which sorts; values that lie close together are counted.
    """
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, -1)
    if high - low >= 4 * len(values) + _FEW:
        keys, code = np.unique(values, return_inverse=True)
        return keys, code.reshape(-1)
    shifted = values.astype(np.int64) - low
    present = np.zeros(high - low + 1, bool)
    present[shifted] = True
    return (np.flatnonzero(present) + low).astype(values.dtype), (np.cumsum(present) - 1)[shifted]


def by_first(first: np.ndarray, *others: np.ndarray) -> np.ndarray:
    """The order by the first key, by the other ones (the second first) where it is equal, and then as they lie.

    For a first key that is nearly in order already and seldom equal: this takes a tenth of the time of ``np.lexsort``.
    """
    order = np.argsort(first, kind="stable")
    ties = tied(first[order])
    rows = order[ties]
    order[ties] = rows[np.lexsort((*(key[rows] for key in reversed(others)), first[rows]))]
    return order


def tied(ordered: np.ndarray) -> np.ndarray:
    """The places in a sorted column whose value a neighbour has too."""
    same = np.zeros(len(ordered) + 1, bool)
    same[1:-1] = ordered[1:] == ordered[:-1]
    return np.flatnonzero(same[1:] | same[:-1])
