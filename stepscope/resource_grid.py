"""The monitor's samples on common columns of time: each core as a row, and several hosts or workers as one band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepscope.analysis.resources import after_gap
from stepscope.resources import ResourceHistory, SeriesInfo, series_info
from stepscope.schema import NONE

#: Metrics of one training process begin so; all others are of its host, and every worker there sees the same.
_OF_PROCESS = ("process_", "cgroup_")
CORE = "cpu_core"


@dataclass(frozen=True, eq=False)
class Band:
    """A metric over several hosts, GPUs or processes: in each column the mean, least and largest of their values.

    NaN where none of them was sampled. ``members`` tells how many they are, ``of`` what they are.
    """

    info: SeriesInfo
    of: str
    members: int
    mean: np.ndarray
    min: np.ndarray
    max: np.ndarray


def columns_of(history: ResourceHistory, t0_ns: int, t1_ns: int, most: int) -> np.ndarray:
    """Edges of at most ``most`` equal columns of [t0_ns, t1_ns), none much narrower than the sampling interval."""
    interval_ns = history.interval_ns() or 1
    count = max(1, min(most, -(-(t1_ns - t0_ns) // interval_ns)))
    return t0_ns + (t1_ns - t0_ns) * np.arange(count + 1, dtype=np.float64) / count


def on_grid(ts_ns: np.ndarray, value: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The mean sample of each column; where a column has none, the one that ends the time it lies in; NaN in gaps."""
    finite = np.isfinite(value)
    ts, value = ts_ns[finite], value[finite]
    at = np.searchsorted(ts, edges)
    before = np.concatenate(([0.0], np.cumsum(value)))
    count = np.diff(at)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.diff(before[at]) / count
    if len(ts) > 1:
        # A rate stands for the time since the sample before it, so the next sample tells about an empty column.
        following = np.minimum(at[1:], len(ts) - 1)
        inside = (at[1:] > 0) & (at[1:] < len(ts))
        near = inside & ~after_gap(ts)[following]
        mean = np.where(count == 0, np.where(near, value[following], np.nan), mean)
    return mean


def cores(history: ResourceHistory, edges: np.ndarray) -> dict[int, np.ndarray]:
    """Use of each core, a value a column."""
    return {i: on_grid(*history.samples(name, i), edges) for name, i in history.series() if name == CORE}


def across(histories: Sequence[tuple[str, ResourceHistory]], edges: np.ndarray) -> list[Band]:
    """Each metric over all workers (host, history), in the order in which series are drawn.

    What is of a host counts once for each host, as its first worker with samples saw it; GPUs count one by one.
    """
    values: dict[str, dict[tuple, np.ndarray]] = {}
    for worker, (host, history) in enumerate(histories):
        for metric, index in history.series():
            if metric == CORE:
                continue
            member = (worker,) if metric.startswith(_OF_PROCESS) else (host, index)
            known = values.setdefault(metric, {})
            if member not in known:
                known[member] = on_grid(*history.samples(metric, index), edges)
    bands = []
    for metric in ResourceHistory.in_order(values):
        members = values[metric]
        if metric.startswith(_OF_PROCESS):
            of = "processes"
        else:
            of = "hosts" if all(m[1] == NONE for m in members) else "GPUs"
        bands.append(_band(metric, of, list(members.values())))
    return bands


def _band(metric: str, of: str, members: list[np.ndarray]) -> Band:
    """Over all members; columns in which none was sampled stay NaN."""
    table = np.stack(members)
    known = np.isfinite(table)
    count = known.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, table, 0).sum(axis=0) / count
    low = np.where(known, table, np.inf).min(axis=0)
    high = np.where(known, table, -np.inf).max(axis=0)
    none = count == 0
    info = series_info(metric, NONE)
    return Band(info, of, len(members), mean, np.where(none, np.nan, low), np.where(none, np.nan, high))
