"""The routes of a run as a whole: all its workers beside each other, from their rollups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from stepscope.analysis.rank_map import part_means, rank_map
from stepscope.analysis.ranks import FAMILIES
from stepscope.runs import Run
from stepscope.summary import overview
from stepscope.summary.headline import gpu_busy, memory_peak, talks_on_host_only
from stepscope_tensorboard.answers import Problem, json_answer, or_null
from stepscope_tensorboard.listing import Listing
from stepscope_tensorboard.parameters import Parameters
from stepscope_tensorboard.routes import Made, Route
from stepscope_tensorboard.run_rollups import RunRollups, WholeRun

MAX_COLUMNS = 1000
_MAX_STEPS = 1 << 40
#: Cells of the map that are sent at most: 200,000 numbers are less than 2 MB.
_MAX_CELLS = 200_000


class RunRoutes:
    def __init__(self, listing: Listing, rollups: RunRollups) -> None:
        self._listing = listing
        self._rollups = rollups

    def routes(self) -> dict[str, Route]:
        """The routes by name."""
        return {"run/summary": self.summary, "run/steps": self.steps}

    def summary(self, p: Parameters) -> Made:
        run = self._listing.run(p.text("run"))
        whole = self._rollups.of(run)
        live = sum(worker.is_live for worker in run.workers)
        return f"{whole.version}-{live}", lambda: json_answer(summary_impl(run, whole, live))

    def steps(self, p: Parameters) -> Made:
        measure = p.text("of") if p.has("of") else None
        offset, limit = p.integer("offset", 0, least=0), p.integer("limit", _MAX_STEPS, least=1)
        columns = p.integer("columns", 240, least=1, most=MAX_COLUMNS)
        whole = self._rollups.of(self._listing.run(p.text("run")))
        known = whole.measures.names
        if measure is not None and measure not in known:
            raise Problem(400, f"The parameter of must be one of {', '.join(known)}.")
        return whole.version, lambda: json_answer(steps_impl(whole, measure, offset, limit, columns))


def summary_impl(run: Run, whole: WholeRun, live: int) -> dict[str, Any]:
    """The run in short; its workers in columns."""
    short = overview(run, whole.rollups)
    workers = short["workers"]
    across = dict(short["across_workers"] or {})
    ranks = across.pop("ranks", [])
    by_code: dict[str, dict[str, Any]] = {}
    for worker in workers:
        for note in worker["quality"]:
            known = by_code.setdefault(note["code"], {**note, "count": 0, "workers": 0})
            known["count"] += note["count"]
            known["workers"] += 1
    return {
        "run": run.id,
        "live": live,
        "stale": whole.stale,
        "step_time_ns": short["step_time_ns"],
        "micro_step_time_ns": short["micro_step_time_ns"],
        "frameworks": sorted({w["framework"] for w in workers}),
        "hosts": len({w["host"] for w in workers if w["host"] is not None}),
        "devices": Counter(d["name"] or "unnamed device" for w in workers for d in w["devices"]),
        "coverage": _coverage(workers),
        "measures": whole.measures.names,
        "compared_by": whole.measures.compared_by,
        "across_workers": across or None,
        "ranks": _columns(whole.ids, ranks, workers),
        "memory": _memory(workers),
        "device_time": _device_time(workers),
        "quality": list(by_code.values()),
        "findings": short["findings"],
        "verdict": short["verdict"],
        "metadata": short["metadata"],
        "problems": short["problems"],
    }


def steps_impl(whole: WholeRun, measure: str | None, offset: int, limit: int, columns: int) -> dict[str, Any]:
    """A measure of all workers in stretches of steps, and the mean parts of these steps."""
    found = whole.measures
    measure = measure or found.compared_by
    columns = min(columns, max(_MAX_CELLS // max(found.alignment.workers, 1), 1))
    shown = rank_map(found, measure, offset, limit, columns)
    ids = found.alignment.id
    parts: dict[str, dict[str, list]] = {family: {} for family in FAMILIES}
    for name, values in part_means(found, shown).items():
        family, _, part = name.partition(".")
        parts[family][part] = _whole_numbers(values)
    return {
        "of": measure,
        "aligned_by": found.alignment.by,
        "count": shown.count,
        "of_steps": len(ids),
        "first": shown.first.tolist(),
        "last": shown.last.tolist(),
        "first_id": ids[shown.first].tolist(),
        "last_id": ids[shown.last].tolist(),
        "mean": _whole_numbers(shown.mean),
        "min": or_null(shown.min),
        "max": or_null(shown.max),
        "slowest": or_null(shown.slowest),
        "cells": [_whole_numbers(row) for row in shown.cells],
        **parts,
    }


def _coverage(workers: Sequence[dict[str, Any]]) -> dict[str, int]:
    names = ("steps", "deep_steps", "phased_steps", "windows")
    return {name: sum(w["coverage"][name] or 0 for w in workers) for name in names}


def _columns(ids: Sequence[str], ranks: Sequence[dict[str, Any]], workers: Sequence[dict[str, Any]]) -> dict[str, list]:
    """One entry a worker. Times are means a step."""
    excess = [r["excess"] or {} for r in ranks]
    plain = ("rank", "host", "ends_early", "steps", "slowest", "waited_for")
    times = ("p50_ns", "mean_ns", "delta_ns", "own_ns", "collective_wait_ns")
    return {
        "worker": list(ids) if ranks else [],
        **{name: [r[name] for r in ranks] for name in plain},
        **{name: [_whole_number(r[name]) for r in ranks] for name in times},
        "excess_part": [e.get("part") for e in excess],
        "excess_family": [e.get("family") for e in excess],
        "excess_ns": [_whole_number(e.get("ns")) for e in excess],
        "input_wait_ns": [_whole_number((r["phase_ns"] or {}).get("input_wait")) for r in ranks],
        "exposed_ns": [
            None if talks_on_host_only(w) else _whole_number((r["activity_ns"] or {}).get("communication"))
            for r, w in zip(ranks, workers, strict=False)  # no ranks where there is nothing to compare
        ],
        "gpu_busy": [gpu_busy(w) for w in workers] if ranks else [],
        "memory_peak_bytes": [memory_peak(w["memory"], w["resources"]) for w in workers] if ranks else [],
        "notes": [len(w["quality"]) for w in workers] if ranks else [],
    }


def _memory(workers: Sequence[dict[str, Any]]) -> dict[str, list]:
    """One entry an allocator; ``worker`` is a place in the other columns."""
    rows = [{"worker": i, **memory} for i, worker in enumerate(workers) for memory in worker["memory"]]
    names = ("worker", "device", "allocator", "is_absolute", "peak_bytes", "peak_reserved_bytes")
    return {name: [row[name] for row in rows] for name in names}


def _device_time(workers: Sequence[dict[str, Any]]) -> dict[str, list[int]]:
    """One entry a worker of which a deep window saw device work: ns that sum to ``total``."""
    rows = []
    for i, worker in enumerate(workers):
        time = worker["timeline_ns"]
        if time["total"] is not None:
            both = time["communication"] - time["exposed_communication"]
            rows.append(
                {
                    "worker": i,
                    "total": time["total"],
                    "computation": time["compute"] - both,
                    "overlapped": both,
                    "communication": time["exposed_communication"],
                    "copies": time["exposed_memcpy"] + time["exposed_memset"],
                    "idle": time["idle"],
                }
            )
    names = ("worker", "total", "computation", "overlapped", "communication", "copies", "idle")
    return {name: [row[name] for row in rows] for name in names}


def _whole_number(value: float | None) -> int | None:
    return None if value is None else round(value)


def _whole_numbers(values: np.ndarray) -> list[int | None]:
    return [None if v != v else round(v) for v in values.tolist()]
