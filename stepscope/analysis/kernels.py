"""Kernels by name and by launch configuration, raw sums of device activity, and overlaps on one queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stepscope.analysis.groups import Groups
from stepscope.analysis.kernel_names import PRECISIONS
from stepscope.analysis.kernel_runs import KernelRuns
from stepscope.analysis.queues import QueueOrder
from stepscope.analysis.select import device_work, host_rows, on_host
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
        precision: that of most of its time (see Precision); null for collectives
        matrix_units: whether the name tells of Tensor or Matrix Cores
        blocks_per_sm: mean over time of grid blocks / multiprocessors, null where the grid is not recorded
        occupancy: mean over time of the achieved occupancy that the records estimate, null where none does
    """

    name: str
    kind: str
    count: int
    total_ns: int
    clipped_ns: int
    mean_ns: float
    min_ns: int
    max_ns: int
    precision: str | None
    matrix_units: bool
    blocks_per_sm: float | None
    occupancy: float | None


@dataclass(frozen=True)
class KernelConfig:
    """All runs of one device function with one grid and block.

    The 200 with the largest totals are listed; ``kernel_launch_config_count`` tells how many there are.

    Metrics:
        name: the device function
        kind: communication for collectives, else compute
        grid: blocks in x, y, z; null where neither the record nor the launch call tells
        block: threads of a block in x, y, z; null as above
        count: runs
        total_ns: sum of the durations as recorded
        clipped_ns: the same with overlaps on one stream counted once
        mean_ns: total_ns / count
        min_ns: shortest run
        max_ns: longest run
        precision: that of most of its time; null for collectives
        matrix_units: whether the name tells of Tensor or Matrix Cores
        blocks_per_sm: mean over time of grid blocks / multiprocessors
        occupancy: mean over time of the estimated achieved occupancy
    """

    name: str
    kind: str
    grid: list[int] | None
    block: list[int] | None
    count: int
    total_ns: int
    clipped_ns: int
    mean_ns: float
    min_ns: int
    max_ns: int
    precision: str | None
    matrix_units: bool
    blocks_per_sm: float | None
    occupancy: float | None


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


@dataclass(frozen=True)
class Precision:
    """Time of compute kernels by the precision of their arithmetic: an estimate. The parts sum to all their time.

    A kernel's name tells, by the operand types in it. Where it tells nothing, the input types of the operator
    that launched the run do, if they were recorded.

    Metrics:
        fp64: double precision
        fp32: single precision
        tf32: single precision on Tensor Cores
        fp16: half precision
        bf16: bfloat16
        fp8: 8-bit floats
        int8: 8-bit integers
        other: other integers, 4-bit floats, and whatever is not known
    """

    fp64: int = 0
    fp32: int = 0
    tf32: int = 0
    fp16: int = 0
    bf16: int = 0
    fp8: int = 0
    int8: int = 0
    other: int = 0


def kernels(runs: KernelRuns) -> list[Kernel]:
    """One entry a name and kind, the largest total first."""
    groups = Groups(runs.name * 2 + runs.communication)
    names = [runs.events.names[key // 2] for key in groups.keys.tolist()]
    found = [Kernel(*row) for row in zip(names, *kernel_sums(runs, groups).values(), strict=True)]
    return sorted(found, key=lambda kernel: (-kernel.total_ns, kernel.name))


def kernels_by_config(runs: KernelRuns) -> list[KernelConfig]:
    """One entry a name, kind, grid and block, the largest total first."""
    shapes = runs.configs.shapes
    width = max(len(shapes), 1)
    groups = Groups((runs.name * 2 + runs.communication) * width + runs.configs.shape)
    found = []
    for key, *row in zip(groups.keys.tolist(), *kernel_sums(runs, groups).values(), strict=True):
        name, shape = divmod(key, width)
        grid, block = (None if side is None else list(side) for side in (shapes[shape].grid, shapes[shape].block))
        kind, *others = row
        found.append(KernelConfig(runs.events.names[name // 2], kind, grid, block, *others))
    return sorted(found, key=lambda k: (-k.total_ns, k.name, k.grid or [], k.block or []))


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


def precision(runs: KernelRuns) -> Precision | None:
    """Sum of the durations of compute kernels by precision, run by run; None without one."""
    compute = ~runs.communication
    if not compute.any():
        return None
    totals = np.zeros(len(PRECISIONS), np.int64)
    np.add.at(totals, runs.precision[compute], runs.dur_ns[compute])
    return Precision(**dict(zip(PRECISIONS, totals.tolist(), strict=True)))


def overlaps_on_queue(events: Events, queues: QueueOrder) -> int:
    """How many device records start before all earlier ones of their stream have ended.

    Records of one stream run one after the other, so such a record (or one before it) claims too much.
    Overlaps of no more than one unit of the source's clock are rounding and not counted: the unit is what
    all start times are multiples of, at most 1 µs.

    Args:
        queues: all device work of ``events``.
    """
    if len(queues.rows) < 2:
        return 0
    ts = events.ts_ns[queues.rows]
    unit = min(int(np.gcd.reduce(ts - ts.min())) or COARSEST_UNIT_NS, COARSEST_UNIT_NS)
    return int(np.count_nonzero(queues.reach_ns - queues.start_ns > unit))


def kernel_sums(runs: KernelRuns, groups: Groups) -> dict[str, list[Any]]:
    """What both tables tell of each group of runs: column by column, in the order of the fields of ``Kernel``."""
    total, clipped = groups.sum(runs.dur_ns), groups.sum(runs.clipped_ns)
    communication = groups.any(runs.communication)
    by_precision = np.stack(
        [groups.sum(np.where(runs.precision == p, runs.dur_ns + 1, 0)) for p in range(len(PRECISIONS))]
    )
    most = by_precision.argmax(axis=0) if len(groups) else np.empty(0, np.int64)
    count = groups.count.tolist()
    return {
        "kind": ["communication" if c else "compute" for c in communication.tolist()],
        "count": count,
        "total_ns": total.tolist(),
        "clipped_ns": clipped.tolist(),
        "mean_ns": [t / n for t, n in zip(total.tolist(), count, strict=True)],
        "min_ns": groups.min(runs.dur_ns).tolist(),
        "max_ns": groups.max(runs.dur_ns).tolist(),
        "precision": [None if c else PRECISIONS[p] for c, p in zip(communication.tolist(), most.tolist(), strict=True)],
        "matrix_units": groups.any(runs.matrix).tolist(),
        "blocks_per_sm": _mean_over_time(groups, runs.configs.blocks_per_sm, runs.dur_ns),
        "occupancy": _mean_over_time(groups, runs.configs.occupancy, runs.dur_ns),
    }


def _mean_over_time(groups: Groups, values: np.ndarray, dur_ns: np.ndarray) -> list[float | None]:
    """Mean of each group's known values, weighted by duration; None where none is known or all took no time."""
    known = np.flatnonzero(np.isfinite(values))
    distinct, code = np.unique(values[known], return_inverse=True)
    # Time by group and value in integers first: the sum is then the same in whatever order the runs come.
    parts = Groups(groups.of[known] * max(len(distinct), 1) + code)
    time = parts.sum(dur_ns[known])
    group, value = np.divmod(parts.keys, max(len(distinct), 1))
    weight = np.bincount(group, time, len(groups))
    total = np.bincount(group, time * distinct[value], len(groups))
    return [t / w if w else None for t, w in zip(total.tolist(), weight.tolist(), strict=True)]
