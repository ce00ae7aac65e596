"""Training steps: markers of the host, extended over the device work that they started."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace

import numpy as np

from stepscope.analysis import intervals
from stepscope.analysis.capture import Capture
from stepscope.analysis.inferred_steps import Inferred, custom_steps, inferred_steps
from stepscope.analysis.launches import Links
from stepscope.analysis.select import host_rows
from stepscope.schema import NONE, Events, Kind

#: How far a step of the always-on stream may stick out of a deep window that still covers it: the window is
#: stamped by the profiler's own clock and its first event lies a little inside the step.
SLACK_NS = 100_000
SLACK_RATIO = 0.02


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps in order of their start; all arrays have one entry a step.

    A step is a marker of the framework or of a hook (ProfilerStep, a Keras or a JAX step). Where there is none,
    regions that the user numbered like steps are taken ("step 3", "step_3", "## step 3 ##", "iteration 3",
    "train step 3", with numbers that rise); else steps are inferred from repeated fetches of batches and
    optimizer steps, and marked as such.

    Metrics:
        id: the framework's own step number, null where the marker has none
        label: the marker's text
        host_ns: duration of the host marker
        start_ns: marker start, but no earlier than the end of the step before
        duration_ns: from start_ns to the later of the marker's end and the last device event that was
            launched inside it, so that steps never overlap and durations add up to the covered time
        complete: false where the step was cut: the hook says so, or the recording of device work begins or
            stops inside the step, so that launches at that edge have no run
        averaged: how many steps were timed as one, each given its share; null where every step was timed
        inferred: true where no marker existed
        micro_steps: micro batches that went into the step (gradient accumulation): waits for input inside it or,
            without any, backward passes; null where neither is known

    ``host_start_ns`` is the marker's start, ``lane`` its lane, and ``window`` the deep window that covers the
    step entirely (``NONE``: only the always-on stream saw it).
    """

    id: np.ndarray
    label: list[str]
    host_start_ns: np.ndarray
    host_ns: np.ndarray
    start_ns: np.ndarray
    duration_ns: np.ndarray
    complete: np.ndarray
    inferred: np.ndarray
    averaged: np.ndarray  # 1 where the step was timed by itself
    lane: np.ndarray
    window: np.ndarray
    from_live: np.ndarray  # mask: the marker, and so ``lane``, is of the always-on stream
    nested: int  # markers inside another marker, left out
    rule: str | None  # what steps were inferred from

    def __len__(self) -> int:
        return len(self.host_ns)

    @property
    def end_ns(self) -> np.ndarray:
        return self.start_ns + self.duration_ns

    @property
    def host_end_ns(self) -> np.ndarray:
        return self.host_start_ns + self.host_ns

    @property
    def deep(self) -> np.ndarray:
        """Mask of the steps that a deep window covers."""
        return self.window != NONE


@dataclass(frozen=True, eq=False)
class _Markers:
    id: np.ndarray
    label: np.ndarray  # of str objects
    start_ns: np.ndarray
    end_ns: np.ndarray
    lane: np.ndarray
    window: np.ndarray
    from_live: np.ndarray
    complete: np.ndarray
    averaged: np.ndarray

    def take(self, rows: np.ndarray) -> _Markers:
        return _Markers(*(getattr(self, f.name)[rows] for f in fields(self)))

    def join(self, other: _Markers) -> _Markers:
        return _Markers(*(np.concatenate((getattr(self, f.name), getattr(other, f.name))) for f in fields(self)))


def find_steps(live: Events, capture: Capture, links: Links) -> Steps:
    """The steps of one worker.

    Markers are STEP rows of host lanes; a copy of a marker on a device lane is none. Where the always-on
    stream has steps they win, and a marker of a deep window is a copy that lies mostly inside them, or around one of
    the same number: a loop may do much between its steps. A marker inside another one is left out, so that the
    outermost counts.

    Args:
        live: the always-on stream, empty for an imported file.
        capture: the deep windows.
        links: launches and runs of ``capture.events``.
    """
    markers, nested = _outermost(_markers(capture.events, capture))
    always_on, nested_live = _outermost(_markers(live))
    rule = None
    if len(markers.id) == 0 and len(always_on.id) == 0:
        markers, nested = _outermost(_markers(capture.events, capture, *custom_steps(capture.events)))
        always_on, nested_live = _outermost(_markers(live, None, *custom_steps(live)))
    if len(markers.id) == 0 and len(always_on.id) == 0 and (inferred := inferred_steps(capture)):
        markers, rule = _inferred_markers(inferred), inferred.rule
    if len(always_on.id):
        seen = intervals.union(always_on.start_ns, always_on.end_ns)
        shared = intervals.length_within(seen, markers.start_ns, markers.end_ns)
        copy = shared * 2 >= markers.end_ns - markers.start_ns
        copy |= _bears_number_of(always_on, markers)
        always_on = _covered_by_window(always_on, capture)
        markers, _ = _outermost(always_on.join(markers.take(~copy)))
        nested = nested_live
    end_ns = np.maximum.accumulate(np.maximum(markers.end_ns, _device_end(markers, capture.events, links)))
    start_ns = markers.start_ns.copy()
    start_ns[1:] = np.maximum(start_ns[1:], end_ns[:-1])
    return Steps(
        id=markers.id,
        label=[_label(text, number) for text, number in zip(markers.label.tolist(), markers.id.tolist(), strict=True)],
        host_start_ns=markers.start_ns,
        host_ns=markers.end_ns - markers.start_ns,
        start_ns=start_ns,
        duration_ns=end_ns - start_ns,
        complete=markers.complete & ~_cut(markers, capture, links),
        inferred=np.full(len(start_ns), rule is not None),
        averaged=markers.averaged,
        lane=markers.lane,
        window=markers.window,
        from_live=markers.from_live,
        nested=nested,
        rule=rule,
    )


