"""The routes of the Resources tab: curves, each core over time, steps and phases above them, all hosts of a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.resource_grid import CORE, across, columns_of, cores
from stepscope.resources import ResourceHistory
from stepscope.runs import Run
from stepscope.schema import Kind
from stepscope.step_strips import Strip, has_steps, strip
from stepscope.tables import Tables
from stepscope.workers import Worker
from stepscope_tensorboard.answers import Problem, json_answer, or_null
from stepscope_tensorboard.origin import origin_ns
from stepscope_tensorboard.parameters import Parameters
from stepscope_tensorboard.routes import Made, Route, WorkerRoutes

MAX_COLUMNS = 2000
MAX_POINTS = 20_000
#: Values of the map of cores that are sent at most; more cores have fewer columns.
_MAX_CELLS = 60_000


class ResourceRoutes(WorkerRoutes):
    def routes(self) -> dict[str, Route]:
        """The routes by name."""
        return {
            "resources": self.resources,
            "resources/cores": self.cores,
            "steps/strips": self.strips,
            "run/resources": self.run,
        }

    def resources(self, p: Parameters) -> Made:
        t0, t1 = p.optional_integer("t0"), p.optional_integer("t1")
        points = p.integer("points", 600, least=1, most=MAX_POINTS)
        cores = not p.flag("without_cores")
        _, worker, session = self._worker(p)
        session.resources.read(worker)
        version = str(session.resources.version)
        return version, lambda: json_answer(resources_impl(worker, session.resources, t0, t1, points, cores))

    def cores(self, p: Parameters) -> Made:
        t0, t1 = _interval(p)
        columns = p.integer("columns", 400, least=1, most=MAX_COLUMNS)
        _, worker, session = self._worker(p)
        history = session.resources
        history.read(worker)
        origin = origin_ns(worker, None)
        return str(history.version), lambda: json_answer(cores_impl(history, origin, t0, t1, columns))

    def strips(self, p: Parameters) -> Made:
        t0, t1 = _interval(p)
        px = p.integer("px", 800, least=1, most=MAX_COLUMNS)
        _, worker, session = self._worker(p)
        version, tables = session.tables(worker, "annotations")
        return version, lambda: json_answer(strips_impl(tables, t0, t1, px))

    def run(self, p: Parameters) -> Made:
        columns = p.integer("columns", 400, least=1, most=MAX_COLUMNS)
        t0, t1 = p.optional_integer("t0"), p.optional_integer("t1")
        host = p.text("host") if p.has("host") else None
        run = self._listing.run(p.text("run"))
        histories = []
        for worker in run.workers:
            if host is None or worker.host == host:
                history = self._sessions.of(run.id, worker).resources
                history.read(worker)
                histories.append((worker.host or worker.id, history))
        version = "-".join(str(history.version) for _, history in histories)
        return version, lambda: json_answer(run_impl(run, histories, t0, t1, columns))


def resources_impl(
    worker: Worker, history: ResourceHistory, t0: int | None, t1: int | None, points: int, cores: bool = True
) -> dict[str, Any]:
    """The monitor's series in [t0, t1), all of the time by default."""
    begin, end = history.extent_ns() or (0, 0)
    # Only a recorded worker has a monitor, and it knows when it began: no analysis is needed for the origin.
    origin = origin_ns(worker, None) or begin
    from_ns, to_ns = begin if t0 is None else t0 + origin, end + 1 if t1 is None else t1 + origin
    reduced = history.points(from_ns, to_ns, points, cores)
    series = []
    for info in history.infos():
        shown = reduced.get(info.id)
        if shown is None:
            continue
        series.append(
            {
                "id": info.id,
                "label": info.label,
                "group": info.group,
                "unit": info.unit,
                "t": (shown.t_ns - origin).tolist(),
                "mean": shown.mean.tolist(),
                "min": shown.min.tolist(),
                "max": shown.max.tolist(),
            }
        )
    return {
        "origin_ns": str(origin),
        "interval_ms": _milliseconds(history.interval_ns()),
        "latest_interval_ms": _milliseconds(history.latest_interval_ns()),
        "t0": begin - origin,
        "t1": end - origin,
        "series": series,
    }


def cores_impl(history: ResourceHistory, origin: int, t0: int, t1: int, columns: int) -> dict[str, Any]:
    """The use of each core in equal columns of [t0, t1)."""
    count = max(1, sum(metric == CORE for metric, _ in history.series()))
    edges = columns_of(history, t0 + origin, t1 + origin, max(1, min(columns, _MAX_CELLS // count)))
    return {
        "origin_ns": str(origin),
        "edges": (edges - origin).round().tolist(),
        "cores": [{"core": i, "mean": _rounded(mean)} for i, mean in cores(history, edges).items()],
    }


def strips_impl(tables: Tables, t0: int, t1: int, px: int) -> dict[str, Any]:
    """Steps and phases: of the always-on stream, else of the deep windows."""
    source = tables.source
    events = source.live if has_steps(source.live) else source.events
    origin = tables.origin_ns
    return {
        "origin_ns": str(origin),
        "steps": _strip(strip(events, Kind.STEP, t0 + origin, t1 + origin, px), origin),
        "phases": _strip(strip(events, Kind.PHASE, t0 + origin, t1 + origin, px), origin),
    }


def run_impl(
    run: Run, histories: list[tuple[str, ResourceHistory]], t0: int | None, t1: int | None, columns: int
) -> dict[str, Any]:
    """Each metric over all hosts, GPUs or processes; the origin is the first sample of all."""
    sampled = [(host, history) for host, history in histories if len(history)]
    hosts = list(dict.fromkeys(worker.host for worker in run.workers if worker.host))
    extents = [extent for _, history in sampled if (extent := history.extent_ns())]
    if not extents:
        return {"origin_ns": "0", "t1": 0, "hosts": hosts, "workers": 0, "edges": [], "bands": []}
    origin, end = min(first for first, _ in extents), max(last for _, last in extents) + 1
    begin = origin if t0 is None else origin + t0
    edges = columns_of(sampled[0][1], begin, end if t1 is None else origin + t1, columns)
    bands = [
        {
            "id": band.info.id,
            "label": band.info.label,
            "group": band.info.group,
            "unit": band.info.unit,
            "of": band.of,
            "members": band.members,
            "mean": band.mean.tolist(),
            "min": band.min.tolist(),
            "max": band.max.tolist(),
        }
        for band in across(sampled, edges)
    ]
    return {
        "origin_ns": str(origin),
        "t1": end - origin,
        "hosts": hosts,
        "workers": len(sampled),
        "edges": (edges - origin).round().tolist(),
        "bands": bands,
    }


def _interval(p: Parameters) -> tuple[int, int]:
    t0, t1 = p.integer("t0"), p.integer("t1")
    if t1 <= t0:
        raise Problem(400, "The parameter t1 must lie after t0.")
    return t0, t1


def _milliseconds(dur_ns: int | None) -> int | None:
    return None if dur_ns is None else round(dur_ns / 1e6)


def _rounded(values: np.ndarray) -> list[float]:
    return np.round(values, 3).tolist()


def _strip(shown: Strip, origin: int) -> dict[str, list]:
    return {
        "start": (shown.start_ns - origin).tolist(),
        "end": (shown.end_ns - origin).tolist(),
        "count": shown.count.tolist(),
        "first": or_null(shown.first),
        "last": or_null(shown.last),
        "name": shown.name,
    }
