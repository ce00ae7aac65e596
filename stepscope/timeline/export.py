"""A part of a timeline for other tools: a trace that Perfetto, chrome://tracing and stepscope read, or a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np

from stepscope.errors import StepscopeError
from stepscope.schema import DEVICE_WORK, NONE, Kind
from stepscope.timeline import Timeline
from stepscope.timeline.counters import counters_of
from stepscope.timeline.segment import Rows
from stepscope.timeline.select import absolute, below, pick

#: The most slices of one export: a browser holds it in memory, and Perfetto opens it in a few seconds.
MAX_SLICES = 500_000

#: The categories that PyTorch's profiler gives these kinds.
_CATEGORY = {
    Kind.STEP: "user_annotation",
    Kind.PHASE: "user_annotation",
    Kind.ANNOTATION: "user_annotation",
    Kind.OP: "cpu_op",
    Kind.PYTHON: "python_function",
    Kind.MODULE: "python_function",
    Kind.RUNTIME: "cuda_runtime",
    Kind.LAUNCH: "cuda_runtime",
    Kind.SYNC: "cuda_runtime",
    Kind.KERNEL: "kernel",
    Kind.COLLECTIVE: "kernel",
    Kind.MEMCPY: "gpu_memcpy",
    Kind.MEMSET: "gpu_memset",
    Kind.DATALOADER: "user_annotation",
    Kind.OVERHEAD: "overhead",
    Kind.DEVICE_ANNOTATION: "gpu_user_annotation",
    Kind.MEMORY: "cpu_instant_event",
}
_IDS = {"correlation": "correlation", "external_id": "External id", "stream": "stream", "device": "device"}
_COUNTED = ("correlation", "External id")
#: A spreadsheet takes texts that begin so for formulas, and names of traces are anybody's.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class TooMuch(StepscopeError):
    """More slices than one export holds."""


def chrome_trace(timeline: Timeline, t0: int, t1: int, lanes: Iterable[int] | None) -> dict[str, Any]:
    """The slices that meet [t0, t1) on the given lanes (and those below) as a Chrome trace, whole ones.

    Times are microseconds after ``baseTimeNanoseconds``. Device work keeps its ids, so that launches and runs join
    again; arrows between them are written too. Rows of a stream become threads of their own, since Perfetto drops
    slices that overlap in one. Curves are counters (``stepscope.timeline.counters``).

    Raises:
        TooMuch: there are more than ``MAX_SLICES``.
    """
    tracks = _Tracks(timeline)
    events: list[dict[str, Any]] = []
    base_ns = timeline.origin_ns
    rows = _slices(timeline, t0, t1, lanes)
    args = _args_of(rows)
    calls = {base: _linked_calls(timeline, base) for base in args}
    for segment, lane, depth, at in rows:
        pid, tid = tracks.of(lane, depth)
        e = segment.events
        for i in at.tolist():
            kind = int(e.kind[i])
            event: dict[str, Any] = {
                "ph": "X",
                "cat": _category(kind, int(e.device[i])),
                "name": e.text(i),
                "pid": pid,
                "tid": tid,
                "ts": (int(e.ts_ns[i]) - base_ns) / 1000,
                "dur": int(e.dur_ns[i]) / 1000,
                "args": args[segment.base].of(i),
            }
            if kind == Kind.COUNTER:
                for only_of_slices in ("cat", "dur"):
                    del event[only_of_slices]
                event["ph"] = "C"
            elif kind == Kind.MEMORY:  # an instant, as it came
                del event["dur"]
                event |= {"ph": "i", "s": "t"}
            events.append(event)
            if e.correlation[i] > 0 and (kind in DEVICE_WORK or i in calls[segment.base]):
                ends = kind in DEVICE_WORK
                events.append(
                    {
                        **{k: event[k] for k in ("pid", "tid", "ts")},
                        "ph": "f" if ends else "s",
                        "id": event["args"]["correlation"],
                        "cat": "ac2g",
                        "name": "ac2g",
                        **({"bp": "e"} if ends else {}),
                    }
                )
    counters = counters_of(timeline, t0, t1, below(timeline, lanes), tracks.process)
    return {
        "schemaVersion": 1,
        **_header(timeline),
        "baseTimeNanoseconds": base_ns,
        "displayTimeUnit": "ns",
        "traceEvents": tracks.metadata() + events + counters,
    }


def _header(timeline: Timeline) -> dict[str, Any]:
    """What PyTorch's profiler tells of a trace beside its events, and under "stepscope" what it has no place for."""
    told = timeline.told
    devices = (
        {"id": d.id, "name": d.name, "numSms": d.sm_count, "totalGlobalMem": d.memory_bytes, **d.properties}
        for _, d in sorted(timeline.devices.items())
    )
    ranks = {name: told[name] for name in ("rank", "world_size") if told[name] is not None}
    return {
        "deviceProperties": [{k: v for k, v in device.items() if v is not None} for device in devices],
        **({"distributedInfo": {**timeline.distributed, **ranks}} if ranks else {}),
        **({"host_name": told["host"]} if told["host"] else {}),
        "stepscope": {name: told[name] for name in ("framework", "pid")},
    }


