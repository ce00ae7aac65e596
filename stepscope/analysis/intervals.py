"""Sets of moments as sorted, disjoint intervals: the arithmetic under every breakdown.

A set is an int64 array of shape (n, 2): half-open intervals [start, end) in ns, each of positive length,
sorted, no two of them touching. Every function returns such sets and expects them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

EMPTY = np.empty((0, 2), np.int64)


def union(start_ns: np.ndarray, end_ns: np.ndarray) -> np.ndarray:
    """The set that intervals in any order, overlapping or not, cover together. Empty intervals cover nothing."""
    real = end_ns > start_ns
    if not real.all():
        start_ns, end_ns = start_ns[real], end_ns[real]
    if len(start_ns) == 0:
        return EMPTY
    if np.any(start_ns[1:] < start_ns[:-1]):
        order = np.argsort(start_ns, kind="stable")
        start_ns, end_ns = start_ns[order], end_ns[order]
    starts = start_ns
    reach = np.maximum.accumulate(end_ns)
    first = np.flatnonzero(starts[1:] > reach[:-1]) + 1
    return np.column_stack((starts[np.append(0, first)], reach[np.append(first - 1, len(reach) - 1)]))


def unite(sets: Iterable[np.ndarray]) -> np.ndarray:
    """The union of sets."""
    both = np.concatenate([EMPTY, *sets])
    return union(both[:, 0], both[:, 1])


def intersect(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """What both sets cover."""
    return _where(a, b, 3)


def subtract(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """What ``a`` covers and ``b`` does not."""
    return _where(a, b, 1)


def length(a: np.ndarray) -> int:
    """Covered time in ns."""
    return int((a[:, 1] - a[:, 0]).sum())


def length_within(a: np.ndarray, start_ns: np.ndarray, end_ns: np.ndarray) -> np.ndarray:
    """Covered time inside each window [start, end), shape (windows,). Windows may overlap."""
    return _covered_before(a, end_ns) - _covered_before(a, start_ns)


def exclusive(sets: Iterable[np.ndarray]) -> list[np.ndarray]:
    """Each set without what the ones before it cover: disjoint sets with the same union."""
    out: list[np.ndarray] = []
    taken = EMPTY
    for a in sets:
        taken = unite((taken, out[-1])) if out else taken
        out.append(subtract(a, taken))
    return out


def _where(a: np.ndarray, b: np.ndarray, state: int) -> np.ndarray:
    """Moments at which (inside a) + 2 * (inside b) equals ``state``."""
    if len(a) == 0 or len(b) == 0:
        return a if state == 1 else EMPTY
    times = np.concatenate((a.ravel(), b.ravel()))
    change = np.concatenate((np.tile((1, -1), len(a)), np.tile((2, -2), len(b))))
    order = np.argsort(times, kind="stable")
    times = times[order]
    now = np.cumsum(change[order])[:-1] == state
    return union(times[:-1][now], times[1:][now])


def _covered_before(a: np.ndarray, at_ns: np.ndarray) -> np.ndarray:
    if len(a) == 0:
        return np.zeros(len(at_ns), np.int64)
    before = np.concatenate(([0], np.cumsum(a[:, 1] - a[:, 0])))
    last = np.maximum(np.searchsorted(a[:, 0], at_ns, "right") - 1, 0)
    return before[last] + np.clip(at_ns - a[last, 0], 0, a[last, 1] - a[last, 0])
