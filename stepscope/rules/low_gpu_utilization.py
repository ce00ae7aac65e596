"""A GPU is used little, or by fits and starts."""

from __future__ import annotations

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding
from stepscope.rules.samples import percentiles


def low_gpu_utilization(case: Case) -> Finding | None:
    """A GPU is used little, or by fits and starts. Debugger's LowGPUUtilization.

    Fires for the GPU with the lowest 95th percentile when that is below ``low_gpu_p95`` (used little), or above it
    while the 5th is below ``low_gpu_p5`` (fluctuating). NVML's utilisation tells that any kernel ran, however small.
    The first ``patience_samples`` samples do not count; as many are needed after them.

    Thresholds:
        low_gpu_p95: Debugger's threshold_p95
        low_gpu_p5: Debugger's threshold_p5
        patience_samples: Debugger's patience as its guide documents it

    Gain: not known from samples; deep windows tell what the GPU waits for.
    """
    limits = case.limits
    found = []
    for index, series in case.samples.each("gpu").items():
        values = series.after(limits.patience_samples)
        if len(values) >= limits.patience_samples:
            p5, p95 = percentiles(values, 5, 95)
            found.append((p95, p5, float(values.mean()), index, len(values)))
    if not found:
        return None
    p95, p5, mean, index, count = min(found)
    little, fluctuating = p95 < limits.low_gpu_p95, p95 >= limits.low_gpu_p95 and p5 < limits.low_gpu_p5
    if not little and not fluctuating:
        return None
    how = f"is used little (p95 {fmt.percent(p95)})" if little else f"is used by fits and starts (p5 {fmt.percent(p5)})"
    return Finding(
        rule="low_gpu_utilization",
        severity="warning",
        message=f"GPU {index} {how}; its mean utilisation is {fmt.percent(mean)}.",
        evidence={"gpu": index, "p95_ratio": p95, "p5_ratio": p5, "mean_ratio": mean, "samples": count},
        fix=[
            "See what it waits for: the input wait, and Idle time in a deep window.",
            "Larger batches, if memory allows.",
        ],
        rests_on=("resources",),
    )
