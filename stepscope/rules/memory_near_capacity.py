"""A device or the host is nearly out of memory."""

from __future__ import annotations

from collections.abc import Iterator

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding, severity


def memory_near_capacity(case: Case) -> Finding | None:
    """A device, or the host or container, is nearly out of memory.

    Fires when a peak reaches ``memory_warning`` of the capacity: reserved (else allocated) memory of a device in the
    deep windows, or used memory in the monitor's samples. A framework that takes all memory at once, as TensorFlow and
    JAX do by default, is near the capacity of a device by design: there only allocated memory counts.

    Thresholds:
        memory_warning: the removed PyTorch plugin for TensorBoard advised from 90 %
        memory_critical: our choice

    Gain: none in time; the job may fail.
    """
    fullest = max(_levels(case), key=lambda level: level[1] / level[2], default=None)
    if fullest is None or fullest[1] / fullest[2] < case.limits.memory_warning:
        return None
    where, peak, capacity = fullest
    ratio = peak / capacity
    on_device = where.startswith("GPU")
    return Finding(
        rule="memory_near_capacity",
        severity=severity(ratio, case.limits.memory_warning, case.limits.memory_critical),
        message=f"Memory of the {where} reached {fmt.percent(ratio)} of its {fmt.size(capacity)}.",
        evidence={"where": where, "peak_bytes": peak, "capacity_bytes": capacity, "peak_ratio": ratio},
        fix=[
            "Smaller batches with gradient accumulation, activation checkpointing, or sharded optimizer state (FSDP).",
            "If much is reserved but not allocated: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
        ]
        if on_device
        else ["Fewer loader workers or a smaller prefetch_factor; keep data in shared or memory-mapped files."],
        rests_on=("memory", "resources"),
    )


def _levels(case: Case) -> Iterator[tuple[str, float, float]]:
    """What was measured: where, peak bytes, capacity in bytes."""
    takes_all = case.framework in ("tensorflow", "jax")
    capacity = {d["id"]: d["memory_bytes"] for d in case.rows("devices") if d.get("memory_bytes")}
    for row in case.rows("memory"):
        if row["device"] in capacity:
            peak = row["peak_bytes"] if takes_all else row["peak_reserved_bytes"] or row["peak_bytes"]
            yield f"GPU {row['device']}", peak, capacity[row["device"]]
    totals = case.samples.each("gpu_memory_total")
    for index, used in case.samples.each("gpu_memory_used").items():
        if index in totals and not takes_all:
            yield f"GPU {index}", float(used.value.max()), float(totals[index].value.max())
    for where, used_name, limit_name in (
        ("host", "memory_used", "memory_total"),
        ("container", "cgroup_memory_used", "cgroup_memory_limit"),
    ):
        level, limit = case.samples.total(used_name), case.samples.total(limit_name)
        if level is not None and limit is not None and limit.value.max() > 0:
            yield where, float(level.value.max()), float(limit.value.max())
