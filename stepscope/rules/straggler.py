"""One rank holds up the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding, Gain, severity


def straggler(cases: Sequence[Case]) -> Finding | None:
    """One rank holds up the others.

    Looks at all workers of a run that take part in one job. Ranks that synchronise have nearly the same step time, and
    the slow one is the one that waits least in collectives: fires when the rank with the least exposed communication
    has less than the median rank by at least ``straggler_warning`` of the step time. Where no collective was recorded,
    the slowest rank's median step is compared with the median rank's.

    Thresholds:
        straggler_warning: impact from which TraceML warns
        straggler_critical: impact that it calls critical

    Gain: the others' wait: the difference between the median rank and the slow one.
    """
    if len(cases) < 2:
        return None
    limits = cases[0].limits
    found = _by_waiting(cases) or _by_step_time(cases)
    if found is None:
        return None
    at, ratio, ns, how, evidence = found
    if ratio < limits.straggler_warning:
        return None
    slow = cases[at].worker
    who = f"Rank {slow['rank']}" if slow.get("rank") is not None else fmt.name(slow["worker"], 40)
    where = f" on {fmt.name(slow['host'], 40)}" if slow.get("host") else ""
    return Finding(
        rule="straggler",
        severity=severity(ratio, limits.straggler_warning, limits.straggler_critical),
        message=f"{who}{where} holds up the other {fmt.count(len(cases) - 1, 'rank')}: {how}.",
        evidence={"rank": slow.get("rank"), "ranks": len(cases), **evidence},
        fix=[
            "Compare its phases with those of another rank: input wait, longer sequences, a slower device or host.",
            "If the slow rank changes from step to step, balance the work: equal lengths or numbers of samples.",
        ],
        gain=Gain(round(ns), ratio, "(median rank - slow rank) / step time"),
        workers=[slow["worker"]],
        rests_on=("steps", "communication"),
    )


def _by_waiting(cases: Sequence[Case]) -> tuple[int, float, float, str, dict] | None:
    waits = []
    for case in cases:
        if case.deep is None or not case.deep.steps or not (case.worker.get("communication") or {}).get("total_ns"):
            return None
        waits.append((case.activity_ns("communication") / case.deep.steps, case.deep.ns / case.deep.steps))
    wait, step = np.array(waits).T
    at = int(wait.argmin())
    ns = float(np.median(np.delete(wait, at)) - wait[at])
    ratio = ns / float(np.median(step))
    how = f"it waits {fmt.time(wait[at])} a step in collectives, the others {fmt.time(float(np.median(wait)))}"
    return at, ratio, ns, how, {"its_wait_ns_per_step": int(wait[at]), "median_wait_ns_per_step": int(np.median(wait))}


def _by_step_time(cases: Sequence[Case]) -> tuple[int, float, float, str, dict] | None:
    medians = []
    for case in cases:
        if case.steps is None or not case.steps.complete.any():
            return None
        medians.append(float(np.median(case.steps.duration_ns[case.steps.complete])))
    step = np.array(medians)
    at = int(step.argmax())
    usual = float(np.median(np.delete(step, at)))
    ns = float(step[at]) - usual
    how = f"its median step takes {fmt.time(step[at])}, that of the others {fmt.time(usual)}"
    return at, ns / float(step[at]), ns, how, {"its_step_ns": int(step[at]), "median_step_ns": int(usual)}
