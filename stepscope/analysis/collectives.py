"""Communication of one worker: collectives by name and process group, bandwidths, what computation hid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from stepscope.analysis import intervals
from stepscope.analysis.collective_messages import OF_LIBRARY, read_message
from stepscope.analysis.collective_slack import Slack, collective_slack
from stepscope.analysis.collective_sums import Collective, CollectiveRuns, collectives_by, labels_of
from stepscope.analysis.enclosing import innermost
from stepscope.analysis.groups import Groups
from stepscope.analysis.launches import Links
from stepscope.analysis.queues import QueueOrder
from stepscope.analysis.select import covered, host_rows
from stepscope.schema import NONE, Events, Kind

_METADATA = "record_param_comms"


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
    queues: QueueOrder | None = None,
) -> CollectiveRuns:
    """Runs of collectives with what is known of their messages.

    The record on the device tells; where it does not, the operator around its launch call does
    (record_param_comms, or the library's annotation with its input shapes), else the device function's name.

    Args:
        events: deep windows.
        links: launches and runs of ``events``.
        group_sizes: ranks of process groups by name, for records that tell the group alone.
        windows: what ``events`` are made of, where these are several deep windows.
        queues: the runs of ``links`` by queue, where that is known already.
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
    slack = collective_slack(windows or [events], events, links, rows, queues)
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
    labels, label = labels_of(runs)
    found = collectives_by(Groups(label), labels, events, runs)
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
    there = np.flatnonzero(np.bincount(events.name[rows], minlength=len(events.names)))
    told = np.zeros(len(events.names), bool)
    told[there] = [accepts(events.names[n]) for n in there.tolist()]
    return rows[told[events.name[rows]]]
