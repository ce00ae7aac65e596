"""How busy each device was during the steps, and how well its kernels filled it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stepscope.analysis import intervals
from stepscope.analysis.kernel_runs import KernelRuns
from stepscope.analysis.select import covered, device_of, device_work
from stepscope.analysis.steps import Steps
from stepscope.schema import Events


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
            neither a kernel's record nor its launch call tells the grid
        occupancy: estimated achieved occupancy of the kernels that start in the steps, as their records tell it,
            weighted by duration; a 0 for a kernel with a warp or more on each multiprocessor tells none. Null where
            no record tells it
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


def gpus(events: Events, steps: Steps, runs: KernelRuns) -> list[Gpu]:
    """One entry a device that ran anything, in order of the ordinal.

    Args:
        events: deep windows.
        steps: the worker's steps.
        runs: the kernel runs of ``events``.
    """
    worked = np.unique(device_of(events, device_work(events)))
    device = device_of(events, runs.rows)
    deep = steps.deep
    start, end, window = steps.start_ns[deep], steps.end_ns[deep], steps.window[deep]
    in_steps = intervals.union(start, end)
    window_ns = sum(int(end[window == w].max() - start[window == w].min()) for w in np.unique(window).tolist())
    return [
        _gpu(events, ordinal, runs, np.flatnonzero(device == ordinal), in_steps, window_ns)
        for ordinal in worked.tolist()
    ]


def _gpu(events: Events, ordinal: int, runs: KernelRuns, own: np.ndarray, in_steps: np.ndarray, window_ns: int) -> Gpu:
    """``own`` are the positions in ``runs`` of the device's runs."""
    steps_ns = intervals.length(in_steps)
    if steps_ns == 0:
        return Gpu(ordinal, None, None, None, None, None, None)
    busy = intervals.length(intervals.intersect(covered(events, runs.rows[own]), in_steps))
    blocks, occupancy = runs.configs.blocks_per_sm[own], runs.configs.occupancy[own]
    ts, dur = events.ts_ns[runs.rows[own]], runs.dur_ns[own]
    inside = intervals.length_within(in_steps, ts, ts + 1) > 0
    total = int(dur[inside].sum())
    told = inside & np.isfinite(occupancy)
    weight = int(dur[told].sum())
    return Gpu(
        device=ordinal,
        busy_ns=busy,
        utilization_steps=busy / steps_ns,
        utilization_window=busy / window_ns,
        sm_efficiency=_filled_ns(ts, dur, blocks, in_steps) / steps_ns if np.isfinite(blocks).all() else None,
        # Summed exactly, so that the order of the runs does not matter.
        occupancy=math.fsum((dur[told] * occupancy[told]).tolist()) / weight if weight else None,
        tensor_core_time=int(dur[inside & runs.matrix[own]].sum()) / total if total else None,
    )


def _filled_ns(ts: np.ndarray, dur: np.ndarray, blocks: np.ndarray, in_steps: np.ndarray) -> float:
    """Time integral of min(sum of ``blocks`` of the running kernels, 1) over the steps, in ns."""
    if len(ts) == 0:
        return 0.0
    origin = int(ts.min())
    times = np.concatenate((ts, ts + dur)) - origin
    change = np.concatenate((blocks, -blocks))
    order = np.lexsort((change, times))
    times = times[order].astype(np.float64)
    level = np.clip(np.cumsum(change[order]), 0, 1)
    filled = np.concatenate(([0.0], np.cumsum(level[:-1] * np.diff(times))))
    at = np.interp((in_steps - origin).astype(np.float64), times, filled)
    return float((at[:, 1] - at[:, 0]).sum())
