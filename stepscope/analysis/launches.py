"""Calls that put work on a device, the work they started, and how long it waited."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.groups import Groups
from stepscope.analysis.percentiles import nearest_rank
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


@dataclass(frozen=True)
class Launches:
    """Launch calls of one worker.

    Metrics:
        count: calls that put work on a device queue (kernel launches, graph launches, copies, fills)
        linked: launches with at least one run of the same correlation id
        without_run: launches without any; their records were lost, or the call started nothing
        runs_without_launch: device work whose launch is not in the trace
        latency_ns: first run's start - launch end, at least 0, over linked launches; percentiles by nearest rank
        negative: linked launches whose run started before the call ended, counted before the floor at 0
    """

    count: int
    linked: int
    without_run: int
    runs_without_launch: int
    latency_ns: dict[str, int] | None
    negative: int
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
    order = np.lexsort((events.lane[calls], -events.dur_ns[calls], events.ts_ns[calls], ~is_launch, ids))
    order = order[ids[order] >= lowest]
    known, first = np.unique(ids[order], return_index=True)
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
    linked = np.isin(ids[used], np.unique(wanted[hit])) & (ids[used] >= lowest)
    return Links(calls[used], runs, call_of_run, linked)


def launches(events: Events, links: Links) -> Launches:
    """Counts and latencies of launch calls."""
    hit = links.call_of_run != NONE
    by_call = Groups(links.call_of_run[hit])
    first_start = by_call.min(events.ts_ns[links.run[hit]])
    call = links.call[by_call.keys]
    raw = first_start - (events.ts_ns[call] + events.dur_ns[call])
    latency = None
    if len(raw):
        floored = np.maximum(raw, 0)
        p50, p90, p99 = nearest_rank(floored, 50, 90, 99)
        latency = {"p50": p50, "p90": p90, "p99": p99, "max": int(floored.max())}
    linked = int(np.count_nonzero(links.linked))
    return Launches(
        count=len(links.call),
        linked=linked,
        without_run=len(links.call) - linked,
        runs_without_launch=int(np.count_nonzero(~hit)),
        latency_ns=latency,
        negative=int(np.count_nonzero(raw < 0)),
        before_call=int(np.count_nonzero(first_start < events.ts_ns[call])),
    )
