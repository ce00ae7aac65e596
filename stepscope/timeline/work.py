"""The curves of each device's work, beside its streams: made from the slices when somebody first looks at them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from stepscope.analysis.launches import Links
from stepscope.analysis.work_curves import Integral, WorkCurves, directions, work_curves
from stepscope.definitions import meanings
from stepscope.schema import NONE, Device, Kind
from stepscope.timeline.curve import Curve
from stepscope.timeline.lanes import WORK_LANES, Lanes
from stepscope.timeline.segment import Segment, kinds_of

#: Series of a lane: what it is, and the direction of copies.
BUSY, EFFICIENCY, COPIES = "busy", "sm_efficiency", "copies "
_NO_GRID = "neither the records of the kernels nor their launch calls tell every grid"
_NO_SIZE = "no record of a copy tells its size"


class DeviceWork:
    """Hands out the lanes of these curves, and what they show. Any thread may ask.

    Args:
        lanes: where lanes are kept.
        launches: the launches and runs of a segment.
    """

    def __init__(self, lanes: Lanes, launches: Callable[[Segment], Links]) -> None:
        self._lanes = lanes
        self._windows: list[_Window] = []
        self._launches = launches

    @property
    def nbytes(self) -> int:
        return sum(window.nbytes for window in self._windows)

    def add(self, segment: Segment) -> None:
        """Take in a deep window: lanes for the curves of each device that it shows at work."""
        found = _work(segment, self._lanes)
        for device, (kernels, copies) in found.items():
            if len(kernels):
                self._lanes.of_work(device, WORK_LANES[0], [BUSY, EFFICIENCY])
            sized = copies[segment.events.bytes[copies] != NONE]
            if len(sized):
                self._lanes.of_work(
                    device, WORK_LANES[1], [COPIES + name for name in directions(segment.events, sized)]
                )
        if found:  # else nothing of any device came in: whether one worked is not known
            self._windows = [*self._windows, _Window(segment)]

    def curves(
        self, lanes: Iterable[int], edges: np.ndarray, origin_ns: int, devices: Iterable[Device]
    ) -> dict[int, list[Curve]]:
        """The curves of these lanes, by lane; lanes of other kinds are left out.

        Args:
            lanes: ids.
            edges: of the bins, ascending, ns from ``origin_ns``.
            origin_ns: always the same.
            devices: for their number of multiprocessors, and their maker.
        """
        devices = list(devices)
        is_amd = any(device.is_amd for device in devices)
        found = {}
        for lane in lanes:
            about = self._lanes.by_id.get(lane)
            if about is not None and about.of_work and about.parent is not None:
                parts = []
                for window in self._windows:
                    if (part := _Part.of(window, edges, origin_ns)) is not None:
                        made = window.curves(origin_ns, self._lanes, self._launches, devices)
                        parts.append((part, made.get(about.parent)))
                found[lane] = [_curve(series, parts, len(edges) - 1, is_amd) for series in about.series]
        return found


class _Window:
    """One deep window with device work in it."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self._made: dict[int, WorkCurves] | None = None
        self._making = threading.Lock()

    @property
    def nbytes(self) -> int:
        return sum(curves.nbytes for curves in (self._made or {}).values())

    def curves(
        self, origin_ns: int, lanes: Lanes, launches: Callable[[Segment], Links], devices: list[Device]
    ) -> dict[int, WorkCurves]:
        """Those of each device, by its lane."""
        with self._making:
            if self._made is None:
                events, links = self.segment.events, launches(self.segment)
                self._made = {
                    device: work_curves(events, kernels, copies, origin_ns, links, devices)
                    for device, (kernels, copies) in _work(self.segment, lanes).items()
                }
            return self._made


@dataclass(frozen=True, eq=False)
class _Part:
    """The bins that meet a window: those from ``first`` on between ``edges``, and how much of each lies in it."""

    first: int
    edges: np.ndarray
    inside: np.ndarray

    @classmethod
    def of(cls, window: _Window, edges: np.ndarray, origin_ns: int) -> _Part | None:
        begin, end = window.segment.begin_ns - origin_ns, window.segment.end_ns - origin_ns
        first = max(int(np.searchsorted(edges, begin, "right")) - 1, 0)
        met = edges[first : int(np.searchsorted(edges, end)) + 1]
        return None if len(met) < 2 else cls(first, met, np.diff(np.clip(met, begin, end)))


def _work(segment: Segment, lanes: Lanes) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """By the lane of each device at work: the rows of its kernels and collectives, and of its copies."""
    events = segment.events
    rows = np.flatnonzero(events.of_kind(Kind.KERNEL, Kind.COLLECTIVE, Kind.MEMCPY))
    of_source = np.full(len(events.lanes) + 1, NONE, np.int64)
    source = events.lane[rows]
    heads = np.flatnonzero(np.append(True, source[1:] != source[:-1])[: len(rows)])
    for at, lane in zip(source[heads].tolist(), segment.lane[rows[heads]].tolist(), strict=True):
        parent = lanes.by_id[lane].parent
        if parent is not None and lanes.by_id[parent].type == "device":
            of_source[at] = parent
    device = of_source[source]
    is_copy = events.kind[rows] == Kind.MEMCPY
    return {
        one: (rows[mine & ~is_copy], rows[mine & is_copy])
        for one in kinds_of(np.sort(device[heads])).tolist()
        if one != NONE
        for mine in [device == one]
    }


def _curve(series: str, parts: list[tuple[_Part, WorkCurves | None]], bins: int, is_amd: bool) -> Curve:
    """A curve from what its windows tell; None is a device that did nothing in one."""
    total, known, told = np.zeros(bins), np.zeros(bins), False
    for part, curves in parts:
        integral = _integral(curves, series)
        if integral is not None:
            told = True
            where = slice(part.first, part.first + len(part.inside))
            total[where] += integral.over(part.edges)
            known[where] += part.inside
    mean = np.full(bins, np.nan)
    np.divide(total, known, out=mean, where=known > 0)
    if series.startswith(COPIES):
        label, unit, field, why = series.removeprefix(COPIES), "bytes_per_s", "bytes_per_s", _NO_SIZE
        mean *= 1e9
    elif series == BUSY:
        label, unit, field, why = "Busy", "ratio", BUSY, ""
    else:
        label, unit, field, why = "SM efficiency, estimated", "ratio", EFFICIENCY, _NO_GRID
    definition = meanings(WorkCurves)[field].partition(" Null where")[0]  # ``why`` tells that
    if is_amd:
        label, definition = label.replace("SM", "CU"), definition.replace("multiprocessor", "compute unit")
    absent = bool(parts) and not told
    return Curve(series, label, unit, definition, mean[:0] if absent else mean, why if absent else "")


def _integral(curves: WorkCurves | None, series: str) -> Integral | None:
    """The integral of a series; None where its window does not tell it."""
    if curves is None:
        return _NOTHING
    if series == BUSY:
        return curves.busy
    if series == EFFICIENCY:
        return curves.sm_efficiency
    if curves.bytes_per_s is None:
        return None
    return curves.bytes_per_s.get(series.removeprefix(COPIES), _NOTHING)


_NOTHING = Integral(np.empty(0), np.empty(0))
