"""What the resource monitor saw on a host, as distributions over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from stepscope.analysis.monitor_series import series_of
from stepscope.analysis.percentiles import weighted
from stepscope.schema import NONE

#: A pause this many times longer than the intervals before and after it is a gap, not one long sample.
GAP_FACTOR = 3


@dataclass(frozen=True)
class Resource:
    """One metric of the monitor over the run; the unit is the metric's own (ratio, bytes, bytes/s).

    Every sample counts as much as the time it stands for, which is the time since the sample before it; a gap
    in sampling stands for nothing.

    Metrics:
        p50: median over time
        p95: 95th percentile over time
        p99: 99th percentile over time
        min: smallest sample
        max: largest sample
        mean: mean over time
        samples: samples taken
        active: share of the time whose samples are above 0
        idle: 1 - active
        active_by_index: active of each device by its index; null where the metric has a total
        mean_by_index: mean of each device by its index; null where the metric has a total
    """

    p50: float
    p95: float
    p99: float
    min: float
    max: float
    mean: float
    samples: int
    active: float
    idle: float
    active_by_index: dict[str, float] | None
    mean_by_index: dict[str, float] | None


def resources(tables: list[pa.Table]) -> dict[str, Resource]:
    """Metrics of one host by name, from the streams (MONITOR_SCHEMA) of its workers.

    Where a metric has a total (index ``NONE``) the total counts, else all its devices or cores together.
    """
    pooled: dict[str, dict[int, list[tuple[np.ndarray, np.ndarray]]]] = {}
    for table in tables:
        with_total = set()
        for (name, index), ts, value in series_of(table):
            known = np.isfinite(value)
            if name in with_total or not known.any():
                continue
            if index == NONE:  # comes before those of devices or cores
                with_total.add(name)
            ts, first = np.unique(ts[known], return_index=True)
            parts = pooled.setdefault(name, {}).setdefault(index, [])
            parts.append((value[known][first], sample_weights(ts)))
    return {name: _resource(parts) for name, parts in sorted(pooled.items())}


def sample_weights(ts_ns: np.ndarray) -> np.ndarray:
    """The time in ns that each sample of one series stands for; ``ts_ns`` rises strictly."""
    if len(ts_ns) < 2:
        return np.ones(len(ts_ns), np.int64)
    since = np.diff(ts_ns, prepend=ts_ns[0])
    since[0] = since[1]
    until = np.append(since[1:], since[-1])
    return np.where(after_gap(ts_ns), until, since)


def after_gap(ts_ns: np.ndarray) -> np.ndarray:
    """Which samples of one series come after a gap; the usual interval may have been changed on the way."""
    if len(ts_ns) < 2:
        return np.zeros(len(ts_ns), bool)
    since = np.diff(ts_ns)
    until = np.append(since[1:], since[-1])
    previous = np.append(since[0], since[:-1])
    return np.append(False, (since > GAP_FACTOR * until) & (since > GAP_FACTOR * previous))


def _resource(by_index: dict[int, list[tuple[np.ndarray, np.ndarray]]]) -> Resource:
    """All series of one metric, each with its weights, by index."""
    values, weights = _joined([part for parts in by_index.values() for part in parts])
    p50, p95, p99 = weighted(values, weights, 50, 95, 99)
    active = _active(values, weights)
    each = {} if NONE in by_index else {str(one): _joined(parts) for one, parts in sorted(by_index.items())}
    return Resource(
        p50=p50,
        p95=p95,
        p99=p99,
        min=float(values.min()),
        max=float(values.max()),
        mean=_mean(values, weights),
        samples=len(values),
        active=active,
        idle=1 - active,
        active_by_index={one: _active(*joined) for one, joined in each.items()} or None,
        mean_by_index={one: _mean(*joined) for one, joined in each.items()} or None,
    )


def _joined(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    values, weights = zip(*parts, strict=True)
    return np.concatenate(values), np.concatenate(weights)


def _mean(values: np.ndarray, weights: np.ndarray) -> float:
    return float(np.average(values, weights=weights))


def _active(values: np.ndarray, weights: np.ndarray) -> float:
    return float(weights[values > 0].sum() / weights.sum())
