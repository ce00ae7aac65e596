"""What follows device work in its own and in other streams, and when that could have begun without waiting for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from stepscope.analysis.groups import apart
from stepscope.analysis.launches import Links
from stepscope.analysis.queues import QueueOrder, queue_order
from stepscope.analysis.select import device_of, host_rows
from stepscope.schema import NONE, Events, Kind

LETS_WAIT = re.compile(r"(?:cuda|cu|hip|musa)StreamWaitEvent")
BLOCKS = re.compile(r"(?:cuda|cu|hip|musa)(?:Device|Ctx|Stream|Event)Synchronize")
BLOCKS_ALL = re.compile(r"(?:cuda|cu|hip|musa)(?:Device|Ctx)Synchronize")
NEVER = np.iinfo(np.int64).max
#: What begins this soon after a run may have waited for it; later, something else held it: streams that wait for an
#: event go on within 3 to 9 us of it (A100, V100).
GRACE_NS = 10_000
#: Records that are looked at for one of another queue.
_MOST_BACK = 4


class Followers:
    """The collectives of a window and the work that may wait for them.

    Work could have begun when all before it on its stream had ended and its launch call had returned. Where it began
    later than a collective's end, right behind work of another stream or behind the next collective of that stream,
    it waited for that, and could have begun no sooner than it did.

    ``rows`` are the collectives whose launch is known and is none of a graph, whose inner order no record tells;
    ``calls`` are their launch calls. Both are rows of the event table. Answers have one entry a collective, ``NEVER``
    where nothing follows.
    """

    def __init__(self, events: Events, links: Links, order: QueueOrder | None = None) -> None:
        self.events = events
        work, call = links.run, links.call_of_run
        launched = call != NONE
        launched[launched] = np.bincount(call[launched], minlength=len(links.call))[call[launched]] == 1
        is_collective = events.kind[work] == Kind.COLLECTIVE
        runs = np.flatnonzero(is_collective & launched)
        self.rows = work[runs]
        if len(runs) == 0:
            return
        self.calls = links.call[call[runs]]
        self.launch_ns = events.ts_ns[self.calls]
        self.end_ns = events.ends_ns(self.rows)
        order = order or queue_order(events, work)
        position = order.position[runs]
        self.queue = order.queue[position]
        in_order = np.argsort(position)
        behind = self.queue[in_order[1:]] == self.queue[in_order[:-1]]
        self.next_end_ns = np.full(len(runs), NEVER)  # end of the next collective of its stream
        self.next_end_ns[in_order[:-1][behind]] = self.end_ns[in_order[1:][behind]]
        self.device = device_of(events, self.rows)
        self.stream = events.stream[self.rows]
        follows = np.zeros(len(work), bool)
        follows[order.position] = launched & ~is_collective
        followers = np.flatnonzero(follows)
        #: Of all work that may wait, in the order of the queues: queue, begin, launch, moment when it could begin.
        self._queue, self._start = order.queue[followers], order.start_ns[followers]
        calls = links.call[call[np.searchsorted(work, order.rows[followers])]]
        self._launch, self._returned = events.ts_ns[calls], events.ends_ns(calls)
        self._free = np.where(order.first, np.iinfo(np.int64).min, order.reach_ns)[followers]
        self._row = order.rows[followers]
        self._ended = _JustEnded(order, device_of(events, order.rows))
        self._followers = followers

    def own_next(self) -> np.ndarray:
        """When the next work of its own stream that is no collective was launched."""
        out = np.full(len(self.rows), NEVER)
        for queue, own in self._by_queue():
            mine = np.flatnonzero(self.queue == queue)
            at = np.searchsorted(self._start[own], self.end_ns[mine])
            out[mine] = np.append(self._returned[own], NEVER)[at]
        return out

    def after(self, wait_ns: np.ndarray, only: int | None = None) -> np.ndarray:
        """When the first work could have begun that other streams were given after a wait.

        Args:
            wait_ns: of each run, when a wait for it began; ``NEVER`` without one.
            only: the stream that waits, where it is known.
        """
        out = np.full(len(self.rows), NEVER)
        for queue, own in self._by_queue():
            row = self._row[own[:1]]
            if only is not None and self.events.stream[row[0]] != only:
                continue
            own = own[np.argsort(self._launch[own], kind="stable")]
            from_here = np.minimum.accumulate(self._start[own][::-1])[::-1]
            at = np.maximum(np.searchsorted(self._launch[own], wait_ns), np.searchsorted(from_here, self.end_ns))
            can = np.flatnonzero((at < len(own)) & (self.queue != queue) & (self.device == device_of(self.events, row)))
            found = own[at[can]]
            start = self._start[found]
            waited = start >= self.next_end_ns[can]
            waited[~waited] = self._ended.before(self._followers[found[~waited]])
            later = (start - self.end_ns[can] > GRACE_NS) & waited
            could = np.where(later, start, np.maximum(self._free[found], self._returned[found]))
            out[can] = np.minimum(out[can], could)
        return out

    def after_host(self, pattern: re.Pattern[str]) -> np.ndarray:
        """When the host could have gone on that waited in a call: the begin of the first one that ended behind the
        run, or the end of all that other streams had been given before it, if that came later."""
        calls = sync_calls(self.events, pattern)
        calls = calls[np.argsort(self.events.ts_ns[calls], kind="stable")]
        begun = self.events.ts_ns[calls]
        returned = np.maximum.accumulate(self.events.ends_ns(calls)) if len(calls) else begun
        at = np.maximum(np.searchsorted(begun, self.launch_ns), np.searchsorted(returned, self.end_ns))
        begun, returned = np.append(begun, NEVER)[at], np.append(returned, NEVER)[at]
        in_order = np.argsort(self._launch, kind="stable")
        ended = np.maximum.accumulate(self._end()[in_order]) if len(in_order) else in_order
        given = np.searchsorted(self._launch[in_order], begun)
        others = np.append(np.iinfo(np.int64).min, ended)[given]
        return np.where(returned - self.end_ns <= GRACE_NS, np.maximum(begun, others), returned)

    def _end(self) -> np.ndarray:
        return self._start + self.events.dur_ns[self._row]

    def _by_queue(self) -> Iterator[tuple[int, np.ndarray]]:
        bounds = np.flatnonzero(np.append(True, self._queue[1:] != self._queue[:-1])[: len(self._queue)])
        for begin, end in pairwise([*bounds.tolist(), len(self._queue)]):
            yield int(self._queue[begin]), np.arange(begin, end)


class _JustEnded:
    """Whether work of another queue of its device ended right before a record began.

    Args:
        device: of each record of ``order``.
    """

    def __init__(self, order: QueueOrder, device: np.ndarray) -> None:
        self._order, self._device = order, device
        self._start, end = apart(device, order.start_ns, order.end_ns)
        self._by_end = np.argsort(end, kind="stable")
        self._ends = end[self._by_end]

    def before(self, which: np.ndarray) -> np.ndarray:
        """One answer a position in the order of the queues."""
        order, device = self._order, self._device
        out = np.zeros(len(which), bool)
        last = np.searchsorted(self._ends, self._start[which], "right") - 1
        for back in range(_MOST_BACK):  # those that ended last, as far as they are of the same queue
            at = self._by_end[np.maximum(last - back, 0)]
            near = (last >= back) & (order.end_ns[at] >= order.start_ns[which] - GRACE_NS)
            out |= near & (device[at] == device[which]) & (order.queue[at] != order.queue[which])
        return out


def sync_calls(events: Events, pattern: re.Pattern[str]) -> np.ndarray:
    rows = host_rows(events, Kind.SYNC)
    told = np.array([pattern.match(name) is not None for name in events.names], bool)
    return rows[told[events.name[rows]]]
