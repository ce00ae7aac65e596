"""The routes of the runs and of one worker's summary: parameters in, plain data out."""

from __future__ import annotations

from typing import Any

from stepscope.doctor import unconverted_windows
from stepscope.runs import Run
from stepscope.summary import note_ranks, step_time
from stepscope.workers import RecordedWorker, Worker
from stepscope_tensorboard.answers import json_answer
from stepscope_tensorboard.bounds import bounded
from stepscope_tensorboard.findings import findings_impl
from stepscope_tensorboard.listing import describe, known_rank
from stepscope_tensorboard.origin import origin_ns
from stepscope_tensorboard.parameters import Parameters
from stepscope_tensorboard.routes import Made, Route, WorkerRoutes
from stepscope_tensorboard.sessions import Summarised


class SummaryRoutes(WorkerRoutes):
    def routes(self) -> dict[str, Route]:
        """The routes by name."""
        return {"runs": self.runs, "summary": self.summary}

    def runs(self, p: Parameters) -> Made:
        runs = [describe(run) for run in self._listing.runs().values()]
        return None, lambda: json_answer({"logdir": self._listing.text, "runs": runs})

    def summary(self, p: Parameters) -> Made:
        run, worker, session = self._worker(p)
        summary = session.summary(worker)
        stale = summary.updated_ns < worker.updated_ns
        version = f"{summary.updated_ns}-{worker.is_live}-{stale}"
        return version, lambda: json_answer({**summary_impl(run, worker, summary), "stale": stale})


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
    others = [w for w in run.workers if w.id != worker.id]
    peers: list[dict[str, Any]] = [{"rank": known_rank(w), "quality": []} for w in others]
    note_ranks([about, *peers], [w.recorded_ns for w in (worker, *others)])
    coverage = dict(about.pop("coverage"))
    moments = {k: None if coverage[k] is None else coverage[k] - origin for k in ("first_ns", "last_ns")}
    unconverted = len(unconverted_windows(worker)) if isinstance(worker, RecordedWorker) else 0
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
        "coverage": {**coverage, **moments, "unconverted_windows": unconverted},
        "options": meta.get("options"),
        "versions": meta.get("versions"),
        "refused": meta.get("refused"),
    }
