"""The script does much beside training."""

from __future__ import annotations

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding, Place, severity


def outside_phases(case: Case) -> Finding | None:
    """Much of the step is outside of all phases of the loop: loss, metrics, logging, callbacks, checkpoints.

    Fires when a hook saw the loop and the phase ``other`` takes at least ``outside_phases_warning`` of the step time.
    With devices only the part in which they idle counts.

    Thresholds:
        outside_phases_warning: our choice
        outside_phases_critical: our choice

    Gain: that time, if it went beside the training or less often.
    """
    basis, spent_ns = case.loop, case.phase_ns("other")
    seen = case.phases is not None and len(case.phases.ns) > 3  # with few phases visible, "other" is most of the step
    if basis is None or spent_ns is None or not case.from_hook or not seen:
        return None
    lost_ns: float = spent_ns
    if case.device_worked and case.deep is not None:
        lost_ns = min(lost_ns, case.deep.ratio(case.idle_for_host_ns + case.idle_for_sync_ns) * basis.ns)
    ratio = basis.ratio(lost_ns)
    if ratio < case.limits.outside_phases_warning:
        return None
    named = [a for a in case.rows("annotations") if not a["name"].startswith(("Optimizer.", "nccl:", "gloo:"))]
    return Finding(
        rule="outside_phases",
        severity=severity(ratio, case.limits.outside_phases_warning, case.limits.outside_phases_critical),
        message=f"{fmt.percent(ratio)} of the step time, {fmt.time(lost_ns / basis.steps)} a step, is neither input, "
        "forward, backward nor optimizer: loss, metrics, logging or other code of the script.",
        evidence={"other_ns_per_step": spent_ns // basis.steps, "steps": basis.steps},
        fix=[
            "Name the parts of the step with stepscope.annotate(...) to see which one it is.",
            "Log, save and compute metrics every N steps only, and checkpoints in the background.",
        ],
        gain=basis.gain(lost_ns, "phase other (with devices, while they idle) / step time"),
        places=[*case.worst_step("other", phase=True), *(Place("annotation", a["name"]) for a in named[:1])],
        rests_on=("phases",),
    )
