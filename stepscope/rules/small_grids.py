"""Kernels are too small to fill the device."""

from __future__ import annotations

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding, Place


def small_grids(case: Case) -> Finding | None:
    """Kernels have too few blocks to give every multiprocessor work.

    Fires when kernels compute for at least ``small_grid_busy`` of the step time, the estimated SM efficiency meanwhile
    is below ``small_grid_efficiency``, and the part of the device that idles amounts to at least
    ``small_grid_warning`` of the step time. SM efficiency counts blocks: a kernel of few large blocks that keeps the
    multiprocessors it has fully busy looks the same.

    Thresholds:
        small_grid_busy: our choice: below it, idle time is the first thing to look at
        small_grid_efficiency: our choice
        small_grid_warning: our choice

    Gain: the kernels' time x (1 - SM efficiency while they run), if larger grids filled the device.
    """
    basis, limits = case.deep, case.limits
    gpus = [g for g in case.rows("gpu") if g["sm_efficiency"] is not None]
    if basis is None or not basis.steps or not gpus:
        return None
    compute_ns = case.activity_ns("kernel")
    if basis.ratio(compute_ns) < limits.small_grid_busy:
        return None
    filled = min(1.0, max(g["sm_efficiency"] for g in gpus) * basis.ns / compute_ns)
    lost_ns = compute_ns * (1 - filled)
    if filled >= limits.small_grid_efficiency or basis.ratio(lost_ns) < limits.small_grid_warning:
        return None
    small = [k for k in case.rows("kernels") if k["kind"] == "compute" and (k["blocks_per_sm"] or 1) < 1]
    return Finding(
        rule="small_grids",
        severity="warning",
        message=f"Kernels run {fmt.percent(basis.ratio(compute_ns))} of the step time but fill only "
        f"{fmt.percent(filled)} of the multiprocessors.",
        evidence={
            "sm_efficiency_while_busy_ratio": filled,
            "compute_ns": compute_ns,
            "occupancy_ratio": gpus[0]["occupancy"],
            "largest_small_kernel": small[0]["name"] if small else None,
            "its_blocks_per_sm": small[0]["blocks_per_sm"] if small else None,
        },
        fix=[
            "Give kernels more work: a larger batch, or longer sequences packed together.",
            "Run independent parts on streams of their own, or several small models together (torch.func.vmap).",
        ],
        gain=basis.gain(lost_ns, "time of kernels x (1 - SM efficiency while they run) / step time"),
        places=[Place("kernel", small[0]["name"])] if small else [],
        counter_evidence=["Few blocks do not prove idle hardware: persistent kernels launch one block an SM."],
        rests_on=("kernels", "device times"),
    )
