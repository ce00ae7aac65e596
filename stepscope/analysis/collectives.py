"""Communication of one worker: collectives by name and process group, bandwidths, what computation hid."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepscope.analysis import intervals
from stepscope.analysis.collective_messages import OF_LIBRARY, Message, read_message
from stepscope.analysis.collective_slack import SOURCES, Slack, collective_slack
from stepscope.analysis.enclosing import innermost
from stepscope.analysis.groups import Groups
from stepscope.analysis.launches import Links
from stepscope.analysis.select import covered, host_rows
from stepscope.schema import NONE, Events, Kind

#: Bandwidths of the bus, and what they are a multiple of.
BANDWIDTHS = (
    ("busbw_bytes_per_s", "algbw_bytes_per_s"),
    ("needed_busbw_bytes_per_s", "needed_algbw_bytes_per_s"),
)
_METADATA = "record_param_comms"


@dataclass(frozen=True, eq=False)
class CollectiveRuns:
    """Runs of collectives; all arrays have one entry a run.

    ``rows`` are rows of the event table: on device lanes, or of the host's library threads (gloo).
    ``message`` points into ``messages``. ``algbw`` is message / duration and
    ``busbw`` the same with the share that crosses the bus, both in bytes/s (1 GB/s is 1e9), NaN where unknown.
    ``slack`` tells how long other work went on until something needed the result.
    """

    rows: np.ndarray
    on_device: np.ndarray
    messages: list[Message]
    message: np.ndarray
    algbw: np.ndarray
    busbw: np.ndarray
    slack: Slack


@dataclass(frozen=True)
class Collective:
    """All runs of one collective in one process group.

    Durations hold the wait for the last rank to come, so bandwidths of one worker are lower bounds. The 200 with the
    largest totals are listed; ``collective_count`` tells how many there are.

    Slack, stall and needed bandwidth are known on devices. A collective ends too late for the step only by its stall:
    time without a compute kernel, ``exposed_ns``, may as well be that of a host that launches too slowly.

    Metrics:
        name: the collective: all_reduce, all_gather, ...; the device function where nothing tells more
        group: name of the process group, null where it is not told; of a transfer between slices of TPUs (MegaScale)
            that of the rendezvous
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
        slack_ns: sum of the slacks that are known: from the begin of a run until something that waits for it could
            have begun without it. What waits is the next work of its own stream that is no collective, the first
            work of another stream behind a wait for it, or the host in a call that waits for the device. Work could
            have begun when all before it on its stream had ended and its launch call had returned. Of MegaScale from
            the begin of send to that of recv-done, less all transfers' operations in between. Null if none is known
        slack_known: runs whose slack is known
        slack_from: what it is known from. `records`: the trace records the waits of streams. `calls`: only the
            host's calls, of which the first behind the launch counts as the wait; the slack is at least this. `order`:
            neither, so that all work launched behind it may wait; the slack is at least this. `operations`: those of
            MegaScale. The weakest of these, if they differ; null if no slack is known
        stall_ns: time in which something waited for a collective: the parts of the runs beyond their slack; of
            MegaScale the durations of its send, send-done, recv and recv-done. With `calls` and `order` at most this
        in_slack: runs that took no longer than their slack
        needed_algbw_bytes_per_s: algorithm bandwidth that would hide the collective: bytes / slack over the runs that
            took longer than their slack, over all where none did; null where these have no slack at all
        needed_busbw_bytes_per_s: the same as bus bandwidth, as that of busbw_bytes_per_s
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
    slack_ns: int | None = None
    slack_known: int = 0
    slack_from: str | None = None
    stall_ns: int | None = None
    in_slack: int = 0
    needed_algbw_bytes_per_s: float | None = None
    needed_busbw_bytes_per_s: float | None = None


@dataclass(frozen=True)
class Communication:
    """Collectives on the devices of one worker, all devices together.

    Metrics:
        total_ns: union of all collectives on devices
        exposed_ns: the part of it in which no compute kernel ran
        overlapped_ns: the rest: computation went on meanwhile
        overlap: overlapped_ns / total_ns, null without communication
        stall_ns: sum of the stalls of all collectives, null where none is known
        collectives: by name and process group, the largest total first
    """

    total_ns: int
    exposed_ns: int
    overlapped_ns: int
    overlap: float | None
    stall_ns: int | None
    collectives: list[Collective]


