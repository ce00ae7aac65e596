"""How busy each device was during the steps, and how well its kernels filled it."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepscope.analysis import intervals
from stepscope.analysis.kernel_names import on_matrix_units
from stepscope.analysis.select import covered, device_of, device_work
from stepscope.analysis.steps import Steps
from stepscope.schema import NONE, Device, Events, Kind


@dataclass(frozen=True)
class Gpu:
    """One device that ran anything. Only steps with deep data count; null where there is no such step.

    Metrics:
        busy_ns: union of its kernels, collectives included, inside the steps
        utilization_steps: busy_ns / union of the steps
        utilization_window: busy_ns / (first step's start .. last step's end), so that gaps between steps count as
            idle; several deep windows add up
        sm_efficiency: estimate of the share of multiprocessors at work: at each moment the blocks per
            multiprocessor of all running kernels, at most 1; its mean over the steps, idle time as 0. Null where
            a kernel lacks its grid (as in ROCm traces)
        occupancy: estimated achieved occupancy of the kernels that start in the steps, as their records tell it,
            weighted by duration. Null where no record tells it
        tensor_core_time: kernels whose name tells of Tensor or Matrix Cores / all kernels, durations of those that
            start in the steps. A lower bound: generated kernels (Triton) have names that tell nothing
    """

    device: int
    busy_ns: int | None
    utilization_steps: float | None
    utilization_window: float | None
    sm_efficiency: float | None
    occupancy: float | None
    tensor_core_time: float | None


def gpus(events: Events, steps: Steps, devices: Sequence[Device] = ()) -> list[Gpu]:
    """One entry a device that ran anything, in order of the ordinal.

    Args:
        events: deep windows.
        steps: the worker's steps.
        devices: for their number of multiprocessors.
    """
    work = device_work(events)
    device = device_of(events, work)
    deep = steps.deep
    start, end, window = steps.start_ns[deep], steps.end_ns[deep], steps.window[deep]
    in_steps = intervals.union(start, end)
    window_ns = sum(int(end[window == w].max() - start[window == w].min()) for w in np.unique(window).tolist())
    sm_count = {d.id: d.sm_count for d in devices}
    return [
        _gpu(events, ordinal, work[device == ordinal], in_steps, window_ns, sm_count.get(ordinal))
        for ordinal in np.unique(device).tolist()
    ]


def _gpu(
    events: Events, ordinal: int, work: np.ndarray, in_steps: np.ndarray, window_ns: int, sm_count: int | None
) -> Gpu:
    steps_ns = intervals.length(in_steps)
    if steps_ns == 0:
        return Gpu(ordinal, None, None, None, None, None, None)
    kernels = work[np.isin(events.kind[work], (Kind.KERNEL, Kind.COLLECTIVE))]
    busy = intervals.length(intervals.intersect(covered(events, kernels), in_steps))
    blocks, occupancy = _from_args(events, kernels, sm_count)
    ts, dur = events.ts_ns[kernels], events.dur_ns[kernels]
    inside = intervals.length_within(in_steps, ts, ts + 1) > 0
    matrix = np.array([on_matrix_units(name) for name in events.names], dtype=bool)
    total = int(dur[inside].sum())
    told = inside & np.isfinite(occupancy)
    weight = int(dur[told].sum())
    return Gpu(
        device=ordinal,
        busy_ns=busy,
        utilization_steps=busy / steps_ns,
        utilization_window=busy / window_ns,
        sm_efficiency=_filled_ns(ts, dur, blocks, in_steps) / steps_ns if np.isfinite(blocks).all() else None,
        occupancy=float((dur[told] * occupancy[told]).sum()) / weight if weight else None,
        tensor_core_time=int(dur[inside & matrix[events.name[kernels]]].sum()) / total if total else None,
    )


def _filled_ns(ts: np.ndarray, dur: np.ndarray, blocks: np.ndarray, in_steps: np.ndarray) -> float:
    """Time integral of min(sum of ``blocks`` of the running kernels, 1) over the steps, in ns."""
    if len(ts) == 0:
        return 0.0
    origin = int(ts.min())
    times = np.concatenate((ts, ts + dur)) - origin
    order = np.argsort(times, kind="stable")
    times = times[order].astype(np.float64)
    level = np.clip(np.cumsum(np.concatenate((blocks, -blocks))[order]), 0, 1)
    filled = np.concatenate(([0.0], np.cumsum(level[:-1] * np.diff(times))))
    at = np.interp((in_steps - origin).astype(np.float64), times, filled)
    return float((at[:, 1] - at[:, 0]).sum())


def _from_args(events: Events, rows: np.ndarray, sm_count: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Blocks per multiprocessor and achieved occupancy (0..1) of each row, NaN where unknown."""
    values, at = np.unique(events.args[rows], return_inverse=True)
    blocks = np.full(len(values), np.nan)
    occupancy = np.full(len(values), np.nan)
    for i, value in enumerate(values.tolist()):  # distinct texts, of which there are few
        args = {} if value == NONE else json.loads(events.args_values[value])
        grid, known = args.get("grid"), _number(args.get("blocks per SM"))
        if known is not None:
            blocks[i] = known
        elif sm_count and isinstance(grid, list) and all(_number(g) is not None for g in grid):
            blocks[i] = float(math.prod(grid)) / sm_count
        percent = _number(args.get("est. achieved occupancy %"))
        if percent is not None and 0 <= percent <= 100:
            occupancy[i] = percent / 100
    return blocks[at], occupancy[at]


def _number(value: object) -> float | None:
    """A finite number of a trace's args; damage may have made it a text or of any size."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e18:
        return None
    return float(value)