def _args_of(rows: list[tuple[Rows, int, int, np.ndarray]]) -> dict[int, _Args]:
    """The args of the slices of each window, by its base. Profilers count ids anew in each window: those of a later one
    are moved above those of all before it, as ``stepscope.analysis.capture.merge`` does."""
    args: dict[int, _Args] = {}
    highest = 0
    for base, segment in sorted({segment.base: segment for segment, *_ in rows}.items()):
        args[base] = _Args(segment, highest)
        e = segment.events
        highest += max(int(e.correlation.max(initial=0)), int(e.external_id.max(initial=0)))
    return args


def _linked_calls(timeline: Timeline, base: int) -> set[int]:
    """The calls of a window whose runs it shows."""
    segment, _ = timeline.locate(base)
    if not segment.events.lanes:  # the always-on stream
        return set()
    launches = timeline.links_of(segment).launches
    return set(launches.call[launches.linked].tolist())


def _category(kind: int, device: int) -> str:
    if kind == Kind.SYNC and device != NONE:  # a device's record of what the host waited for
        return "cuda_sync"
    return _CATEGORY.get(Kind(kind), "other") if kind < len(Kind) else "other"


def table_csv(timeline: Timeline, t0: int, t1: int, lanes: Iterable[int] | None) -> str:
    """The same slices as a table, by lane, depth and start; times in ns.

    Raises:
        TooMuch: there are more than ``MAX_SLICES``.
    """
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\r\n")
    write.writerow(
        ("name", "kind", "lane", "depth", "start_ns", "start_unix_ns", "duration_ns", "step", "correlation", "args")
    )
    paths = _paths(timeline)
    args_of: dict[int, _Args] = {}
    for segment, lane, depth, at in _slices(timeline, t0, t1, lanes):
        e = segment.events
        args = args_of.setdefault(segment.base, _Args(segment))
        for i in at.tolist():
            ts = int(e.ts_ns[i])
            kind = int(e.kind[i])
            texts = (e.text(i), Kind(kind).name.lower() if kind < len(Kind) else "other", paths[lane])
            step, correlation = (int(c[i]) if c[i] != NONE else "" for c in (e.step, e.correlation))
            told = args.of(i)
            write.writerow(
                (
                    *map(guarded, texts),
                    depth,
                    ts - timeline.origin_ns,
                    ts,
                    int(e.dur_ns[i]),
                    step,
                    correlation,
                    msgspec.json.encode(told).decode() if told else "",
                )
            )
    return out.getvalue()


def _slices(
    timeline: Timeline, t0: int, t1: int, lanes: Iterable[int] | None
) -> list[tuple[Rows, int, int, np.ndarray]]:
    """(segment, lane, depth, places in its events) of each row that is exported."""
    picked = list(pick(timeline, *absolute(timeline, t0, t1), below(timeline, lanes)))
    count = sum(p.hi - p.lo for p in picked)
    if count > MAX_SLICES:
        raise TooMuch(
            f"This part of the timeline holds {count:,} slices and an export at most {MAX_SLICES:,}; "
            "zoom in or choose fewer lanes."
        )
    return [(p.segment, p.lane, p.depth, p.segment.at(np.arange(p.lo, p.hi))) for p in picked]


