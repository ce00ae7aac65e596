"""Durations in bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.percentiles import nearest_rank

#: With at least so many durations, a few that are far longer than the others lie above the bins.
_FEWEST = 20
#: Far: so many times the 95th percentile.
_FAR = 4


@dataclass(frozen=True)
class Histogram:
    """Durations in bins of equal width.

    Bin ``i`` holds those from ``edges_ns[i]`` up to, not including, ``edges_ns[i + 1]``; the last one holds its upper
    edge too. ``above`` durations are longer than that: where the longest is at least 4 times the 95th percentile, the
    bins end at twice that percentile, so that one step that compiles does not put all others into one bin.

    Metrics:
        edges_ns: edges of the bins
        count: durations in each bin
        above: durations longer than the last edge
        longest_ns: the longest duration
    """

    edges_ns: list[int]
    count: list[int]
    above: int
    longest_ns: int


def histogram(durations_ns: np.ndarray, bins: int = 30) -> Histogram | None:
    """A histogram of durations, from the shortest on; None without any.

    Edges are whole ns, so there are fewer bins than asked for where the durations span fewer ns.
    """
    if len(durations_ns) == 0:
        return None
    low, longest = int(durations_ns.min()), int(durations_ns.max())
    p95 = nearest_rank(durations_ns, 95)[0]
    is_far = len(durations_ns) >= _FEWEST and p95 > 0 and longest >= _FAR * p95
    high = 2 * p95 if is_far else longest
    edges = [*sorted({low + (high - low) * i // bins for i in range(bins)}), max(high, low + 1)]
    inside = durations_ns[durations_ns <= edges[-1]]
    at = np.minimum(np.searchsorted(edges, inside, "right") - 1, len(edges) - 2)
    count = np.bincount(at, minlength=len(edges) - 1).tolist()
    return Histogram(edges, count, len(durations_ns) - len(inside), longest)
