"""Calls that put work on a device, the work they started, and how long it waited for what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.enclosing import innermost
from stepscope.analysis.groups import Groups
from stepscope.analysis.order import by_first
from stepscope.analysis.percentiles import nearest_rank
from stepscope.analysis.queues import QueueOrder
from stepscope.analysis.select import device_work, host_rows
from stepscope.schema import NONE, RUNTIME_CALLS, Events, Kind


@dataclass(frozen=True, eq=False)
class Links:
    """``call`` and ``run`` are rows of the event table; ``call_of_run`` (one entry a run) points into ``call``.

    ``linked`` (one entry a call) tells whether any run carries the call's correlation id.
    """

    call: np.ndarray
    run: np.ndarray
    call_of_run: np.ndarray
    linked: np.ndarray


#: Lower edges of the histogram's bins in ns: 0, then 1, 2, 5 in each decade from 1 µs to 10 s. A bin reaches up
#: to, not including, the next edge; the last one has no end.
EDGES_NS = (0, *(digit * 10**power for power in range(3, 10) for digit in (1, 2, 5)), 10**10)


@dataclass(frozen=True)
class LaunchHistogram:
    """Linked launches by how long they took; bin ``i`` holds values from ``edges_ns[i]`` to below the next edge.

    Metrics:
        edges_ns: lower edges of the bins: 0, then 1, 2, 5 in each decade from 1 µs to 10 s; the last bin is open
        latency: launches by latency, one count a bin
        overhead: launches by launch overhead
        queue_wait: launches by queue wait
    """

    edges_ns: list[int]
    latency: list[int]
    overhead: list[int]
    queue_wait: list[int]


@dataclass(frozen=True)
class CallLaunches:
    """Launches by the runtime call that made them.

    Metrics:
        name: the call
        count: launches
        linked: launches with at least one run
        runs: device work that they started (a CUDA graph starts many)
        host_ns: sum of the durations of the calls on the host
        device_ns: sum of the durations of the runs
    """

    name: str
    count: int
    linked: int
    runs: int
    host_ns: int
    device_ns: int


@dataclass(frozen=True)
class Launches:
    """Launch calls of one worker. The latency of a launch is its overhead plus its queue wait.

    The distributions are over linked launches, by nearest rank: p50, p90, p99, max, and the total. A run that
    started before its call ended has waited 0.

    Metrics:
        count: calls that put work on a device queue (kernel launches, graph launches, copies, fills)
        linked: launches with at least one run of the same correlation id
        without_run: launches without any; their records were lost, or the call started nothing
        runs_without_launch: device work whose launch is not in the trace
        latency_ns: first run's start - launch end, at least 0
        queue_wait_ns: the part of the latency in which earlier work of the run's stream still ran: the earlier of
            the run's start and the latest end before it on its stream, - launch end, at least 0
        overhead_ns: the rest of the latency: the stream was free, or waited for an event of another one
        negative: linked launches whose run started before the call ended, counted before the floor at 0
        histogram: launches by latency and by its parts, in logarithmic bins
        short_kernels: linked launches of kernels whose runs together took less time than the call: the host is
            slower than the device
        short_kernel_ns: sum of the durations of these runs
        short_call_ns: sum of the durations of these calls
        graph_launches: calls that launch a graph
        graph_runs: device work that graphs started
        by_call: launches by the name of the call, the largest count first
    """

    count: int
    linked: int
    without_run: int
    runs_without_launch: int
    latency_ns: dict[str, int] | None
    queue_wait_ns: dict[str, int] | None
    overhead_ns: dict[str, int] | None
    negative: int
    histogram: LaunchHistogram | None
    short_kernels: int
    short_kernel_ns: int
    short_call_ns: int
    graph_launches: int
    graph_runs: int
    by_call: list[CallLaunches]
    before_call: int  # runs that start before their call starts: the clocks disagree


def link(events: Events) -> Links:
    """Join device work to the host call with the same correlation id.

    A call is a LAUNCH row, or any other runtime call that work points to. Of several calls with one id the
    first launch is taken. Ids below 1 mean "none"; 0 still counts where exactly one launch carries it.
    """
    runs = device_work(events)
    calls = host_rows(events, *RUNTIME_CALLS)
    is_launch = events.kind[calls] == Kind.LAUNCH
    ids = events.correlation[calls]
    lowest = 0 if np.count_nonzero(is_launch & (ids == 0)) == 1 and np.count_nonzero(ids == 0) == 1 else 1
    order = _by_id(events, calls, ids, is_launch, lowest)
    in_order = ids[order]
    first = np.flatnonzero(np.append(True, in_order[1:] != in_order[:-1])[: len(order)])
    known = in_order[first]
    wanted = events.correlation[runs]
    at = np.searchsorted(known, wanted)
    hit = at < len(known)
    hit[hit] = known[at[hit]] == wanted[hit]
    call_of_run = np.full(len(runs), NONE, np.int64)
    call_of_run[hit] = order[first[at[hit]]]
    used = is_launch.copy()
    used[call_of_run[hit]] = True
    position = np.cumsum(used) - 1
    call_of_run[hit] = position[call_of_run[hit]]
    carried = np.zeros(len(known) + 1, bool)
    carried[at[hit]] = True
    linked = carried[np.searchsorted(known, ids[used])] & (ids[used] >= lowest)
    return Links(calls[used], runs, call_of_run, linked)


def _by_id(events: Events, calls: np.ndarray, ids: np.ndarray, is_launch: np.ndarray, lowest: int) -> np.ndarray:
    """The calls whose id is at least ``lowest``, by id; of one id the launches first, then by start."""
    wanted = np.flatnonzero(ids >= lowest)
    rows = calls[wanted]
    keys = ~is_launch[wanted], events.ts_ns[rows], -events.dur_ns[rows], events.lane[rows]
    return wanted[by_first(ids[wanted], *keys)]


def operators_around(events: Events, links: Links) -> np.ndarray:
    """For each call of the links the row of the innermost host operator around it, ``NONE`` without one."""
    return innermost(events, host_rows(events, Kind.OP), links.call)


@dataclass(frozen=True, eq=False)
class LaunchTimes:
    """Times of each linked launch; all arrays have one entry such a launch.

    ``call`` points into ``Links.call``. ``raw_ns`` is the first run's start - the call's end, which is negative where
    the run started before; latency is it with a floor at 0, and ``wait_ns`` its part in the queue. ``took_ns`` is the
    sum of the durations of the launch's ``runs``, ``first`` the row of the run that started first.
    """

    call: np.ndarray
    runs: np.ndarray
    first: np.ndarray
    raw_ns: np.ndarray
    wait_ns: np.ndarray
    took_ns: np.ndarray
    has_kernel: np.ndarray

    @property
    def latency_ns(self) -> np.ndarray:
        return np.maximum(self.raw_ns, 0)


def launch_times(events: Events, links: Links, queues: QueueOrder) -> LaunchTimes:
    """Latency, wait and work of each launch that has runs; the arguments are those of ``launches``."""
    hit = np.flatnonzero(links.call_of_run != NONE)
    run, position = links.run[hit], queues.position[hit]
    by_call = Groups(links.call_of_run[hit])
    start = events.ts_ns[run]
    first_start = by_call.min(start)
    call_end = events.ends_ns(links.call[by_call.keys])
    raw = first_start - call_end
    # Of runs that start together on several streams, the one whose stream was free last.
    starts_first = start == first_start[by_call.of]
    waiting = starts_first & ~queues.first[position]
    free = by_call.max(np.where(waiting, queues.reach_ns[position], np.iinfo(np.int64).min))
    return LaunchTimes(
        call=by_call.keys,
        runs=by_call.count,
        first=by_call.min(np.where(starts_first, run, len(events))),
        raw_ns=raw,
        wait_ns=np.maximum(np.minimum(first_start, free), call_end) - call_end,
        took_ns=by_call.sum(events.dur_ns[run]),
        has_kernel=by_call.any(np.isin(events.kind[run], (Kind.KERNEL, Kind.COLLECTIVE))),
    )


def launches(events: Events, links: Links, queues: QueueOrder) -> Launches:
    """Counts and latencies of launch calls.

    Args:
        events: deep windows.
        links: launches and runs of ``events``.
        queues: ``links.run`` in order of their queues.
    """
    times = launch_times(events, links, queues)
    call = links.call[times.call]
    latency, wait, took = times.latency_ns, times.wait_ns, times.took_ns
    short = times.has_kernel & (took < events.dur_ns[call])
    calls = _by_call(events, links, times)
    graphs = [c for c in calls if "GraphLaunch" in c.name]
    linked = int(np.count_nonzero(links.linked))
    has_any = len(latency) > 0
    return Launches(
        count=len(links.call),
        linked=linked,
        without_run=len(links.call) - linked,
        runs_without_launch=int(np.count_nonzero(links.call_of_run == NONE)),
        latency_ns=_distribution(latency),
        queue_wait_ns=_distribution(wait),
        overhead_ns=_distribution(latency - wait),
        negative=int(np.count_nonzero(times.raw_ns < 0)),
        histogram=LaunchHistogram(list(EDGES_NS), *map(_histogram, (latency, latency - wait, wait)))
        if has_any
        else None,
        short_kernels=int(np.count_nonzero(short)),
        short_kernel_ns=int(took[short].sum()),
        short_call_ns=int(events.dur_ns[call[short]].sum()),
        graph_launches=sum(c.count for c in graphs),
        graph_runs=sum(c.runs for c in graphs),
        by_call=calls,
        before_call=int(np.count_nonzero(times.raw_ns < -events.dur_ns[call])),
    )


def launch_sums(events: Events, links: Links, times: LaunchTimes, groups: Groups) -> dict[str, list[int]]:
    """Sums over each group of ``links.call``: column by column, in the order of the fields of ``CallLaunches``."""
    runs, device = np.zeros((2, len(links.call)), np.int64)
    runs[times.call], device[times.call] = times.runs, times.took_ns
    columns = {
        "linked": links.linked.astype(np.int64),
        "runs": runs,
        "host_ns": events.dur_ns[links.call],
        "device_ns": device,
    }
    return {"count": groups.count.tolist()} | {name: groups.sum(v).tolist() for name, v in columns.items()}


def _by_call(events: Events, links: Links, times: LaunchTimes) -> list[CallLaunches]:
    by_name = Groups(events.name[links.call].astype(np.int64))
    sums = launch_sums(events, links, times, by_name)
    found = [
        CallLaunches(events.names[name], *row) for name, *row in zip(by_name.keys.tolist(), *sums.values(), strict=True)
    ]
    return sorted(found, key=lambda c: (-c.count, c.name))


def _distribution(values: np.ndarray) -> dict[str, int] | None:
    if len(values) == 0:
        return None
    p50, p90, p99 = nearest_rank(values, 50, 90, 99)
    return {"p50": p50, "p90": p90, "p99": p99, "max": int(values.max()), "total": int(values.sum())}


def _histogram(values: np.ndarray) -> list[int]:
    return np.bincount(np.searchsorted(EDGES_NS, values, "right") - 1, minlength=len(EDGES_NS)).tolist()
