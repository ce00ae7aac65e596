"""The host's CPUs are all busy while the devices are not."""

from __future__ import annotations

import numpy as np

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding
from stepscope.rules.samples import Series, together


def cpu_bottleneck(case: Case) -> Finding | None:
    """The CPUs are busy while the GPUs idle. Debugger's CPUBottleneck.

    Fires when in more than ``cpu_bottleneck_share`` of the samples the CPU is above ``cpu_bottleneck_cpu`` and the mean
    GPU below ``cpu_bottleneck_gpu``. The CPU is the host's, or the container's limit where the process fills that.
    The first ``patience_samples`` samples do not count where there are more than twice as many.

    Thresholds:
        cpu_bottleneck_share: Debugger's threshold
        cpu_bottleneck_cpu: Debugger's cpu_threshold
        cpu_bottleneck_gpu: Debugger's gpu_threshold
        patience_samples: Debugger's patience as its guide documents it

    Gain: not known from samples; see the input wait.
    """
    gpu = case.samples.mean_of_each("gpu")
    if gpu is None:
        return None
    limits = case.limits
    for cpu, where in _cpus(case):
        busy, idle = together(cpu, gpu)
        skip = limits.patience_samples if len(busy) > 2 * limits.patience_samples else 0
        both = (busy[skip:] > limits.cpu_bottleneck_cpu) & (idle[skip:] < limits.cpu_bottleneck_gpu)
        if len(both) and both.mean() > limits.cpu_bottleneck_share:
            share = float(both.mean())
            return Finding(
                rule="cpu_bottleneck",
                severity="critical",
                message=f"The {where} is above {fmt.percent(limits.cpu_bottleneck_cpu)} while the GPUs are below "
                f"{fmt.percent(limits.cpu_bottleneck_gpu)} in {fmt.percent(share)} of the time: the CPUs hold up the "
                "GPUs.",
                evidence={
                    "both_ratio": share,
                    "samples": len(both),
                    "cpu_mean_ratio": float(busy[skip:].mean()),
                    "gpu_mean_ratio": float(idle[skip:].mean()),
                },
                fix=[
                    "Do less on the CPU: prepare data ahead of time, or decode and augment on the GPU.",
                    "Give the job more cores for each GPU, or raise the container's CPU limit.",
                ],
                rests_on=("resources",),
            )
    return None


def _cpus(case: Case) -> list[tuple[Series, str]]:
    """Load as a share of the host's CPUs, and of the container's limit."""
    found = []
    host, process = case.samples.total("cpu"), case.samples.total("process_cpu")
    limit = case.samples.total("cgroup_cpu_limit")
    if process is not None and limit is not None and limit.value.max() > 0:
        found.append((Series(process.ts_ns, process.value / np.max(limit.value)), "container's CPU"))
    if host is not None:
        found.append((host, "host's CPU"))
    return found
