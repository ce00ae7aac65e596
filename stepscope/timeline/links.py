"""What a slice is connected with: launches and runs, operators, forward and backward."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stepscope.analysis.launches import Links, link
from stepscope.schema import DEVICE_WORK, NONE, RUNTIME_CALLS, Events, Kind
from stepscope.timeline.segment import Segment

#: The most runs that are listed for one operator.
MAX_RUNS = 100

_SEQUENCE = re.compile(r'"Sequence number"\s*:\s*(\d+)')
_FORWARD_THREAD = re.compile(r'"Fwd thread id"\s*:\s*(\d+)')


@dataclass(frozen=True)
class Connection:
    """``type`` is launch, run, forward, backward or operator; ``event`` the slice at the other end.

    ``latency_ns`` is the time from the end of the launch to the start of its run, None for other types.
    """

    type: str
    event: int
    latency_ns: int | None = None


class SegmentLinks:
    """The connections within one segment; indices are made when first asked for."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._events = segment.events

    def of(self, event: int) -> list[Connection]:
        """The connections of one slice."""
        kind = int(self._events.kind[event])
        if kind in DEVICE_WORK:
            return self._of_run(event)
        if kind in RUNTIME_CALLS:
            return self._runs_of([event]) + self._operator_around(event)
        if kind == Kind.OP:
            return (
                self._runs_of(self._calls_inside(event)) + self._across_autograd(event) + self._operator_around(event)
            )
        return []

    def launch_of(self, event: int) -> int | None:
        """The call that started a piece of device work."""
        links = self._links
        at = int(np.searchsorted(links.run, event))
        if at == len(links.run) or links.run[at] != event or links.call_of_run[at] == NONE:
            return None
        return int(links.call[links.call_of_run[at]])

    @cached_property
    def _links(self) -> Links:
        return link(self._events)

    def _of_run(self, event: int) -> list[Connection]:
        call = self.launch_of(event)
        if call is not None:
            return [Connection("launch", call, self._latency_ns(call, event)), *self._operator_around(call)]
        operator = self._operator_by_id.get(int(self._events.external_id[event]))
        return [] if operator is None else [Connection("operator", operator)]

    def _runs_of(self, calls: list[int]) -> list[Connection]:
        links = self._links
        positions = np.flatnonzero(np.isin(links.call, np.array(calls, dtype=np.int64)))
        runs = np.flatnonzero(np.isin(links.call_of_run, positions))
        pairs = [(int(links.run[r]), int(links.call[links.call_of_run[r]])) for r in runs[:MAX_RUNS].tolist()]
        pairs.sort(key=lambda pair: int(self._events.ts_ns[pair[0]]))
        return [Connection("run", run, self._latency_ns(call, run)) for run, call in pairs]

    def _calls_inside(self, event: int) -> list[int]:
        e = self._events
        calls = self._links.call
        ts = e.ts_ns[calls]
        begin, end = int(e.ts_ns[event]), int(e.ts_ns[event] + e.dur_ns[event])
        inside = (self._segment.lane[calls] == self._segment.lane[event]) & (ts >= begin) & (ts < end)
        return calls[inside].tolist()

    def _operator_around(self, event: int) -> list[Connection]:
        around = (a for a in self._segment.ancestors(event) if self._events.kind[a] == Kind.OP)
        return [Connection("operator", a) for a in around][:1]

    def _latency_ns(self, call: int, run: int) -> int:
        e = self._events
        return int(e.ts_ns[run] - e.ts_ns[call] - e.dur_ns[call])

    @cached_property
    def _operator_by_id(self) -> dict[int, int]:
        """Operators by their external id, the innermost (which comes last) where several share one."""
        rows = np.flatnonzero((self._events.kind == Kind.OP) & (self._events.external_id > 0))
        return dict(zip(self._events.external_id[rows].tolist(), rows.tolist(), strict=True))

    def _across_autograd(self, event: int) -> list[Connection]:
        forward, backward = self._autograd
        number, is_backward = _sequence(self._events, event)
        if number is None:
            return []
        if is_backward:
            return [Connection("forward", forward[number])] if number in forward else []
        created = forward.get(number) == event and number in backward
        return [Connection("backward", backward[number])] if created else []

    @cached_property
    def _autograd(self) -> tuple[dict[int, int], dict[int, int]]:
        """Forward and backward operators by sequence number.

        Operators that make no graph node carry the number of the next one, so of several forward operators
        the one that started last made the node. Of backward operators the outermost counts.
        """
        e = self._events
        forward: dict[int, int] = {}
        backward: dict[int, int] = {}
        rows = np.flatnonzero((e.kind == Kind.OP) & (e.args != NONE))
        for row in rows[np.argsort(e.ts_ns[rows], kind="stable")].tolist():
            number, is_backward = _sequence(e, row)
            if number is None:
                continue
            if is_backward:
                backward.setdefault(number, row)
            else:
                forward[number] = row
        return forward, backward


def _sequence(events: Events, event: int) -> tuple[int | None, bool]:
    """The autograd sequence number of an operator, and whether it runs in the backward pass."""
    index = int(events.args[event])
    if index == NONE:
        return None, False
    text = events.args_values[index]
    number = _SEQUENCE.search(text)
    thread = _FORWARD_THREAD.search(text)
    return (int(number[1]) if number else None), bool(thread and int(thread[1]))
