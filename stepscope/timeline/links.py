"""What a slice is connected with: launches and runs, operators, forward and backward, producers and consumers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stepscope.analysis.autograd import Autograd, link_backward
from stepscope.analysis.handoffs import handoffs
from stepscope.analysis.launches import Links, link
from stepscope.schema import DEVICE_WORK, NONE, RUNTIME_CALLS, Kind
from stepscope.timeline.segment import Segment

#: The most runs that are listed for one operator.
MAX_RUNS = 100


@dataclass(frozen=True)
class Connection:
    """``type`` is launch, run, forward, backward, operator, producer or consumer; ``event`` the slice at the other end.

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
        self.groups: dict[str, tuple[np.ndarray, list[str]]] = {}  # stepscope.timeline.grouping

    def of(self, event: int) -> list[Connection]:
        """The connections of one slice."""
        return self._by_kind(event) + self._across_threads(event)

    def _by_kind(self, event: int) -> list[Connection]:
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
        links = self.launches
        at = int(np.searchsorted(links.run, event))
        if at == len(links.run) or links.run[at] != event or links.call_of_run[at] == NONE:
            return None
        return int(links.call[links.call_of_run[at]])

    @cached_property
    def launches(self) -> Links:
        """Calls of the device runtime and the work that they started."""
        return link(self._events)

    def _of_run(self, event: int) -> list[Connection]:
        call = self.launch_of(event)
        if call is not None:
            return [Connection("launch", call, self._latency_ns(call, event)), *self._operator_around(call)]
        operator = self._operator_by_id.get(int(self._events.external_id[event]))
        return [] if operator is None else [Connection("operator", operator)]

    def _runs_of(self, calls: list[int]) -> list[Connection]:
        links = self.launches
        positions = np.flatnonzero(np.isin(links.call, np.array(calls, dtype=np.int64)))
        runs = np.flatnonzero(np.isin(links.call_of_run, positions))
        pairs = [(int(links.run[r]), int(links.call[links.call_of_run[r]])) for r in runs[:MAX_RUNS].tolist()]
        pairs.sort(key=lambda pair: int(self._events.ts_ns[pair[0]]))
        return [Connection("run", run, self._latency_ns(call, run)) for run, call in pairs]

    def _calls_inside(self, event: int) -> list[int]:
        e = self._events
        calls = self.launches.call
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
        """Backward nodes of a forward operator, or the forward operator of the node that a slice lies in."""
        autograd = self.autograd
        nodes = autograd.node[autograd.forward == event]
        if len(nodes):
            order = np.argsort(self._events.ts_ns[nodes], kind="stable")
            return [Connection("backward", node) for node in nodes[order][:MAX_RUNS].tolist()]
        for slice_ in (event, *self._segment.ancestors(event)):
            at = np.flatnonzero(autograd.node == slice_)
            if len(at):
                forward = int(autograd.forward[at[0]])
                return [] if forward == NONE else [Connection("forward", forward)]
        return []

    def _across_threads(self, event: int) -> list[Connection]:
        producer, consumer = self.handoffs
        mine = np.searchsorted(consumer, event)
        found = []
        if mine < len(consumer) and consumer[mine] == event:
            found.append(Connection("producer", int(producer[mine])))
        consumers = consumer[np.flatnonzero(producer == event)[:MAX_RUNS]]
        order = np.argsort(self._events.ts_ns[consumers], kind="stable")
        return found + [Connection("consumer", row) for row in consumers[order].tolist()]

    @cached_property
    def handoffs(self) -> tuple[np.ndarray, np.ndarray]:
        """Host work that one thread hands to another: producer and consumer of each pair, by consumer."""
        return handoffs(self._events)

    @cached_property
    def autograd(self) -> Autograd:
        """Backward nodes and their forward operators."""
        return link_backward(self._events)
