"""Records of allocations and frees: levels after each instant, when each allocation was freed, who asked for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stepscope.analysis.arguments import MemoryArgs, decode, integers
from stepscope.analysis.capture import Capture
from stepscope.analysis.enclosing import innermost
from stepscope.analysis.groups import Groups
from stepscope.analysis.modules import Owners
from stepscope.analysis.select import host_rows
from stepscope.schema import MOST_BYTES, NONE, Events, Kind

#: Operators that only allocate for the operator around them.
_ALLOCATORS = re.compile(
    r"aten::(?:new_)?(?:empty|zeros|ones|full)(?:_strided|_like|_permuted|_quantized)?$|aten::resize_$"
)
_DEVICE = re.compile(r"(?:GPU|TPU|XPU)_(\d{1,6})(?:_|$)", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Records:
    """Allocation records with a size; all arrays have one entry a record, in order of window and time."""

    row: np.ndarray
    ts_ns: np.ndarray
    bytes: np.ndarray
    address: np.ndarray
    allocated: np.ndarray
    reserved: np.ndarray
    window: np.ndarray
    operator: np.ndarray  # a name of the event table, NONE for none
    module: np.ndarray  # one of the owners, NONE for none

    def take(self, rows: np.ndarray) -> Records:
        return Records(*(getattr(self, name)[rows] for name in Records.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class Levels:
    """Levels after each instant of a window."""

    ts_ns: np.ndarray
    level: np.ndarray
    high: np.ndarray  # the highest within the instant
    reserved: np.ndarray
    start: int
    is_absolute: bool


@dataclass(frozen=True, eq=False)
class Allocator:
    """The records of one allocator and what follows from them. ``device`` is null for the host."""

    device: int | None
    name: str | None
    records: Records

    @cached_property
    def levels(self) -> list[Levels]:
        """Of each window that has records."""
        return [_levels(part) for part in _by_window(self.records)]

    @cached_property
    def windows(self) -> np.ndarray:
        """The windows that ``levels`` are of."""
        return np.unique(self.records.window)

    @cached_property
    def has_addresses(self) -> bool:
        """Whether frees can be matched with allocations."""
        return bool((self.records.address != NONE).all())

    @cached_property
    def lifetimes(self) -> tuple[np.ndarray, int]:
        return _lifetimes(self.records)

    @property
    def freed_ns(self) -> np.ndarray:
        """When each allocation was freed, ``NONE`` if it was not in its window."""
        return self.lifetimes[0]

    def alive(self, window: int, at_ns: int) -> np.ndarray:
        """Which allocations of a window are alive at a moment of it: those made within the window only."""
        records, freed = self.records, self.freed_ns
        made = (records.bytes > 0) & (records.window == window) & (records.ts_ns <= at_ns)
        return made & ((freed == NONE) | (freed > at_ns))


def allocators(capture: Capture, owners: Owners | None = None) -> list[Allocator] | None:
    """One entry a device and allocator, the host last; None where no allocations were recorded."""
    events = capture.events
    # The free of a single byte reads like a size that is not told: such an allocation seems to live on.
    rows = np.flatnonzero(events.of_kind(Kind.MEMORY) & (events.bytes != NONE))
    if len(rows) == 0:
        return None
    args, at = decode(events, rows, MemoryArgs)

    def told(*values: list[object]) -> np.ndarray:
        first, second = (integers(v) for v in values)
        return np.where(first != NONE, first, second)[at]

    def level(*values: list[object]) -> np.ndarray:
        found = told(*values)
        return np.where((found > -MOST_BYTES) & (found < MOST_BYTES), found, NONE)

    names = [a.allocator if isinstance(a.allocator, str) else None for a in args]
    keys = {name: i for i, name in enumerate(dict.fromkeys(names))}
    allocator = np.array([keys[name] for name in names], np.int64)[at]
    device = events.device[rows].astype(np.int64)
    of_name = np.array([_device_of(name) for name in keys], np.int64)[allocator]
    device = np.where(device == NONE, of_name, device)
    records = Records(
        row=rows,
        ts_ns=events.ts_ns[rows],
        bytes=events.bytes[rows],
        address=told([a.address for a in args], [a.xla_address for a in args]),
        allocated=level([a.allocated for a in args], [a.xla_allocated for a in args]),
        reserved=level([a.reserved for a in args], [None] * len(args)),
        window=capture.window_of(rows),
        operator=_operators(events, rows),
        module=np.full(len(rows), NONE, np.int64) if owners is None else owners.find(rows)[0],
    )
    groups = Groups(device * len(keys) + allocator)
    found = []
    for i, key in enumerate(groups.keys.tolist()):
        mine = records.take(groups.values(i, np.arange(len(rows))))
        mine = mine.take(np.lexsort((mine.bytes, mine.ts_ns, mine.window)))
        ordinal = key // len(keys)
        found.append(Allocator(None if ordinal == NONE else ordinal, list(keys)[key % len(keys)], mine))
    return sorted(found, key=lambda a: (a.device is None, a.device or 0, a.name or ""))


def _by_window(records: Records) -> Iterator[Records]:
    borders = np.flatnonzero(np.diff(records.window, prepend=NONE, append=-2))
    for a, b in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
        yield records.take(np.arange(a, b))


def _levels(records: Records) -> Levels:
    """Levels of one window.

    Changes are summed by instant. Where the source tells totals, those of instants with a single record anchor
    the sums, so that lost records do not shift what comes after them.
    """
    ts, first, count = np.unique(records.ts_ns, return_index=True, return_counts=True)
    net = np.add.reduceat(records.bytes, first)
    level = np.cumsum(net)
    top = np.maximum.reduceat(records.allocated, first)
    anchors = np.flatnonzero((count == 1) & (top != NONE))
    if len(anchors) == 0:
        anchors = np.flatnonzero(top != NONE)
    if len(anchors):
        last = np.maximum(np.searchsorted(anchors, np.arange(len(ts)), "right") - 1, 0)
        level = level + (top - level)[anchors[last]]
    else:
        level = level - min(int(level.min()), 0)
    return Levels(
        ts_ns=ts,
        level=level,
        high=np.maximum(level, top),
        reserved=np.maximum.reduceat(records.reserved, first),
        start=int(level[0] - net[0]),
        is_absolute=len(anchors) > 0,
    )


def _lifetimes(records: Records) -> tuple[np.ndarray, int]:
    """When each allocation was freed (``NONE``: not in its window), and how many frees match no allocation.

    A free ends the last allocation at its address before it; so does a new allocation there.
    """
    order = np.lexsort((records.bytes, records.ts_ns, records.address, records.window))
    same = np.zeros(len(order), bool)  # the next record is of the same address
    same[:-1] = (np.diff(records.address[order]) == 0) & (np.diff(records.window[order]) == 0)
    positive = records.bytes[order] > 0
    freed = np.full(len(order), NONE, np.int64)
    ended = np.flatnonzero(same & positive)
    freed[order[ended]] = records.ts_ns[order[ended + 1]]
    follows = np.zeros(len(order), bool)
    follows[ended + 1] = True
    return freed, int(np.count_nonzero((records.bytes[order] < 0) & ~follows))


def _operators(events: Events, rows: np.ndarray) -> np.ndarray:
    """The name of the operator that asked for each allocation, ``NONE`` for none."""
    ops = host_rows(events, Kind.OP)
    allocates = np.array([_ALLOCATORS.match(name) is not None for name in events.names], bool)
    asking = innermost(events, ops[~allocates[events.name[ops]]], rows)
    lone = np.flatnonzero(asking == NONE)
    asking[lone] = innermost(events, ops, rows[lone])
    return np.where(asking != NONE, events.name[asking], NONE).astype(np.int64)


def _device_of(allocator: str | None) -> int:
    found = _DEVICE.match(allocator or "")
    return int(found[1]) if found else NONE
