"""The device idles though it has work queued."""

from __future__ import annotations

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding


def device_waits(case: Case) -> Finding | None:
    """The device idles though the host has launched its next work: that waits for another stream, device or rank.

    Fires when such idle time takes at least ``device_waits_warning`` of the step time. Gaps below 30 µs, the usual
    delay between two kernels, are not counted, nor is what ended with work whose launch the trace does not hold.

    Thresholds:
        device_waits_warning: our choice

    Gain: that idle time, if what it waits for came sooner.
    """
    basis = case.deep
    if basis is None or not case.device_worked:
        return None
    lost_ns = case.idle_for_others_ns
    ratio = basis.ratio(lost_ns)
    if ratio < case.limits.device_waits_warning:
        return None
    return Finding(
        rule="device_waits",
        severity="warning",
        message=f"No device works for {fmt.percent(ratio)} of the {basis.what} though work is queued: it waits for "
        "events of other streams, devices or ranks.",
        evidence={"idle_with_work_queued_ns": lost_ns, "idle_ns": case.activity_ns("idle")},
        fix=[
            "Look for what ends these gaps in the timeline, and for calls of StreamWaitEvent before them.",
            "Pipelines: balance the stages, or use more micro batches.",
        ],
        gain=basis.gain(lost_ns, f"idle time with work queued / {basis.what}"),
        places=case.worst_step("idle"),
        counter_evidence=["Device records that are missing from the trace look the same."],
        confidence="medium",
        rests_on=("step activity", "device times", "launches"),
    )
