"""Launches over time: the latency of each, and how much work waits on each queue, in few points."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.analysis.extremes import extremes
from stepscope.tables.source import Source

#: Queues that are told at most, those with most work.
MAX_QUEUES = 16


def launch_points(source: Source, points: int) -> dict[str, Any]:
    """Latency of linked launches by the start of the call.

    Where there are more than ``points``, three in five are the shortest and the longest of each stretch of equally
    many launches, so that no outlier is lost; the others are evenly spread.
    """
    times = source.launch_times
    call = source.links.call[times.call]
    order = np.argsort(source.events.ts_ns[call], kind="stable")
    latency = times.latency_ns[order]
    shown = np.arange(len(order))
    if len(order) > points:
        spread = np.linspace(0, len(order) - 1, points * 2 // 5).astype(np.int64)
        shown = np.union1d(extremes(latency, points - len(spread)), spread)
    rows = call[order[shown]]
    names, name = np.unique(source.events.name[rows], return_inverse=True)
    return {
        "count": len(order),
        "row": rows.tolist(),
        "t": source.moments(rows).tolist(),
        "latency": latency[shown].tolist(),
        "queue_wait": times.wait_ns[order][shown].tolist(),
        "names": [source.events.names[n] for n in names.tolist()],
        "name": name.tolist(),
    }


def queue_points(source: Source, points: int) -> tuple[list[dict[str, Any]], int]:
    """The depth of each queue at no more than ``points`` moments in all, and how many queues there are."""
    found = source.queue_depths
    shown = found[:MAX_QUEUES]
    out = []
    for one in shown:
        at = extremes(one.depth, max(points // len(shown), 6))
        code, names = source.stream_of(np.array([one.row]))
        out.append(
            {
                "name": names[code[0]],
                "count": len(one.depth),
                "max": one.max,
                "mean": one.mean,
                "empty_ratio": one.empty_ratio,
                "t": (one.time_ns[at] - source.origin_ns).tolist(),
                "depth": one.depth[at].tolist(),
            }
        )
    return out, len(found)
