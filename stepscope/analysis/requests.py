"""Requests of inference: which regions of a recording stand for one, and the tasks that they put into batches."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stepscope.analysis.arguments import RequestArgs, decode
from stepscope.analysis.batches import Batches, find_batches, input_calls, named
from stepscope.analysis.groups import Groups, apart
from stepscope.analysis.handoffs import region_of
from stepscope.analysis.nesting import outer_first, rounding_ns
from stepscope.analysis.select import host_rows
from stepscope.analysis.steps import SLACK_NS
from stepscope.schema import NONE, REQUEST_NAME, Events, Kind

ANNOTATION, BATCH_TASK = "annotation", "batch task"
#: Calls of model servers by which requests begin, the first that a file has; as xprof takes them. A call of the last
#: line is one only where no training runs: ``tf.compat.v1`` trains with it too.
SERVER_CALLS = (("BatchingSessionRun",), ("TfrtModelRun",), ("ServingModelRun",), ("SessionRun", "RunGraph"))
#: Roots of the user's in XPlane files (importers.xplane_names.USER_ROOT).
_USER_ROOT = -1


@dataclass(frozen=True, eq=False)
class Requests:
    """Requests in order of their start; arrays have one entry a request.

    ``row`` is a row of the always-on stream where ``from_live`` is set, else of the deep windows. ``task`` are
    positions in ``batches.task`` and ``request_of_task`` the request that put each into the queue.
    """

    source: str
    live: Events
    deep: Events
    batches: Batches
    row: np.ndarray
    from_live: np.ndarray
    start_ns: np.ndarray
    end_ns: np.ndarray
    task: np.ndarray
    request_of_task: np.ndarray

    def __len__(self) -> int:
        return len(self.row)

    @property
    def latency_ns(self) -> np.ndarray:
        return self.end_ns - self.start_ns

    @cached_property
    def told(self) -> tuple[list[str], list[str | None], list[str | None]]:
        """What each request is called without its id, the id, and the model."""
        names, ids, models = ([""] * len(self) for _ in range(3))
        for events, mine in ((self.live, self.from_live), (self.deep, ~self.from_live)):
            at = np.flatnonzero(mine)
            args, of = decode(events, self.row[at], RequestArgs)
            for i, name, told in zip(at.tolist(), events.name[self.row[at]].tolist(), of.tolist(), strict=True):
                names[i], ids[i], models[i] = _told(events.names[name], args[told])
        return names, [i or None for i in ids], [m or None for m in models]


def find_requests(live: Events, deep: Events) -> Requests:
    """The requests of a worker; a request is what is told in ``inference.Inference``.

    Args:
        live: the always-on stream, empty for an imported file.
        deep: the deep windows.
    """
    batches = find_batches(deep)
    regions = _annotated(deep)
    always_on = _outermost(live, _annotated(live))
    if len(regions) or len(always_on):
        return _of_regions(ANNOTATION, live, deep, batches, always_on, _outermost(deep, regions))
    for calls in SERVER_CALLS:
        rows = _outermost(deep, _outside_batches(deep, batches, named(deep, calls)))
        if len(rows) and (calls != SERVER_CALLS[-1] or len(host_rows(deep, Kind.STEP)) == 0):
            return _of_regions(calls[0], live, deep, batches, always_on, rows)
    return _of_tasks(live, deep, batches)


def _annotated(events: Events) -> np.ndarray:
    """Regions that are named like requests, or that the user marks as their root."""
    rows = host_rows(events, Kind.ANNOTATION)
    by_name = np.array([REQUEST_NAME.fullmatch(name) is not None for name in events.names], bool)
    marked = [f'"_r":{_USER_ROOT}' in text for text in events.args_values]
    by_root = np.array([*marked, False], bool)  # the last stands for NONE
    return rows[by_name[events.name[rows]] | by_root[events.args[rows]]] if len(rows) else rows


def _outermost(events: Events, rows: np.ndarray) -> np.ndarray:
    """Those that lie in no other of their lane. Requests may overlap without nesting: those of an event loop do."""
    if len(rows) == 0:
        return rows
    ts, end = events.ts_ns[rows], events.end_ns[rows]
    start, end = apart(events.lane[rows], ts, np.maximum(end, ts + 1))
    order = outer_first(events, rows, start, end)
    start, end = start[order], end[order]
    reach = np.concatenate((start[:1], np.maximum.accumulate(end)[:-1]))
    within = (start < reach) & (end <= reach + rounding_ns(ts))
    return rows[order[~within]]


def _outside_batches(events: Events, batches: Batches, rows: np.ndarray) -> np.ndarray:
    """Of calls those that no batch makes."""
    return rows[region_of(events, batches.rows, rows) == NONE] if len(batches) and len(rows) else rows


def _of_regions(
    source: str, live: Events, deep: Events, batches: Batches, always_on: np.ndarray, rows: np.ndarray
) -> Requests:
    always_on = always_on[~_copied(live, always_on, deep, rows)]
    row = np.concatenate((always_on, rows))
    from_live = np.repeat((True, False), (len(always_on), len(rows)))
    start = np.concatenate((live.ts_ns[always_on], deep.ts_ns[rows]))
    end = start + np.concatenate((live.dur_ns[always_on], deep.dur_ns[rows]))
    order = np.lexsort((row, from_live, end, start))
    row, from_live, start, end = (column[order] for column in (row, from_live, start, end))

    owner = region_of(deep, rows, batches.task) if len(batches.task) else batches.task
    task = np.flatnonzero(owner != NONE)
    mine = np.flatnonzero(~from_live)
    by_row = mine[np.argsort(row[mine])]
    request_of_task = by_row[np.searchsorted(row[by_row], owner[task])]
    return Requests(source, live, deep, batches, row, from_live, start, end, task, request_of_task)


def _of_tasks(live: Events, deep: Events, batches: Batches) -> Requests:
    """Each call that put something into the queue of a batch: until the last of its batches is done."""
    calls = Groups(input_calls(deep, batches.task))
    row = calls.keys
    start, end = deep.ts_ns[row], calls.max(deep.end_ns[batches.rows[batches.batch_of_task]])
    order = np.lexsort((row, end, start))
    place = np.empty(len(row), np.int64)
    place[order] = np.arange(len(row))
    return Requests(
        BATCH_TASK,
        live,
        deep,
        batches,
        row[order],
        np.zeros(len(row), bool),
        start[order],
        np.maximum(start, end)[order],
        np.arange(len(batches.task)),
        place[calls.of],
    )


def _copied(live: Events, rows: np.ndarray, deep: Events, windows: np.ndarray) -> np.ndarray:
    """Mask of the always-on regions that a deep window shows too, each as one region of the same name.

    The hook opens the region of the window first and closes it last, so that it encloses the other but for the
    difference of their clocks.
    """
    copied = np.zeros(len(rows), bool)
    by_name: dict[str, deque[int]] = {}
    for i in np.argsort(live.ts_ns[rows], kind="stable").tolist() if len(windows) else ():
        by_name.setdefault(live.text(rows[i]), deque()).append(i)
    start, end = live.ts_ns[rows] + SLACK_NS, live.end_ns[rows] - SLACK_NS
    for row in windows[np.argsort(deep.ts_ns[windows], kind="stable")].tolist():
        low, high = int(deep.ts_ns[row]), int(deep.ts_ns[row] + deep.dur_ns[row])
        waiting = by_name.get(deep.text(row), deque())
        while waiting and start[waiting[0]] < low:
            waiting.popleft()
        for place, i in enumerate(waiting):
            if end[i] <= high:
                copied[i] = True
                del waiting[place]
                break
            if start[i] > high + 2 * SLACK_NS:
                break
    return copied


def _told(name: str, args: RequestArgs) -> tuple[str, str, str]:
    found = REQUEST_NAME.fullmatch(name)
    id = found["id"] if found is not None else None
    if id:
        name = name[: name.rindex(id)].rstrip(" _:#/=-")
    told = args.request_id if args.request_id is not None else args.id if args.root == _USER_ROOT else None
    return name, id or _text(told), _text(args.model_id)


def _text(value: object) -> str:
    return str(value) if isinstance(value, (str, int)) else ""