def collective_runs(
    events: Events,
    links: Links,
    group_sizes: Mapping[str, int] | None = None,
    windows: Sequence[Events] | None = None,
) -> CollectiveRuns:
    """Runs of collectives with what is known of their messages.

    The record on the device tells; where it does not, the operator around its launch call does
    (record_param_comms, or the library's annotation with its input shapes), else the device function's name.

    Args:
        events: deep windows.
        links: launches and runs of ``events``.
        group_sizes: ranks of process groups by name, for records that tell the group alone.
        windows: what ``events`` are made of, where these are several deep windows.
    """
    on_device = np.flatnonzero(events.kind == Kind.COLLECTIVE)
    host = _named(events, host_rows(events, Kind.ANNOTATION), lambda name: name.startswith("gloo:"))
    rows = np.concatenate((on_device, host))
    if len(rows) == 0:
        empty = np.empty(0, np.float64)
        return CollectiveRuns(rows, rows > 0, [], rows, empty, empty, Slack.unknown(0))
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
    slack = collective_slack(windows or [events], events, links, rows)
    return CollectiveRuns(rows, on_a_device, messages, message, algbw, algbw * crossing, slack)


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
    sums = collective_sums(groups, runs, dur, bare)
    keys = list(labels)
    found = []
    for key, told in zip(groups.keys.tolist(), sums, strict=True):
        name, group, description, group_size, crossing = keys[key // 2]
        on_device = bool(key % 2)
        if not on_device:
            told["exposed_ns"] = None
        for of_bus, of_algorithm in BANDWIDTHS:
            told[of_bus] = None if told[of_algorithm] is None or crossing is None else told[of_algorithm] * crossing
        found.append(Collective(name, group, description, group_size, on_device, **told))
    found.sort(key=lambda c: (-c.total_ns, c.name, c.group or "", c.group_size or 0, c.device))
    stalled = runs.slack.stall_ns[runs.slack.stall_ns != NONE]
    return Communication(
        total,
        exposed,
        total - exposed,
        (total - exposed) / total if total else None,
        int(stalled.sum()) if len(stalled) else None,
        found,
    )


def collective_sums(groups: Groups, runs: CollectiveRuns, dur: np.ndarray, bare: np.ndarray) -> list[dict[str, Any]]:
    """Sums of each group of runs, by the names that they have in ``Collective``.

    Args:
        groups: of the runs.
        dur: durations of the runs.
        bare: the parts of these in which no compute kernel ran.
    """
    size = np.array([m.bytes for m in runs.messages], np.float64)[runs.message]
    known = np.isfinite(size)
    moved = np.where(known, size, 0).astype(np.int64)
    timed = known & (dur > 0)
    slack, stall = runs.slack.ns, runs.slack.stall_ns
    told = slack != NONE
    fits = told & (dur <= slack)
    late = groups.any(told & ~fits)[groups.of]
    needed = known & told & ~(fits & late)
    columns = {
        "total_ns": dur,
        "exposed_ns": bare,
        "bytes": moved,
        "bytes_known": known,
        "timed_bytes": np.where(timed, moved, 0),
        "timed_ns": np.where(timed, dur, 0),
        "slack_ns": np.where(told, slack, 0),
        "slack_known": told,
        "stall_ns": np.where(told, stall, 0),
        "in_slack": fits,
        "needed_bytes": np.where(needed, moved, 0),
        "needed_ns": np.where(needed, slack, 0),
    }
    sums = {name: groups.sum(values.astype(np.int64)).tolist() for name, values in columns.items()}
    sums |= {"count": groups.count.tolist(), "min_ns": groups.min(dur).tolist(), "max_ns": groups.max(dur).tolist()}
    sums["source"] = groups.max(runs.slack.source).tolist()
    return [_told(dict(zip(sums, values, strict=True))) for values in zip(*sums.values(), strict=True)]


def _told(sums: dict[str, Any]) -> dict[str, Any]:
    """Sums with null where nothing is known, and the bandwidths."""
    names = ("timed_bytes", "timed_ns", "needed_bytes", "needed_ns")
    timed_bytes, timed_ns, needed_bytes, needed_ns = (sums.pop(name) for name in names)
    if not sums["bytes_known"]:
        sums["bytes"] = None
    if not sums["slack_known"]:
        sums |= {"slack_ns": None, "stall_ns": None}
    return sums | {
        "slack_from": SOURCES[sums.pop("source")],
        "algbw_bytes_per_s": timed_bytes * 1e9 / timed_ns if timed_ns else None,
        "needed_algbw_bytes_per_s": needed_bytes * 1e9 / needed_ns if needed_ns else None,
    }


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
