"""Device queues: what ran before each record of its stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis import groups
from stepscope.analysis.order import by_first
from stepscope.analysis.select import queue_of
from stepscope.schema import Events


@dataclass(frozen=True, eq=False)
class QueueOrder:
    """Device records in order of queue, start, end; all arrays have one entry a record in that order.

    ``rows`` are rows of the event table, ``position`` (one entry a record as it was given) finds a record in
    this order. ``reach_ns`` is the latest end of all earlier records of the queue, or the record's own start
    where there is none (``first``).
    """

    rows: np.ndarray
    position: np.ndarray
    queue: np.ndarray
    start_ns: np.ndarray
    end_ns: np.ndarray
    reach_ns: np.ndarray
    first: np.ndarray


def queue_order(events: Events, rows: np.ndarray, apart: np.ndarray | None = None) -> QueueOrder:
    """Order device records by their queue.

    Args:
        rows: rows of device lanes.
        apart: a number a record; records of different numbers share no queue (deep windows).
    """
    queue = queue_of(events, rows)
    if apart is not None:
        queue = np.unique(queue, return_inverse=True)[1] * (int(apart.max(initial=0)) + 1) + apart
    start = events.ts_ns[rows]
    end = start + events.dur_ns[rows]
    # Records of the same moments are put in an order of their own, in whatever order rows come.
    of_queue, _ = groups.apart(queue, start, start)
    order = by_first(of_queue, end, events.name[rows], events.kind[rows], events.correlation[rows])
    position = np.empty(len(rows), np.int64)
    position[order] = np.arange(len(rows))
    queue, start, end = queue[order], start[order], end[order]
    first = np.ones(len(rows), bool)
    first[1:] = queue[1:] != queue[:-1]
    return QueueOrder(rows[order], position, queue, start, end, reach(start, end, first), first)


def reach(start_ns: np.ndarray, end_ns: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The latest end of all earlier records of each group, the own start for the ``first`` of a group.

    Groups lie one behind the other, each ordered by start.
    """
    out = start_ns.copy()
    bounds = np.append(np.flatnonzero(first), len(first))
    for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):  # groups, not records
        np.maximum.accumulate(end_ns[a : b - 1], out=out[a + 1 : b])
    return out
