"""Copies on device queues by direction, and all memory operations by kind and by the memory they touch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

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
    rows, labels, at = operation_labels(events)
    return [MemoryOperation(*label, *asdict(c).values()) for label, c in _sums(events, rows, labels, at)]


#: Operation, direction, source and target, as the fields of ``MemoryOperation``.
OperationLabel = tuple[str, str | None, str | None, str | None]


def operation_labels(events: Events) -> tuple[np.ndarray, list[OperationLabel], np.ndarray]:
    """The rows of copies and fills, labels, and which label each row has; labels may repeat."""
    rows = np.flatnonzero(events.of_kind(Kind.MEMCPY, Kind.MEMSET))
    texts = len(events.args_values) + 1
    fill = events.kind[rows] == Kind.MEMSET
    keys, at = np.unique((events.name[rows] * np.int64(texts) + events.args[rows] + 1) * 2 + fill, return_inverse=True)
    labels: list[OperationLabel] = []
    for key in keys.tolist():
        name, args = divmod(key // 2, texts)
        source, target = _ends(events.names[name], events.args_values[args - 1] if args else "")
        if key % 2:
            labels.append(("memset", None, None, target or source))
        else:
            labels.append(("memcpy", direction(events.names[name]), source, target))
    return rows, labels, at


def transfer_sums(groups: Groups, size: np.ndarray, dur_ns: np.ndarray) -> dict[str, list[Any]]:
    """What is told of each group of operations: column by column, in the order of the fields of ``Copies``."""
    known = size != NONE
    has_size = groups.any(known).tolist()
    moved = groups.sum(np.where(known, size, 0)).tolist()
    took = groups.sum(np.where(known, dur_ns, 0)).tolist()
    return {
        "count": groups.count.tolist(),
        "bytes": [b if told else None for b, told in zip(moved, has_size, strict=True)],
        "time_ns": groups.sum(dur_ns).tolist(),
        "bytes_per_s": [
            b * 1e9 / ns if told and ns else None for b, ns, told in zip(moved, took, has_size, strict=True)
        ],
    }


def _sums(events: Events, rows: np.ndarray, labels: Sequence[L], at: np.ndarray) -> list[tuple[L, Copies]]:
    """Sums by label, the largest time first. Row ``i`` has the label ``labels[at[i]]``."""
    number = {label: i for i, label in enumerate(sorted(set(labels), key=repr))}
    distinct = list(number)
    groups = Groups(np.array([number[label] for label in labels], np.int64)[at])
    sums = transfer_sums(groups, events.bytes[rows], events.dur_ns[rows])
    out = [(distinct[key], Copies(*row)) for key, *row in zip(groups.keys.tolist(), *sums.values(), strict=True)]
    return sorted(out, key=lambda one: -one[1].time_ns)


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
