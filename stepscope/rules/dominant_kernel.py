"""One kernel, one operator or one operation that XLA compiled takes much of the time."""

from __future__ import annotations

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding, Place

_OF = {
    "kernel": "time of all compute kernels",
    "operator": "self time of all operators",
    "hlo_operation": "self time of all HLO operations",
}


def dominant_kernel(case: Case) -> Finding | None:
    """One device function, or on the CPU one operator, takes much of the computing time.

    Fires when one takes at least ``dominant_ratio`` of the time of all compute kernels and devices compute half of the
    step time or more; without devices, of the self time of all operators (TensorFlow: of those of its executor), or
    where most of that is in what XLA compiled, one operation (HLO) of all those. Not a fault: it tells where to look.

    Thresholds:
        dominant_ratio: our choice

    Gain: not known: it depends on what the kernel could do better.
    """
    ranked = _kernels(case) if case.has_device else _operators(case)
    if ranked is None:
        return None
    what, name, time_ns, total_ns, count = ranked
    if total_ns == 0 or time_ns / total_ns < case.limits.dominant_ratio:
        return None
    of = _OF[what]
    return Finding(
        rule="dominant_kernel",
        severity="info",
        message=f"{fmt.name(name, 90)} takes {fmt.percent(time_ns / total_ns)} of the {of}, in {count:,} runs.",
        evidence={what: name, "time_ns": time_ns, "share_ratio": time_ns / total_ns, "runs": count},
        fix=["Start here: its shapes, its precision, whether a fused or library version exists."],
        places=[Place("kernel" if what == "kernel" else "operator", name)],
        rests_on=("kernels",) if what == "kernel" else ("operators",),
    )


def _kernels(case: Case) -> tuple[str, str, int, int, int] | None:
    compute = [k for k in case.rows("kernels") if k["kind"] == "compute"]
    if not compute or case.deep is None or case.deep.ratio(case.activity_ns("kernel")) < 0.5:
        return None
    top = compute[0]
    return "kernel", top["name"], top["total_ns"], sum(k["total_ns"] for k in compute), top["count"]


def _operators(case: Case) -> tuple[str, str, int, int, int] | None:
    if not case.computes_on_cpu:
        return None
    if case.hlo:
        top = case.hlo[0]
        return "hlo_operation", top["op"], top["self_ns"], sum(o["self_ns"] for o in case.hlo), top["runs"]
    told = case.operators
    if len(told) < 2:
        return None
    top = max(told, key=lambda o: o["host_self_ns"])
    return "operator", top["name"], top["host_self_ns"], sum(o["host_self_ns"] for o in told), top["count"]
