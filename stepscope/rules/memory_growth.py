"""Memory grows throughout the run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding
from stepscope.rules.samples import Series


def memory_growth(case: Case) -> Finding | None:
    """Memory in use grows throughout the run: a leak, or a cache without bound. Debugger's GPUMemoryIncrease.

    Fires when, after the first ``patience_samples`` samples, the median rises from each quarter of the samples to the
    next, and from the first to the last by at least ``growth_ratio`` of the capacity. Debugger compares moving
    averages of 10 samples, which warm-up alone trips. At least four times ``patience_samples`` are needed.

    Thresholds:
        growth_ratio: Debugger's increase of 5 points
        patience_samples: our choice; the defaults that Debugger documents are 100 and 1000

    Gain: none in time; a long enough run fails.
    """
    worst = max(_growths(case), key=lambda g: g[1] / g[2], default=None)
    if worst is None:
        return None
    where, grown, capacity, per_hour = worst
    return Finding(
        rule="memory_growth",
        severity="warning",
        message=f"Memory of the {where} grows throughout the run, by {fmt.size(per_hour)} an hour: it looks like a "
        "leak.",
        evidence={"where": where, "growth_bytes": grown, "growth_bytes_per_hour": per_hour, "capacity_bytes": capacity},
        fix=[
            "Do not keep graphs alive: store loss.item() or loss.detach(), not loss.",
            "Bound caches and lists that grow each step; look at what is alive in two memory snapshots.",
        ],
        rests_on=("resources",),
    )


def _growths(case: Case) -> Iterator[tuple[str, float, float, float]]:
    """Where memory grows: by how much, of which capacity, how fast."""
    totals = case.samples.each("gpu_memory_total")
    series = [(f"GPU {i}", s, totals.get(i)) for i, s in case.samples.each("gpu_memory_used").items()]
    host = case.samples.total("cgroup_memory_limit") or case.samples.total("memory_total")
    process = case.samples.total("process_memory")
    if process is not None:
        series.append(("training process", process, host))
    for where, used, limit in series:
        if limit is None:
            continue
        capacity = float(limit.value.max())
        found = _growth(used, case.limits.patience_samples)
        if found is not None and found[0] >= case.limits.growth_ratio * capacity:
            yield where, found[0], capacity, found[1]


def _growth(used: Series, patience: int) -> tuple[float, float] | None:
    """Growth in bytes from the first to the last quarter, and in bytes an hour; None unless it is steady."""
    if len(used) < 4 * patience:
        return None
    quarters = np.array_split(used.after(patience), 4)
    level = [float(np.median(q)) for q in quarters]
    if min(np.diff(level)) <= 0:
        return None
    hours = (int(used.ts_ns[-1]) - int(used.ts_ns[patience])) * 0.75 / 3.6e12
    return level[-1] - level[0], (level[-1] - level[0]) / max(hours, 1e-9)
