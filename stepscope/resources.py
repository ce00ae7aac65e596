"""The resource monitor's samples as series: what they are called, where they are drawn, and reduced to a width."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from stepscope.analysis.monitor_series import series_of
from stepscope.analysis.resources import after_gap
from stepscope.schema import NONE
from stepscope.store import StreamReader
from stepscope.workers import Worker

#: Intervals whose median tells how it is sampled by now: one late sample, or the last, cut short, does not decide it.
_LATEST = 5


@dataclass(frozen=True)
class SeriesInfo:
    """``unit`` is ratio (0..1, or cores: 1 is one core), bytes, bytes_per_s, per_s (a rate of what the label says) or
    number. Series of one ``lane`` share axes.
    """

    id: str
    label: str
    group: str
    unit: str
    lane: str


@dataclass(frozen=True, eq=False)
class SeriesPoints:
    """A series at some width: Unix ns, and mean, least and largest sample at each point; NaN where a gap is."""

    t_ns: np.ndarray
    mean: np.ndarray
    min: np.ndarray
    max: np.ndarray


#: metric -> label, group, unit, lane; ``{i}`` is the core or GPU. In the order in which they are drawn.
_METRICS = {
    "cpu": ("CPU", "CPU", "ratio", "CPU"),
    "iowait": ("I/O wait", "CPU", "ratio", "CPU"),
    "process_cpu": ("Training process", "Process CPU (cores)", "ratio", "Process CPU (cores)"),
    "cgroup_cpu_limit": ("Container limit", "Process CPU (cores)", "ratio", "Process CPU (cores)"),
    "gpu": ("GPU {i}", "GPU", "ratio", "GPU {i}"),
    "gpu_memory_used": ("GPU {i} used", "GPU memory", "bytes", "GPU {i} memory"),
    "gpu_memory_total": ("GPU {i} total", "GPU memory", "bytes", "GPU {i} memory"),
    "process_context_switches": ("Context switches", "Scheduling", "per_s", "Scheduling"),
    "process_migrations": ("Moves to another core", "Scheduling", "per_s", "Scheduling"),
    "process_page_faults": ("Page faults", "Page faults", "per_s", "Page faults"),
    "process_cycles": ("Cycles", "Instructions", "per_s", "Instructions"),
    "process_instructions": ("Instructions", "Instructions", "per_s", "Instructions"),
    "process_instructions_per_cycle": ("Per cycle", "Instructions per cycle", "number", "Instructions per cycle"),
    "process_cache_misses": ("Cache", "CPU misses", "per_s", "CPU misses"),
    "process_branch_misses": ("Branch prediction", "CPU misses", "per_s", "CPU misses"),
    "process_itlb_misses": ("Instruction TLB", "CPU misses", "per_s", "CPU misses"),
    "memory_used": ("Used", "Memory", "bytes", "Memory"),
    "memory_total": ("Total", "Memory", "bytes", "Memory"),
    "process_memory": ("Training process", "Memory", "bytes", "Process memory"),
    "cgroup_memory_used": ("Container", "Memory", "bytes", "Container memory"),
    "cgroup_memory_limit": ("Container limit", "Memory", "bytes", "Container memory"),
    "network_receive": ("Received", "Network", "bytes_per_s", "Network"),
    "network_send": ("Sent", "Network", "bytes_per_s", "Network"),
    "disk_read": ("Read", "Disk", "bytes_per_s", "Disk"),
    "disk_write": ("Written", "Disk", "bytes_per_s", "Disk"),
    "cpu_core": ("Core {i}", "CPU cores", "ratio", "Core {i}"),
}


def series_info(metric: str, index: int) -> SeriesInfo:
    """How a metric of one core or GPU (``NONE``: the total) is shown. An unknown metric is shown by its name."""
    id = metric if index == NONE else f"{metric}.{index}"
    label, group, unit, lane = _METRICS.get(metric, (id, "Other", "ratio", id))
    if index == NONE:
        label, lane = label.replace("{i} ", "").replace(" {i}", ""), lane.replace(" {i}", "")
    return SeriesInfo(id, label.replace("{i}", str(index)), group, unit, lane.replace("{i}", str(index)))


class ResourceHistory:
    """All samples of one worker's monitor. Any thread may ask."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, int], list[tuple[np.ndarray, np.ndarray]]] = {}
        self._reader: StreamReader | None = None
        self._lock = threading.Lock()
        self.version = 0

    def read(self, worker: Worker) -> None:
        """Take in what came since."""
        with self._lock:
            if self._reader is None:
                self._reader = worker.monitor_reader()
            table = self._reader.read() if self._reader is not None else None
            if table is not None and table.num_rows:
                self.append(table)

    def append(self, table: pa.Table) -> None:
        """Add samples, a table of MONITOR_SCHEMA."""
        self.version += 1
        for key, ts, value in series_of(table):
            self._parts.setdefault(key, []).append((ts, value))

    def __len__(self) -> int:
        return len(self._parts)

    @property
    def nbytes(self) -> int:
        return sum(ts.nbytes + value.nbytes for parts in self._parts.values() for ts, value in parts)

    def infos(self) -> list[SeriesInfo]:
        """The series, in the order in which they are drawn."""
        return [series_info(*key) for key in self.series()]

    def extent_ns(self) -> tuple[int, int] | None:
        """From the first to the last sample."""
        parts = [ts for parts in self._parts.values() for ts, _ in parts]
        return (min(int(t[0]) for t in parts), max(int(t[-1]) for t in parts)) if parts else None

    def interval_ns(self) -> int | None:
        """The usual time between two samples."""
        return self._interval_ns(0)

    def latest_interval_ns(self) -> int | None:
        """The time between the latest samples: another one than the usual where the interval has been changed."""
        return self._interval_ns(-_LATEST)

    def _interval_ns(self, first: int) -> int | None:
        between = [np.diff(self.samples(*key)[0])[first:] for key in self.series()[:1]]
        return int(np.median(between[0])) if between and len(between[0]) else None

    def points(self, t0_ns: int, t1_ns: int, width: int, cores: bool = True) -> dict[str, SeriesPoints]:
        """Every series in [t0_ns, t1_ns), with at most ``width`` points and one more for each gap.

        Where there are more samples, each of ``width`` equal stretches of time becomes a point at the mean
        time of its samples. One sample beyond either end is included, so that a line can be drawn to the edge.
        """
        return {
            series_info(*key).id: self._reduced(key, t0_ns, t1_ns, width)
            for key in self.series()
            if cores or key[0] != "cpu_core"
        }

    def series(self) -> list[tuple[str, int]]:
        """Metrics with their core or GPU (``NONE``: the total), in the order in which they are drawn."""
        rank = {metric: i for i, metric in enumerate(self.in_order(metric for metric, _ in self._parts))}
        return sorted(self._parts, key=lambda key: (rank[key[0]], key))

    @staticmethod
    def in_order(metrics: Iterable[str]) -> list[str]:
        """Names of metrics in the order in which they are drawn, the unknown ones last."""
        rank = {metric: i for i, metric in enumerate(_METRICS)}
        return sorted(set(metrics), key=lambda metric: (rank.get(metric, len(rank)), metric))

    def samples(self, metric: str, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Times and values of one series, by time."""
        key = (metric, index)
        parts = self._parts[key]
        if len(parts) > 1:
            ts = np.concatenate([p[0] for p in parts])
            value = np.concatenate([p[1] for p in parts])
            order = np.argsort(ts, kind="stable")  # the wall clock may have been set back
            self._parts[key] = parts = [(ts[order], value[order])]
        return parts[0]

    def _reduced(self, key: tuple[str, int], t0_ns: int, t1_ns: int, width: int) -> SeriesPoints:
        ts, value = self.samples(*key)
        low = max(int(np.searchsorted(ts, t0_ns)) - 1, 0)
        high = min(int(np.searchsorted(ts, t1_ns)) + 1, len(ts))
        ts, value = ts[low:high], value[low:high]
        finite = np.isfinite(value)
        ts, value = ts[finite], value[finite]
        stretch = np.arange(len(ts))
        if len(ts) > width:
            stretch = (ts - ts[0]) // -(-(int(ts[-1] - ts[0]) + 1) // width)
        gap = np.flatnonzero(after_gap(ts))
        first = np.unique(np.concatenate((np.flatnonzero(np.diff(stretch, prepend=-1)), gap)))
        if len(first) == 0:
            nothing = np.empty(0)
            return SeriesPoints(ts, nothing, nothing, nothing)
        count = np.diff(np.append(first, len(ts)))
        t = ts[0] + np.add.reduceat(ts - ts[0], first) // count
        columns = [
            np.add.reduceat(value, first) / count,
            np.minimum.reduceat(value, first),
            np.maximum.reduceat(value, first),
        ]
        at = np.searchsorted(first, gap)
        middle = (ts[gap - 1] + ts[gap]) // 2
        return SeriesPoints(np.insert(t, at, middle), *(np.insert(c, at, np.nan) for c in columns))
