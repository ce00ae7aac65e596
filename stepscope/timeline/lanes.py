"""The lanes of a timeline: the same thread or stream of all sources is one lane, in one tree of stable ids.

host -> process -> {training loop (always on), threads and pools of them, devices -> {launches, streams}};
host -> resources.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from stepscope.resources import SeriesInfo
from stepscope.schema import NONE, Events, Kind, Lane, Window
from stepscope.timeline.counted import Counter, series_id

#: The lanes that the always-on rows of one thread are divided into, from the top. Steps and phases have lanes of their
#: own because a region that spans several steps would push them off their row.
TRACKS = ("Steps", "Phases", "Annotations")
_TRACK_OF_KIND = np.full(256, 2, np.int64)
_TRACK_OF_KIND[[Kind.STEP, Kind.OVERHEAD]] = 0
_TRACK_OF_KIND[Kind.PHASE] = 1

#: The lanes of curves that a device has, from the top.
WORK_LANES = ("Utilisation", "Copies")

# Pids that stand for "no process in particular": text left out, frames without a thread, the profiler itself.
_NO_PID = ("", "0", "-1")

#: So many threads of a process whose names differ in numbers only are shown as one group.
MIN_POOL = 4
_NUMBER = re.compile(r"-?\d+")
# Threads of the training itself, or without a name: each is looked at by itself.
_NO_POOL = re.compile(r"[\W\d_]*(?:(?:thread|python3?|pt_main_thread|pt_autograd_\*|MainThread)[\W\d_]*)*")

# How the lane of a stream's annotations is called; in an exported timeline (``stepscope.timeline.export``) it is one.
_OF_ANNOTATIONS = " annotations"
_EXPORTED_ANNOTATIONS = re.compile(rf".*{_OF_ANNOTATIONS}(?: \(row \d+\))?", re.DOTALL)

# Order below a host, and below a process.
_RANK_OWN, _RANK_OTHER, _RANK_RESOURCES = range(3)
_RANK_ALWAYS_ON, _RANK_THREAD, _RANK_DEVICE, _RANK_COUNTERS = range(4)


@dataclass
class TimelineLane:
    """``sort`` orders the lanes below one parent; with ``by_activity`` what goes on in them decides before it."""

    id: int
    parent: int | None
    type: str
    name: str
    sort: tuple
    by_activity: bool = False
    series: list[str] = field(default_factory=list)
    of_work: bool = False  # its series are made from slices (``stepscope.timeline.work`` and ``.counted``)
    counted: bool = False  # of a counter that a window samples, or the group of those


class Lanes:
    """Hands out lanes; asking again for the same one gives the same id."""

    def __init__(self, host: str | None, pid: int | None, rank: int | None) -> None:
        self.by_id: dict[int, TimelineLane] = {}
        self._by_key: dict[tuple, TimelineLane] = {}
        self._host = host
        self._pid = "" if pid is None else str(pid)
        self._rank = rank
        self.thread_names: dict[str, str] = {}  # of the process's own threads, by tid

    # -- sources --------------------------------------------------------------------------------------

    def of_window(self, window: Window, counters: Sequence[Counter] = ()) -> np.ndarray:
        """The lane of each event of a window, shape (n,); those of ``counters`` have lanes of their own."""
        events = window.events
        counted = [counter.rows for counter in counters]
        others = np.ones(len(events), bool)
        others[np.concatenate(counted) if counted else []] = False
        needless = {counter.source for counter in counters} - set(np.unique(events.lane[others]).tolist())
        pids = {lane.pid for lane in events.lanes if lane.type != "stream" and lane.pid not in _NO_PID}
        only_pid = next(iter(pids)) if len(pids) == 1 else None
        if not self._pid and only_pid is not None:
            self._pid = only_pid
        lanes = [NONE if i in needless else self._of(lane, window, only_pid).id for i, lane in enumerate(events.lanes)]
        ids = np.array(lanes, dtype=np.int32)
        if len(events) == 0:
            return np.empty(0, np.int32)
        self._pool_threads()
        lane = ids[events.lane]
        projected = np.flatnonzero(events.kind == Kind.DEVICE_ANNOTATION)
        for source in np.unique(events.lane[projected]).tolist():
            about = events.lanes[source]
            if about.type == "stream" and not _EXPORTED_ANNOTATIONS.fullmatch(about.name):
                rows = projected[events.lane[projected] == source]
                lane[rows] = self._annotations_of(about).id
        for counter in counters:
            about = events.lanes[counter.source]
            of = self._device(about, window) if about.type == "stream" else self._process(about, only_pid)
            lane[counter.rows] = self._of_counter(of, about, counter).id
        return lane

    def of_live(self, events: Events, tid: np.ndarray) -> np.ndarray:
        """The lane of each row of the always-on stream, of the thread ``tid``, both of shape (n,). The thread with most
        steps among the first rows comes first."""
        track = _TRACK_OF_KIND[events.kind]
        threads, code = np.unique(tid, return_inverse=True)
        code = code.reshape(-1)
        steps = np.bincount(code[track == 0], minlength=len(threads))
        group = self._get(("always on",), self._own_process(), "group", "Training loop", (_RANK_ALWAYS_ON,))
        ids = np.zeros((len(threads), len(TRACKS)), np.int32)
        pairs = np.unique(code * len(TRACKS) + track)
        for pair in pairs[np.argsort(-steps[pairs // len(TRACKS)], kind="stable")].tolist():
            thread, which = divmod(pair, len(TRACKS))
            name = TRACKS[which]
            # A second lane of a track says which thread it is; the first is the training thread's in practice.
            first = self._by_key.get(("first", which))
            key = ("live", int(threads[thread]), which)
            if first is not None and self._by_key.get(key) is not first:
                name = f"{name} ({self._thread_name(str(threads[thread]))})"
            lane = self._get(key, group, "thread", name, (which, -int(steps[thread]), int(threads[thread])))
            self._by_key.setdefault(("first", which), lane)
            ids[thread, which] = lane.id
        self._pool_threads()
        return ids[code, track]

    def of_series(self, infos: Iterable[SeriesInfo]) -> bool:
        """A lane for each axis that series of the monitor share; whether a series is new."""
        new = False
        for position, info in enumerate(infos):
            top = self._get(("resources",), self._root(), "group", "Resources", (_RANK_RESOURCES,))
            if info.group == "CPU cores":
                top = self._get(("resources", info.group), top, "group", info.group, (1 << 30,))
            lane = self._get(("counter", info.lane), top, "counter", info.lane, (position,))
            if info.id not in lane.series:
                lane.series.append(info.id)
                new = True
        return new

    def of_work(self, device: int, name: str, series: Iterable[str]) -> None:
        """The lane with curves of a device's work, the first ones of the device, with these series among others."""
        key, sort = ("work", device, name), (-2, WORK_LANES.index(name))
        lane = self._get(key, self.by_id[device], "counter", name, sort)
        lane.of_work = True
        lane.series = [*lane.series, *(one for one in series if one not in lane.series)]

    def phases_beside(self, steps: int) -> int:
        """The lane with the phases of the thread whose steps lie on the given lane; ``NONE`` if it has none."""
        for key, lane in self._by_key.items():
            if lane.id == steps and key[0] == "live":
                phases = self._by_key.get(("live", key[1], 1))
                return NONE if phases is None else phases.id
        return NONE

    def host_of(self, device: int) -> int:
        """The lane of what the host does for a device."""
        lane = self._get(("launches", device), self.by_id[device], "launches", "Host launches", (-1,))
        return lane.id

    # -- the tree -------------------------------------------------------------------------------------

    def in_order(self, events_of: Mapping[int, int], training: set[int]) -> list[TimelineLane]:
        """All lanes, parents before children. Threads: training threads first, then the busiest, idle ones last."""
        children: dict[int | None, list[TimelineLane]] = {}
        for lane in list(self.by_id.values()):
            children.setdefault(lane.parent, []).append(lane)

        def place(lane: TimelineLane) -> tuple:
            rank, *rest = lane.sort or (0,)
            activity = (lane.id not in training, -events_of.get(lane.id, 0)) if lane.by_activity else ()
            return (rank, *activity, *rest)

        events_of = dict(events_of)
        for pool in [lane for lanes in children.values() for lane in lanes if lane.type == "pool"]:
            events_of[pool.id] = sum(events_of.get(lane.id, 0) for lane in children.get(pool.id, ()))
        ordered: list[TimelineLane] = []
        stack = sorted(children.get(None, []), key=place, reverse=True)
        while stack:
            lane = stack.pop()
            ordered.append(lane)
            stack += sorted(children.get(lane.id, []), key=place, reverse=True)
        return ordered

    def _pool_threads(self) -> None:
        """Put threads that are alike into a group of their own: those of a pool, and those that only annotate."""
        alike: dict[tuple[int, str], list[TimelineLane]] = {}
        for key, lane in list(self._by_key.items()):
            if lane.type != "thread" or lane.parent is None or self.by_id[lane.parent].type == "pool":
                continue
            pattern = _NUMBER.sub("*", lane.name)
            named = not _NO_POOL.fullmatch(pattern) if key[0] == "thread" else "(" in lane.name
            if named:
                alike.setdefault((lane.parent, pattern), []).append(lane)
        for (parent, pattern), lanes in alike.items():
            pool = self._by_key.get(("pool", parent, pattern))
            if pool is None and len(lanes) >= MIN_POOL:
                first = min(lanes, key=lambda lane: lane.sort)
                pool = self._get(("pool", parent, pattern), self.by_id[parent], "pool", pattern, first.sort)
                pool.by_activity = first.by_activity
            if pool is not None:
                for lane in lanes:
                    lane.parent = pool.id

    # -- one lane -------------------------------------------------------------------------------------

    def _get(self, key: tuple, parent: TimelineLane | None, type: str, name: str, sort: tuple) -> TimelineLane:
        lane = self._by_key.get(key)
        if lane is None:
            # What a lane is gives its id, not when it was met: a link to a lane outlives the server.
            id = zlib.crc32(repr(key).encode()) >> 1
            while id in self.by_id:
                id = (id + 1) % (1 << 31)
            lane = TimelineLane(id, None if parent is None else parent.id, type, name, sort)
            self._by_key[key] = self.by_id[id] = lane
        return lane

    def _root(self) -> TimelineLane:
        return self._get(("host",), None, "host", self._host or "host", ())

    def _own_process(self) -> TimelineLane:
        pid = f"pid {self._pid}" if self._pid.isdigit() else self._pid
        words = [f"rank {self._rank}" if self._rank is not None else "", pid]
        name = " · ".join(w for w in words if w) or "process"
        return self._get(("process",), self._root(), "process", name, (_RANK_OWN,))

    def _process(self, lane: Lane, only_pid: str | None) -> TimelineLane:
        """The process of a host lane. ``only_pid`` is the pid that all of the window's lanes share, if they do."""
        if lane.pid in (*_NO_PID, self._pid) or lane.pid == only_pid:
            return self._own_process()
        name = lane.process if lane.pid in lane.process else f"{lane.process} · pid {lane.pid}".removeprefix(" · ")
        return self._get(("process", lane.pid), self._root(), "process", name, (_RANK_OTHER, lane.pid))

    def _of(self, lane: Lane, window: Window, only_pid: str | None) -> TimelineLane:
        if lane.type == "stream":
            number = lane.stream if lane.stream != NONE else lane.sort
            return self._get(_stream_key(lane), self._device(lane, window), "stream", lane.name, (0, number, lane.tid))
        process = self._process(lane, only_pid)
        name = lane.name or "thread"
        known = self.thread_names.get(lane.tid, "") if process is self._own_process() else ""
        if known not in name:
            name = f"{known} ({lane.tid})"
        key = ("thread", process.id, lane.type, lane.tid or lane.name)
        found = self._get(key, process, "thread", name, (_RANK_THREAD, lane.sort, name))
        found.by_activity = True
        return found

    def _device(self, lane: Lane, window: Window) -> TimelineLane:
        name = lane.process or (f"GPU {lane.device}" if lane.device != NONE else "device")
        model = next((d.name for d in window.devices if d.id == lane.device and d.name), "")
        full = name if model in name else f"{name} · {model}"
        number = lane.device if lane.device != NONE else 1 << 30
        return self._get(("device", name), self._own_process(), "device", full, (_RANK_DEVICE, number, name))

    def _annotations_of(self, lane: Lane) -> TimelineLane:
        kernels = self._by_key[_stream_key(lane)]
        device = None if kernels.parent is None else self.by_id[kernels.parent]
        key = ("annotations", *_stream_key(lane))
        return self._get(key, device, "stream", f"{kernels.name}{_OF_ANNOTATIONS}", (1, *kernels.sort[1:]))

    def _of_counter(self, of: TimelineLane, source: Lane, counter: Counter) -> TimelineLane:
        """The lane of a counter of a device or process."""
        group = self._get(("counters", of.id), of, "group", "Counters", (_RANK_COUNTERS,))
        key = ("counted", group.id, source.tid or source.name, counter.name)
        lane = self._get(key, group, "counter", counter.name, (0, counter.name, source.tid))
        lane.of_work = lane.counted = group.counted = True
        new = [series for series in map(series_id, counter.series) if series not in lane.series]
        lane.series = [*lane.series, *new]
        return lane

    def _thread_name(self, tid: str) -> str:
        name = self.thread_names.get(tid, f"thread {tid}")
        return name if tid in name else f"{name}, {tid}"


def _stream_key(lane: Lane) -> tuple:
    return ("stream", lane.process, lane.device, lane.stream, lane.tid or lane.name)
