"""How step times are spread, over all workers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from stepscope.analysis.percentiles import nearest_rank
from stepscope.analysis.phases import MicroSteps
from stepscope.analysis.steps import Steps


def step_time(steps: Iterable[Steps | None]) -> dict[str, Any] | None:
    """Distribution of ``duration_ns`` over the complete steps of all workers; None if there is none.

    Incomplete steps are left out: how long they would have been is not known.

    Metrics:
        count: complete steps of all workers
        mean: sum of the durations / count
        p50: median
        p90: 90th percentile
        p95: 95th percentile
        p99: 99th percentile
        min: shortest
        max: longest
    """
    return distribution([s.duration_ns[s.complete] for s in steps if s is not None])


def micro_step_time(found: Iterable[tuple[Steps | None, MicroSteps | None]]) -> dict[str, Any] | None:
    """Distribution of the micro batches' host time over the complete steps; None where they are not known.

    A micro batch begins where the loop waits for it (the first one: with the step) and ends where the next one
    begins or the step ends. Without gradient accumulation each step is one micro batch.

    Metrics:
        count: micro batches of all complete steps
        mean: sum of the durations / count
        p50: median
        p90: 90th percentile
        p95: 95th percentile
        p99: 99th percentile
        min: shortest
        max: longest
    """
    return distribution([m.duration_ns[s.complete[m.step]] for s, m in found if s is not None and m is not None])


def distribution(parts: list[np.ndarray]) -> dict[str, Any] | None:
    """Count, mean and percentiles of all values; None if there is none."""
    values = np.concatenate([np.empty(0, np.int64), *parts])
    if len(values) == 0:
        return None
    p50, p90, p95, p99 = nearest_rank(values, 50, 90, 95, 99)
    return {
        "count": len(values),
        "mean": int(values.sum()) / len(values),
        "p50": p50,
        "p90": p90,
        "p95": p95,
        "p99": p99,
        "min": int(values.min()),
        "max": int(values.max()),
    }
