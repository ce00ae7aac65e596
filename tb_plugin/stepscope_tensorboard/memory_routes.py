"""The routes of the Memory tab: an allocator's curve, what was alive at a moment, and what stays after each step."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from stepscope.analysis.allocations import Allocator
from stepscope.analysis.memory_moments import (
    BY,
    Course,
    alive_at,
    courses,
    growth,
    in_interval,
    outliving,
    step_levels,
)
from stepscope.analysis.quality import numbered_differently
from stepscope.tables import Tables
from stepscope.tables.allocations import allocator_name
from stepscope_tensorboard.answers import Problem, json_answer, or_null
from stepscope_tensorboard.parameters import Parameters
from stepscope_tensorboard.routes import Made, Route, WorkerRoutes

MAX_POINTS = 8000
MAX_STEPS = 1000
#: Steps that an allocation outlives before it is worth a look.
OUTLIVES = 2


class MemoryRoutes(WorkerRoutes):
    def routes(self) -> dict[str, Route]:
        """The routes by name."""
        return {"memory/curve": self.curve, "memory/alive": self.alive, "memory/steps": self.steps}

    def curve(self, p: Parameters) -> Made:
        of = p.integer("of", 0, least=0) if p.has("of") else None
        t0, t1 = p.optional_integer("t0"), p.optional_integer("t1")
        points = p.integer("points", 1500, least=20, most=MAX_POINTS)
        version, tables = self._tables(p)
        return version, lambda: json_answer(curve_impl(tables, of, t0, t1, points))

    def alive(self, p: Parameters) -> Made:
        of, at, by = p.integer("of", 0, least=0), p.integer("t"), p.choice("by", BY)
        version, tables = self._tables(p)
        return version, lambda: json_answer(alive_impl(tables, of, at, by))

    def steps(self, p: Parameters) -> Made:
        of, by = p.integer("of", 0, least=0), p.choice("by", BY)
        least = p.integer("outlives", OUTLIVES, least=1, most=MAX_STEPS)
        version, tables = self._tables(p)
        return version, lambda: json_answer(steps_impl(tables, of, by, least))

    def _tables(self, p: Parameters) -> tuple[str, Tables]:
        _, worker, session = self._worker(p)
        return session.tables(worker, "allocations")


def curve_impl(tables: Tables, of: int | None, t0: int | None, t1: int | None, points: int) -> dict[str, Any]:
    """All allocators in short, and the curve of one in [t0, t1]; a null is between two windows."""
    origin = tables.origin_ns
    found = tables.source.allocators or []
    told = [_about(a, found, tables) for a in found]
    if of is None:  # the fullest of a device, as the summary shows first
        ranks = [(a.device is not None, one["peak_bytes"]) for a, one in zip(found, told, strict=True)]
        of = ranks.index(max(ranks)) if ranks else 0
    answer: dict[str, Any] = {
        "origin_ns": str(origin),
        "why_empty": tables.table("allocations").why_empty(),
        "allocators": told,
        "of": of,
        "numbering": numbered_differently([a.device for a in found], tables.source.events),
    }
    if not found:
        return answer
    _, tracks = _chosen(tables, of)
    begin, end = int(tracks[0].ts_ns[0]), int(tracks[-1].ts_ns[-1])
    low, high = begin if t0 is None else origin + t0, end if t1 is None else origin + t1
    shown = [track for track in tracks if track.ts_ns[0] <= high and track.ts_ns[-1] >= low]
    t: list[int] = []
    allocated: list[int | None] = []
    reserved: list[int | None] = []
    for track in shown:
        at = in_interval(track, low, high, max(20, points // len(shown)))
        if t:
            t.append(t[-1])
            allocated.append(None)
            reserved.append(None)
        t += (track.ts_ns[at] - origin).tolist()
        allocated += track.allocated[at].tolist()
        reserved += or_null(track.reserved[at])
    return {
        **answer,
        "t0": begin - origin,
        "t1": end - origin,
        "windows": [[int(track.ts_ns[0]) - origin, int(track.ts_ns[-1]) - origin] for track in tracks],
        "curve": {"t": t, "allocated": allocated, "reserved": reserved},
        "peak": _peak(shown, low, high, origin),
    }


def alive_impl(tables: Tables, of: int, at: int, by: str) -> dict[str, Any]:
    """What was alive at a moment; ``alive`` is null where that is not known, ``why`` tells why."""
    allocator, tracks = _chosen(tables, of)
    moment = tables.origin_ns + at
    track = next((track for track in tracks if track.ts_ns[0] <= moment <= track.ts_ns[-1]), None)
    source = tables.source
    alive = None
    why = "between_windows"
    if track is not None:
        alive = alive_at(allocator, track, source.events, source.owners, moment, by)
        why = "no_addresses"
    return {
        "origin_ns": str(tables.origin_ns),
        "t": at,
        "by": by,
        "why": None if alive else why,
        "has_modules": source.owners is not None,
        "alive": None if alive is None else asdict(alive),
    }


def steps_impl(tables: Tables, of: int, by: str, least: int) -> dict[str, Any]:
    """What is allocated after each step of the windows, and what outlives steps."""
    allocator, tracks = _chosen(tables, of)
    source = tables.source
    levels = step_levels(tracks, source.steps)
    kept = outliving(allocator, levels, source.events, source.owners, by, least)
    last = slice(-MAX_STEPS, None)
    return {
        "origin_ns": str(tables.origin_ns),
        "count": len(levels.number),
        "step": levels.number[last].tolist(),
        "end": (levels.end_ns[last] - tables.origin_ns).tolist(),
        "allocated": levels.allocated[last].tolist(),
        "peak": levels.peak[last].tolist(),
        "window": levels.window[last].tolist(),
        "growth": asdict(growth(levels)),
        "outlives": least,
        "kept": None
        if kept is None
        else {"count": kept[0], "bytes": kept[1], "rows": [asdict(share) for share in kept[2]]},
    }


def _chosen(tables: Tables, of: int) -> tuple[Allocator, list[Course]]:
    found = tables.source.allocators or []
    if of >= len(found):
        raise Problem(404, f"There is no allocator {of}: this capture tells of {len(found)}.")
    return found[of], courses(found[of], tables.source.capture.extent_ns)


def _about(allocator: Allocator, found: list[Allocator], tables: Tables) -> dict[str, Any]:
    """Name and figures, equal to those of the summary."""
    positive = allocator.records.bytes > 0
    tops = [int(levels.high.max()) for levels in allocator.levels]
    levels = allocator.levels[int(np.argmax(tops))]
    reserved = max(int(levels.reserved.max()) for levels in allocator.levels)
    return {
        "name": allocator_name(allocator.device, allocator.name, found),
        "allocator": allocator.name,
        "is_absolute": all(levels.is_absolute for levels in allocator.levels),
        "allocations": int(positive.sum()),
        "frees": int((allocator.records.bytes < 0).sum()),
        "start_bytes": allocator.levels[0].start,
        "end_bytes": int(allocator.levels[-1].level[-1]),
        "peak_bytes": max(tops),
        "peak": int(levels.ts_ns[int(np.argmax(levels.high))]) - tables.origin_ns,
        "peak_reserved_bytes": reserved if reserved > 0 else None,
        "unmatched_frees": allocator.lifetimes[1] if allocator.has_addresses else None,
        "has_addresses": allocator.has_addresses,
    }


def _peak(tracks: list[Course], low: int, high: int, origin: int) -> dict[str, int] | None:
    """The highest level in [low, high]; one that began before counts with its begin at ``low``."""
    best: tuple[int, int] | None = None
    for track in tracks:
        first, last = track.at(low), track.at(high)
        at = first + int(np.argmax(track.allocated[first : last + 1]))
        level = int(track.allocated[at])
        if best is None or level > best[0]:
            best = level, max(int(track.ts_ns[at]), low)
    return None if best is None else {"bytes": best[0], "t": best[1] - origin}
