"""The routes of the Summary tab's panels that the reader shapes: the top k kernels, histograms of any name."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from stepscope.analysis.annotations import durations_of
from stepscope.analysis.histogram import histogram
from stepscope.schema import Events, Kind
from stepscope.summary import Analysis
from stepscope.summary.distributions import distribution
from stepscope_tensorboard.answers import Answer, json_answer
from stepscope_tensorboard.parameters import Parameters
from stepscope_tensorboard.routes import Made, Route, WorkerRoutes

MAX_KERNELS = 200
MAX_BINS = 200
#: What a name is looked for in: the first kind that has it.
_KINDS = {
    "annotation": (Kind.ANNOTATION,),
    "phase": (Kind.PHASE,),
    "operator": (Kind.OP,),
    "module": (Kind.MODULE,),
    "call": (Kind.RUNTIME, Kind.LAUNCH, Kind.SYNC),
}


class PanelRoutes(WorkerRoutes):
    def routes(self) -> dict[str, Route]:
        """The routes by name."""
        return {
            "kernels/top": self.top_kernels,
            "annotations/names": self.names,
            "annotations/histogram": self.histogram,
        }

    def top_kernels(self, p: Parameters) -> Made:
        k = p.integer("k", 15, least=1, most=MAX_KERNELS)
        by = p.choice("by", ("time", "count"))
        _, worker, session = self._worker(p)
        summary = session.summary(worker)
        return str(summary.updated_ns), lambda: json_answer(top_kernels_impl(summary.analysis, k, by))

    def names(self, p: Parameters) -> Made:
        _, worker, session = self._worker(p)
        summary = session.summary(worker)

        def made() -> Answer:
            told = summary.analysis.summary
            listed = [{"name": row["name"], "count": row["count"]} for row in told["annotations"] or []]
            return json_answer({"count": told["annotation_count"] or 0, "annotations": listed})

        return str(summary.updated_ns), made

    def histogram(self, p: Parameters) -> Made:
        name, bins = p.text("name"), p.integer("bins", 30, least=1, most=MAX_BINS)
        _, worker, session = self._worker(p)
        version, tables = session.tables(worker, "annotations")
        return version, lambda: json_answer(histogram_impl(name, tables.source.live, tables.source.events, bins))


def top_kernels_impl(analysis: Analysis, k: int, by: str) -> dict[str, Any]:
    """The ``k`` kernels with the most time or runs, and beside them what all others add up to.

    ``total_ns`` and ``runs`` are those of all kernels, the denominators of shares.
    """
    kernels = analysis.summary["kernels"]
    if not kernels:
        return {"kernel_count": None if kernels is None else 0, "total_ns": None, "runs": None, "top": [], "rest": None}
    key = "total_ns" if by == "time" else "count"
    ranked = sorted(kernels, key=lambda row: (-row[key], row["name"]))
    rest = ranked[k:]
    return {
        "kernel_count": len(kernels),
        "total_ns": sum(row["total_ns"] for row in kernels),
        "runs": sum(row["count"] for row in kernels),
        "top": [{f: row[f] for f in ("name", "kind", "count", "total_ns", "mean_ns")} for row in ranked[:k]],
        "rest": {
            "kernels": len(rest),
            "count": sum(row["count"] for row in rest),
            "total_ns": sum(row["total_ns"] for row in rest),
        },
    }


def histogram_impl(name: str, live: Events, deep: Events, bins: int) -> dict[str, Any]:
    """How the durations of one name are spread. An annotation if there is one of that name, else a phase, an operator,
    a module or a runtime call; ``kind`` is null and ``count`` 0 where nothing has the name."""
    for kind, kinds in _KINDS.items():
        names = (name, f"nn.Module: {name}") if kind == "module" else (name,)
        for one in names:
            found = durations_of(one, live, deep, *kinds)
            if len(found):
                spread = histogram(found, bins)
                return {
                    "name": name,
                    "kind": kind,
                    "count": len(found),
                    "total_ns": int(found.sum()),
                    "time_ns": distribution([found]),
                    "histogram": None if spread is None else asdict(spread),
                }
    return {"name": name, "kind": None, "count": 0, "total_ns": None, "time_ns": None, "histogram": None}
