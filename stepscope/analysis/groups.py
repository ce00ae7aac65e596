"""Sums, extremes and counts of integer values by key, and times of many lanes in one sorted array."""

from __future__ import annotations

import numpy as np

from stepscope.analysis.order import coded, stable_order


class Groups:
    """Rows grouped by an integer key.

    ``keys`` holds the distinct keys in rising order; every other answer has one entry a key.
    """

    def __init__(self, keys: np.ndarray) -> None:
        self._order = stable_order(keys)
        ordered = keys[self._order]
        new = np.ones(len(ordered), bool)
        new[1:] = ordered[1:] != ordered[:-1]
        self._starts = np.flatnonzero(new)
        self.keys = ordered[self._starts]
        self.count = np.diff(np.append(self._starts, len(keys)))

    def __len__(self) -> int:
        return len(self.keys)

    def sum(self, values: np.ndarray) -> np.ndarray:
        return self._reduce(np.add, values)

    def min(self, values: np.ndarray) -> np.ndarray:
        return self._reduce(np.minimum, values)

    def max(self, values: np.ndarray) -> np.ndarray:
        return self._reduce(np.maximum, values)

    def any(self, mask: np.ndarray) -> np.ndarray:
        """Whether any row of each group is in ``mask``."""
        return self._reduce(np.maximum, mask.astype(np.int64)) > 0

    @property
    def of(self) -> np.ndarray:
        """The group of each row: its position in ``keys``."""
        out = np.empty(len(self._order), np.int64)
        out[self._order] = np.repeat(np.arange(len(self)), self.count)
        return out

    def nearest_rank(self, values: np.ndarray, *percents: int) -> list[np.ndarray]:
        """The percentiles of each group, as ``percentiles.nearest_rank`` defines them."""
        order = np.argsort(values)
        ordered = values[order[stable_order(self.of[order])]]
        return [ordered[self._starts + np.maximum(-(-p * self.count // 100), 1) - 1] for p in percents]

    def values(self, index: int, values: np.ndarray) -> np.ndarray:
        """The values of one group, in their order."""
        start = self._starts[index]
        return values[self._order[start : start + self.count[index]]]

    def _reduce(self, function: np.ufunc, values: np.ndarray) -> np.ndarray:
        if len(self.keys) == 0:
            return values[:0]
        return function.reduceat(values[self._order], self._starts)


def apart(group: np.ndarray, start_ns: np.ndarray, end_ns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Move the times of each group (a lane, a stream) into a stretch of their own.

    Order and distances inside a group stay; every group begins at least 2 ns after all ends of the ones
    before. One sort or one running maximum then serves all groups. Where the stretches would not fit
    in 62 bits (a stray time far off), times become ranks, and only their order stays.
    """
    if len(start_ns) == 0:
        return start_ns, end_ns
    code = coded(group)[1]
    low, high = int(start_ns.min()), int(max(end_ns.max(), start_ns.max()))
    stretch = high - low + 3
    if (int(code.max()) + 1) * stretch >= 1 << 62:
        ranks = np.unique(np.concatenate((start_ns, end_ns)), return_inverse=True)[1].reshape(-1) * 2
        start_ns, end_ns = ranks[: len(start_ns)], ranks[len(start_ns) :]
        low, stretch = 0, int(ranks.max()) + 3
    shift = code * stretch - low
    return start_ns + shift, end_ns + shift
