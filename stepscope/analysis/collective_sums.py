"""Collectives in groups, by name and process group for example: sums of their runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepscope.analysis import intervals
from stepscope.analysis.collective_messages import Message
from stepscope.analysis.collective_slack import SOURCES, Slack
from stepscope.analysis.groups import Groups
from stepscope.analysis.select import covered
from stepscope.schema import NONE, Events, Kind

#: What tells collectives apart: name, group, its description and size (None where not told), on a device, and the
#: share of the message that crosses the bus.
Label = tuple[str, str | None, str | None, int | None, bool, float | None]


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
            MegaScale the durations of its send, send-done, recv and recv-done. With `calls` and `order` at most this,
            but for waits of the host that no record shows, as where it asks whether the collective has ended
        in_slack: runs that took no longer than their slack; null if no slack is known
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
    in_slack: int | None = None
    needed_algbw_bytes_per_s: float | None = None
    needed_busbw_bytes_per_s: float | None = None


def labels_of(runs: CollectiveRuns) -> tuple[list[Label], np.ndarray]:
    """The labels that occur, and the number of each run's."""
    labels: dict[Label, int] = {}
    of_message = np.empty((len(runs.messages), 2), np.int64)
    for i, m in enumerate(runs.messages):
        group_size = None if math.isnan(m.group_size) else int(m.group_size)
        crossing = None if math.isnan(m.crossing) else m.crossing  # NaN would differ from itself
        for on_device in (False, True):
            label = (m.name, m.group, m.group_description, group_size, on_device, crossing)
            of_message[i, int(on_device)] = labels.setdefault(label, len(labels))
    return list(labels), of_message[runs.message, runs.on_device.astype(np.int64)]


def sizes_of(runs: CollectiveRuns) -> np.ndarray:
    """Bytes of each run's message, NaN where it is not told."""
    return np.array([m.bytes for m in runs.messages], np.float64)[runs.message]


def exposed_of(events: Events, runs: CollectiveRuns) -> np.ndarray:
    """The part of each run in which no compute kernel ran, in ns."""
    compute = covered(events, np.flatnonzero(events.kind == Kind.KERNEL))
    start, dur = events.ts_ns[runs.rows], events.dur_ns[runs.rows]
    return dur - intervals.length_within(compute, start, start + dur)


def collectives_by(
    groups: Groups, labels: Sequence[Label], events: Events, runs: CollectiveRuns, of_key: int = 1
) -> list[Collective]:
    """One entry a group, in the order of the groups' keys.

    Args:
        groups: of the runs; a key divided by ``of_key`` is the number of a label.
        labels: of the runs.
        events: deep windows.
        runs: the collectives of ``events``.
    """
    found = []
    for key, told in zip(groups.keys.tolist(), _sums(groups, events, runs), strict=True):
        name, group, description, group_size, on_device, crossing = labels[key // of_key]
        if not on_device:
            told["exposed_ns"] = None
        for kind in ("", "needed_"):
            algbw = told[f"{kind}algbw_bytes_per_s"]
            told[f"{kind}busbw_bytes_per_s"] = None if algbw is None or crossing is None else algbw * crossing
        found.append(Collective(name, group, description, group_size, on_device, **told))
    return found


def _sums(groups: Groups, events: Events, runs: CollectiveRuns) -> list[dict[str, Any]]:
    """Sums of each group of runs, by the names that they have in ``Collective``."""
    dur, bare = events.dur_ns[runs.rows], exposed_of(events, runs)
    size = sizes_of(runs)
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
        sums |= {"slack_ns": None, "stall_ns": None, "in_slack": None}
    return sums | {
        "slack_from": SOURCES[sums.pop("source")],
        "algbw_bytes_per_s": timed_bytes * 1e9 / timed_ns if timed_ns else None,
        "needed_algbw_bytes_per_s": needed_bytes * 1e9 / needed_ns if needed_ns else None,
    }
