"""Copies on device queues by direction."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from stepscope.analysis.groups import Groups
from stepscope.schema import NONE, Events, Kind

_SIDES = {"h": "H", "host": "H", "d": "D", "dev": "D", "device": "D", "p": "P", "peer": "P", "a": "A", "array": "A"}
_DIRECTION = re.compile(
    r"(?:\b|_|memcpy|copy)(host|device|dev|array|peer|[hdpa])(?:to|2)(host|device|dev|array|peer|[hdpa])(?![a-z])", re.I
)


@dataclass(frozen=True)
class Copies:
    """All copies of one direction (HtoD, DtoH, DtoD, PtoP, ...; ``unknown`` where the record does not say).

    Metrics:
        count: copies
        bytes: bytes of the copies whose size is known, null if none is
        time_ns: sum of the durations
        bytes_per_s: bytes / time of the copies whose size is known, null if they took no time
    """

    count: int
    bytes: int | None
    time_ns: int
    bytes_per_s: float | None


def copies(events: Events) -> dict[str, Copies]:
    """Copies by direction, the largest time first."""
    rows = np.flatnonzero(events.of_kind(Kind.MEMCPY))
    names = np.unique(events.name[rows])
    directions = {int(n): direction(events.names[n]) for n in names}
    labels = sorted(set(directions.values()))
    lookup = np.zeros(len(events.names) + 1, np.int64)
    for name, label in directions.items():
        lookup[name] = labels.index(label)
    groups = Groups(lookup[events.name[rows]])
    size, dur = events.bytes[rows], events.dur_ns[rows]
    known = size != NONE
    count_known = groups.sum(known.astype(np.int64))
    total_bytes = groups.sum(np.where(known, size, 0))
    known_ns = groups.sum(np.where(known, dur, 0))
    time_ns = groups.sum(dur)
    out = {}
    for i in np.argsort(-time_ns, kind="stable").tolist():
        moved, took = int(total_bytes[i]), int(known_ns[i])
        out[labels[groups.keys[i]]] = Copies(
            count=int(groups.count[i]),
            bytes=moved if count_known[i] else None,
            time_ns=int(time_ns[i]),
            bytes_per_s=moved * 1e9 / took if count_known[i] and took else None,
        )
    return out


def direction(name: str) -> str:
    """The direction in a record's name: "Memcpy HtoD (Pinned -> Device)", "CopyHostToDevice", "MemcpyD2H"."""
    found = _DIRECTION.search(name)
    return f"{_SIDES[found[1].lower()]}to{_SIDES[found[2].lower()]}" if found else "unknown"
