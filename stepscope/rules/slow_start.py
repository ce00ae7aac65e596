"""The training takes long to get going."""

from __future__ import annotations

import numpy as np

from stepscope.analysis.percentiles import nearest_rank
from stepscope.report import format as fmt
from stepscope.rules.case import Basis, Case
from stepscope.rules.finding import Finding


def slow_start(case: Case) -> Finding | None:
    """The first steps, or what precedes them, take long. Debugger's MaxInitializationTime.

    Fires when a hook saw the first step and the steps before the first one below ``start_factor`` x the median cost at
    least ``start_info`` of the time of all steps, or when more than ``initialization_s`` seconds passed between the
    start of the monitor and the first step. A warning from ``start_warning`` if it also costs ``start_s`` seconds:
    of a short run the start is most.

    Thresholds:
        start_factor: our choice
        start_info: our choice
        start_warning: our choice
        start_s: our choice
        initialization_s: Debugger's default, 20 min

    Gain: the excess of the first steps over the median. In a long run it is small.
    """
    steps = case.steps
    if steps is None or not case.from_hook or len(steps) < 10 or int(steps.id[0]) > 1:
        return None
    dur = steps.duration_ns
    median = nearest_rank(dur, 50)[0]
    quick = np.flatnonzero(dur < case.limits.start_factor * median)
    first = int(quick[0]) if len(quick) else 0
    excess_ns = float((dur[:first] - median).sum())
    basis = Basis(max(int(dur.sum()), 1), len(steps))
    begun = case.samples.first_ns()
    before_ns = max(0, int(steps.host_start_ns[0]) - begun) if begun is not None else 0
    late = before_ns > case.limits.initialization_s * 1e9
    if basis.ratio(excess_ns) < case.limits.start_info and not late:
        return None
    costly = basis.ratio(excess_ns) >= case.limits.start_warning and excess_ns >= case.limits.start_s * 1e9
    message = (
        f"The first step came {fmt.time(before_ns)} after the start."
        if late
        else f"The first {fmt.count(first, 'step').removeprefix('1 ')} took {fmt.time(float(dur[:first].sum()))}, "
        f"{fmt.percent(basis.ratio(excess_ns))} of the time of all {len(steps):,} steps."
    )
    return Finding(
        rule="slow_start",
        severity="warning" if late or costly else "info",
        message=message,
        evidence={"first_steps": first, "excess_ns": int(excess_ns), "before_first_step_ns": before_ns},
        fix=[
            "Warm-up (kernel choice, compilation, worker start) is paid once: it weighs less in a longer run.",
            "torch.compile: keep its cache between runs (TORCHINDUCTOR_CACHE_DIR), mark changing shapes as dynamic.",
        ]
        if case.framework == "pytorch"
        else ["Compilation is paid once: keep its cache between runs, and shapes the same."],
        gain=basis.gain(excess_ns, "sum of (step - median) over the first steps / time of all steps"),
        places=[case.step_place(int(dur[: max(first, 1)].argmax()))],
        rests_on=("steps",),
    )
