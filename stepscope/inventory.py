"""What there is of one worker: its files, its deep windows, its always-on stream, its clock. For the Data tab."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from stepscope.analysis.capture import Capture
from stepscope.schema import NONE, Events
from stepscope.workers import FileWorker, RecordedWorker, Worker

#: Files that are listed; a folder of more windows tells how many there are besides.
MOST_FILES = 500


@dataclass(frozen=True)
class File:
    """``name`` is relative to the worker's folder, or the file's own name where there is none."""

    name: str
    bytes: int
    modified_ns: int


@dataclass(frozen=True)
class Stretch:
    """A recorded stretch of time: a deep window, or the always-on stream.

    ``first_step`` and ``last_step`` are the numbers of the whole steps in it, null without any.
    """

    start_ns: int
    end_ns: int
    events: int
    steps: int
    first_step: int | None
    last_step: int | None


def files_of(worker: Worker) -> tuple[list[File], int]:
    """The files that the worker is read from, by name, and how many there are in all."""
    if isinstance(worker, FileWorker):
        found = [(worker.path.name, worker.path)]
    elif isinstance(worker, RecordedWorker):
        folder = worker.folder.path
        found = [(str(path.relative_to(folder)), path) for path in sorted(_below(folder))]
    else:
        found = []
    listed = [file for name, path in found[:MOST_FILES] if (file := _file(name, path)) is not None]
    return listed, len(found)


def windows_of(capture: Capture, steps: tuple[np.ndarray, np.ndarray, np.ndarray]) -> list[Stretch]:
    """The deep windows in their order. ``steps``: number, start and end of each."""
    sizes = np.diff(capture.bounds).tolist()
    return [
        _stretch(begin, end, count, steps)
        for (begin, end), count in zip(capture.extent_ns.tolist(), sizes, strict=True)
    ]


def always_on_of(live: Events, steps: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Stretch | None:
    """The always-on stream; None where nothing is in it."""
    if len(live) == 0:
        return None
    return _stretch(int(live.ts_ns.min()), int(live.end_ns.max()), len(live), steps)


def clock_of(worker: Worker) -> dict[str, Any] | None:
    """How the process's monotonic clock was tied to the wall clock; None for imported files.

    ``error_ns`` bounds the error of the pair of readings. More than one anchor means that the wall clock was set;
    ``jumps_ns`` tells by how much, each time.
    """
    anchors = [a for a in (worker.meta or {}).get("anchors") or [] if _is_anchor(a)]
    if not anchors:
        return None
    offsets = [a["unix_ns"] - a["perf_ns"] for a in anchors]
    return {
        "anchors": len(anchors),
        "first_ns": anchors[0]["unix_ns"],
        "error_ns": max(a["width_ns"] for a in anchors),
        "jumps_ns": [b - a for a, b in pairwise(offsets)],
    }


def _stretch(begin: int, end: int, events: int, steps: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Stretch:
    number, start, stop = steps
    inside = number[(start >= begin) & (stop <= end)]
    known = inside[inside != NONE]
    first, last = (int(known.min()), int(known.max())) if len(known) else (None, None)
    return Stretch(begin, end, events, len(inside), first, last)


def _is_anchor(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(k), int) for k in ("perf_ns", "unix_ns", "width_ns"))


def _below(folder: Path) -> Iterable[Path]:
    for parent, _, names in os.walk(folder):
        for name in names:
            yield Path(parent) / name


def _file(name: str, path: Path) -> File | None:
    """None where it has gone since it was listed."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return File(name.encode("utf-8", "backslashreplace").decode(), stat.st_size, stat.st_mtime_ns)
