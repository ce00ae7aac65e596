"""Kernels by name, raw sums of device activity, and overlaps on one queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepscope.analysis.groups import Groups
from stepscope.analysis.kernel_names import PRECISIONS, precision_of
from stepscope.analysis.select import device_work, host_rows, on_host, queue_of
from stepscope.schema import Events, Kind

#: Starts and durations are rounded to the source's own unit, which is never coarser than this.
COARSEST_UNIT_NS = 1000


@dataclass(frozen=True)
class Kernel:
    """All runs of one device function, collectives included.

    Metrics:
        name: the device function
        kind: communication for collectives, else compute
        count: runs
        total_ns: sum of the durations as recorded
        clipped_ns: the same with overlaps on one stream counted once: each run counts from where all earlier
            ones of its stream have ended
        mean_ns: total_ns / count
        min_ns: shortest run
        max_ns: longest run
    """

    name: str
    kind: str
    count: int
    total_ns: int
    clipped_ns: int
    mean_ns: float
    min_ns: int
    max_ns: int


@dataclass(frozen=True)
class ActivityTime:
    """Raw sums of durations, overlaps counted as often as they occur; null where nothing of the kind can exist.

    Metrics:
        kernel: kernels and collectives
        memcpy: copies on device queues
        memset: fills on device queues
        sync: synchronisation records of the device lanes, or the host's synchronising calls where the
            source writes no such records
    """

    kernel: int | None
    memcpy: int | None
    memset: int | None
    sync: int | None


def kernels(events: Events) -> list[Kernel]:
    """One entry a name and kind, the largest total first."""
    rows = np.flatnonzero(events.of_kind(Kind.KERNEL, Kind.COLLECTIVE))
    dur = events.dur_ns[rows]
    communication = events.kind[rows] == Kind.COLLECTIVE
    by_name = Groups(events.name[rows].astype(np.int64) * 2 + communication)
    total, clipped = by_name.sum(dur), by_name.sum(_clipped(events, rows))
    shortest, longest = by_name.min(dur), by_name.max(dur)
    out = [
        Kernel(
            name=events.names[key // 2],
            kind="communication" if key % 2 else "compute",
            count=int(by_name.count[i]),
            total_ns=int(total[i]),
            clipped_ns=int(clipped[i]),
            mean_ns=int(total[i]) / int(by_name.count[i]),
            min_ns=int(shortest[i]),
            max_ns=int(longest[i]),
        )
        for i, key in enumerate(by_name.keys.tolist())
    ]
    return sorted(out, key=lambda kernel: (-kernel.total_ns, kernel.name))


def activity_time(events: Events) -> ActivityTime:
    """Raw sums by kind of device activity."""
    sync = np.flatnonzero(events.of_kind(Kind.SYNC) & ~on_host(events))
    if len(sync) == 0:
        sync = host_rows(events, Kind.SYNC)
    if len(device_work(events)) == 0:
        return ActivityTime(None, None, None, int(events.dur_ns[sync].sum()) if len(sync) else None)

    def total(*kinds: Kind) -> int:
        return int(events.dur_ns[events.of_kind(*kinds)].sum())

    return ActivityTime(
        kernel=total(Kind.KERNEL, Kind.COLLECTIVE),
        memcpy=total(Kind.MEMCPY),
        memset=total(Kind.MEMSET),
        sync=int(events.dur_ns[sync].sum()),
    )


@dataclass(frozen=True)
class Precision:
    """Time of compute kernels by the precision of their arithmetic, as their names tell it: an estimate.

    Metrics:
        fp64: double precision
        fp32: single precision
        tf32: single precision on Tensor Cores
        fp16: half precision
        bf16: bfloat16
        fp8: 8-bit floats
        int8: 8-bit integers
        other: the name tells nothing
    """

    fp64: int = 0
    fp32: int = 0
    tf32: int = 0
    fp16: int = 0
    bf16: int = 0
    fp8: int = 0
    int8: int = 0
    other: int = 0


def precision(found: Sequence[Kernel]) -> Precision | None:
    """Sum of ``total_ns`` by precision; None without a compute kernel."""
    totals = dict.fromkeys(PRECISIONS, 0)
    compute = [k for k in found if k.kind == "compute"]
    for kernel in compute:
        totals[precision_of(kernel.name)] += kernel.total_ns
    return Precision(**totals) if compute else None


def overlaps_on_queue(events: Events) -> int:
    """How many device records start before all earlier ones of their stream have ended.

    Records of one stream run one after the other, so such a record (or one before it) claims too much.
    Overlaps of no more than one unit of the source's clock are rounding and not counted: the unit is what
    all start times are multiples of, at most 1 us.
    """
    rows = device_work(events)
    if len(rows) < 2:
        return 0
    ts = events.ts_ns[rows]
    unit = min(int(np.gcd.reduce(ts - ts.min())) or COARSEST_UNIT_NS, COARSEST_UNIT_NS)
    start, _, reach, _ = _in_queue_order(events, rows)
    return int(np.count_nonzero(reach - start > unit))


def _in_queue_order(events: Events, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Starts, ends, and the end of all earlier records of the queue, ordered by queue and start; and that order."""
    queue = queue_of(events, rows)
    start = events.ts_ns[rows]
    end = start + events.dur_ns[rows]
    order = np.lexsort((events.name[rows], end, start, queue))
    queue, start, end = queue[order], start[order], end[order]
    reach = start.copy()
    bounds = np.flatnonzero(np.diff(queue, prepend=-1, append=-1))
    for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):  # queues, not records
        np.maximum.accumulate(end[a : b - 1], out=reach[a + 1 : b])
    return start, end, reach, order


def _clipped(events: Events, rows: np.ndarray) -> np.ndarray:
    """The part of each run that no earlier run of its stream covers, in ns."""
    start, end, reach, order = _in_queue_order(events, rows)
    out = np.empty(len(rows), np.int64)
    out[order] = np.maximum(end - np.maximum(start, reach), 0)
    return out
