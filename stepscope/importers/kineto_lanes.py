"""Lanes of a Kineto trace: threads and streams, named by the trace's metadata events."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from stepscope.schema import NONE, Lane

_NUMBER = re.compile(r"\d{1,9}")
_INT32_MAX = 2**31 - 1


@dataclass
class _Names:
    """What ``M`` events say, by pid and by (pid, tid)."""

    process: dict[str, str] = field(default_factory=dict)
    label: dict[str, str] = field(default_factory=dict)
    thread: dict[tuple[str, str], str] = field(default_factory=dict)
    sort: dict[tuple[str, str], int] = field(default_factory=dict)


class LaneTable:
    """Numbers lanes by (pid, tid, side); host and device lanes stay apart even where pid and tid agree,
    as Python frames without a thread share pid 0 and tid 0 with stream 0 of GPU 0."""

    def __init__(self) -> None:
        self._index: dict[tuple[str, str, bool, bool], int] = {}
        self._names = _Names()

    def index(self, pid: str, tid: str, on_device: bool, track: bool) -> int:
        return self._index.setdefault((pid, tid, on_device, track), len(self._index))

    def describe(self, name: str, pid: str, tid: str, args: dict) -> None:
        """Take in one metadata event."""
        names = self._names
        if name == "process_name":
            names.process[pid] = _text(args.get("name"))
        elif name == "process_labels":
            names.label[pid] = _text(args.get("labels"))
        elif name == "thread_name":
            names.thread[pid, tid] = _text(args.get("name")).strip()
        elif name == "thread_sort_index" and isinstance(args.get("sort_index"), int):
            names.sort[pid, tid] = max(-_INT32_MAX, min(args["sort_index"], _INT32_MAX))

    def lanes(self, lane_of_event: np.ndarray, device: np.ndarray, stream: np.ndarray) -> list[Lane]:
        """The lanes, with the device and stream that their first event with either gives."""
        out = []
        first = _first_of_lane(lane_of_event, (device != NONE) | (stream != NONE), len(self._index))
        for (pid, tid, on_device, track), i in self._index.items():
            row = int(first[i])
            on, at = (int(device[row]), int(stream[row])) if row >= 0 else (NONE, NONE)
            out.append(self._lane(pid, tid, on_device, track, on, at))
        return out

    def _lane(self, pid: str, tid: str, on_device: bool, track: bool, device: int, stream: int) -> Lane:
        names = self._names
        label = names.label.get(pid, "")
        process = names.process.get(pid, "")
        name = names.thread.get((pid, tid), "")
        sort = names.sort.get((pid, tid), _ordinal(tid, 0))
        if on_device:
            return Lane(
                type="stream",
                name=name if name and not name.startswith("thread") else f"stream {stream if stream != NONE else tid}",
                pid=pid,
                tid=tid,
                process=label or f"GPU {device if device != NONE else pid}",
                device=device,
                stream=stream,
                sort=sort,
            )
        if label.startswith("GPU") or name.startswith("stream"):
            process, name = "", ""  # these words describe the device that shares the pid
        if track:
            return Lane("track", name or "counters", pid, tid, process, sort=sort)
        if pid == "-1":
            return Lane("track", "profiler overhead", pid, tid, process, sort=sort)
        return Lane("thread", name or f"thread {tid}", pid, tid, process, sort=sort)


def device_ordinal(pid: str) -> int:
    """The device that a device lane's pid stands for, ``NONE`` if it is no small number."""
    return _ordinal(pid, NONE)


def stream_number(tid: str) -> int:
    """The stream of a device lane's tid: ``7`` or ``stream 7``."""
    return _ordinal(tid.removeprefix("stream "), NONE)


def _ordinal(text: str, otherwise: int) -> int:
    return int(text) if _NUMBER.fullmatch(text) else otherwise


def _first_of_lane(lane: np.ndarray, wanted: np.ndarray, lanes: int) -> np.ndarray:
    first = np.full(lanes, -1, np.int64)
    rows = np.flatnonzero(wanted)[::-1]
    first[lane[rows]] = rows
    return first


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)
