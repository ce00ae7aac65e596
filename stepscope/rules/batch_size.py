"""Nothing is used fully: the batch can grow."""

from __future__ import annotations

import numpy as np

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding


def batch_size(case: Case) -> Finding | None:
    """CPU, GPU and GPU memory are all used little: a larger batch fits. Debugger's BatchSize.

    Fires when the 95th percentiles of all three are below their thresholds, over the samples after the first
    ``patience_samples``; as many are needed after them.

    Thresholds:
        batch_size_cpu_p95: Debugger's cpu_threshold_p95
        batch_size_gpu_p95: Debugger's gpu_threshold_p95
        batch_size_gpu_memory_p95: Debugger's gpu_memory_threshold_p95
        patience_samples: Debugger's patience as its guide documents it

    Gain: not known from samples.
    """
    limits = case.limits
    cpu, gpu = case.samples.total("cpu"), case.samples.each("gpu")
    used, total = case.samples.each("gpu_memory_used"), case.samples.each("gpu_memory_total")
    filled = [used[i].value / total[i].value.max() for i in used if i in total and total[i].value.max() > 0]
    if cpu is None or not gpu or not filled or len(cpu) < 2 * limits.patience_samples:
        return None
    skip = limits.patience_samples
    p95 = {
        "cpu": float(np.percentile(cpu.after(skip), 95)),
        "gpu": max(float(np.percentile(s.after(skip), 95)) for s in gpu.values() if len(s) > skip),
        "gpu_memory": max(float(np.percentile(f[skip:], 95)) for f in filled if len(f) > skip),
    }
    thresholds = (limits.batch_size_cpu_p95, limits.batch_size_gpu_p95, limits.batch_size_gpu_memory_p95)
    if any(value >= threshold for value, threshold in zip(p95.values(), thresholds, strict=True)):
        return None
    return Finding(
        rule="batch_size",
        severity="info",
        message=f"Nothing is used fully: 95 % of the time the CPU is below {fmt.percent(p95['cpu'])}, the GPU below "
        f"{fmt.percent(p95['gpu'])} and GPU memory below {fmt.percent(p95['gpu_memory'])}, so a larger batch fits.",
        evidence={f"{name}_p95_ratio": value for name, value in p95.items()},
        fix=["Try twice the batch size and compare samples/s; adapt the learning rate.", "Or use a smaller machine."],
        rests_on=("resources",),
    )
