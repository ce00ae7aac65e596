"""The routes of the timeline: what draws it, areas, search, neighbours, arrows, other ranks, export."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from stepscope.timeline import NoSuchSlice, Timeline
from stepscope.timeline.area import area
from stepscope.timeline.arrows import MAX_ARROWS, arrows
from stepscope.timeline.curve import Curve
from stepscope.timeline.export import TooMuch, chrome_trace, table_csv
from stepscope.timeline.grouping import with_groups
from stepscope.timeline.neighbours import neighbour
from stepscope.timeline.one_slice import slice_of
from stepscope.timeline.peers import peer
from stepscope.timeline.search import MAX_HITS, BadPattern, search
from stepscope.workers import Worker
from stepscope_tensorboard.answers import ARROW, JSON, Answer, Problem, arrow_bytes, json_answer, json_bytes
from stepscope_tensorboard.parameters import Parameters
from stepscope_tensorboard.routes import Made, Route, WorkerRoutes

MAX_PIXELS = 20_000
MAX_BUCKETS = 4000
_CSV = "text/csv; charset=utf-8"


class TimelineRoutes(WorkerRoutes):
    def routes(self) -> dict[str, Route]:
        """The routes by name."""
        return {
            "timeline/tree": self.tree,
            "timeline/view": self.view,
            "timeline/curves": self.curves,
            "timeline/slice": self.slice,
            "timeline/find": self.find,
            "timeline/area": self.area,
            "timeline/search": self.search,
            "timeline/neighbour": self.neighbour,
            "timeline/arrows": self.arrows,
            "timeline/peer": self.peer,
            "timeline/export": self.export,
        }

    def tree(self, p: Parameters) -> Made:
        held, last = p.integer("steps", 0, least=0), p.optional_integer("last")
        _, timeline = self._timeline(p)
        return str(timeline.version), lambda: json_answer(timeline.tree(held, last))

    def view(self, p: Parameters) -> Made:
        (t0, t1), px = _interval(p), p.integer("px", least=1, most=MAX_PIXELS)
        lanes = p.integers("lanes")
        with_group_columns = p.flag("groups")
        _, timeline = self._timeline(p)

        def made() -> Answer:
            table = timeline.view(t0, t1, px, lanes)
            return Answer(200, ARROW, arrow_bytes(with_groups(timeline, table) if with_group_columns else table))

        return str(timeline.version), made

    def curves(self, p: Parameters) -> Made:
        (t0, t1), bins = _interval(p), p.integer("bins", least=1, most=MAX_PIXELS)
        lanes = p.integers("lanes")
        _, timeline = self._timeline(p)
        return str(timeline.version), lambda: json_answer(curves_impl(timeline, t0, t1, bins, lanes))

    def slice(self, p: Parameters) -> Made:
        row = p.integer("row")
        _, timeline = self._timeline(p)
        try:
            found = slice_of(timeline, row)
        except NoSuchSlice as error:
            raise Problem(404, str(error)) from error
        return None, lambda: json_answer(found)

    def find(self, p: Parameters) -> Made:
        name = p.text("name")
        _, timeline = self._timeline(p)
        return str(timeline.version), lambda: json_answer(timeline.find(name))

    def area(self, p: Parameters) -> Made:
        t0, t1 = _interval(p)
        lanes = p.optional_integers("lanes")
        _, timeline = self._timeline(p)
        return str(timeline.version), lambda: json_answer(area(timeline, t0, t1, lanes))

    def search(self, p: Parameters) -> Made:
        text = p.text("text")
        regex, case, exact = p.flag("regex"), p.flag("case"), p.flag("exact")
        where = p.choice("where", ("names", "args", "both")) if p.has("where") else "names"
        offset = p.integer("offset", 0, least=0)
        limit = p.integer("limit", MAX_HITS, least=0, most=MAX_HITS)
        buckets = p.integer("buckets", 0, least=0, most=MAX_BUCKETS)
        _, timeline = self._timeline(p)

        def made() -> Answer:
            try:
                found = search(
                    timeline,
                    text,
                    regex=regex,
                    match_case=case,
                    in_names=where != "args",
                    in_args=where != "names",
                    exact=exact,
                    offset=offset,
                    limit=limit,
                    buckets=buckets,
                )
            except BadPattern as error:
                raise Problem(400, str(error)) from error
            return json_answer(found)

        return str(timeline.version), made

    def neighbour(self, p: Parameters) -> Made:
        row, by = p.integer("row"), p.choice("by", ("1", "-1"))
        _, timeline = self._timeline(p)
        try:
            found = neighbour(timeline, row, int(by))
        except NoSuchSlice as error:
            raise Problem(404, str(error)) from error
        return None, lambda: json_answer({"origin_ns": str(timeline.origin_ns), "slice": found})

    def arrows(self, p: Parameters) -> Made:
        t0, t1 = _interval(p)
        lanes = p.optional_integers("lanes")
        limit = p.integer("limit", MAX_ARROWS, least=1, most=MAX_ARROWS)
        _, timeline = self._timeline(p)
        return str(timeline.version), lambda: json_answer(arrows(timeline, t0, t1, lanes, limit))

    def peer(self, p: Parameters) -> Made:
        lane = p.integer("lane")
        _, timeline = self._timeline(p)
        _, other = self._timeline(p, "peer")
        if lane not in timeline.lanes.by_id:
            raise Problem(404, f"There is no lane {lane} in this timeline.")
        return f"{timeline.version}-{other.version}", lambda: json_answer(peer(timeline, lane, other))

    def export(self, p: Parameters) -> Made:
        t0, t1 = _interval(p)
        lanes = p.optional_integers("lanes")
        to = p.choice("to", ("trace", "csv"))
        worker, timeline = self._timeline(p)

        def made() -> Answer:
            try:
                if to == "csv":
                    return _file(_CSV, table_csv(timeline, t0, t1, lanes).encode(), worker, "csv")
                return _file(JSON, json_bytes(chrome_trace(timeline, t0, t1, lanes)), worker, "pt.trace.json")
            except TooMuch as error:
                raise Problem(400, str(error)) from error

        return str(timeline.version), made

    def _timeline(self, p: Parameters, worker: str = "worker") -> tuple[Worker, Timeline]:
        _, found, session = self._worker(p, worker)
        return found, session.timeline(found)


def curves_impl(timeline: Timeline, t0: int, t1: int, bins: int, lanes: Iterable[int]) -> dict[str, Any]:
    """The curves of devices' work and of counters in equal bins of [t0, t1)."""
    edges = np.linspace(t0, max(t1, t0 + 1), bins + 1)
    series = [
        {
            "lane": lane,
            "id": curve.id,
            "label": curve.label,
            "unit": curve.unit,
            "definition": curve.definition,
            "why": curve.why,
            "mean": _rounded(curve).tolist(),
        }
        for lane, curves in timeline.curves(edges, lanes).items()
        for curve in curves
    ]
    return {"origin_ns": str(timeline.origin_ns), "t0": t0, "t1": max(t1, t0 + 1), "series": series}


def _rounded(curve: Curve) -> np.ndarray:
    """As exact as anybody reads them: answers are a third as long."""
    if curve.unit != "number":
        return np.round(curve.mean, 4 if curve.unit == "ratio" else 0)
    most = np.nanmax(np.abs(curve.mean), initial=0.0)
    return np.round(curve.mean, max(0, 5 - int(np.floor(np.log10(most)))) if most > 0 else 0)


def _interval(p: Parameters) -> tuple[int, int]:
    t0, t1 = p.integer("t0"), p.integer("t1")
    if t1 < t0:
        raise Problem(400, "The parameter t1 must not lie before t0.")
    return t0, t1


def _file(content_type: str, body: bytes, worker: Worker, ending: str) -> Answer:
    """An answer that a browser saves. The name holds letters that every file system takes, and none of a header."""
    rank = "" if worker.rank is None else f"-rank{worker.rank}"
    return Answer(
        200, content_type, body, headers={"Content-Disposition": f'attachment; filename="timeline{rank}.{ending}"'}
    )
