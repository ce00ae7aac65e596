"""Copies on device queues by direction, and all memory operations by kind and by the memory they touch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TypeVar

import numpy as np

from stepscope.analysis.groups import Groups
from stepscope.schema import NONE, Events, Kind

L = TypeVar("L")

_SIDES = {"h": "H", "host": "H", "d": "D", "dev": "D", "device": "D", "p": "P", "peer": "P", "a": "A", "array": "A"}
_DIRECTION = re.compile(
    r"(?:\b|_|memcpy|copy)(host|device|dev|array|peer|[hdpa])(?:to|2)(host|device|dev|array|peer|[hdpa])(?![a-z])", re.I
)
#: "Memcpy HtoD (Pageable -> Device)", "Memset (Device)".
_ENDS = re.compile(r"\((\w+)(?: -> (\w+))?\)")
#: XPlane: "kind_src:pageable kind_dst:device size:4096 ...", and "kind:device num_bytes:..." of a fill.
_DETAILS = re.compile(r"\bkind(_src|_dst|):(\w+)")


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


@dataclass(frozen=True)
class MemoryOperation:
    """Copies and fills on device queues by direction and by the memory at both ends.

    Metrics:
        operation: memcpy or memset
        direction: HtoD, DtoH, ... of a copy, unknown where the record does not say; null for fills
        source: memory read: pageable, pinned, device, ... as the record tells it; null where it does not
        target: memory written, as above
        count: operations
        bytes: bytes of those whose size is known, null if none is
        time_ns: sum of the durations
        bytes_per_s: bytes / time of those whose size is known, null if they took no time
    """

    operation: str
    direction: str | None
    source: str | None
    target: str | None
    count: int
    bytes: int | None
    time_ns: int
    bytes_per_s: float | None


def copies(events: Events) -> dict[str, Copies]:
    """Copies by direction, the largest time first."""
    rows = np.flatnonzero(events.of_kind(Kind.MEMCPY))
    names, at = np.unique(events.name[rows], return_inverse=True)
    return dict(_sums(events, rows, [direction(events.names[n]) for n in names.tolist()], at))


def memory_operations(events: Events) -> list[MemoryOperation]:
    """One entry an operation, direction, source and target, the largest time first."""
    rows = np.flatnonzero(events.of_kind(Kind.MEMCPY, Kind.MEMSET))
    texts = len(events.args_values) + 1
    fill = events.kind[rows] == Kind.MEMSET
    keys, at = np.unique((events.name[rows] * np.int64(texts) + events.args[rows] + 1) * 2 + fill, return_inverse=True)
    labels: list[tuple[str, str | None, str | None, str | None]] = []
    for key in keys.tolist():
        name, args = divmod(key // 2, texts)
        source, target = _ends(events.names[name], events.args_values[args - 1] if args else "")
        if key % 2:
            labels.append(("memset", None, None, target or source))
        else:
            labels.append(("memcpy", direction(events.names[name]), source, target))
    return [MemoryOperation(*label, *asdict(c).values()) for label, c in _sums(events, rows, labels, at)]


def _sums(events: Events, rows: np.ndarray, labels: Sequence[L], at: np.ndarray) -> list[tuple[L, Copies]]:
    """Sums by label, the largest time first. Row ``i`` has the label ``labels[at[i]]``."""
    number = {label: i for i, label in enumerate(sorted(set(labels), key=repr))}
    distinct = list(number)
    code = np.array([number[label] for label in labels], np.int64)
    groups = Groups(code[at])
    size, dur = events.bytes[rows], events.dur_ns[rows]
    known = size != NONE
    count_known = groups.sum(known.astype(np.int64))
    total_bytes = groups.sum(np.where(known, size, 0))
    known_ns = groups.sum(np.where(known, dur, 0))
    time_ns = groups.sum(dur)
    out = []
    for i in np.argsort(-time_ns, kind="stable").tolist():
        moved, took = int(total_bytes[i]), int(known_ns[i])
        sums = Copies(
            count=int(groups.count[i]),
            bytes=moved if count_known[i] else None,
            time_ns=int(time_ns[i]),
            bytes_per_s=moved * 1e9 / took if count_known[i] and took else None,
        )
        out.append((distinct[groups.keys[i]], sums))
    return out


def _ends(name: str, args: str) -> tuple[str | None, str | None]:
    """The memory read and the memory written; of a fill only one of them."""
    if found := _ENDS.search(name):
        source, target = found[1], found[2]
    else:
        told = dict(_DETAILS.findall(args))
        source, target = told.get("_src"), told.get("_dst", told.get(""))
    return _memory(source), _memory(target)


def _memory(text: str | None) -> str | None:
    return None if text is None or text.lower() in ("unknown", "none") else text.lower()


def direction(name: str) -> str:
    """The direction in a record's name: "Memcpy HtoD (Pinned -> Device)", "CopyHostToDevice", "MemcpyD2H"."""
    found = _DIRECTION.search(name)
    return f"{_SIDES[found[1].lower()]}to{_SIDES[found[2].lower()]}" if found else "unknown"
