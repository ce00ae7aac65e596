"""The largest value of any range of a column, from a constant number of look-ups."""

from __future__ import annotations

import numpy as np

_BLOCK = 16
#: Blocks worked on at once while building, so that they stay in the processor's cache.
_CHUNK = 4096


class RangeMaximum:
    """Cuts a column into blocks and remembers, for each position, where the largest value lies between it and either
    end of its block. A range is then the end of one block, whole blocks, and the begin of another; the whole blocks
    are a range of the column of the blocks' maxima, which is asked in the same way.

    Args:
        values: int64 >= 0, shape (n,); it is kept, not copied.
    """

    def __init__(self, values: np.ndarray) -> None:
        self.values = values
        blocks = -(-len(values) // _BLOCK)
        self._block_max = np.empty(blocks, np.int64)
        # Offsets within the block of the first maximum from its begin up to a position, and from there to its end.
        self._since_begin = np.empty((blocks, _BLOCK), np.uint8)
        self._until_end = np.empty((blocks, _BLOCK), np.uint8)
        for at in range(0, blocks, _CHUNK):
            part = values[at * _BLOCK : (at + _CHUNK) * _BLOCK]
            padded = np.full(-(-len(part) // _BLOCK) * _BLOCK, -1, np.int64)
            padded[: len(part)] = part
            columns = np.ascontiguousarray(padded.reshape(-1, _BLOCK).T)
            here = slice(at, at + columns.shape[1])
            self._block_max[here] = columns.max(axis=0)
            self._since_begin[here] = _latest_record(columns, np.greater).T
            self._until_end[here] = _BLOCK - 1 - _latest_record(columns[::-1], np.greater_equal)[::-1].T
        self._of_blocks = RangeMaximum(self._block_max) if blocks > _BLOCK else None

    @property
    def nbytes(self) -> int:
        """Bytes held besides the column that was given."""
        own = self._block_max.nbytes + self._since_begin.nbytes + self._until_end.nbytes
        return own + (0 if self._of_blocks is None else self._of_blocks.nbytes)

    def positions(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Position of the largest value of each non-empty range [first, last), the first of equals."""
        found = first.copy()
        first_block, last_block = first // _BLOCK, (last - 1) // _BLOCK
        within = np.flatnonzero((first_block == last_block) & (last - first > 1))
        found[within] = _by_looking(self.values, first[within], last[within])
        across = np.flatnonzero(first_block < last_block)
        if len(across):
            head, tail = first_block[across], last_block[across]
            at = first[across]
            best = head * _BLOCK + self._until_end.ravel()[at]
            between = np.flatnonzero(tail - head > 1)
            if len(between):
                block = self._largest_blocks(head[between] + 1, tail[between])
                best[between] = self._larger(best[between], block * _BLOCK + self._since_begin[block, -1])
            found[across] = self._larger(best, tail * _BLOCK + self._since_begin.ravel()[last[across] - 1])
        return found

    def at_least(self, limit: int, first: int, last: int) -> np.ndarray:
        """Positions of the values >= ``limit`` in [first, last)."""
        block, end = first // _BLOCK, -(-last // _BLOCK)
        blocks = block + np.flatnonzero(self._block_max[block:end] >= limit)
        near = (blocks[:, None] * _BLOCK + np.arange(_BLOCK)).ravel()
        near = near[(near >= first) & (near < last)]
        return near[self.values[near] >= limit]

    def _largest_blocks(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        if self._of_blocks is None:
            return _by_looking(self._block_max, first, last)
        return self._of_blocks.positions(first, last)

    def _larger(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.where(self.values[right] > self.values[left], right, left)


def _latest_record(columns: np.ndarray, beats: np.ufunc) -> np.ndarray:
    """For each entry the line, at or above its own, of the last value of its column that beats all above it.

    Line by line, which takes a quarter of the time of ``accumulate`` along the first axis.
    """
    record = np.zeros(columns.shape, np.uint8)
    best = columns[0].copy()
    for line in range(1, len(columns)):
        beaten = beats(columns[line], best)
        np.copyto(record[line], record[line - 1])
        np.copyto(record[line], line, where=beaten)
        np.maximum(best, columns[line], out=best)
    return record


def _by_looking(values: np.ndarray, first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The same by a look at every value, for few or short ranges."""
    if len(first) == 0:
        return first
    at, begins = expand(first, last)
    found = values[at]
    largest = np.repeat(np.maximum.reduceat(found, begins), last - first)
    hits = np.flatnonzero(found == largest)
    return at[hits[np.searchsorted(hits, begins)]]


def expand(first: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The integers of the non-empty ranges [first, last) in one array, and where each range begins in it."""
    count = last - first
    begins = np.cumsum(count) - count
    return np.arange(int(count.sum())) + np.repeat(first - begins, count), begins
