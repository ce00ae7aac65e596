"""Calls with which the host waits for a device, and who made them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from stepscope.analysis.enclosing import innermost
from stepscope.analysis.groups import Groups
from stepscope.analysis.select import covered, device_work, host_rows, on_host
from stepscope.schema import NONE, Events, Kind

#: Calls that return only when the device is done; others ask, or let a stream wait.
_BLOCKING = re.compile(r"Synchronize")


@dataclass(frozen=True)
class SyncCalls:
    """Synchronising calls of one name: on the host they block it, or ask or tell a stream to wait.

    Metrics:
        name: the call, or the kind of the record on a device lane
        count: calls
        total_ns: sum of the durations
        max_ns: longest call
    """

    name: str
    count: int
    total_ns: int
    max_ns: int


@dataclass(frozen=True)
class SyncByOperator:
    """Synchronising calls of the host by the operator that made them.

    The 200 with the largest totals are listed; ``by_operator_count`` tells how many there are.

    Metrics:
        operator: innermost operator around the call on its thread; null where there is none
        name: the call
        count: calls
        total_ns: sum of the durations
        drained_ns: time in which all devices idled, up to their next work, from a moment inside a call that waits for
            them: the host had nothing further queued. Null without device work
    """

    operator: str | None
    name: str
    count: int
    total_ns: int
    drained_ns: int | None = None


@dataclass(frozen=True)
class Synchronisation:
    """Synchronisation of host and device, the largest times first.

    Metrics:
        calls: calls of the host by name
        by_operator: calls of the host by name and operator
        records: records on device lanes by name (Stream Sync, Event Sync, Stream Wait Event), where the source
            writes them: the same waits as the device saw them
    """

    calls: list[SyncCalls]
    by_operator: list[SyncByOperator]
    records: list[SyncCalls]


def synchronisation(events: Events, bounds: Sequence[int] | np.ndarray = ()) -> Synchronisation:
    """Synchronisation in deep windows.

    Args:
        events: the deep windows.
        bounds: rows at which windows begin and end, as ``Capture`` has them; one window if empty.
    """
    rows = host_rows(events, Kind.SYNC)
    operator = innermost(events, host_rows(events, Kind.OP), rows)
    names = len(events.names)
    maker = np.where(operator == NONE, NONE, events.name[operator]) if len(rows) else operator
    groups = Groups((maker + 1) * names + events.name[rows])
    total = groups.sum(events.dur_ns[rows]).tolist()
    drained = _drained(events, rows, bounds)
    idle: Sequence[int | None] = [None] * len(total) if drained is None else groups.sum(drained).tolist()
    by_operator = [
        SyncByOperator(events.names[key // names - 1] if key >= names else None, events.names[key % names], n, ns, gap)
        for key, n, ns, gap in zip(groups.keys.tolist(), groups.count.tolist(), total, idle, strict=True)
    ]
    by_operator.sort(key=lambda s: (-s.total_ns, s.name, s.operator or ""))
    records = np.flatnonzero(events.of_kind(Kind.SYNC) & ~on_host(events))
    return Synchronisation(_by_name(events, rows), by_operator, _by_name(events, records))


def _drained(events: Events, rows: np.ndarray, bounds: Sequence[int] | np.ndarray) -> np.ndarray | None:
    """For each call in ``rows`` the idle time of the devices that began inside it; None without device work."""
    out = np.zeros(len(rows), np.int64)
    work = device_work(events)
    if len(work) == 0:
        return None
    blocking = np.array([_BLOCKING.search(name) is not None for name in events.names], bool)
    calls = np.flatnonzero(blocking[events.name[rows]])
    calls = calls[np.argsort(events.ts_ns[rows[calls]], kind="stable")]
    begin, end = events.ts_ns[rows[calls]], events.ends_ns(rows[calls])
    edges = np.asarray(bounds) if len(bounds) else np.array([0, len(events)])
    for first, last in pairwise(edges.tolist()):  # the time between two windows is no gap
        busy = covered(events, work[(work >= first) & (work < last)])
        since, until = busy[:-1, 1], busy[1:, 0]
        at = np.searchsorted(begin, since, "right") - 1
        inside = at >= 0
        inside[inside] = since[inside] <= end[at[inside]]
        np.add.at(out, calls[at[inside]], (until - since)[inside])
    return out


def _by_name(events: Events, rows: np.ndarray) -> list[SyncCalls]:
    groups = Groups(events.name[rows].astype(np.int64))
    dur = events.dur_ns[rows]
    columns = (groups.keys.tolist(), groups.count.tolist(), groups.sum(dur).tolist(), groups.max(dur).tolist())
    found = [SyncCalls(events.names[name], *numbers) for name, *numbers in zip(*columns, strict=True)]
    return sorted(found, key=lambda s: (-s.total_ns, s.name))
