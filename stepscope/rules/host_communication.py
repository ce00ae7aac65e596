"""Ranks communicate through the host."""

from __future__ import annotations

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding, Place, severity


def host_communication(case: Case) -> Finding | None:
    """Collectives run on the host (gloo, MPI), where they keep cores busy and are slower than on devices.

    Fires when their durations sum to at least ``communication_warning`` of the step time. They run on threads beside
    the training: how much of it the loop waits for is not known.

    Thresholds:
        communication_warning: as in ``exposed_communication``
        communication_critical: as above

    Gain: not known, since they run beside the training.
    """
    basis = case.deep
    talk = case.worker.get("communication") or {}
    host = [c for c in talk.get("collectives") or [] if not c["device"]]
    if basis is None or not basis.steps or not host:
        return None
    ratio = basis.ratio(sum(c["total_ns"] for c in host))
    if ratio < case.limits.communication_warning:
        return None
    most = max(host, key=lambda c: c["total_ns"])
    much = f"{fmt.percent(ratio)} of the step time" if ratio < 1 else f"{ratio:.1f} times the step time"
    with_devices = "The job has GPUs: init_process_group(backend='nccl') communicates between them directly."
    return Finding(
        rule="host_communication",
        severity=severity(ratio, case.limits.communication_warning, case.limits.communication_critical)
        if case.has_device
        else "warning",
        message=f"Collectives on the host add up to {much}, most of it "
        f"{fmt.name(most['name'])} ({most['count']:,} calls).",
        evidence={"collectives_ns": sum(c["total_ns"] for c in host), "longest_collective": most["name"]},
        fix=([with_devices] if case.has_device else [])
        + ["Fewer and larger collectives, overlapped with computation; fewer ranks on slow networks."],
        places=[
            Place("annotation", a["name"]) for a in case.rows("annotations") if a["name"].endswith(":" + most["name"])
        ],
        counter_evidence=["Durations of threads beside the training are summed; some or all may be hidden."],
        confidence="medium",
        rests_on=("communication",),
    )
