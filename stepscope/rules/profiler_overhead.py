"""The profiler itself costs much."""

from __future__ import annotations

from stepscope.report import format as fmt
from stepscope.rules.case import Basis, Case
from stepscope.rules.finding import Finding


def profiler_overhead(case: Case) -> Finding | None:
    """What stepscope itself costs is above its budget.

    Fires when hooks and stalls took at least ``overhead_info`` of the time; a warning from ``overhead_warning``.

    Thresholds:
        overhead_info: the budget of 1 %
        overhead_warning: our choice

    Gain: all of it, without the profiler.
    """
    cost = case.worker.get("overhead") or {}
    ratio = cost.get("ratio")
    if ratio is None or ratio < case.limits.overhead_info or case.steps is None or len(case.steps) == 0:
        return None
    stalls_ns, hooks_ns = cost["stall_ns"], (cost["hook_ns_per_step"] or 0) * len(case.steps)
    most = "stalls around deep windows" if stalls_ns >= hooks_ns else "the hooks"
    whole = Basis(max(int(case.steps.host_ns.sum()) + stalls_ns, 1), len(case.steps))
    return Finding(
        rule="profiler_overhead",
        severity="warning" if ratio >= case.limits.overhead_warning else "info",
        message=f"Recording cost {fmt.percent(ratio)} of the time, most of it {most}.",
        evidence={"stall_ns": stalls_ns, "hook_ns_per_step": cost["hook_ns_per_step"], "overhead_ratio": ratio},
        fix=[
            "Take fewer or shorter deep windows (schedule), without shapes, stacks and memory.",
            "In a run of normal length the stalls of one window weigh less.",
        ]
        if stalls_ns >= hooks_ns
        else ["Steps this short are best recorded for a while only."],
        gain=whole.gain(stalls_ns + hooks_ns, "(stalls + hook time) / (time of the steps + stalls)"),
        rests_on=("steps",),
    )