class _Args:
    """The args of slices with their ids, ``moved`` up, and sizes; distinct texts are read once."""

    def __init__(self, segment: Rows, moved: int = 0) -> None:
        self._events = segment.events
        self._moved = moved
        self._read: dict[int, dict[str, Any]] = {NONE: {}}

    def of(self, event: int) -> dict[str, Any]:
        e = self._events
        index = int(e.args[event])
        if index not in self._read:
            try:
                own = json.loads(e.args_values[index])
            except json.JSONDecodeError:
                own = e.args_values[index]
            self._read[index] = own if isinstance(own, dict) else {"args": own}
        ids = {text: int(getattr(e, column)[event]) for column, text in _IDS.items()}
        ids |= {text: ids[text] + self._moved for text in _COUNTED if ids[text] > 0}
        size = {"bytes": int(e.bytes[event])} if e.bytes[event] != NONE else {}
        return {**self._read[index], **{k: v for k, v in ids.items() if v != NONE}, **size}


class _Tracks:
    """Processes and threads of the trace: a process for each parent of lanes, a thread for each lane."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._order = {entry["id"]: i for i, entry in enumerate(timeline.tree()["lanes"])}
        self._pid: dict[int | None, int] = {}
        self._tid: dict[tuple[int, int], int] = {}

    def of(self, lane: int, depth: int) -> tuple[int, int]:
        about = self._timeline.lanes.by_id[lane]
        row = depth if about.type == "stream" else 0
        return self.process(about.parent), self._tid.setdefault((lane, row), len(self._tid) + 1)

    def process(self, parent: int | None) -> int:
        """The process that stands for a parent of lanes; pools, and groups within groups, belong to what is above."""
        by_id = self._timeline.lanes.by_id
        while parent is not None and (above := by_id[parent].parent) is not None:
            inner = by_id[parent].type == "pool" or by_id[parent].counted
            if not inner and (by_id[parent].type, by_id[above].type) != ("group", "group"):
                break
            parent = above
        return self._pid.setdefault(parent, self._own_pid(parent))

    def metadata(self) -> list[dict[str, Any]]:
        by_id = self._timeline.lanes.by_id
        out: list[dict[str, Any]] = []

        def tell(what: str, pid: int, tid: int, **args: Any) -> None:
            out.append({"ph": "M", "name": what, "pid": pid, "tid": tid, "ts": 0, "args": args})

        for parent, pid in self._pid.items():
            name = by_id[parent].name if parent is not None else "process"
            tell("process_name", pid, 0, name=name)
            tell("process_sort_index", pid, 0, sort_index=self._order.get(parent or NONE, 0))
            if parent is not None and by_id[parent].type == "device":
                tell("process_labels", pid, 0, labels=name.split(" · ")[0])
        for (lane, row), tid in self._tid.items():
            pid = self.process(by_id[lane].parent)
            tell("thread_name", pid, tid, name=f"{by_id[lane].name}{f' (row {row + 1})' if row else ''}")
            tell("thread_sort_index", pid, tid, sort_index=self._order.get(lane, 0) * 100 + row)
        return out

    def _own_pid(self, parent: int | None) -> int:
        # Devices take small numbers, as PyTorch's profiler numbers them; processes some that no device has.
        is_device = parent is not None and self._timeline.lanes.by_id[parent].type == "device"
        return len(self._pid) + (0 if is_device else 1000)


def _paths(timeline: Timeline) -> dict[int, str]:
    paths: dict[int, str] = {}
    for entry in timeline.tree()["lanes"]:
        above = paths.get(entry["parent"])
        paths[entry["id"]] = entry["name"] if above is None else f"{above} / {entry['name']}"
    return paths


def guarded(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text
