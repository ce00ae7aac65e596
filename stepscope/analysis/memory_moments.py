"""Memory of one allocator at a moment, in an interval, and after each step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stepscope.analysis.allocations import Allocator
from stepscope.analysis.extremes import extremes
from stepscope.analysis.memory import Share, shares
from stepscope.analysis.modules import Owners
from stepscope.schema import NONE, Events

#: What allocations can be listed by.
BY = ("operator", "module", "size")
#: Fewer steps tell no trend.
FEWEST_STEPS = 3


@dataclass(frozen=True, eq=False)
class Course:
    """Levels of an allocator over one window, from its begin to its end; one entry an instant.

    ``reserved`` is ``NONE`` where the source does not tell it.
    """

    window: int
    ts_ns: np.ndarray
    allocated: np.ndarray
    reserved: np.ndarray

    def at(self, ns: int) -> int:
        """Position of the instant that holds at a moment of the window."""
        return max(int(np.searchsorted(self.ts_ns, ns, "right")) - 1, 0)


@dataclass(frozen=True)
class Alive:
    """What was alive at a moment, in bytes.

    Metrics:
        level_bytes: allocated in all, as the curve shows it
        reserved_bytes: taken from the device by the allocator; null where the source does not tell it
        earlier_bytes: allocated before the window began, or their records are lost; with the rows they sum to the level
        count: allocations of the window that are alive
        rows: those by operator, module or size, the largest sum first; the last one of 50 stands for the rest
    """

    level_bytes: int
    reserved_bytes: int | None
    earlier_bytes: int
    count: int
    rows: list[Share]


@dataclass(frozen=True)
class Growth:
    """Memory after each step of the deep windows: whether it grows from step to step, as a leak does.

    Metrics:
        changes: pairs of steps that follow one another in a window
        rises: pairs in which more was allocated after the later step
        per_step_bytes: median change from a step to the next, null without pairs
        is_steady: every change is a rise, and there are at least 3 steps: a leak is likely. Caches that fill, and
            the optimizer's state in its first step, look the same
    """

    changes: int
    rises: int
    per_step_bytes: int | None
    is_steady: bool


@dataclass(frozen=True, eq=False)
class StepLevels:
    """One entry a step that lies in a window: its number, end, what is allocated then, and the most within it."""

    number: np.ndarray
    end_ns: np.ndarray
    allocated: np.ndarray
    peak: np.ndarray
    window: np.ndarray


def courses(allocator: Allocator, extent_ns: np.ndarray) -> list[Course]:
    """The levels of each window with records; the instant of the highest level of all shows the peak within it."""
    highs = [int(levels.high.max()) for levels in allocator.levels]
    top = int(np.argmax(highs))
    found = []
    for i, (window, levels) in enumerate(zip(allocator.windows.tolist(), allocator.levels, strict=True)):
        begin, end = extent_ns[window].tolist()
        level = levels.level.copy()
        if i == top:
            level[np.argmax(levels.high)] = highs[i]
        after = int(levels.level[-1])
        known = levels.reserved[levels.reserved > 0]
        reserved = _carried(levels.reserved, int(known[0]) if len(known) else NONE)
        found.append(
            Course(
                window,
                np.concatenate(([begin], levels.ts_ns, [max(end, int(levels.ts_ns[-1]))])),
                np.concatenate(([levels.start], level, [after])),
                np.concatenate((reserved[:1], reserved, reserved[-1:])),
            )
        )
    return found


def in_interval(course: Course, t0_ns: int, t1_ns: int, most: int) -> np.ndarray:
    """Positions of at most ``most`` instants that show the curve in [t0_ns, t1_ns]: lowest and highest levels stay."""
    first = course.at(t0_ns)
    last = min(int(np.searchsorted(course.ts_ns, t1_ns, "right")) + 1, len(course.ts_ns))
    inside = slice(first, last)
    keep = [extremes(course.allocated[inside], max(most // 2, 6))]
    if (course.reserved[inside] != NONE).any():
        keep.append(extremes(course.reserved[inside], max(most // 2, 6)))
    return first + np.unique(np.concatenate(keep))


def alive_at(
    allocator: Allocator, course: Course, events: Events, owners: Owners | None, at_ns: int, by: str
) -> Alive | None:
    """What was alive at a moment of a window; None where there are no addresses to match frees by."""
    if not allocator.has_addresses:
        return None
    at = course.at(at_ns)
    level, reserved = int(course.allocated[at]), int(course.reserved[at])
    records = allocator.records.take(allocator.alive(course.window, at_ns))
    return Alive(
        level_bytes=level,
        reserved_bytes=None if reserved == NONE else reserved,
        earlier_bytes=level - int(records.bytes.sum()),
        count=len(records.bytes),
        rows=shares(*_keys(records, events, owners, by)),
    )


def step_levels(found: list[Course], steps: tuple[np.ndarray, np.ndarray, np.ndarray]) -> StepLevels:
    """Levels after the steps (number, start, end) that lie in windows."""
    rows = []
    for course in found:
        begin, end = int(course.ts_ns[0]), int(course.ts_ns[-1])
        for number, start, stop in zip(*(column.tolist() for column in steps), strict=True):
            if begin <= start and stop <= end:
                first, last = course.at(start), course.at(stop)
                most = int(course.allocated[first : last + 1].max())
                rows.append((number, stop, int(course.allocated[last]), most, course.window))
    rows.sort(key=lambda row: row[1])
    columns = np.array(rows, np.int64).reshape(-1, 5).T
    return StepLevels(*columns)


def growth(levels: StepLevels) -> Growth:
    """The trend of the levels after each step."""
    change = np.diff(levels.allocated)[np.diff(levels.window) == 0]
    rises = int((change > 0).sum())
    return Growth(
        changes=len(change),
        rises=rises,
        per_step_bytes=int(np.median(change)) if len(change) else None,
        is_steady=len(change) >= FEWEST_STEPS - 1 and rises == len(change),
    )


def outliving(
    allocator: Allocator, levels: StepLevels, events: Events, owners: Owners | None, by: str, least_steps: int
) -> tuple[int, int, list[Share]] | None:
    """Allocations of the windows that were alive at the ends of at least ``least_steps`` steps: count, bytes, and who
    made them. None where there are no addresses to match frees by."""
    if not allocator.has_addresses:
        return None
    records, freed = allocator.records, allocator.freed_ns
    survived = np.zeros(len(freed), np.int64)
    for window in np.unique(levels.window).tolist():
        ends = np.sort(levels.end_ns[levels.window == window])
        mine = np.flatnonzero((records.window == window) & (records.bytes > 0))
        until = np.where(freed[mine] == NONE, np.iinfo(np.int64).max, freed[mine])
        survived[mine] = np.searchsorted(ends, until) - np.searchsorted(ends, records.ts_ns[mine])
    kept = records.take(survived >= least_steps)
    return len(kept.bytes), int(kept.bytes.sum()), shares(*_keys(kept, events, owners, by))


def _keys(records: Any, events: Events, owners: Owners | None, by: str) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """Who, size and names, as ``shares`` takes them."""
    if by == "size":
        sizes, code = np.unique(records.bytes, return_inverse=True)
        return code.reshape(-1), records.bytes, sizes.tolist()
    if by == "module":
        return records.module, records.bytes, [] if owners is None else [owners.path(i) for i in range(len(owners))]
    return records.operator, records.bytes, events.names


def _carried(values: np.ndarray, first: int) -> np.ndarray:
    """Each value that is not known (``NONE``) becomes the one before it."""
    known = np.maximum.accumulate(np.where(values > 0, np.arange(len(values)), -1))
    return np.where(known >= 0, values[np.maximum(known, 0)], first)
