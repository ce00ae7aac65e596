"""Counters that a trace samples, as curves: a value holds until the next one, the last to the end of its window."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
import numpy as np

from stepscope.analysis.device_counters import VALUE, unit_of
from stepscope.analysis.work_curves import Integral
from stepscope.schema import Events, Kind
from stepscope.timeline.curve import Curve

#: Counters of a window that become curves, those with the most samples. Of many that a runtime reads once there is no
#: curve, and no lane for each.
MOST_COUNTERS = 200
FEWEST_SAMPLES = 2
DEFINITION = "The value of each sample until the next one, the last one to the end of the deep window."
#: Units that series of the viewer have; the others stand in the label.
_UNITS = ("bytes", "bytes_per_s")
_SIGNS = {"percent": "%"}


@dataclass(frozen=True, eq=False)
class Counter:
    """A counter of one window.

    Attributes:
        source: place of the window's lane that has it.
        name: as the events have it.
        rows: its events, in order of time.
        series: by label the Unix ns of its values, ascending, and the values.
    """

    source: int
    name: str
    rows: np.ndarray
    series: dict[str, tuple[np.ndarray, np.ndarray]]


def series_id(label: str) -> str:
    """What the series with this label of a counter's lane is called."""
    return f"counter {label}"


def counters_in(events: Events) -> list[Counter]:
    """The counters of a window that have curves. Events without a number among their args belong to none."""
    rows = np.flatnonzero((events.kind == Kind.COUNTER) & (events.args >= 0))
    rows = rows[np.argsort(events.ts_ns[rows], kind="stable")]
    values_of: dict[int, dict[str, float]] = {}
    found: dict[tuple[int, int], list[tuple[int, dict[str, float]]]] = {}
    columns = (rows, events.lane[rows], events.name[rows], events.args[rows])
    for row, lane, name, args in zip(*(column.tolist() for column in columns), strict=True):
        if args not in values_of:
            values_of[args] = _numbers(events.args_values[args], events.names[name])
        if values_of[args]:
            found.setdefault((lane, name), []).append((row, values_of[args]))
    several = [one for one in found.items() if len(one[1]) >= FEWEST_SAMPLES]
    several.sort(key=lambda one: -len(one[1]))
    return [_counter(events, lane, events.names[name], told) for (lane, name), told in several[:MOST_COUNTERS]]


def _counter(events: Events, lane: int, name: str, told: list[tuple[int, dict[str, float]]]) -> Counter:
    rows = np.array([row for row, _ in told], np.int64)
    series = {}
    for label in dict.fromkeys(label for _, values in told for label in values):
        at = [i for i, (_, values) in enumerate(told) if label in values]
        series[label] = events.ts_ns[rows[at]], np.array([told[i][1][label] for i in at], np.float64)
    return Counter(lane, name, rows, series)


def _numbers(text: str, name: str) -> dict[str, float]:
    """By label the values that the args of an event tell."""
    try:
        args = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return {}
    if not isinstance(args, dict):
        return {}
    if VALUE in args:  # what else there is tells about the counter
        args = {name: args[VALUE]}
    return {
        label: float(value)
        for label, value in args.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    }


class CountedCurves:
    """The counters of all windows, by the lane that shows them."""

    def __init__(self) -> None:
        self._of_lane: dict[int, list[tuple[Counter, int]]] = {}  # with the end of the window

    def add(self, counters: Iterable[tuple[int, Counter]], end_ns: int) -> None:
        """Take in those of a window.

        Args:
            counters: with the lane of each.
            end_ns: of the window.
        """
        for lane, counter in counters:  # new lists: others may be walking the old ones
            self._of_lane[lane] = [*self._of_lane.get(lane, []), (counter, end_ns)]

    def curves(self, lanes: Iterable[int], edges: np.ndarray, origin_ns: int) -> dict[int, list[Curve]]:
        """The curves of these lanes, by lane; lanes without counters are left out.

        Args:
            lanes: ids.
            edges: of the bins, ascending, ns from ``origin_ns``.
            origin_ns: always the same.
        """
        return {lane: _curves(self._of_lane[lane], edges, origin_ns) for lane in lanes if lane in self._of_lane}


def _curves(windows: list[tuple[Counter, int]], edges: np.ndarray, origin_ns: int) -> list[Curve]:
    labels = list(dict.fromkeys(label for counter, _ in windows for label in counter.series))
    units = {label: unit_of(label, windows[0][0].name) for label in labels}
    unit = next(iter(units.values())) if len(set(units.values())) == 1 else None
    curves = []
    for label in labels:
        total, known = np.zeros(len(edges) - 1), np.zeros(len(edges) - 1)
        for counter, end_ns in windows:
            if label in counter.series:
                at_ns, value = counter.series[label]
                at = np.append(at_ns, max(end_ns, int(at_ns[-1]))) - origin_ns
                total += _held(at, value).over(edges)
                known += np.diff(np.clip(edges, at[0], at[-1]))
        mean = np.full(len(total), np.nan)
        np.divide(total, known, out=mean, where=known > 0)
        sign = _SIGNS.get(units[label] or "", "" if units[label] in (None, *_UNITS) else units[label])
        text = f"{label}, {sign}" if sign else label
        curves.append(Curve(series_id(label), text, unit if unit in _UNITS else "number", DEFINITION, mean))
    return curves


def _held(at: np.ndarray, value: np.ndarray) -> Integral:
    """A function that has each value from its moment to the next one."""
    before = np.zeros(len(at))
    np.cumsum(value * np.diff(at), out=before[1:])
    # Before and after the moments np.interp goes on with the first and last integral: 0 there.
    return Integral(at.astype(np.float64), before)
