"""Memory of each device over time, from allocation records: peak, what was alive then, who allocated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepscope.analysis.arguments import MemoryArgs, decode, integers
from stepscope.analysis.capture import Capture
from stepscope.analysis.enclosing import innermost
from stepscope.analysis.groups import Groups
from stepscope.analysis.modules import Owners
from stepscope.analysis.select import host_rows
from stepscope.schema import NONE, Events, Kind

#: Points of a curve; above it the lowest and the highest of each of so many equal stretches of time are kept.
MAX_POINTS = 1000
#: Entries of each list.
MAX_ENTRIES = 50
#: Single allocations that are listed.
MAX_LARGEST = 20

#: Operators that only allocate for the operator around them.
_ALLOCATORS = re.compile(
    r"aten::(?:new_)?(?:empty|zeros|ones|full)(?:_strided|_like|_permuted|_quantized)?$|aten::resize_$"
)
_DEVICE = re.compile(r"(?:GPU|TPU|XPU)_(\d{1,6})(?:_|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Curve:
    """Levels over time, one entry a point; ``reserved`` is null where the source does not tell it."""

    ts_ns: list[int]
    allocated: list[int]
    reserved: list[int] | None


@dataclass(frozen=True)
class Share:
    """Allocations of one operator or module: how many, and their bytes."""

    name: Any
    count: int
    bytes: int


@dataclass(frozen=True)
class Allocation:
    """One allocation. ``freed_ns`` is null if it outlived the capture; ``module`` if none is known."""

    ts_ns: int
    bytes: int
    freed_ns: int | None
    operator: str | None
    module: list[str] | None


@dataclass(frozen=True)
class AtPeak:
    """What was alive when the most memory was allocated.

    ``earlier_bytes`` were allocated before the capture began, or their records are lost; with the operators they
    sum to the peak. Lists are bounded to 50 entries, the last of which stands for the rest (name null).
    """

    earlier_bytes: int
    operators: list[Share]
    modules: list[Share] | None


@dataclass(frozen=True)
class DeviceMemory:
    """Allocations and frees of one allocator. Several deep windows follow one another.

    Metrics:
        device: its ordinal, null for the host
        allocator: the allocator's name, null where the source does not tell it
        is_absolute: true where the source tells how much is allocated in all; else only changes are known, and
            levels are lower bounds: the lowest one of a window counts as 0
        allocations: records of allocations
        frees: records of frees
        allocated_bytes: sum of the allocations
        freed_bytes: sum of the frees
        start_bytes: allocated before the first record; events of one instant count together
        end_bytes: allocated after the last record; in one window it is start + allocated - freed
        peak_bytes: the most that was allocated
        peak_ns: when, the first time
        peak_reserved_bytes: the most that the allocator had taken from the device, null where not told
        unmatched_frees: frees of what was allocated before the capture; null where there are no addresses
        curve: ts_ns, allocated and reserved (bytes) over time; more than 1,000 points are thinned out, keeping the
            lowest and the highest of each of 500 equal stretches of time, and the first and the last
        at_peak: what was alive at the peak: bytes from before the capture, and the rest by operator and by module;
            null where there are no addresses to match frees by
        operators: allocations by operator, the largest sum first, at most 50 entries. An operator that only
            allocates (aten::empty and the like) counts as the one around it
        largest: the 20 largest allocations with time, size, end, operator and module
    """

    device: int | None
    allocator: str | None
    is_absolute: bool
    allocations: int
    frees: int
    allocated_bytes: int
    freed_bytes: int
    start_bytes: int
    end_bytes: int
    peak_bytes: int
    peak_ns: int
    peak_reserved_bytes: int | None
    unmatched_frees: int | None
    curve: Curve
    at_peak: AtPeak | None
    operators: list[Share]
    largest: list[Allocation]


@dataclass(frozen=True, eq=False)
class _Records:
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

    def take(self, rows: np.ndarray) -> _Records:
        return _Records(*(getattr(self, name)[rows] for name in _Records.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class _Levels:
    """Levels after each instant of a window."""

    ts_ns: np.ndarray
    level: np.ndarray
    high: np.ndarray  # the highest within the instant
    reserved: np.ndarray
    start: int
    is_absolute: bool


def memory(capture: Capture, owners: Owners | None = None) -> list[DeviceMemory] | None:
    """One entry a device and allocator, the host last; None where no allocations were recorded."""
    events = capture.events
    rows = np.flatnonzero(events.of_kind(Kind.MEMORY) & (events.bytes != NONE))
    if len(rows) == 0:
        return None
    args, at = decode(events, rows, MemoryArgs)

    def told(*values: list[object]) -> np.ndarray:
        first, second = (integers(v) for v in values)
        return np.where(first != NONE, first, second)[at]

    names = [a.allocator if isinstance(a.allocator, str) else None for a in args]
    keys = {name: i for i, name in enumerate(dict.fromkeys(names))}
    allocator = np.array([keys[name] for name in names], np.int64)[at]
    device = events.device[rows].astype(np.int64)
    of_name = np.array([_device_of(name) for name in keys], np.int64)[allocator]
    device = np.where(device == NONE, of_name, device)
    records = _Records(
        row=rows,
        ts_ns=events.ts_ns[rows],
        bytes=events.bytes[rows],
        address=told([a.address for a in args], [a.xla_address for a in args]),
        allocated=told([a.allocated for a in args], [a.xla_allocated for a in args]),
        reserved=told([a.reserved for a in args], [None] * len(args)),
        window=capture.window_of(rows),
        operator=_operators(events, rows),
        module=np.full(len(rows), NONE, np.int64) if owners is None else owners.find(rows)[0],
    )
    groups = Groups(device * len(keys) + allocator)
    out = []
    for i, key in enumerate(groups.keys.tolist()):
        mine = records.take(groups.values(i, np.arange(len(rows))))
        name = list(keys)[key % len(keys)]
        ordinal = key // len(keys)
        out.append(_device(events, None if ordinal == NONE else ordinal, name, mine, owners))
    return sorted(out, key=lambda m: (m.device is None, m.device or 0, m.allocator or ""))


def _device(
    events: Events, device: int | None, allocator: str | None, records: _Records, owners: Owners | None
) -> DeviceMemory:
    order = np.lexsort((records.bytes, records.ts_ns, records.window))
    records = records.take(order)
    levels = [_levels(part) for part in _by_window(records)]
    ts = np.concatenate([w.ts_ns for w in levels])
    level = np.concatenate([w.level for w in levels])
    high = np.concatenate([w.high for w in levels])
    reserved = np.concatenate([w.reserved for w in levels])
    peak = int(np.argmax(high))
    window = int(np.repeat(np.arange(len(levels)), [len(w.ts_ns) for w in levels])[peak])
    level[peak] = high[peak]
    is_reserve_told = bool((reserved > 0).any())
    positive = records.bytes > 0
    freed_ns, unmatched = _lifetimes(records)
    has_addresses = bool((records.address != NONE).all())
    window_code = np.unique(records.window)[window]
    alive = (
        positive
        & (records.window == window_code)
        & (records.ts_ns <= ts[peak])
        & ((freed_ns == NONE) | (freed_ns > ts[peak]))
    )
    return DeviceMemory(
        device=device,
        allocator=allocator,
        is_absolute=all(w.is_absolute for w in levels),
        allocations=int(positive.sum()),
        frees=int((records.bytes < 0).sum()),
        allocated_bytes=int(records.bytes[positive].sum()),
        freed_bytes=-int(records.bytes[records.bytes < 0].sum()),
        start_bytes=levels[0].start,
        end_bytes=int(levels[-1].level[-1]),
        peak_bytes=int(high[peak]),
        peak_ns=int(ts[peak]),
        peak_reserved_bytes=int(reserved.max()) if is_reserve_told else None,
        unmatched_frees=unmatched if has_addresses else None,
        curve=_curve(ts, level, reserved if is_reserve_told else None),
        at_peak=_at_peak(events, records.take(alive), int(high[peak]), owners) if has_addresses else None,
        operators=_shares(records.operator[positive], records.bytes[positive], events.names),
        largest=_largest(events, records, freed_ns, has_addresses, owners),
    )


def _by_window(records: _Records) -> Iterator[_Records]:
    borders = np.flatnonzero(np.diff(records.window, prepend=NONE, append=-2))
    for a, b in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
        yield records.take(np.arange(a, b))


def _levels(records: _Records) -> _Levels:
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
    return _Levels(
        ts_ns=ts,
        level=level,
        high=np.maximum(level, top),
        reserved=np.maximum.reduceat(records.reserved, first),
        start=int(level[0] - net[0]),
        is_absolute=len(anchors) > 0,
    )


def _lifetimes(records: _Records) -> tuple[np.ndarray, int]:
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


def _curve(ts: np.ndarray, level: np.ndarray, reserved: np.ndarray | None) -> Curve:
    keep = np.arange(len(ts))
    if len(ts) > MAX_POINTS:
        stretches = MAX_POINTS // 2
        begin, end = int(ts.min()), int(ts.max())
        stretch = (ts - begin) * stretches // max(end - begin + 1, 1)
        by_level = np.lexsort((ts, level, stretch))
        first = np.flatnonzero(np.diff(stretch[by_level], prepend=NONE))
        last = np.append(first[1:], len(ts)) - 1
        keep = np.unique(np.concatenate((by_level[first], by_level[last], [0, len(ts) - 1])))
    return Curve(
        ts[keep].tolist(), level[keep].tolist(), None if reserved is None else np.maximum(reserved[keep], 0).tolist()
    )


def _at_peak(events: Events, alive: _Records, peak_bytes: int, owners: Owners | None) -> AtPeak:
    modules = None
    if owners is not None:
        modules = _shares(alive.module, alive.bytes, [owners.path(i) for i in range(len(owners))])
    return AtPeak(
        earlier_bytes=peak_bytes - int(alive.bytes.sum()),
        operators=_shares(alive.operator, alive.bytes, events.names),
        modules=modules,
    )


def _shares(who: np.ndarray, size: np.ndarray, names: list[Any]) -> list[Share]:
    """Counts and bytes by name (null: of none that is known), the largest first; the rest in one last entry."""
    groups = Groups(who)
    totals = groups.sum(size).tolist()
    shares = [
        Share(None if key == NONE else names[key], count, total)
        for key, count, total in zip(groups.keys.tolist(), groups.count.tolist(), totals, strict=True)
    ]
    shares.sort(key=lambda s: (-s.bytes, str(s.name)))
    rest = shares[MAX_ENTRIES - 1 :]
    if len(rest) < 2:
        return shares
    return [*shares[: MAX_ENTRIES - 1], Share(None, sum(s.count for s in rest), sum(s.bytes for s in rest))]


def _largest(
    events: Events, records: _Records, freed_ns: np.ndarray, has_addresses: bool, owners: Owners | None
) -> list[Allocation]:
    order = np.lexsort((records.ts_ns, -records.bytes))[:MAX_LARGEST]
    return [
        Allocation(
            ts_ns=int(records.ts_ns[i]),
            bytes=int(records.bytes[i]),
            freed_ns=int(freed_ns[i]) if has_addresses and freed_ns[i] != NONE else None,
            operator=events.names[records.operator[i]] if records.operator[i] != NONE else None,
            module=owners.path(int(records.module[i])) if owners and records.module[i] != NONE else None,
        )
        for i in order.tolist()
        if records.bytes[i] > 0
    ]


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
