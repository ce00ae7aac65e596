"""Evaluation takes much of the training steps."""

from __future__ import annotations

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding


def validation_share(case: Case) -> Finding | None:
    """Evaluation inside the training steps takes much of their time.

    Fires when the phase ``validation`` takes at least ``validation_info`` of the step time; a warning from
    ``validation_warning``.

    Thresholds:
        validation_info: our choice
        validation_warning: our choice

    Gain: half of it, by evaluating half as often.
    """
    basis, spent_ns = case.loop, case.phase_ns("validation")
    if basis is None or spent_ns is None or basis.ratio(spent_ns) < case.limits.validation_info:
        return None
    ratio = basis.ratio(spent_ns)
    return Finding(
        rule="validation_share",
        severity="warning" if ratio >= case.limits.validation_warning else "info",
        message=f"Evaluation takes {fmt.percent(ratio)} of the step time.",
        evidence={"validation_ns": spent_ns},
        fix=["Evaluate less often or on fewer batches.", "Evaluate without gradients and with larger batches."],
        gain=basis.gain(spent_ns / 2, "validation phase / 2 / step time"),
        places=case.worst_step("validation", phase=True),
        rests_on=("phases",),
    )
