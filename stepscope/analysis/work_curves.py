"""What a device does over time: how busy it is, how well its kernels fill it, what its copies move.

Each curve is kept by its integral, so that its mean over any stretch of time is exact and costs two searches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis import intervals
from stepscope.analysis.launch_config import launch_configs
from stepscope.analysis.launches import Links
from stepscope.analysis.memcpy import direction
from stepscope.schema import NONE, Device, Events


class Integral:
    """A function of time that is constant between some moments and 0 outside them, by its integral.

    Args:
        at: moments in order, shape (n,), float64: whole numbers are exact up to 2**53, 104 days in ns.
        before: the integral up to each.
    """

    def __init__(self, at: np.ndarray, before: np.ndarray) -> None:
        self.at = at
        self.before = before

    @property
    def nbytes(self) -> int:
        return self.at.nbytes + self.before.nbytes

    def over(self, edges: np.ndarray) -> np.ndarray:
        """The integral from each edge to the next, shape (edges - 1,)."""
        if len(self.at) == 0:
            return np.zeros(len(edges) - 1)
        return np.diff(np.interp(edges, self.at, self.before))


@dataclass(frozen=True, eq=False)
class WorkCurves:
    """What one device does over time, in deep windows; between them nothing is known. The timeline draws it.

    Each point is the mean over the time that it stands for, as far as that lies in deep windows: over the steps the
    mean of ``busy`` is ``utilization_steps`` of the device, and that of ``sm_efficiency`` the device's.

    Metrics:
        busy: share of the time in which a kernel runs, collectives included: their union over the streams
        sm_efficiency: estimate of the share of multiprocessors at work: at each moment the blocks per
            multiprocessor of all running kernels, at most 1. Null where neither a kernel's record nor its launch call
            tells the grid
        bytes_per_s: bytes that copies of one direction move a second, the size of each spread evenly over its
            duration; copies whose record tells none are left out. Null where no record tells it
    """

    busy: Integral
    sm_efficiency: Integral | None
    bytes_per_s: dict[str, Integral] | None  # by direction, in bytes a ns

    @property
    def nbytes(self) -> int:
        parts = (self.busy, self.sm_efficiency, *(self.bytes_per_s or {}).values())
        return sum(one.nbytes for one in parts if one is not None)


def work_curves(
    events: Events, kernels: np.ndarray, copies: np.ndarray, origin_ns: int, links: Links, devices: list[Device]
) -> WorkCurves:
    """The curves of one device.

    Args:
        events: a deep window.
        kernels: rows of kernels and collectives of the device.
        copies: rows of its copies.
        origin_ns: from which the curves count their time.
        links: launches and runs of ``events``.
        devices: for their number of multiprocessors.
    """
    start, end = _times(events, kernels, origin_ns)
    blocks = launch_configs(events, kernels, links, devices).blocks_per_sm
    told = np.isfinite(blocks).all()
    sized = copies[events.bytes[copies] != NONE]
    moved = {name: _moved(events, sized[which], origin_ns) for name, which in directions(events, sized).items()}
    return WorkCurves(
        _covered(start, end),
        _summed(start, end, blocks, 1.0) if told else None,
        None if len(copies) and not moved else moved,
    )


def directions(events: Events, copies: np.ndarray) -> dict[str, np.ndarray]:
    """The directions of copies in order of their name, and which of them have it."""
    names, at = np.unique(events.name[copies], return_inverse=True)
    texts = np.array([direction(events.names[n]) for n in names.tolist()], dtype=object)
    return {text: np.flatnonzero((texts == text)[at]) for text in sorted(set(texts.tolist()))}


def _times(events: Events, rows: np.ndarray, origin_ns: int) -> tuple[np.ndarray, np.ndarray]:
    start = events.ts_ns[rows] - origin_ns
    return start, start + events.dur_ns[rows]


def _covered(start: np.ndarray, end: np.ndarray) -> Integral:
    """1 while any of the intervals runs."""
    busy = intervals.union(start, end)
    length = np.zeros(busy.shape)
    length[:, 1] = busy[:, 1] - busy[:, 0]
    return Integral(busy.ravel().astype(np.float64), np.cumsum(length.ravel()))


def _moved(events: Events, copies: np.ndarray, origin_ns: int) -> Integral:
    start, end = _times(events, copies, origin_ns)
    end = np.maximum(end, start + 1)  # an instant takes up 1 ns
    return _summed(start, end, events.bytes[copies] / (end - start), None)


def _summed(start: np.ndarray, end: np.ndarray, amount: np.ndarray, most: float | None) -> Integral:
    """The sum of the amounts of the running intervals, ``most`` at most."""
    times = np.concatenate((start, end))
    order = np.argsort(times, kind="stable")  # each half is nearly in order
    times = times[order]
    level = np.cumsum(np.concatenate((amount, -amount))[order])
    # While nothing runs it is 0 and no rest of rounding, which would add up.
    running = np.cumsum(np.where(order < len(start), 1, -1))
    level = np.clip(np.where(running == 0, 0.0, level), 0.0, most)
    last = np.append(times[1:] != times[:-1], True)[: len(times)]  # of what happens at one moment
    times, level = times[last], level[last]
    kept = np.append(True, level[1:] != level[:-1])[: len(times)]
    times, level = times[kept].astype(np.float64), level[kept]
    before = np.zeros(len(times))
    np.cumsum(level[:-1] * np.diff(times), out=before[1:])
    return Integral(times, before)
