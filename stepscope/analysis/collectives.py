"""Communication of one worker: collectives by name and process group, bandwidths, what computation hid."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from stepscope.analysis import intervals
from stepscope.analysis.collective_messages import OF_LIBRARY, Message, read_message
from stepscope.analysis.enclosing import innermost
from stepscope.analysis.groups import Groups
from stepscope.analysis.launches import Links
from stepscope.analysis.select import covered, host_rows
from stepscope.schema import NONE, Events, Kind

_METADATA = "record_param_comms"


@dataclass(frozen=True, eq=False)
class CollectiveRuns:
    """Runs of collectives; all arrays have one entry a run.

    ``rows`` are rows of the event table: on device lanes, or of the host's library threads (gloo).
    ``message`` points into ``messages``. ``algbw`` is message / duration and
    ``busbw`` the same with the share that crosses the bus, both in bytes/s (1 GB/s is 1e9), NaN where unknown.
    """

    rows: np.ndarray
    on_device: np.ndarray
    messages: list[Message]
    message: np.ndarray
    algbw: np.ndarray
    busbw: np.ndarray


@dataclass(frozen=True)
class Collective:
    """All runs of one collective in one process group.

    Durations hold the wait for the last rank to come, so bandwidths of one worker are lower bounds. The 200 with the
    largest totals are listed; ``collective_count`` tells how many there are.

    Metrics:
        name: the collective: all_reduce, all_gather, ...; the device function where nothing tells more
        group: name of the process group, null where it is not told
        group_description: the group's description, null where it has none
        group_size: ranks of the group, null where it is not told
        device: true on a device, false for a library that communicates on the host (gloo)
        count: runs
        total_ns: sum of the durations
        min_ns: shortest run
        max_ns: longest run
        exposed_ns: parts of the runs in which no compute kernel ran; null on the host
        bytes: sum of the messages that are known: what one rank gives, for all_gather what it gets; null if none is
        bytes_known: runs whose message size is known
        algbw_bytes_per_s: algorithm bandwidth, bytes / duration, over the runs whose message is known and that
            took time
        busbw_bytes_per_s: bus bandwidth: the same, each message times the share that crosses the bus in a group of
            n ranks: 2(n-1)/n for all_reduce; (n-1)/n for all_gather, reduce_scatter, all_to_all, gather, scatter;
            1 for broadcast, reduce, send, recv. Over the runs whose group size is known too; 1 GB/s is 1e9 bytes/s
    """

    name: str
    group: str | None
    group_description: str | None
    group_size: int | None
    device: bool
    count: int
    total_ns: int
    min_ns: int
    max_ns: int
    exposed_ns: int | None
    bytes: int | None
    bytes_known: int
    algbw_bytes_per_s: float | None
    busbw_bytes_per_s: float | None


@dataclass(frozen=True)
class Communication:
    """Collectives on the devices of one worker, all devices together.

    Metrics:
        total_ns: union of all collectives on devices
        exposed_ns: the part of it in which no compute kernel ran
        overlapped_ns: the rest: computation went on meanwhile
        overlap: overlapped_ns / total_ns, null without communication
        collectives: by name and process group, the largest total first
    """

    total_ns: int
    exposed_ns: int
    overlapped_ns: int
    overlap: float | None
    collectives: list[Collective]


def collective_runs(events: Events, links: Links, group_sizes: Mapping[str, int] | None = None) -> CollectiveRuns:
    """Runs of collectives with what is known of their messages.

    The record on the device tells; where it does not, the operator around its launch call does
    (record_param_comms, or the library's annotation with its input shapes), else the device function's name.

    Args:
        events: deep windows.
        links: launches and runs of ``events``.
        group_sizes: ranks of process groups by name, for records that tell the group alone.
    """
    on_device = np.flatnonzero(events.kind == Kind.COLLECTIVE)
    host = _named(events, host_rows(events, Kind.ANNOTATION), lambda name: name.startswith("gloo:"))
    rows = np.concatenate((on_device, host))
    if len(rows) == 0:
        empty = np.empty(0, np.float64)
        return CollectiveRuns(rows, rows > 0, [], rows, empty, empty)
    makers = np.concatenate((_makers(events, links, on_device), host))
    told = (events.name, events.args)
    columns = [c[rows] for c in told] + [np.where(makers == NONE, NONE, c[makers]) for c in told]
    _, first, message = np.unique(np.stack(columns), axis=1, return_index=True, return_inverse=True)
    messages = [read_message(events, rows[i], makers[i], group_sizes or {}) for i in first.tolist()]
    message = message.reshape(-1)
    size = np.array([m.bytes for m in messages], np.float64)[message]
    crossing = np.array([m.crossing for m in messages], np.float64)[message]
    algbw = np.full(len(rows), np.nan)
    dur = events.dur_ns[rows].astype(np.float64)
    np.divide(size * 1e9, dur, out=algbw, where=dur > 0)
    on_a_device = np.arange(len(rows)) < len(on_device)
    return CollectiveRuns(rows, on_a_device, messages, message, algbw, algbw * crossing)


def communication(events: Events, runs: CollectiveRuns) -> Communication | None:
    """Sums over the runs; None where there is no collective.

    Args:
        events: deep windows.
        runs: the collectives of ``events``.
    """
    if len(runs.rows) == 0:
        return None
    compute = covered(events, np.flatnonzero(events.kind == Kind.KERNEL))
    mine = covered(events, runs.rows[runs.on_device])
    total, exposed = intervals.length(mine), intervals.length(intervals.subtract(mine, compute))
    start, dur = events.ts_ns[runs.rows], events.dur_ns[runs.rows]
    bare = dur - intervals.length_within(compute, start, start + dur)
    labels: dict[tuple, int] = {}
    of_message = []
    for m in runs.messages:
        group_size = None if math.isnan(m.group_size) else int(m.group_size)
        crossing = None if math.isnan(m.crossing) else m.crossing  # NaN would differ from itself
        label = (m.name, m.group, m.group_description, group_size, crossing)
        of_message.append(labels.setdefault(label, len(labels)))
    groups = Groups(np.array(of_message, np.int64)[runs.message] * 2 + runs.on_device)
    size = np.array([m.bytes for m in runs.messages], np.float64)[runs.message]
    known = np.isfinite(size)
    moved = np.where(known, size, 0).astype(np.int64)
    timed = known & (dur > 0)
    sums = [
        groups.sum(column).tolist()
        for column in (dur, bare, moved, known.astype(np.int64), np.where(timed, moved, 0), np.where(timed, dur, 0))
    ]
    columns = (groups.keys.tolist(), groups.count.tolist(), groups.min(dur).tolist(), groups.max(dur).tolist(), *sums)
    keys = list(labels)
    found = []
    for key, count, low, high, ns, lone, total_bytes, known_count, timed_bytes, timed_ns in zip(*columns, strict=True):
        name, group, description, group_size, crossing = keys[key // 2]
        algbw = timed_bytes * 1e9 / timed_ns if timed_ns else None
        found.append(
            Collective(
                name=name,
                group=group,
                group_description=description,
                group_size=group_size,
                device=bool(key % 2),
                count=count,
                total_ns=ns,
                min_ns=low,
                max_ns=high,
                exposed_ns=lone if key % 2 else None,
                bytes=total_bytes if known_count else None,
                bytes_known=known_count,
                algbw_bytes_per_s=algbw,
                busbw_bytes_per_s=None if algbw is None or crossing is None else algbw * crossing,
            )
        )
    found.sort(key=lambda c: (-c.total_ns, c.name, c.group or "", c.group_size or 0, c.device))
    return Communication(total, exposed, total - exposed, (total - exposed) / total if total else None, found)


def _makers(events: Events, links: Links, rows: np.ndarray) -> np.ndarray:
    """The row of the library's operator or annotation around the launch of each run, else ``NONE``."""
    out = np.full(len(rows), NONE, np.int64)
    call_of_run = np.full(len(events), NONE, np.int64)
    call_of_run[links.run] = links.call_of_run
    call = call_of_run[rows]
    linked = np.flatnonzero(call != NONE)
    calls = links.call[call[linked]]
    told = _named(events, host_rows(events, Kind.OP, Kind.ANNOTATION), lambda name: OF_LIBRARY.match(name) is not None)
    out[linked] = innermost(events, told, calls)
    metadata = _named(events, host_rows(events, Kind.OP), _METADATA.__eq__)
    metadata = metadata[events.args[metadata] != NONE]
    texts, at = np.unique(events.args[metadata], return_inverse=True)
    full = np.array(['"Collective name"' in events.args_values[t] for t in texts.tolist()], dtype=bool)
    better = innermost(events, metadata[full[at]], calls)
    out[linked] = np.where(better == NONE, out[linked], better)
    return out


def _named(events: Events, rows: np.ndarray, accepts: Callable[[str], bool]) -> np.ndarray:
    """Those of ``rows`` whose name is accepted."""
    names, at = np.unique(events.name[rows], return_inverse=True)
    return rows[np.array([accepts(events.names[n]) for n in names.tolist()], dtype=bool)[at]]
