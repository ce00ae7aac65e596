"""The optimizer takes much of the step."""

from __future__ import annotations

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding


def optimizer_share(case: Case) -> Finding | None:
    """The optimizer takes much of the step, though a fused one may exist.

    Fires when the phase ``optimizer`` takes at least ``optimizer_info`` of the step time and no fused optimizer ran in
    the deep windows; a warning from ``optimizer_warning``. Silent where devices are busy throughout: then the phase is
    host time that nobody waits for.

    Thresholds:
        optimizer_info: our choice
        optimizer_warning: our choice
        optimizer_gain: with devices: less is not worth telling; our choice

    Gain: at most the phase; with devices, the part of it in which they idle, as they do in the mean of the step.
    """
    basis, spent_ns = case.loop, case.phase_ns("optimizer")
    if basis is None or spent_ns is None:
        return None
    ratio = basis.ratio(spent_ns)
    names = {o["name"] for o in case.rows("operators")}
    if ratio < case.limits.optimizer_info or any("_fused_" in n for n in names):
        return None
    gain_ns: float = spent_ns
    if case.device_worked and case.deep is not None:
        gain_ns = spent_ns * case.deep.ratio(case.idle_for_host_ns)
        if basis.ratio(gain_ns) < case.limits.optimizer_gain:
            return None
    loops = not any("_foreach_" in n for n in names) and bool(names)
    return Finding(
        rule="optimizer_share",
        severity="warning" if ratio >= case.limits.optimizer_warning else "info",
        message=f"The optimizer takes {fmt.percent(ratio)} of the step time, {fmt.time(spent_ns / basis.steps)} a step"
        f"{', one parameter at a time' if loops else ''}.",
        evidence={"optimizer_ns_per_step": spent_ns // basis.steps, "foreach": not loops if names else None},
        fix=[
            "Give the optimizer fused=True (Adam, AdamW, SGD, Adagrad); without a fused one, foreach=True.",
            "Freeze what need not be trained; update less often with gradient accumulation.",
        ]
        if case.framework == "pytorch"
        else ["Update less often (gradient accumulation), or compile the update with the step."],
        gain=basis.gain(
            gain_ns,
            "optimizer phase (x share of the step in which devices wait for the host) / step time: an upper bound",
        ),
        places=case.worst_step("optimizer", phase=True),
        rests_on=("phases", "operators"),
    )
