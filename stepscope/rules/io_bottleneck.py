"""The host waits for its disks while the devices idle."""

from __future__ import annotations

import numpy as np

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding
from stepscope.rules.samples import together


def io_bottleneck(case: Case) -> Finding | None:
    """The host waits for its disks while the GPUs idle. Debugger's IOBottleneck.

    Fires when in more than ``io_bottleneck_share`` of the samples the I/O wait is above ``io_bottleneck_iowait`` and
    the mean GPU below ``io_bottleneck_gpu``; without GPUs the I/O wait alone decides.

    Thresholds:
        io_bottleneck_share: Debugger's threshold
        io_bottleneck_iowait: Debugger's io_threshold
        io_bottleneck_gpu: Debugger's gpu_threshold as its code has it (its guide says 70 %)
        patience_samples: Debugger's patience as its guide documents it

    Gain: not known from samples; see the input wait.
    """
    wait = case.samples.total("iowait")
    if wait is None:
        return None
    limits = case.limits
    gpu = case.samples.mean_of_each("gpu")
    waits, used = together(wait, gpu) if gpu is not None else (wait.value, np.zeros(len(wait)))
    skip = limits.patience_samples if len(waits) > 2 * limits.patience_samples else 0
    both = (waits[skip:] > limits.io_bottleneck_iowait) & (used[skip:] < limits.io_bottleneck_gpu)
    if not len(both) or both.mean() <= limits.io_bottleneck_share:
        return None
    beside = " while the GPUs idle" if gpu is not None else ""
    return Finding(
        rule="io_bottleneck",
        severity="critical",
        message=f"The CPUs wait for disks{beside} in {fmt.percent(float(both.mean()))} of the time.",
        evidence={"both_ratio": float(both.mean()), "samples": len(both), "iowait_mean_ratio": float(waits.mean())},
        fix=[
            "Read from a local disk or from memory; read few large files in sequence instead of many small ones.",
            "Cache what is decoded once, and prefetch further ahead.",
        ],
        rests_on=("resources",),
    )
