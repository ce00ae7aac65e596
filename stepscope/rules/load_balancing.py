"""The GPUs of a host are used unequally."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding

BINS = 10


def load_balancing(case: Case) -> Finding | None:
    """The GPUs of one host are used unequally. Debugger's LoadBalancing.

    Fires when the histograms of two GPUs' utilisation (10 bins) differ by more than ``load_balancing_distance``, as
    half the sum of the absolute differences of their shares: 0 for the same, 1 for nothing in common. GPUs that never
    work are not part of the job and do not count.

    Thresholds:
        load_balancing_distance: Debugger's threshold
        patience_samples: samples that are needed; Debugger's patience as its guide documents it

    Gain: not known from samples.
    """
    gpus = {
        i: s.value for i, s in case.samples.each("gpu").items()
        if len(s) >= case.limits.patience_samples and s.value.max() > 0
    }  # fmt: skip
    shares = {i: np.histogram(v, BINS, (0, 1))[0] / len(v) for i, v in gpus.items()}
    apart = [(float(np.abs(shares[a] - shares[b]).sum() / 2), a, b) for a, b in combinations(shares, 2)]
    distance, a, b = max(apart, default=(0.0, 0, 0))
    if distance <= case.limits.load_balancing_distance:
        return None
    means = {i: float(v.mean()) for i, v in gpus.items()}
    low, high = sorted((a, b), key=lambda i: means[i])
    return Finding(
        rule="load_balancing",
        severity="warning",
        message=f"The GPUs are used unequally: GPU {high} {fmt.percent(means[high])} in the mean, GPU {low} "
        f"{fmt.percent(means[low])}.",
        evidence={"distance": distance, **{f"gpu_{i}_mean_ratio": mean for i, mean in means.items()}},
        fix=[
            "Give ranks equal work: the same number of samples and similar lengths, stages of equal cost.",
            "Replace DataParallel, whose first GPU does more, by DistributedDataParallel.",
        ],
        rests_on=("resources",),
    )
