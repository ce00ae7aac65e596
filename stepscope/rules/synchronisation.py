"""The host waits for the device inside the step, and the device then waits for the host."""

from __future__ import annotations

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding, Place, severity

#: Operators that fetch a value from the device.
_FETCHES = {"aten::_local_scalar_dense": ".item() or a branch on a tensor", "aten::nonzero": "nonzero or a mask"}


def synchronisation(case: Case) -> Finding | None:
    """The host waits for the device inside the step, so that the device runs dry.

    Fires when idle time that begins inside a synchronising call (``drained_ns``) takes at least
    ``synchronisation_warning`` of the step time. A wait during which work is still queued costs nothing and is not
    counted.

    Thresholds:
        synchronisation_warning: our choice, as for input
        synchronisation_critical: as above

    Gain: that idle time, if the host goes on without waiting.
    """
    basis = case.deep
    if basis is None or not case.device_worked:
        return None
    lost_ns = case.idle_for_sync_ns
    ratio = basis.ratio(lost_ns)
    calls = (case.worker.get("synchronisation") or {}).get("by_operator") or []
    if not lost_ns or ratio < case.limits.synchronisation_warning:
        return None
    worst = max(calls, key=lambda c: c.get("drained_ns") or 0)
    count = sum(c["count"] for c in calls if c.get("drained_ns"))
    who = worst["operator"]
    what = f" ({_FETCHES[who]})" if who in _FETCHES else ""
    per_step = f"{count / basis.steps:.3g} a step, " if basis.steps else ""
    return Finding(
        rule="synchronisation",
        severity=severity(ratio, case.limits.synchronisation_warning, case.limits.synchronisation_critical),
        message=f"The device runs dry {fmt.percent(ratio)} of the {basis.what} after calls that wait for it: {per_step}"
        f"most by {fmt.name(who) + what if who else fmt.name(worst['name'])}.",
        evidence={
            "idle_after_synchronisation_ns": lost_ns,
            "calls": count,
            "operator": who,
            "call": worst["name"],
            "host_wait_ns": sum(c["total_ns"] for c in calls),
        },
        fix=[
            "Do not fetch values each step: keep the loss on the device and read it every 50 steps.",
            "Replace .item(), .cpu(), print(tensor) and if tensor: inside the step; copy with non_blocking=True.",
            "Find the callers: record_function around parts of the step, or a capture with_stack=True.",
        ],
        gain=basis.gain(lost_ns, f"idle time that begins inside a synchronising call / {basis.what}"),
        places=[*([Place("operator", who)] if who else []), Place("call", worst["name"]), *case.worst_step("idle")],
        counter_evidence=case.slowed,
        confidence=case.host_confidence,
        rests_on=("step activity", "launches"),
    )
