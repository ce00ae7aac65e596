"""Memory of each device over time, from allocation records: peak, what was alive then, who allocated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stepscope.analysis.allocations import Allocator, Records, allocators
from stepscope.analysis.capture import Capture
from stepscope.analysis.groups import Groups
from stepscope.analysis.modules import Owners
from stepscope.schema import NONE, Events

#: Points of a curve; above it the lowest and the highest of each of so many equal stretches of time are kept.
MAX_POINTS = 1000
#: Entries of each list.
MAX_ENTRIES = 50
#: Single allocations that are listed.
MAX_LARGEST = 20


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


def memory(capture: Capture, owners: Owners | None = None) -> list[DeviceMemory] | None:
    """One entry a device and allocator, the host last; None where no allocations were recorded."""
    found = allocators(capture, owners)
    return None if found is None else [_device(capture.events, allocator, owners) for allocator in found]


def _device(events: Events, allocator: Allocator, owners: Owners | None) -> DeviceMemory:
    records, levels = allocator.records, allocator.levels
    ts = np.concatenate([w.ts_ns for w in levels])
    level = np.concatenate([w.level for w in levels])
    high = np.concatenate([w.high for w in levels])
    reserved = np.concatenate([w.reserved for w in levels])
    peak = int(np.argmax(high))
    window = int(np.repeat(allocator.windows, [len(w.ts_ns) for w in levels])[peak])
    level[peak] = high[peak]
    is_reserve_told = bool((reserved > 0).any())
    positive = records.bytes > 0
    freed_ns, unmatched = allocator.lifetimes
    has_addresses = allocator.has_addresses
    alive = allocator.alive(window, int(ts[peak]))
    return DeviceMemory(
        device=allocator.device,
        allocator=allocator.name,
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
        operators=shares(records.operator[positive], records.bytes[positive], events.names),
        largest=_largest(events, records, freed_ns, has_addresses, owners),
    )


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


def _at_peak(events: Events, alive: Records, peak_bytes: int, owners: Owners | None) -> AtPeak:
    modules = None
    if owners is not None:
        modules = shares(alive.module, alive.bytes, [owners.path(i) for i in range(len(owners))])
    return AtPeak(
        earlier_bytes=peak_bytes - int(alive.bytes.sum()),
        operators=shares(alive.operator, alive.bytes, events.names),
        modules=modules,
    )


def shares(who: np.ndarray, size: np.ndarray, names: list[Any]) -> list[Share]:
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
    events: Events, records: Records, freed_ns: np.ndarray, has_addresses: bool, owners: Owners | None
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
