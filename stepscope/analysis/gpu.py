"""How busy each device was during the steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis import intervals
from stepscope.analysis.select import covered, device_of, device_work
from stepscope.analysis.steps import Steps
from stepscope.schema import Events, Kind


@dataclass(frozen=True)
class Gpu:
    """One device that ran anything. Only steps with deep data count; null where there is no such step.

    Metrics:
        busy_ns: union of its kernels, collectives included, inside the steps
        utilization_steps: busy_ns / union of the steps
        utilization_window: busy_ns / (first step's start .. last step's end); several deep windows add up
        sm_efficiency: not computed yet
        occupancy: not computed yet
        tensor_core_time: not computed yet
    """

    device: int
    busy_ns: int | None
    utilization_steps: float | None
    utilization_window: float | None
    sm_efficiency: float | None = None
    occupancy: float | None = None
    tensor_core_time: float | None = None


def gpus(events: Events, steps: Steps) -> list[Gpu]:
    """One entry a device, in order of the ordinal."""
    work = device_work(events)
    device = device_of(events, work)
    deep = steps.deep
    start, end, window = steps.start_ns[deep], steps.end_ns[deep], steps.window[deep]
    in_steps = intervals.union(start, end)
    steps_ns = intervals.length(in_steps)
    window_ns = sum(int(end[window == w].max() - start[window == w].min()) for w in np.unique(window).tolist())
    out = []
    for ordinal in np.unique(device).tolist():
        rows = work[device == ordinal]
        kernels = rows[np.isin(events.kind[rows], (Kind.KERNEL, Kind.COLLECTIVE))]
        if steps_ns == 0:
            out.append(Gpu(ordinal, None, None, None))
            continue
        busy = intervals.length(intervals.intersect(covered(events, kernels), in_steps))
        out.append(Gpu(ordinal, busy, busy / steps_ns, busy / window_ns))
    return out
