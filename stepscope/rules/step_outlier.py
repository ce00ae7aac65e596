"""Some steps take much longer than most."""

from __future__ import annotations

import numpy as np

from stepscope.analysis.percentiles import nearest_rank
from stepscope.report import format as fmt
from stepscope.rules.case import Basis, Case
from stepscope.rules.cpu_contention import cpu_contention
from stepscope.rules.finding import Finding


def step_outlier(case: Case) -> Finding | None:
    """Some steps take much longer than most. Debugger's StepOutlier.

    Fires when steps longer than ``outlier_factor`` x the median cost at least ``outlier_warning`` of the time beyond
    what a median step takes. The first steps, which ``slow_start`` tells, do not count, nor do those in a deep window
    of a hook, which the framework's profiler slows; at least ``outlier_steps`` others are needed. Debugger counts steps
    beyond 3 standard deviations, which a few very long steps inflate themselves. Where ``cpu_contention`` fires, other
    processes may be all that is slow about these steps: that comes first, and confidence is low.

    Thresholds:
        outlier_factor: our choice
        outlier_warning: our choice
        outlier_steps: our choice

    Gain: the excess over the median step.
    """
    if case.steps is None:
        return None
    slowed = case.steps.deep & case.steps.from_live
    rows = np.flatnonzero(case.steps.complete & (case.steps.averaged == 1) & ~slowed)[_warm(case) :]
    if len(rows) < case.limits.outlier_steps:
        return None
    dur = case.steps.duration_ns[rows]
    median = nearest_rank(dur, 50)[0]
    slow = np.flatnonzero(dur > case.limits.outlier_factor * median)
    excess_ns = float((dur[slow] - median).sum())
    basis = Basis(max(int(dur.sum()), 1), len(rows))
    if basis.ratio(excess_ns) < case.limits.outlier_warning:
        return None
    every = period(rows[slow])
    rhythm = f", every {every} steps," if every else ""
    left_out = " and ".join(["warm-up"] * bool(_warm(case)) + ["deep windows"] * bool(slowed.any()))
    among = f" outside {left_out}" if left_out else ""
    crowded = cpu_contention(case)
    return Finding(
        rule="step_outlier",
        severity="warning",
        message=f"{len(slow):,} of {len(rows):,} steps{among}{rhythm} take more than {case.limits.outlier_factor:g} "
        f"times the median of {fmt.time(median)}, up to {fmt.time(float(dur.max()))}; that costs "
        f"{fmt.percent(basis.ratio(excess_ns))} of the time.",
        evidence={
            "slow_steps": len(slow),
            "median_ns": median,
            "max_ns": int(dur.max()),
            "excess_ns": int(excess_ns),
            "period_steps": every,
        },
        fix=[
            *(() if crowded is None else crowded.fix[:1]),
            f"Look for what the script does every {every} steps: logging, checkpoints, evaluation."
            if every
            else "Open the slowest step: new shapes (recompilation, allocation), checkpoints, garbage collection.",
            "Compare it with a median step in Step breakdown.",
        ],
        gain=basis.gain(excess_ns, "sum of (step - median) over the slow steps / time of all steps"),
        places=[case.step_place(int(rows[i])) for i in slow[np.argsort(-dur[slow], kind="stable")][:3]],
        confidence="high" if crowded is None else "low",
        counter_evidence=[] if crowded is None else [crowded.message],
        rests_on=("steps",),
    )


def period(slow: np.ndarray) -> int | None:
    """The distance between slow steps if it is the same nearly always; None if there is no such rhythm."""
    if len(slow) < 3:
        return None
    gaps = np.diff(slow)
    usual = int(np.median(gaps))
    return usual if usual > 1 and np.mean(np.abs(gaps - usual) <= 1) >= 0.8 else None


def _warm(case: Case) -> int:
    """Complete steps at the start that warm up."""
    return 5 if case.from_hook else 0
