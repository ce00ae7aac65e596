"""Slack of collectives: from their begin until something that waits for them could have begun without them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from stepscope.analysis.collective_messages import OF_LIBRARY
from stepscope.analysis.followers import BLOCKS, BLOCKS_ALL, LETS_WAIT, NEVER, Followers, sync_calls
from stepscope.analysis.groups import apart
from stepscope.analysis.launches import Links, link
from stepscope.analysis.megascale import transfer_times
from stepscope.analysis.queues import QueueOrder
from stepscope.analysis.select import device_of, host_rows, on_host
from stepscope.schema import NONE, RUNTIME_CALLS, Events, Kind

#: What the slack of a run may be known from, by its code.
SOURCES = (None, "operations", "records", "calls", "order")
_OPERATIONS, _RECORDS, _CALLS, _ORDER = range(1, 5)
#: Operators of PyTorch in which collectives are issued.
_ISSUES = re.compile(rf"c10d::|record_param_comms|_c10d_functional|{OF_LIBRARY.pattern}")


@dataclass(frozen=True, eq=False)
class Slack:
    """One entry a run: its slack and stall, ``NONE`` where nothing tells, and from which of ``SOURCES``."""

    ns: np.ndarray
    stall_ns: np.ndarray
    source: np.ndarray

    @classmethod
    def unknown(cls, count: int) -> Slack:
        return cls(np.full(count, NONE), np.full(count, NONE), np.zeros(count, np.int8))

    def take(self, rows: np.ndarray) -> Slack:
        return Slack(self.ns[rows], self.stall_ns[rows], self.source[rows])


def collective_slack(
    windows: Sequence[Events], events: Events, links: Links, rows: np.ndarray, queues: QueueOrder | None = None
) -> Slack:
    """The slack and the stall of collectives.

    What waits for a run is the next work of its own stream that is no collective, and on each other stream the first
    work that was launched after that stream was told to wait for the run, or the host itself: see ``Followers`` for
    when these could have gone on without it. The earliest of these moments, less the begin of the run, at least 0, is
    its slack; the stall is the time that the run took beyond it. How the waits are known:

    - ``records``: the trace has a record of each wait of a stream (CUDA's synchronisation events) with the event, and
      its stream, that it waits for.
    - ``calls``: it has only the calls of the host. The first one behind the launch then counts as a wait for the run,
      but for those in operators that issue a collective, which let its own stream wait. The slack is at least this.
    - ``order``: no such call or operator was recorded. All work launched behind the run then may wait for it. The
      slack is at least this.
    - ``operations``: operations of a core that runs one after the other: see ``megascale``.

    Args:
        windows: the deep windows that ``events`` are made of.
        events: all of them.
        links: launches and runs of ``events``.
        rows: runs of collectives in ``events``, in any order; nothing is known of those on the host.
        queues: the runs of ``links`` by queue, where that is known already.
    """
    if len(windows) == 1:  # ids in records are those of their window
        return _of_window(events, links, queues).take(rows)
    parts = [_of_window(window, link(window)) for window in windows]
    columns = ([getattr(part, f.name) for part in parts] for f in fields(Slack))
    return Slack(*(np.concatenate(column) for column in columns)).take(rows)


def _of_window(events: Events, links: Links, order: QueueOrder | None = None) -> Slack:
    """One entry a row."""
    out = Slack.unknown(len(events))
    rows, slack, stall = transfer_times(events)
    out.ns[rows], out.stall_ns[rows], out.source[rows] = slack, stall, _OPERATIONS
    queues = Followers(events, links, order)
    if len(queues.rows) == 0:
        return out
    records = _records(events)
    if len(records):
        needed, source = _by_records(queues, records), np.full(len(queues.rows), _RECORDS)
    else:
        needed, source = _by_calls(queues)
    needed = np.minimum(needed, queues.own_next())
    found = needed != NEVER
    rows = queues.rows[found]
    out.ns[rows] = np.maximum(needed[found] - events.ts_ns[rows], 0)
    out.stall_ns[rows] = np.maximum(events.dur_ns[rows] - out.ns[rows], 0)
    out.source[rows] = source[found]
    return out


def _by_calls(queues: Followers) -> tuple[np.ndarray, np.ndarray]:
    """By the host's calls: what follows the first wait behind each launch; and what each is known from."""
    events = queues.events
    lets_wait = sync_calls(events, LETS_WAIT)
    issuing, issued = _issuing(events, lets_wait, queues)
    waits = np.sort(events.ts_ns[lets_wait[~issuing]])
    # Where no operator surrounds the launch, the library's own waits cannot be told from others.
    issued &= bool(host_rows(events, Kind.SYNC).size)
    wait_ns = np.where(issued, _next(waits, queues.launch_ns), queues.launch_ns)
    needed = np.minimum(queues.after(wait_ns), queues.after_host(BLOCKS))
    return needed, np.where(issued, _CALLS, _ORDER)


def _by_records(queues: Followers, records: np.ndarray) -> np.ndarray:
    """By records of waits: (recorded, waits, device, stream that waits, stream waited for), one row a record."""
    needed = np.full(len(queues.rows), NEVER)
    for device, stream, source in np.unique(records[:, 2:], axis=0).tolist():
        own = records[(records[:, 2:] == (device, stream, source)).all(axis=1)]
        own = own[np.argsort(own[:, 0], kind="stable")]
        at = np.searchsorted(own[:, 0], queues.launch_ns)
        waits = np.append(_from_here(own[:, 1]), NEVER)[at]
        waits[(queues.stream != source) | (queues.device != device)] = NEVER
        needed = np.minimum(needed, queues.after(waits, only=stream))
    return np.minimum(needed, queues.after_host(BLOCKS_ALL))


def _records(events: Events) -> np.ndarray:
    """The records of streams that wait for an event of another stream."""
    rows = np.flatnonzero(events.of_kind(Kind.SYNC) & ~on_host(events) & (events.args != NONE))
    told: dict[int, tuple[int, int]] = {}
    for i in np.unique(events.args[rows]).tolist():
        if '"wait_on_stream"' not in events.args_values[i]:
            continue
        args = json.loads(events.args_values[i])
        source, recorded = args.get("wait_on_stream"), args.get("wait_on_cuda_event_record_corr_id")
        if args.get("cuda_sync_kind") == "Stream Wait Event" and all(
            type(value) is int and 0 <= value < 1 << 62 for value in (source, recorded)
        ):
            told[i] = (source, recorded)
    rows = rows[np.isin(events.args[rows], list(told))]
    if len(rows) == 0:
        return np.empty((0, 5), np.int64)
    pairs = np.array([told[i] for i in events.args[rows].tolist()], np.int64)
    calls = host_rows(events, *RUNTIME_CALLS)
    begun = dict(zip(events.correlation[calls].tolist(), events.ts_ns[calls].tolist(), strict=True))
    recorded = [begun.get(number, NONE) for number in pairs[:, 1].tolist()]
    waits = [begun.get(number, NONE) for number in events.correlation[rows].tolist()]
    found = np.column_stack((recorded, waits, device_of(events, rows), events.stream[rows], pairs[:, 0]))
    return found[(found[:, 0] != NONE) & (found[:, 1] != NONE)]


def _issuing(events: Events, calls: np.ndarray, queues: Followers) -> tuple[np.ndarray, np.ndarray]:
    """Which of ``calls`` lie in an operator that issues a collective, and which of the runs were issued by one."""
    told = np.array([_ISSUES.match(name) is not None for name in events.names], bool)
    library = host_rows(events, Kind.OP, Kind.ANNOTATION)
    library = library[told[events.name[library]]]
    n, m = len(library), len(calls)
    rows = np.concatenate((library, calls, queues.calls))
    start, end = apart(events.lane[rows], events.ts_ns[rows], events.ends_ns(rows))
    order = np.argsort(start[:n], kind="stable")
    begin, reach = start[:n][order], np.maximum.accumulate(end[:n][order])
    outer = np.flatnonzero(np.append(True, begin[1:] > reach[:-1])[:n])  # operators that none other surrounds
    begin, reach = begin[outer], reach[np.append(outer[1:], n)[: len(outer)] - 1]
    within = np.searchsorted(begin, start[n:], "right") - 1
    within[start[n:] > np.append(reach, NEVER)[within]] = NONE  # the last stands for none
    issues = np.unique(within[m:])
    return (within[:m] != NONE) & np.isin(within[:m], issues), within[m:] != NONE


def _next(moments: np.ndarray, after: np.ndarray) -> np.ndarray:
    """The first of the sorted moments that is not before each of ``after``, ``NEVER`` without one."""
    return np.append(moments, NEVER)[np.searchsorted(moments, after)]


def _from_here(values: np.ndarray) -> np.ndarray:
    """The least of each value and all behind it."""
    return np.minimum.accumulate(values[::-1])[::-1]