def _markers(
    events: Events, capture: Capture | None = None, rows: np.ndarray | None = None, number: np.ndarray | None = None
) -> _Markers:
    """Markers of the always-on stream, or of a capture: its STEP rows on host lanes, unless others are given."""
    rows = host_rows(events, Kind.STEP) if rows is None else rows
    values, at = np.unique(events.args[rows], return_inverse=True)
    args = [{} if v == NONE else json.loads(events.args_values[v]) for v in values.tolist()]
    return _Markers(
        id=events.step[rows] if number is None else number,
        label=np.array([events.names[i] for i in events.name[rows].tolist()], dtype=object),
        start_ns=events.ts_ns[rows],
        end_ns=events.ts_ns[rows] + events.dur_ns[rows],
        lane=events.lane[rows].astype(np.int64),
        window=np.full(len(rows), NONE, np.int64) if capture is None else capture.window_of(rows),
        from_live=np.full(len(rows), capture is None),
        complete=np.array([a.get("complete") is not False for a in args], dtype=bool)[at],
        averaged=np.array([_count(a.get("averaged")) for a in args], dtype=np.int64)[at],
    )


def _inferred_markers(found: Inferred) -> _Markers:
    n = len(found)
    return _Markers(
        id=np.full(n, NONE, np.int64),
        label=np.full(n, "inferred step", dtype=object),
        start_ns=found.start_ns,
        end_ns=found.end_ns,
        lane=found.lane,
        window=found.window,
        from_live=np.zeros(n, bool),
        complete=found.complete,
        averaged=np.ones(n, np.int64),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 1


def _outermost(markers: _Markers) -> tuple[_Markers, int]:
    """Markers in order of start without those inside another, and how many those are."""
    markers = markers.take(np.lexsort((markers.lane, markers.id, -markers.end_ns, markers.start_ns)))
    reach = np.maximum.accumulate(markers.end_ns)
    inside = np.zeros(len(reach), bool)
    inside[1:] = markers.end_ns[1:] <= reach[:-1]
    return markers.take(~inside), int(np.count_nonzero(inside))


def _covered_by_window(markers: _Markers, capture: Capture) -> _Markers:
    """Markers of the always-on stream with the deep window that covers each entirely."""
    window = np.full(len(markers.id), NONE, np.int64)
    slack = np.minimum((markers.end_ns - markers.start_ns) * SLACK_RATIO, SLACK_NS).astype(np.int64)
    for i, (low, high) in enumerate(capture.extent_ns.tolist()):
        window[(markers.start_ns + slack >= low) & (markers.end_ns - slack <= high)] = i
    return replace(markers, window=window)


def _bears_number_of(always_on: _Markers, markers: _Markers) -> np.ndarray:
    """Which of ``markers`` hold an end of a step of the always-on stream that has their number."""
    same = np.zeros(len(markers.id), bool)
    for at_ns in (always_on.start_ns, always_on.end_ns - 1):
        held = _step_at(markers, at_ns)
        known = (held != NONE) & (always_on.id != NONE)
        known[known] = markers.id[held[known]] == always_on.id[known]
        same[held[known]] = True
    return same


def _step_at(markers: _Markers, at_ns: np.ndarray) -> np.ndarray:
    """The marker that holds each moment, ``NONE`` where none does."""
    if len(markers.id) == 0:
        return np.full(len(at_ns), NONE, np.int64)
    step = np.searchsorted(markers.start_ns, at_ns, "right") - 1
    return np.where((step >= 0) & (at_ns < markers.end_ns[step]), step, NONE)


def _device_end(markers: _Markers, events: Events, links: Links) -> np.ndarray:
    """Where the last device event ends that was launched inside each marker, on whatever thread; 0 if none."""
    end = np.zeros(len(markers.id), np.int64)
    hit = links.call_of_run != NONE
    runs = links.run[hit]
    step = _step_at(markers, events.ts_ns[links.call[links.call_of_run[hit]]])
    inside = step != NONE
    np.maximum.at(end, step[inside], (events.ts_ns + events.dur_ns)[runs[inside]])
    return end


def _cut(markers: _Markers, capture: Capture, links: Links) -> np.ndarray:
    """Mask of the steps in which a kernel launch lies beyond all launches of its window that have runs.

    Launches without a run in between are noted but cut nothing: some calls start no work.
    """
    events = capture.events
    cut = np.zeros(len(markers.id), bool)
    start, window = events.ts_ns[links.call], capture.window_of(links.call)
    first = np.full(len(capture), np.iinfo(np.int64).max)
    last = np.full(len(capture), np.iinfo(np.int64).min)
    np.minimum.at(first, window[links.linked], start[links.linked])
    np.maximum.at(last, window[links.linked], start[links.linked])
    launches = np.array(["launch" in name.lower() for name in events.names], dtype=bool)
    some = first <= last  # windows without any run are noted as a whole instead
    beyond = some[window] & ((start < first[window]) | (start > last[window]))
    beyond[beyond] = launches[events.name[links.call[beyond]]]
    step = _step_at(markers, start[beyond])
    cut[step[step != NONE]] = True
    return cut


def _label(text: str, number: int) -> str:
    return text if number == NONE or str(number) in text else f"{text} {number}"
