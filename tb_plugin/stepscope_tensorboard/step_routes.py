"""The routes of the steps: pages of them, bars, statistics of a stretch, one beside the usual, modules of a stretch."""

from __future__ import annotations

from dataclasses import asdict

from stepscope.breakdown import Chosen, bars, chosen_rows, comparison, partition_of, statistics
from stepscope.breakdown.selection import DIVISIONS, SORTS, WHICH, ordered
from stepscope.schema import ACTIVITIES, PHASES
from stepscope.workers import Worker
from stepscope_tensorboard.answers import Answer, Problem, json_answer
from stepscope_tensorboard.origin import origin_ns
from stepscope_tensorboard.parameters import Parameters
from stepscope_tensorboard.routes import Made, Route, WorkerRoutes
from stepscope_tensorboard.sessions import Session, Summarised
from stepscope_tensorboard.step_pages import overview_impl, steps_impl

MAX_STEPS = 10_000
MIN_OVERVIEW = 6
MAX_POINTS = 20_000
MAX_BARS = 5_000
MAX_DIFFERENCES = 500
#: Modules that are sent at most, parents before their children; besides, what belongs to none.
MAX_MODULES = 3_000
_SORTS = (*SORTS, *ACTIVITIES, *(f"phase:{name}" for name in PHASES))


class StepRoutes(WorkerRoutes):
    def routes(self) -> dict[str, Route]:
        """The routes by name."""
        return {
            "steps": self.steps,
            "steps/overview": self.overview,
            "steps/bars": self.bars,
            "steps/statistics": self.statistics,
            "steps/compare": self.compare,
            "modules": self.modules,
        }

    def steps(self, p: Parameters) -> Made:
        offset, limit = p.integer("offset", 0, least=0), p.integer("limit", 2000, least=1, most=MAX_STEPS)
        sort = p.choice("sort", _SORTS) if p.has("sort") else "start"
        descending = p.flag("descending")
        worker, _, summary = self._summarised(p)
        analysis, origin = summary.analysis, origin_ns(worker, summary.analysis)
        chosen = _chosen(p, origin)

        def made() -> Answer:
            rows = chosen_rows(analysis, chosen)
            if analysis.steps is not None:
                rows = ordered(analysis, rows, sort, descending)
            return json_answer(steps_impl(analysis, origin, rows, offset, limit))

        return str(summary.updated_ns), made

    def overview(self, p: Parameters) -> Made:
        points = p.integer("points", 1500, least=MIN_OVERVIEW, most=MAX_POINTS)
        worker, _, summary = self._summarised(p)
        origin = origin_ns(worker, summary.analysis)
        return str(summary.updated_ns), lambda: json_answer(overview_impl(summary.analysis, origin, points))

    def bars(self, p: Parameters) -> Made:
        begin, end = p.integer("begin", 0, least=0), p.optional_integer("end")
        most = p.integer("bars", 400, least=1, most=MAX_BARS)
        by = p.choice("by", DIVISIONS)
        on_host, share = p.flag("host"), p.flag("share")
        worker, session, summary = self._summarised(p)
        analysis = summary.analysis
        chosen = _chosen(p, origin_ns(worker, analysis))

        def made() -> Answer:
            steps = analysis.steps
            if steps is None or len(steps) == 0:
                return json_answer({"count": 0})
            rows = chosen_rows(analysis, chosen)
            work = session.work(worker, analysis) if on_host and by == "activity" else None
            partition = partition_of(analysis, by, None if work is None else work.host_activity, on_device=not on_host)
            until = len(rows) if end is None else min(end, len(rows))
            return json_answer(bars(steps, rows, partition, share, min(begin, until), until, most))

        return str(summary.updated_ns), made

    def statistics(self, p: Parameters) -> Made:
        by, on_host = p.choice("by", DIVISIONS), p.flag("host")
        worker, session, summary = self._summarised(p)
        analysis = summary.analysis
        chosen = _chosen(p, origin_ns(worker, analysis))

        def made() -> Answer:
            if analysis.steps is None:
                raise Problem(404, "The steps of this worker could not be analysed; its notes tell why.")
            work = session.work(worker, analysis) if on_host and by == "activity" else None
            partition = partition_of(analysis, by, None if work is None else work.host_activity, on_device=not on_host)
            return json_answer(statistics(analysis.steps, chosen_rows(analysis, chosen), partition))

        return str(summary.updated_ns), made

    def compare(self, p: Parameters) -> Made:
        step = p.integer("step", least=0)
        most = p.integer("most", 30, least=1, most=MAX_DIFFERENCES)
        worker, session, summary = self._summarised(p)
        analysis = summary.analysis

        def made() -> Answer:
            if analysis.steps is None or step >= len(analysis.steps):
                raise Problem(404, f"This worker has no step at position {step}.")
            work = session.work(worker, analysis) if analysis.steps.deep[step] else None
            origin = origin_ns(worker, analysis)
            place = {
                "origin_ns": str(origin),
                "start": int(analysis.steps.start_ns[step]) - origin,
            }
            return json_answer({**comparison(analysis, work, step, most), **place})

        return str(summary.updated_ns), made

    def modules(self, p: Parameters) -> Made:
        worker, session, summary = self._summarised(p)
        analysis = summary.analysis
        chosen = _chosen(p, origin_ns(worker, analysis))

        def made() -> Answer:
            rows = chosen_rows(analysis, chosen)
            steps = analysis.steps
            everything = chosen == Chosen() or steps is None
            deep = rows[steps.deep[rows]] if steps is not None else rows
            if not everything and len(deep) == 0:
                return json_answer({"steps": 0, "count": 0, "modules": None})
            t0 = None if everything or steps is None else int(steps.host_start_ns[deep[0]])
            t1 = None if everything or steps is None else int(steps.host_end_ns[deep[-1]])
            found = session.work(worker, analysis).modules(t0, t1)
            if found is None:
                return json_answer({"steps": len(deep), "count": 0, "modules": None})
            *modules, rest = found
            listed = [asdict(module) for module in (*modules[:MAX_MODULES], rest)]
            return json_answer({"steps": len(deep), "count": len(modules), "modules": listed})

        return str(summary.updated_ns), made

    def _summarised(self, p: Parameters) -> tuple[Worker, Session, Summarised]:
        _, worker, session = self._worker(p)
        return worker, session, session.summary(worker)


def _chosen(p: Parameters, origin: int) -> Chosen:
    t0, t1 = p.optional_integer("t0"), p.optional_integer("t1")
    return Chosen(
        only=p.choice("only", WHICH) if p.has("only") else "all",
        first=p.optional_integer("first"),
        last=p.optional_integer("last"),
        t0_ns=None if t0 is None else t0 + origin,
        t1_ns=None if t1 is None else t1 + origin,
    )
