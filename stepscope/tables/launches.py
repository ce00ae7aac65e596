"""The table of launches: every call that puts work on a device, or these by call, thread or kernel."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from stepscope.analysis.groups import Groups
from stepscope.analysis.launches import CallLaunches, Launches, launch_sums
from stepscope.definitions import meanings
from stepscope.schema import NONE
from stepscope.tables.common import START, THREAD, labels, means, share, shifted, step_column
from stepscope.tables.frame import Column, Frame, first_rows, frame, known, texts
from stepscope.tables.rows import EventRows
from stepscope.tables.source import Source

_C, _L = meanings(CallLaunches), meanings(Launches)

NAME = Column("name", "Call", "text", "The runtime or driver call.")
KERNEL = Column("kernel", "Starts", "text", "The device work that the launch started, the first of several.")
_TIMES = (
    ("latency_ns", "Latency", _L["latency_ns"]),
    ("queue_wait_ns", "Queue wait", _L["queue_wait_ns"]),
    ("overhead_ns", "Overhead", _L["overhead_ns"]),
)


class LaunchTable(EventRows):
    """Calls that put work on a device queue."""

    empty = "no_launch"
    groupings = {"name": "Call", "thread": "Thread", "kernel": "Kernel"}

    def __init__(self, source: Source) -> None:
        super().__init__(source, source.links.call)

    def single(self) -> Frame:
        """One row a call."""
        source, rows, events = self._source, self._rows, self._source.events
        times = source.launch_times
        runs, device = self._spread(times.runs, 0), self._spread(times.took_ns)
        return frame(
            [
                (NAME, texts(events.name[rows], events.names)),
                (START, source.moments(rows)),
                (Column("dur_ns", "Host time", "ns", "Duration of the call on the host."), events.dur_ns[rows]),
                step_column(source.steps_at(events.ts_ns[rows], events.step[rows])),
                (THREAD, texts(events.lane[rows], source.thread_names)),
                (
                    Column("linked", "Linked", "flag", "Whether any run carries the call's correlation id."),
                    source.links.linked,
                ),
                (Column("runs", "Runs", "count", "Device work that it started.", shown=False), runs),
                (KERNEL, texts(self._kernel, events.names)),
                (
                    Column("device_ns", "Device time", "ns", "Sum of the durations of its runs."),
                    known(device),
                ),
                *(
                    (Column(key, label, "ns", about), known(self._spread(self._times[key])))
                    for key, label, about in _TIMES
                ),
            ],
            rows,
            "latency_ns",
        )

    def grouped(self, by: str) -> Frame:
        """One row a group."""
        source, rows, events = self._source, self._rows, self._source.events
        label: tuple[Column, Any]
        if by == "thread":
            groups = Groups(events.lane[rows])
            label = THREAD, texts(groups.keys, source.thread_names)
        elif by == "kernel":
            groups = Groups(shifted(self._kernel))
            label = KERNEL, labels(groups.keys, events.names)
        else:
            groups = Groups(events.name[rows].astype(np.int64))
            label = NAME, texts(groups.keys, events.names)
        of = groups.of
        sums = launch_sums(events, source.links, source.launch_times, groups)
        linked = Groups(of[source.launch_times.call])  # groups with a linked launch
        some = np.zeros(len(groups), bool)
        some[linked.keys] = True

        def of_linked(values: np.ndarray) -> Any:
            out = np.full(len(groups), NONE, np.int64)
            out[linked.keys] = values
            return known(out, some)

        columns = []
        for key, title, about in _TIMES:
            for percent, value in zip((50, 99), linked.nearest_rank(self._times[key], 50, 99), strict=True):
                name = "median" if percent == 50 else "p99"
                text = f"{'Median' if percent == 50 else '99th percentile'} over the linked launches. {about}"
                shown = key == "latency_ns" or percent == 50
                spare = 0 if key == "latency_ns" else 1
                columns.append(
                    (Column(f"{key[:-3]}_p{percent}_ns", f"{title} {name}", "ns", text, shown, spare), of_linked(value))
                )
        latency = self._times["latency_ns"]
        return frame(
            [
                label,
                (Column("count", "Launches", "count", "Launches in the deep windows."), sums["count"]),
                (Column("linked", "Linked", "count", _C["linked"], spare=2), sums["linked"]),
                (
                    Column(
                        "unlinked",
                        "Unlinked",
                        "count",
                        "Launches without any run: the records were lost, or the call started nothing.",
                    ),
                    [n - k for n, k in zip(sums["count"], sums["linked"], strict=True)],
                ),
                (Column("runs", "Runs", "count", _C["runs"], shown=False), sums["runs"]),
                (Column("host_ns", "Host time", "ns", _C["host_ns"]), sums["host_ns"]),
                (
                    Column("share", "Host share", "share", "Host time divided by that of all launches."),
                    share(sums["host_ns"]),
                ),
                (
                    Column("mean_ns", "Host mean", "ns", "Host time divided by the number of launches.", spare=1),
                    means(sums["host_ns"], sums["count"]),
                ),
                (Column("device_ns", "Device time", "ns", _C["device_ns"]), sums["device_ns"]),
                *columns,
                (
                    Column(
                        "latency_max_ns", "Latency longest", "ns", "The longest latency of a linked launch.", spare=1
                    ),
                    of_linked(linked.max(latency)),
                ),
            ],
            first_rows(rows, of, len(groups)),
            "host_ns",
            of,
            label[0].key,
        )

    @cached_property
    def _times(self) -> dict[str, np.ndarray]:
        """One entry a linked launch."""
        times = self._source.launch_times
        return {
            "latency_ns": times.latency_ns,
            "queue_wait_ns": times.wait_ns,
            "overhead_ns": times.latency_ns - times.wait_ns,
        }

    @cached_property
    def _kernel(self) -> np.ndarray:
        """The name of the first run of each launch."""
        times = self._source.launch_times
        return self._spread(self._source.events.name[times.first].astype(np.int64))

    def _spread(self, values: np.ndarray, otherwise: int = NONE) -> np.ndarray:
        """Values of the linked launches among all launches."""
        out = np.full(len(self._rows), otherwise, np.int64)
        out[self._source.launch_times.call] = values
        return out
