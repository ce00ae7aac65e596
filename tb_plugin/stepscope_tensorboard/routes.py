"""The routes of docs/api.md: parameters in, plain data out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stepscope.runs import Run, Worker
from stepscope.summary import note_ranks, step_time
from stepscope.timeline import NoSuchSlice
from stepscope.timeline.grouping import GROUPINGS, with_group
from stepscope_tensorboard.answers import ARROW, Answer, Problem, arrow_bytes, json_answer
from stepscope_tensorboard.bounds import bounded
from stepscope_tensorboard.findings import findings_impl
from stepscope_tensorboard.listing import Listing, describe, known_rank
from stepscope_tensorboard.origin import origin_ns
from stepscope_tensorboard.parameters import Parameters
from stepscope_tensorboard.sessions import Session, Sessions, Summarised
from stepscope_tensorboard.step_pages import overview_impl

MAX_PIXELS = 20_000
MAX_POINTS = 20_000
MIN_OVERVIEW = 6


class Routes:
    """Each public method is a route; it gets the parameters and gives (version of the content, how to make it).

    The version is compared before anything is made: what a browser has already is not sent again.
    """

    def __init__(self, listing: Listing, sessions: Sessions) -> None:
        self._listing = listing
        self._sessions = sessions

    def runs(self, p: Parameters) -> Made:
        runs = [describe(run) for run in self._listing.runs().values()]
        return None, lambda: json_answer({"logdir": self._listing.text, "runs": runs})

    def summary(self, p: Parameters) -> Made:
        run, worker, session = self._worker(p)
        summary = session.summary(worker)
        version = f"{summary.updated_ns}-{worker.is_live}"
        return version, lambda: json_answer(summary_impl(run, worker, summary))

    def steps_overview(self, p: Parameters) -> Made:
        points = p.integer("points", 1500, least=MIN_OVERVIEW, most=MAX_POINTS)
        _, worker, session = self._worker(p)
        summary = session.summary(worker)
        return str(summary.updated_ns), lambda: json_answer(
            overview_impl(summary.analysis, origin_ns(worker, summary.analysis), points)
        )

    def resources(self, p: Parameters) -> Made:
        t0, t1 = p.optional_integer("t0"), p.optional_integer("t1")
        points = p.integer("points", 600, least=1, most=MAX_POINTS)
        cores = not p.flag("without_cores")
        _, worker, session = self._worker(p)
        session.resources.read(worker)
        version = str(session.resources.version)
        return version, lambda: json_answer(resources_impl(worker, session, t0, t1, points, cores))

    def timeline_tree(self, p: Parameters) -> Made:
        held, last = p.integer("steps", 0, least=0), p.optional_integer("last")
        _, worker, session = self._worker(p)
        timeline = session.timeline(worker)
        return str(timeline.version), lambda: json_answer(timeline.tree(held, last))

    def timeline_view(self, p: Parameters) -> Made:
        t0, t1, px = p.integer("t0"), p.integer("t1"), p.integer("px", least=1, most=MAX_PIXELS)
        lanes = p.integers("lanes")
        by = p.choice("by", GROUPINGS) if p.has("by") else None
        if t1 < t0:
            raise Problem(400, "The parameter t1 must not lie before t0.")
        _, worker, session = self._worker(p)
        timeline = session.timeline(worker)

        def made() -> Answer:
            table = timeline.view(t0, t1, px, lanes)
            return Answer(200, ARROW, arrow_bytes(table if by is None else with_group(timeline, table, by)))

        return str(timeline.version), made

    def timeline_slice(self, p: Parameters) -> Made:
        row = p.integer("row")
        _, worker, session = self._worker(p)
        timeline = session.timeline(worker)
        try:
            found = timeline.slice(row)
        except NoSuchSlice as error:
            raise Problem(404, str(error)) from error
        return None, lambda: json_answer(found)

    def timeline_find(self, p: Parameters) -> Made:
        name = p.text("name")
        _, worker, session = self._worker(p)
        timeline = session.timeline(worker)
        return str(timeline.version), lambda: json_answer(timeline.find(name))

    def _worker(self, p: Parameters) -> tuple[Run, Worker, Session]:
        run, worker = self._listing.worker(p.text("run"), p.text("worker"))
        return run, worker, self._sessions.of(run.id, worker)


#: What a route gives: a version of its content, None where there is none, and how to make it.
Made = tuple[str | None, Callable[[], Answer]]


def summary_impl(run: Run, worker: Worker, summary: Summarised) -> dict[str, Any]:
    """The summary of one worker."""
    analysis = summary.analysis
    origin = origin_ns(worker, analysis)
    about = bounded(analysis.summary, origin)
    told = findings_impl(analysis.summary, origin)
    for elsewhere in ("steps", "findings", "bound"):
        about.pop(elsewhere)
    about["step_count"] = None if analysis.steps is None else len(analysis.steps)
    about["quality"] = list(about["quality"])  # the analysis is kept: notes on the run are not added to it
    peers: list[dict[str, Any]] = [{"rank": known_rank(w), "quality": []} for w in run.workers if w.id != worker.id]
    note_ranks([about, *peers])
    coverage = dict(about.pop("coverage"))
    moments = {k: None if coverage[k] is None else coverage[k] - origin for k in ("first_ns", "last_ns")}
    meta = worker.meta or {}
    return {
        "origin_ns": str(origin),
        "run": run.id,
        "live": worker.is_live,
        "updated_ns": str(summary.updated_ns),
        "worker": about,
        "step_time_ns": step_time([analysis.steps]),
        "resources": summary.resources,
        **told,
        "metadata": run.metadata(),
        "coverage": {**coverage, **moments},
        "options": meta.get("options"),
        "versions": meta.get("versions"),
        "refused": meta.get("refused"),
    }


def resources_impl(
    worker: Worker, session: Session, t0: int | None, t1: int | None, points: int, cores: bool = True
) -> dict[str, Any]:
    """The monitor's series in [t0, t1), all of the time by default."""
    history = session.resources
    begin, end = history.extent_ns() or (0, 0)
    # Only a recorded worker has a monitor, and it knows when it began: no analysis is needed for the origin.
    origin = origin_ns(worker, None) or begin
    from_ns, to_ns = begin if t0 is None else t0 + origin, end + 1 if t1 is None else t1 + origin
    reduced = history.points(from_ns, to_ns, points, cores)
    interval_ns = history.interval_ns()
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
        "interval_ms": None if interval_ns is None else round(interval_ns / 1e6),
        "t0": begin - origin,
        "t1": end - origin,
        "series": series,
    }
