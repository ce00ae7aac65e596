"""How much work waits on each device queue: how far the host is ahead of the device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.launches import Links
from stepscope.analysis.select import queue_of
from stepscope.schema import NONE, Events


@dataclass(frozen=True, eq=False)
class QueueDepth:
    """Linked work of one queue that was launched and has not started: a step function of time.

    It counts work from the end of its launch call to its start. 0 while the device idles means that the host is late.

    Metrics:
        row: a row of the event table that ran on the queue
        time_ns: moments at which the depth changes
        depth: work that waits from then on
        max: the most that waited at once
        mean: mean over time, from the first launch to the last start
        empty_ratio: time in which nothing waited / time from the first launch to the last start
    """

    row: int
    time_ns: np.ndarray
    depth: np.ndarray
    max: int
    mean: float | None
    empty_ratio: float | None


def queue_depths(events: Events, links: Links) -> list[QueueDepth]:
    """One entry a queue with linked work, the one with most work first."""
    hit = links.call_of_run != NONE
    rows = links.run[hit]
    begin = events.ends_ns(links.call[links.call_of_run[hit]])
    end = np.maximum(events.ts_ns[rows], begin)  # clocks that disagree: it never waited
    queue = queue_of(events, rows)
    found = []
    for key in np.unique(queue).tolist():
        mine = queue == key
        found.append((int(np.count_nonzero(mine)), _depth(int(rows[mine][0]), begin[mine], end[mine])))
    found.sort(key=lambda one: (-one[0], one[1].row))
    return [depth for _, depth in found]


def _depth(row: int, begin: np.ndarray, end: np.ndarray) -> QueueDepth:
    moments = np.concatenate((begin, end))
    order = np.argsort(moments, kind="stable")  # each half is nearly in order
    moments = moments[order]
    change = np.cumsum(np.where(order < len(begin), 1, -1))
    last = np.flatnonzero(np.append(moments[1:] != moments[:-1], True))  # of what happens at one moment
    time, depth = moments[last], change[last]
    length = np.diff(time)
    span = int(length.sum())
    return QueueDepth(
        row=row,
        time_ns=time,
        depth=depth,
        max=int(depth.max()),
        mean=int((depth[:-1] * length).sum()) / span if span else None,
        empty_ratio=int(length[depth[:-1] == 0].sum()) / span if span else None,
    )
