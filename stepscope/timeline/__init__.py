"""The timeline of one worker: its lanes and segments, taken in as data comes, and what a viewport shows of them."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from stepscope.analysis.capture import merge
from stepscope.analysis.collective_messages import group_sizes
from stepscope.analysis.launches import Links
from stepscope.analysis.steps import find_steps
from stepscope.errors import StepscopeError
from stepscope.resources import ResourceHistory
from stepscope.schema import NONE, Device, Events, Kind
from stepscope.store import StreamReader
from stepscope.timeline.counted import CountedCurves, counters_in
from stepscope.timeline.curve import Curve
from stepscope.timeline.lanes import Lanes
from stepscope.timeline.links import SegmentLinks
from stepscope.timeline.live import LIVE_BASE, LiveStream, Names
from stepscope.timeline.mirror import Mirror, mirrors_of
from stepscope.timeline.rectangles import rectangles, view_table
from stepscope.timeline.segment import Rows, Segment
from stepscope.timeline.work import DeviceWork
from stepscope.workers import Worker

__all__ = ["LIVE_BASE", "MAX_FOUND", "NoSuchSlice", "Timeline"]

#: The most rows that ``find`` lists.
MAX_FOUND = 10_000


class NoSuchSlice(StepscopeError):
    """A row that this timeline does not have."""


class Timeline:
    """Answers in ns relative to ``origin_ns``, which never changes. Any thread may ask; one refreshes at a time.

    Lane ids and row numbers stay what they are while data is added.

    Args:
        worker: what is shown.
        resources: the history of the worker's monitor, if somebody else reads it too.

    Raises:
        StepscopeError: the worker is a trace file that cannot be read.
    """

    def __init__(self, worker: Worker, resources: ResourceHistory | None = None) -> None:
        self.problems: list[str] = []  # windows that could not be read
        self.resources = ResourceHistory() if resources is None else resources
        self._refreshing = threading.Lock()
        self.lanes = Lanes(worker.host, worker.pid, worker.rank)
        self.told = {name: getattr(worker, name) for name in ("framework", "host", "pid", "rank", "world_size")}
        self.names = Names()
        self._live_reader: StreamReader | None = None
        self._live = LiveStream(self.names, self.lanes)
        self._monitor_version = 0
        self._windows_seen: set[str] = set()
        self._windows: list[Segment] = []
        self.devices: dict[int, Device] = {}  # by id, as the windows tell
        self.distributed: dict[str, Any] = {}  # process groups and backend, as the windows tell
        self.group_sizes: dict[str, int] = {}  # ranks of process groups, as the windows tell
        self.mirrors: list[Mirror] = []
        self.counted = CountedCurves()
        self.work = DeviceWork(self.lanes, lambda segment: self.links_of(segment).launches)
        self._window_steps: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._links: dict[int, SegmentLinks] = {}  # by the segment's base
        self._training: set[int] = set()
        self.version = 0
        self._read(worker)
        self.origin_ns = self._first_origin(worker)

    def refresh(self, worker: Worker) -> bool:
        """Take in what came since; False if nothing did."""
        with self._refreshing:
            return self._read(worker)

    @property
    def nbytes(self) -> int:
        """Memory held, roughly."""
        return sum(rows.nbytes for rows in self.drawn()) + 200 * len(self.names.texts) + self.work.nbytes

    # -- what is asked --------------------------------------------------------------------------------

    def tree(self, held: int = 0, last: int | None = None) -> dict[str, Any]:
        """Lanes, steps and the extent, as docs/api.md tells.

        Args:
            held: how many steps the asker has; those are left out if they are still the first ones.
            last: the start of the last of them, by which that is told.
        """
        sizes: dict[int, tuple[int, int, int]] = {}
        for segment in self.drawn():
            for lane_id, (rows, events, busy) in segment.lane_sizes.items():
                had = sizes.get(lane_id, (0, 0, 0))
                sizes[lane_id] = (max(rows, had[0]), events + had[1], busy + had[2])
        begins = self._operators_begin()
        lanes = []
        for lane in self.lanes.in_order({k: v[1] for k, v in sizes.items()}, self._training):
            rows, events, busy_ns = sizes.get(lane.id, (0, 0, 0))
            holds_slices = lane.type in ("thread", "stream", "launches")
            lanes.append(
                {
                    "id": lane.id,
                    "parent": lane.parent,
                    "type": lane.type,
                    "name": lane.name,
                    "rows": rows,
                    "events": events,
                    "busy_ns": busy_ns if holds_slices else None,
                    **({"operators": begins[lane.id]} if lane.id in begins else {}),
                    **({"series": lane.series} if lane.series else {}),
                    **({"of_work": True} if lane.of_work else {}),
                }
            )
        begin_ns, end_ns = self.extent_ns()
        number, start, end = self.steps()
        if not 0 < held <= len(start) or last != start[held - 1] - self.origin_ns:
            held = 0
        number, start, end = number[held:], start[held:], end[held:]
        return {
            "origin_ns": str(self.origin_ns),
            "t0": begin_ns - self.origin_ns,
            "t1": end_ns - self.origin_ns,
            "steps": {
                "offset": held,
                "id": [n if n != NONE else None for n in number.tolist()],
                "start": (start - self.origin_ns).tolist(),
                "end": (end - self.origin_ns).tolist(),
            },
            "lanes": lanes,
        }

    def view(self, t0: int, t1: int, px: int, lanes: Iterable[int]) -> pa.Table:
        """The rectangles (VIEW_SCHEMA) that [t0, t1) shows at ``px`` pixels, ordered by lane, depth, start.

        Slices of a pixel or more stand alone; smaller neighbours in one pixel share a rectangle (``stepscope.lod``).
        """
        begin_ns, end_ns = t0 + self.origin_ns, max(t1, t0 + 1) + self.origin_ns
        found = rectangles(self.drawn(), begin_ns, end_ns, px, sorted(set(lanes)))
        return view_table(found, self.names.texts, self.origin_ns)

    def curves(self, edges: np.ndarray, lanes: Iterable[int]) -> dict[int, list[Curve]]:
        """The curves of devices' work and of counters on these lanes, by lane, over the bins between edges (ns from the
        origin)."""
        lanes = list(lanes)
        of_work = self.work.curves(lanes, edges, self.origin_ns, list(self.devices.values()))
        return of_work | self.counted.curves(lanes, edges, self.origin_ns)

    def find(self, name: str) -> dict[str, Any]:
        """The slices of this very name in order of start: how many, and at most ``MAX_FOUND`` rows."""
        name_id = self.names.find(name)
        rows, starts = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for segment in self.segments() if name_id is not None else []:
            hits = np.flatnonzero(segment.name == name_id)
            events = np.flatnonzero(np.isin(segment.events.name, hits)) if len(hits) else np.empty(0, np.int64)
            rows.append(events + segment.base)
            starts.append(segment.events.ts_ns[events])
        order = np.argsort(np.concatenate(starts), kind="stable")
        return {"count": len(order), "rows": np.concatenate(rows)[order][:MAX_FOUND].tolist()}

    # -- reading --------------------------------------------------------------------------------------

    def _read(self, worker: Worker) -> bool:
        self.lanes.thread_names.update((worker.meta or {}).get("threads", {}))
        changed = [self._read_windows(worker), self._read_live(worker), self._read_monitor(worker)]
        self.version += any(changed)
        return any(changed)

    def _read_windows(self, worker: Worker) -> bool:
        new = [i for i in worker.window_ids() if i not in self._windows_seen]
        for window_id in new:
            try:
                window = worker.window(window_id)
            except StepscopeError as error:
                if worker.meta is None:  # a trace file: there is nothing else to show
                    raise
                self.problems.append(str(error))
                self._windows_seen.add(window_id)
                continue
            events = window.events
            self.devices.update({device.id: device for device in window.devices})
            distributed = window.header.get("distributedInfo")
            self.distributed = self.distributed or (distributed if isinstance(distributed, dict) else {})
            self.group_sizes |= group_sizes([window.header])
            counters = counters_in(events)
            lane = self.lanes.of_window(window, counters)
            base = sum(len(s.events) for s in self._windows)
            segment = Segment(events, lane, self.names.ids(events.names), base)
            self._training.update(np.unique(lane[events.kind == Kind.STEP]).tolist())
            links = self.links_of(segment)
            self._window_steps.append(_marked_steps(events, links.launches))
            self.mirrors = [*self.mirrors, *mirrors_of(segment, links, self.lanes)]
            self.work.add(segment)
            self.counted.add(((int(lane[counter.rows[0]]), counter) for counter in counters), segment.end_ns)
            self._windows = [*self._windows, segment]  # a new list: others may be walking the old one
            self._windows_seen.add(window_id)
        return bool(new)

    def _read_live(self, worker: Worker) -> bool:
        if self._live_reader is None:
            self._live_reader = worker.live_reader()
        if self._live_reader is None:
            return False
        table = self._live_reader.read()
        if table.num_rows == 0:
            return False
        before = self._live.segments
        self._live.append(table)
        for segment in before:
            if segment not in self._live.segments:
                self._links.pop(segment.base, None)
        return True

    def _read_monitor(self, worker: Worker) -> bool:
        self.resources.read(worker)
        version = self.resources.version
        if version == self._monitor_version:
            return False
        self._monitor_version = version
        return self.lanes.of_series(self.resources.infos())

    def _first_origin(self, worker: Worker) -> int:
        """When the recording began, else the first event: known before anything else is read, and kept."""
        started_ns = (worker.meta or {}).get("started_ns")
        return started_ns if isinstance(started_ns, int) else self.extent_ns()[0]

    # -- inner parts ----------------------------------------------------------------------------------

    def segments(self) -> list[Segment]:
        """The deep windows in the order in which they came, then the always-on stream."""
        return [*self._windows, *self._live.segments]

    def drawn(self) -> list[Rows]:
        """The segments, and what of them is shown on a second lane."""
        return [*self.segments(), *self.mirrors]

    def extent_ns(self) -> tuple[int, int]:
        """Unix ns of the first start and the last end of a slice; of the monitor where there is none."""
        filled = [s for s in self.segments() if len(s.events)]
        if filled:
            return min(s.begin_ns for s in filled), max(s.end_ns for s in filled)
        return self.resources.extent_ns() or (0, 0)

    def steps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Number, start and end of each step: those of the always-on stream, else those of the windows."""
        parts = [_live_steps(segment.events) for segment in self._live.segments]
        if not any(len(number) for number, _, _ in parts):
            parts = self._window_steps or [(np.empty(0, np.int64),) * 3]
        return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))  # type: ignore[return-value]

    def _operators_begin(self) -> dict[int, int]:
        """For each lane with Python frames the depth at which its operators begin: the median, weighted by their time.
        A stack is as deep as the framework that calls the model, and says little before it reaches an operator."""
        time_ns: dict[int, np.ndarray] = {}
        for segment in self._windows:
            for lane, depths in segment.operator_depths.items():
                had = time_ns.get(lane, np.empty(0, np.int64))
                sums = np.zeros(max(len(had), len(depths)), np.int64)
                sums[: len(had)] += had
                sums[: len(depths)] += depths
                time_ns[lane] = sums
        return {
            lane: int(np.searchsorted(np.cumsum(sums), (int(sums.sum()) + 1) // 2))
            for lane, sums in time_ns.items()
            if sums.any()
        }

    def locate(self, row: int) -> tuple[Segment, int]:
        """The segment that holds a row, and the row's place in its events.

        Raises:
            NoSuchSlice: the row is unknown.
        """
        for segment in self.segments():
            if segment.base <= row < segment.base + len(segment.events):
                return segment, row - segment.base
        raise NoSuchSlice(f"There is no slice {row} in this timeline.")

    def links_of(self, segment: Segment) -> SegmentLinks:
        """What the slices of a segment are connected with."""
        return self._links.setdefault(segment.base, SegmentLinks(segment))

    def place(self, segment: Segment, event: int) -> dict[str, Any]:
        """Row, name, lane, depth, start and duration of a slice."""
        events = segment.events
        return {
            "row": segment.base + event,
            "name": events.text(event),
            "lane": int(segment.lane[event]),
            "depth": int(segment.depth[event]),
            "start": int(events.ts_ns[event]) - self.origin_ns,
            "dur": int(events.dur_ns[event]),
        }


def _live_steps(events: Events) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number, start and end of the steps in always-on rows."""
    rows = np.flatnonzero(events.kind == Kind.STEP)
    rows = rows[np.argsort(events.ts_ns[rows], kind="stable")]
    return events.step[rows], events.ts_ns[rows], events.ends_ns(rows)


def _marked_steps(events: Events, launches: Links) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number, start and end of the steps that a window shows (``stepscope.analysis.steps``)."""
    steps = find_steps(Events.empty(), merge([events]), launches)
    return steps.id, steps.start_ns, steps.end_ns
