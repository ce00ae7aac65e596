"""Calls with which the host waits for a device, and who made them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.enclosing import innermost
from stepscope.analysis.groups import Groups
from stepscope.analysis.select import host_rows, on_host
from stepscope.schema import NONE, Events, Kind


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
    """

    operator: str | None
    name: str
    count: int
    total_ns: int


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


def synchronisation(events: Events) -> Synchronisation:
    """Synchronisation in deep windows."""
    rows = host_rows(events, Kind.SYNC)
    operator = innermost(events, host_rows(events, Kind.OP), rows)
    names = len(events.names)
    maker = np.where(operator == NONE, NONE, events.name[operator]) if len(rows) else operator
    groups = Groups((maker + 1) * names + events.name[rows])
    total = groups.sum(events.dur_ns[rows]).tolist()
    by_operator = [
        SyncByOperator(events.names[key // names - 1] if key >= names else None, events.names[key % names], count, ns)
        for key, count, ns in zip(groups.keys.tolist(), groups.count.tolist(), total, strict=True)
    ]
    by_operator.sort(key=lambda s: (-s.total_ns, s.name, s.operator or ""))
    records = np.flatnonzero(events.of_kind(Kind.SYNC) & ~on_host(events))
    return Synchronisation(_by_name(events, rows), by_operator, _by_name(events, records))


def _by_name(events: Events, rows: np.ndarray) -> list[SyncCalls]:
    groups = Groups(events.name[rows].astype(np.int64))
    dur = events.dur_ns[rows]
    columns = (groups.keys.tolist(), groups.count.tolist(), groups.sum(dur).tolist(), groups.max(dur).tolist())
    found = [SyncCalls(events.names[name], *numbers) for name, *numbers in zip(*columns, strict=True)]
    return sorted(found, key=lambda s: (-s.total_ns, s.name))
