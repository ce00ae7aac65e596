"""What the resource monitor saw on a host, as distributions over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

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
    """

    p50: float
    p95: float
    p99: float
    min: float
    max: float
    mean: float
    samples: int


def resources(tables: list[pa.Table]) -> dict[str, Resource]:
    """Metrics of one host by name, from the streams (MONITOR_SCHEMA) of its workers.

    Where a metric has a total (index ``NONE``) the total counts, else all its devices or cores together.
    """
    pooled: dict[str, tuple[list[np.ndarray], list[np.ndarray]]] = {}
    for table in tables:
        metric = table.column("metric").combine_chunks().dictionary_encode()
        code = metric.indices.to_numpy(zero_copy_only=False)
        ts, index, value = (table.column(c).to_numpy() for c in ("ts_ns", "index", "value"))
        for i, name in enumerate(metric.dictionary.to_pylist()):
            rows = np.flatnonzero((code == i) & np.isfinite(value))
            total = rows[index[rows] == NONE]
            rows = total if len(total) else rows
            values, weights = pooled.setdefault(name, ([], []))
            for one in np.unique(index[rows]).tolist():
                series = rows[index[rows] == one]
                series = series[np.unique(ts[series], return_index=True)[1]]
                values.append(value[series])
                weights.append(sample_weights(ts[series]))
    out = {}
    for name, (values, weights) in sorted(pooled.items()):
        joined, weight = np.concatenate(values), np.concatenate(weights)
        if len(joined):
            out[name] = _resource(joined, weight)
    return out


def sample_weights(ts_ns: np.ndarray) -> np.ndarray:
    """The time in ns that each sample of one series stands for; ``ts_ns`` rises strictly."""
    if len(ts_ns) < 2:
        return np.ones(len(ts_ns), np.int64)
    since = np.diff(ts_ns, prepend=ts_ns[0])
    since[0] = since[1]
    until = np.append(since[1:], since[-1])
    previous = np.append(since[1], since[:-1])
    gap = (since > GAP_FACTOR * until) & (since > GAP_FACTOR * previous)
    return np.where(gap, until, since)


def _resource(values: np.ndarray, weights: np.ndarray) -> Resource:
    p50, p95, p99 = weighted(values, weights, 50, 95, 99)
    mean = float(np.average(values, weights=weights))
    return Resource(p50, p95, p99, float(values.min()), float(values.max()), mean, len(values))
