"""From two readings of growing counters to a rate. Pure functions; None is "not known", never 0."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

Owner = TypeVar("Owner", bound=Hashable)


def rate(before: Mapping[Owner, float], after: Mapping[Owner, float], dur_s: float) -> float | None:
    """Growth per second of all counters together.

    Only counters in both readings count: a new one (an interface that came up, a process that started) counts
    from its second reading on, since what it did before is unknown.

    Args:
        before, after: counter value by its owner (interface, disk, process).
        dur_s: seconds between the readings.

    Returns:
        Units a second; None if there is no common counter, no time passed, or a counter went backwards (it was
        reset, so what happened in between is unknown).
    """
    common = before.keys() & after.keys()
    if not common or dur_s <= 0:
        return None
    total = 0.0
    for owner in common:
        grown = after[owner] - before[owner]
        if grown < 0:
            return None
        total += grown
    return total / dur_s


@dataclass(frozen=True)
class CpuTimes:
    """Seconds that a core has spent so far. ``total`` is all of its time; ``iowait`` is None where unknown."""

    total: float
    idle: float
    iowait: float | None

    def __add__(self, other: CpuTimes) -> CpuTimes:
        iowait = None if self.iowait is None or other.iowait is None else self.iowait + other.iowait
        return CpuTimes(self.total + other.total, self.idle + other.idle, iowait)


@dataclass(frozen=True)
class CpuShares:
    """Shares 0..1 of the time between two readings."""

    busy: float
    iowait: float | None


def cpu_shares(before: CpuTimes, after: CpuTimes) -> CpuShares | None:
    """busy = 1 - (idle + iowait) / total, from the growth of each; None if a counter stood still or went back.

    Waiting for I/O is idle time: the core could have worked.
    """
    total = after.total - before.total
    idle = after.idle - before.idle
    waited = None if before.iowait is None or after.iowait is None else after.iowait - before.iowait
    # Linux lets iowait of an idle core fall back (Documentation/filesystems/proc.rst).
    if total <= 0 or idle < 0 or (waited is not None and waited < 0):
        return None
    busy = (total - idle - (waited or 0.0)) / total
    return CpuShares(min(1.0, max(0.0, busy)), None if waited is None else min(1.0, waited / total))
