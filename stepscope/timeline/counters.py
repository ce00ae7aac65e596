"""The curves of a part of a timeline as counters of a Chrome trace: those of the monitor, and those of device work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stepscope.schema import EXPORTED_CURVE
from stepscope.timeline import Timeline
from stepscope.timeline.select import absolute

#: The most points of one curve; more samples are given by their means.
MAX_POINTS = 5000

_UNITS = {"bytes_per_s": "bytes/s", "per_s": "1/s"}


def counters_of(
    timeline: Timeline, t0: int, t1: int, lanes: set[int], process: Callable[[int | None], int]
) -> list[dict[str, Any]]:
    """The curves on the given lanes in [t0, t1): the name tells the unit, the argument which of several it is.

    Args:
        process: the number of the process that stands for a parent of lanes.
    """
    return _sampled(timeline, t0, t1, lanes, process) + _of_work(timeline, t0, t1, lanes, process)


def _sampled(
    timeline: Timeline, t0: int, t1: int, lanes: set[int], process: Callable[[int | None], int]
) -> list[dict[str, Any]]:
    by_id = timeline.lanes.by_id
    shown = [by_id[lane] for lane in lanes & by_id.keys() if not by_id[lane].of_work]
    parent_of = {series: lane.parent for lane in shown for series in lane.series}
    t0_ns, t1_ns = absolute(timeline, t0, t1)
    points = timeline.resources.points(t0_ns, t1_ns, MAX_POINTS) if parent_of else {}
    events = []
    for info in timeline.resources.infos():
        if info.id in parent_of:
            found = points[info.id]
            inside = (found.t_ns >= t0_ns) & (found.t_ns < t1_ns)
            times, pid = found.t_ns[inside] - timeline.origin_ns, process(parent_of[info.id])
            events += _counter(info.lane, info.unit, info.label, pid, times, found.mean[inside])
    return events


def _of_work(
    timeline: Timeline, t0: int, t1: int, lanes: set[int], process: Callable[[int | None], int]
) -> list[dict[str, Any]]:
    """Each point is the mean until the next one; one that is as the one before it is left out."""
    begin, end = timeline.extent_ns()
    t0, t1 = max(t0, begin - timeline.origin_ns), min(t1, end - timeline.origin_ns)
    if t1 <= t0:
        return []
    edges = np.linspace(t0, t1, min(MAX_POINTS, t1 - t0) + 1)
    by_id = timeline.lanes.by_id
    events = []
    of_work = sorted(lane for lane in lanes & by_id.keys() if not by_id[lane].counted)  # those are exported as they are
    for lane, curves in timeline.curves(edges, of_work).items():
        pid = process(by_id[lane].parent)
        for curve in curves:
            if not curve.why:
                new = np.append(True, curve.mean[1:] != curve.mean[:-1])
                events += _counter(by_id[lane].name, curve.unit, curve.label, pid, edges[:-1][new], curve.mean[new])
    return events


def _counter(name: str, unit: str, label: str, pid: int, time: np.ndarray, value: np.ndarray) -> list[dict[str, Any]]:
    same = {"ph": "C", "cat": EXPORTED_CURVE, "name": f"{name} ({_UNITS.get(unit, unit)})", "pid": pid}
    told = np.isfinite(value)
    return [
        {**same, "ts": at / 1000, "args": {label: one}}
        for at, one in zip(time[told].tolist(), value[told].tolist(), strict=True)
    ]
