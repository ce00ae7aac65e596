"""The number of loader processes does not fit the number of cores."""

from __future__ import annotations

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding


def loader_workers(case: Case) -> Finding | None:
    """DataLoader processes and CPU cores do not fit. Debugger's Dataloader.

    Fires when the loop waits for input (``input_warning``) and there are fewer loader processes than
    ``loader_workers_min`` of the cores, or whenever there are more than ``loader_workers_max`` of them. Cores are those
    that the container may use, shared by the ranks of the host. Few processes that keep up are no fault, so that
    without waiting nothing is said.

    Thresholds:
        loader_workers_min: Debugger's minimum, 70 %
        loader_workers_max: Debugger's maximum, 200 %
        input_warning: as in ``input_bound``

    Gain: that of ``input_bound``.
    """
    workers = (case.worker.get("loader") or {}).get("workers")
    cores = usable_cores(case)
    if not workers or cores is None:
        return None
    ratio = workers / cores
    basis, wait_ns = case.loop, case.phase_ns("input_wait")
    waits = basis is not None and wait_ns is not None and basis.ratio(wait_ns) >= case.limits.input_warning
    few = ratio < case.limits.loader_workers_min and waits
    many = ratio > case.limits.loader_workers_max
    if not few and not many:
        return None
    than = "fewer" if few else "more"
    return Finding(
        rule="loader_workers",
        severity="warning" if few else "info",
        message=f"{workers} loader processes for {cores:g} cores are {than} than usual"
        f"{', and the loop waits for data' if waits else ''}.",
        evidence={"loader_workers": workers, "cores": cores, "workers_per_core_ratio": ratio},
        fix=[
            f"Try num_workers={max(1, round(cores))}."
            if few
            else f"Try num_workers={max(1, round(cores))}: more processes than cores only compete.",
        ],
        counter_evidence=[f"Ranks on one host share its cores: these are {fmt.count(round(cores), 'core')} in all."],
        rests_on=("resources", "phases"),
    )


def usable_cores(case: Case) -> float | None:
    """Cores that the job may use: the container's limit, else the host's; None where the monitor told neither."""
    limit = case.samples.total("cgroup_cpu_limit")
    if limit is not None and len(limit):
        return float(limit.value.max())
    return float(len(case.samples.each("cpu_core"))) or None
