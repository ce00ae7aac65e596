"""The CPUs are busy with other things than the training, or the container's limit stops it."""

from __future__ import annotations

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding
from stepscope.rules.samples import Series, together


def cpu_contention(case: Case) -> Finding | None:
    """Other processes use the CPUs that the training needs, or the container's limit is reached.

    Fires when in more than ``cpu_bottleneck_share`` of the samples the host's CPUs are above ``cpu_bottleneck_cpu``
    while the training and its children use less than half of them; or when they use more than ``cpu_bottleneck_cpu``
    of what the container may use, and the host has CPUs to spare.

    Thresholds:
        cpu_bottleneck_share: as in ``cpu_bottleneck``
        cpu_bottleneck_cpu: as in ``cpu_bottleneck``

    Gain: not known from samples.
    """
    host, own = case.samples.total("cpu"), case.samples.total("process_cpu")
    cores = len(case.samples.each("cpu_core"))
    if host is None or own is None or cores == 0:
        return None
    high, share = case.limits.cpu_bottleneck_cpu, case.limits.cpu_bottleneck_share
    busy, used = together(host, Series(own.ts_ns, own.value / cores))
    if not len(busy):
        return None
    crowded = float(((busy > high) & (used < 0.5)).mean())
    evidence = {"host_cpu_mean_ratio": float(busy.mean()), "training_cpu_mean_ratio": float(used.mean())}
    if crowded > share:
        return Finding(
            rule="cpu_contention",
            severity="warning",
            message=f"Other processes use this host's CPUs: all are busy in {fmt.percent(crowded)} of the time, of "
            f"which the training uses {fmt.percent(float(used.mean()))}.",
            evidence={**evidence, "cores": cores, "samples": len(busy)},
            fix=["Run the training where it has the CPUs to itself, or pin it and the others to cores of their own."],
            rests_on=("resources",),
        )
    limit = case.samples.total("cgroup_cpu_limit")
    if limit is None or limit.value.max() <= 0:
        return None
    filled = float((own.value > high * limit.value.max()).mean())
    if filled <= share or busy.mean() > high:
        return None
    return Finding(
        rule="cpu_contention",
        severity="warning",
        message=f"The training uses all of the {limit.value.max():g} CPUs that its container may use in "
        f"{fmt.percent(filled)} of the time, while the host has CPUs to spare.",
        evidence={**evidence, "cpu_limit": float(limit.value.max()), "samples": len(own)},
        fix=["Raise the container's CPU limit.", "Start no more threads and loader processes than the limit allows."],
        rests_on=("resources",),
    )
