"""Nothing is used fully: the batch can grow."""

from __future__ import annotations

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding
from stepscope.rules.samples import percentiles


def batch_size(case: Case) -> Finding | None:
    """CPU, GPU and GPU memory are all used little: a larger batch fits. Debugger's BatchSize.

    Fires when the 95th percentiles of all three, of several GPUs the highest, are below their thresholds, over the
    samples after the first ``patience_samples``; as many are needed after them.

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
    skip = limits.patience_samples
    series = {
        "cpu": [] if cpu is None else [cpu.value],
        "gpu": [s.value for s in gpu.values()],
        "gpu_memory": filled,
    }
    enough = {name: [v[skip:] for v in values if len(v) >= 2 * skip] for name, values in series.items()}
    if not all(enough.values()):
        return None
    p95 = {name: max(percentiles(v, 95)[0] for v in values) for name, values in enough.items()}
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
