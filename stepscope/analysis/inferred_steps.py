"""Steps where no framework marked any: from the user's own numbered regions, else from what repeats in a loop.

Numbered regions are markers like any other: a region called "step 3", "step_3", "step#3", "step:3", "## step 3 ##",
"iteration 3" or "train step 3" (in any case; nothing else in the name). They count only if their numbers rise from
each to the next on their thread, since "step 1", "step 2" may be parts of something that repeats.

What repeats, on the thread where it occurs most:

1. Batches and updates: a step begins where a batch is fetched (the DataLoader's ``__next__``) for the first time
   after an optimizer ran. So gradient accumulation makes one step of several batches.
2. Without a DataLoader, updates: a step ends where an optimizer's step ends (``Optimizer.step#...``).
3. Without an optimizer, batches: a step begins where a batch is fetched.

A rule must find two steps in a window. What lies between two borders is a complete step. Where the capture begins
or ends inside a step, that step is kept as an incomplete one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from stepscope.analysis.capture import Capture
from stepscope.analysis.select import host_rows
from stepscope.schema import NONE, RUNTIME_CALLS, Events, Kind

CUSTOM_STEP = re.compile(
    r"(?:#+\s*)?(?:train(?:ing)?[ _\-])?(?:step|iteration)\s?[ _#:\-]?\s?(?P<number>\d{1,18})(?:\s*#+)?", re.IGNORECASE
)
OPTIMIZER_STEP = re.compile(r"Optimizer\.step#")
FETCH = re.compile(r"enumerate\(DataLoader\)#")

LOADER_AND_OPTIMIZER = "the first fetch of a batch after an optimizer step begins a step"
OPTIMIZER = "the end of an optimizer step ends a step"
LOADER = "the fetch of a batch begins a step"


@dataclass(frozen=True, eq=False)
class Inferred:
    """Steps of a capture by ``rule``; arrays have one entry a step."""

    rule: str
    start_ns: np.ndarray
    end_ns: np.ndarray
    lane: np.ndarray
    window: np.ndarray
    complete: np.ndarray

    def __len__(self) -> int:
        return len(self.start_ns)


def custom_steps(events: Events) -> tuple[np.ndarray, np.ndarray]:
    """Rows of host annotations that are numbered steps, and their numbers."""
    number_of = np.full(len(events.names) + 1, NONE, np.int64)
    for i, name in enumerate(events.names):
        if found := CUSTOM_STEP.fullmatch(name):
            number_of[i] = int(found["number"])
    rows = host_rows(events, Kind.ANNOTATION)
    rows = rows[number_of[events.name[rows]] != NONE]
    number = number_of[events.name[rows]]
    order = np.lexsort((number, events.ts_ns[rows], events.lane[rows]))
    rows, number, lane = rows[order], number[order], events.lane[rows[order]]
    falls = (np.diff(number) <= 0) & (np.diff(lane) == 0)
    good = ~np.isin(lane, lane[1:][falls])
    return rows[good], number[good]


def inferred_steps(capture: Capture) -> Inferred | None:
    """Steps by the first of the rules above that finds two borders; None if none does."""
    events = capture.events
    updates = _named(events, OPTIMIZER_STEP, Kind.OP, Kind.ANNOTATION)
    fetches = _named(events, FETCH, Kind.DATALOADER)
    for rule, find in (
        (LOADER_AND_OPTIMIZER, _by_fetch_and_update),
        (OPTIMIZER, _by_update),
        (LOADER, _by_fetch),
    ):
        lane = _busiest_lane(events, fetches if rule == LOADER else updates)
        if lane is None:
            continue
        steps: list[_Spans] = []
        repeats = False
        for window in range(len(capture)):
            spans = find(_loop(capture, window, lane, updates, fetches))
            repeats |= len(spans) > 1
            steps.append(spans)
        if repeats:
            joined = np.concatenate(steps)
            window_of = np.repeat(np.arange(len(steps)), [len(s) for s in steps])
            start, end, complete = joined.T
            return Inferred(rule, start, end, np.full(len(joined), lane), window_of, complete.astype(bool))
    return None


#: Start, end, and whether it is complete; one row a step.
_Spans = np.ndarray
_NO_SPANS = np.empty((0, 3), np.int64)


@dataclass(frozen=True, eq=False)
class _Loop:
    """One thread in one window: starts and ends of updates and fetches, and of whatever works there."""

    update_start: np.ndarray
    update_end: np.ndarray
    fetch_start: np.ndarray
    op_start: np.ndarray
    begin_ns: int
    end_ns: int


def _loop(capture: Capture, window: int, lane: int, updates: np.ndarray, fetches: np.ndarray) -> _Loop:
    events = capture.events
    low, high = capture.bounds[window : window + 2].tolist()

    def here(rows: np.ndarray) -> np.ndarray:
        rows = rows[(rows >= low) & (rows < high) & (events.lane[rows] == lane)]
        rows = rows[np.lexsort((-events.dur_ns[rows], events.ts_ns[rows]))]
        return rows[_outer(events.ts_ns[rows], events.ends_ns(rows))]

    update, fetch = here(updates), here(fetches)
    work = np.flatnonzero(events.of_kind(Kind.OP, Kind.DATALOADER, *RUNTIME_CALLS)[low:high]) + low
    work = np.concatenate((work[events.lane[work] == lane], update))
    ops = work[events.kind[work] == Kind.OP]
    return _Loop(
        update_start=events.ts_ns[update],
        update_end=events.ends_ns(update),
        fetch_start=events.ts_ns[fetch],
        op_start=np.sort(events.ts_ns[ops]),
        begin_ns=int(events.ts_ns[work].min()) if len(work) else 0,
        end_ns=int(events.ends_ns(work).max()) if len(work) else 0,
    )


def _by_fetch_and_update(loop: _Loop) -> _Spans:
    """The first step is complete only if as many batches go into it as into the next one."""
    if len(loop.fetch_start) == 0 or len(loop.update_end) == 0:
        return _NO_SPANS
    updates_before = np.searchsorted(loop.update_start, loop.fetch_start, "right")
    first = np.flatnonzero(np.diff(updates_before, prepend=-1))
    batches = np.diff(np.append(first, len(loop.fetch_start)))
    complete = np.ones(len(first), np.int64)
    complete[-1] = 0
    complete[0] &= updates_before[0] > 0 or (len(first) > 2 and batches[0] == batches[1])
    start = loop.fetch_start[first]
    return np.column_stack((start, np.append(start[1:], max(loop.end_ns, int(start[-1]))), complete))


def _by_update(loop: _Loop) -> _Spans:
    """Updates without an operator between them belong to one step."""
    if len(loop.update_end) == 0:
        return _NO_SPANS
    ops_before = np.searchsorted(loop.op_start, loop.update_start, "left")
    ops_after = np.searchsorted(loop.op_start, loop.update_end, "left")
    last = np.append(ops_before[1:] > ops_after[:-1], True)
    end = loop.update_end[last]
    complete = np.ones(len(end), np.int64)
    complete[0] = 0
    return np.column_stack((np.append(min(loop.begin_ns, int(end[0])), end[:-1]), end, complete))


def _by_fetch(loop: _Loop) -> _Spans:
    if len(loop.fetch_start) == 0:
        return _NO_SPANS
    start = loop.fetch_start
    complete = np.ones(len(start), np.int64)
    complete[-1] = 0
    return np.column_stack((start, np.append(start[1:], max(loop.end_ns, int(start[-1]))), complete))


def _named(events: Events, pattern: re.Pattern[str], *kinds: Kind) -> np.ndarray:
    """Host rows of these kinds whose name begins like the pattern."""
    wanted = np.array([pattern.match(name) is not None for name in events.names], bool)
    rows = host_rows(events, *kinds)
    return rows[wanted[events.name[rows]]]


def _busiest_lane(events: Events, rows: np.ndarray) -> int | None:
    """The lane with the most of these rows."""
    lanes, count = np.unique(events.lane[rows], return_counts=True)
    if len(lanes) == 0:
        return None
    most = lanes[count == count.max()].tolist()
    return min(most, key=lambda lane: (events.lanes[lane].pid, events.lanes[lane].tid))


def _outer(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Mask of the intervals (sorted by start, longest first) that lie inside no earlier one."""
    reach = np.maximum.accumulate(end)
    outer = np.ones(len(end), bool)
    outer[1:] = end[1:] > reach[:-1]
    return outer
