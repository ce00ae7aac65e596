"""Level of detail: reduces rows of slices to the rectangles that a screen of some width can show.

A slice of at least one pixel is always a rectangle of its own. Neighbours below one pixel whose starts
lie in one pixel become one rectangle that knows how many they were, how long they took together and
which was the longest. Pixels are multiples of the pixel width, not offsets from the left edge, so that
panning does not regroup what stays in view.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.range_maximum import RangeMaximum, expand

#: Rows with more slices a pixel in view than this are cut by looking up pixel edges, the others slice by slice.
#: On 10M slices 2 to 16 differ by less than the noise, 32 takes up to half as long again.
_CROWDED = 8


@dataclass
class Rectangles:
    """One entry a rectangle, ordered by row, then start. Times in ns.

    ``longest`` is the position of the longest slice in the index's table, of equals the first.
    """

    row: np.ndarray
    start_ns: np.ndarray
    end_ns: np.ndarray
    count: np.ndarray
    busy_ns: np.ndarray
    longest: np.ndarray
    longest_ns: np.ndarray


class RowIndex:
    """A table of slices sorted by row, then start; the slices of one row do not overlap.

    Args:
        ts_ns, dur_ns: int64, shape (n,); an instant (duration 0) takes up one nanosecond.
        bounds: shape (rows + 1,): row ``r`` holds the slices ``bounds[r]`` up to ``bounds[r + 1]``.
    """

    def __init__(self, ts_ns: np.ndarray, dur_ns: np.ndarray, bounds: np.ndarray) -> None:
        self.ts_ns = ts_ns
        self.dur_ns = dur_ns
        self.bounds = bounds
        self._busy_before = np.concatenate((np.zeros(1, np.int64), np.cumsum(dur_ns)))
        self._longest = RangeMaximum(dur_ns)

    @property
    def nbytes(self) -> int:
        """Bytes held besides the two columns that were given."""
        return self._busy_before.nbytes + self._longest.nbytes + self.bounds.nbytes

    def view(self, rows: np.ndarray, t0_ns: int, t1_ns: int, pixel_ns: int) -> Rectangles:
        """What these rows (ascending) show of [t0_ns, t1_ns) at ``pixel_ns`` (>= 1) nanoseconds a pixel."""
        lo, hi = self.in_view(rows, t0_ns, t1_ns)
        used = hi > lo
        rows, lo, hi = rows[used], lo[used], hi[used]
        edges = np.arange(t0_ns // pixel_ns, -(-t1_ns // pixel_ns)) * pixel_ns
        crowded = hi - lo > _CROWDED * len(edges)
        cuts = [self._cut_by_slice(lo[~crowded], hi[~crowded], pixel_ns)]
        cuts += [
            self._cut_by_edges(a, b, edges, pixel_ns)
            for a, b in zip(lo[crowded].tolist(), hi[crowded].tolist(), strict=True)
        ]
        first = np.sort(np.concatenate(cuts), kind="stable")  # merges what is sorted already
        at = np.searchsorted(lo, first, "right") - 1  # rows follow one another in the table
        last = np.minimum(np.append(first[1:], len(self.ts_ns)), hi[at])
        longest = self._longest.positions(first, last)
        return Rectangles(
            row=rows[at],
            start_ns=self.ts_ns[first],
            end_ns=self.ts_ns[last - 1] + self.dur_ns[last - 1],
            count=last - first,
            busy_ns=self._busy_before[last] - self._busy_before[first],
            longest=longest,
            longest_ns=self.dur_ns[longest],
        )

    def in_view(self, rows: np.ndarray, t0_ns: int, t1_ns: int) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the first and past the last slice of each row that meets [t0_ns, t1_ns)."""
        begin, end = self.bounds[rows], self.bounds[rows + 1]
        lo = self._first_from(begin, end, t0_ns)
        hi = self._first_from(lo, end, t1_ns)
        if len(self.ts_ns):
            before = np.maximum(lo - 1, 0)
            reaches_in = self.ts_ns[before] + np.maximum(self.dur_ns[before], 1) > t0_ns
            lo = np.where((lo > begin) & reaches_in, before, lo)
        return lo, hi

    def _first_from(self, lo: np.ndarray, hi: np.ndarray, t_ns: int) -> np.ndarray:
        """Position of the first slice in each [lo, hi) that starts at ``t_ns`` or later, of all rows at once."""
        lo, hi = lo.copy(), hi.copy()
        while len(rows := np.flatnonzero(lo < hi)):
            middle = (lo[rows] + hi[rows]) // 2
            before = self.ts_ns[middle] < t_ns
            lo[rows[before]] = middle[before] + 1
            hi[rows[~before]] = middle[~before]
        return lo

    def _cut_by_slice(self, lo: np.ndarray, hi: np.ndarray, pixel_ns: int) -> np.ndarray:
        """Where rectangles begin in the ranges [lo, hi), by a look at every slice."""
        at, begins = expand(lo, hi)
        pixel = self.ts_ns[at] // pixel_ns
        wide = self.dur_ns[at] >= pixel_ns
        cut = np.ones(len(at), bool)
        cut[1:] = (pixel[1:] != pixel[:-1]) | wide[1:] | wide[:-1]
        cut[begins] = True
        return at[cut]

    def _cut_by_edges(self, lo: int, hi: int, edges: np.ndarray, pixel_ns: int) -> np.ndarray:
        """The same for one range, by looking up the pixel edges and the wide slices only."""
        cuts = lo + np.searchsorted(self.ts_ns[lo:hi], edges)
        wide = self._longest.at_least(pixel_ns, lo, hi)
        cuts = np.sort(np.concatenate(([lo], cuts, wide, wide + 1)), kind="stable")
        keep = (cuts >= lo) & (cuts < hi)
        keep[1:] &= cuts[1:] != cuts[:-1]
        return cuts[keep]
