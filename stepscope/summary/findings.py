"""The findings of the contract: the rules asked about one worker, and what they say of a run together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from stepscope.errors import StepscopeError
from stepscope.rules import Bound, Case, Finding, Parameters, Samples, find, of_run, verdict
from stepscope.schema import Note
from stepscope.summary.analysed import Analysis
from stepscope.summary.judgement import judge, notes_of
from stepscope.workers import Worker


def add_findings(worker: Worker, analysis: Analysis, limits: Parameters | None = None) -> None:
    """Put ``findings`` and ``bound`` into the worker's part of the contract; a rule that fails leaves a note."""
    about = analysis.summary
    samples = Samples(_monitor(worker))
    found = find(Case(about, analysis.steps, analysis.activity, analysis.phases, samples, limits or Parameters()))
    about["findings"] = [f.to_dict() for f in found.findings]
    about["bound"] = found.bound and asdict(found.bound)
    if found.failed:
        judge(about, [*notes_of(about), *(Note("rule_failed", 1, sentence) for sentence in found.failed)])


def run_findings(
    workers: Sequence[Mapping[str, Any]],
    across: Mapping[str, Any] | None,
    limits: Parameters | None = None,
    resources: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """``findings`` and ``verdict`` of a run, from its workers' parts of the contract, ``across_workers`` and
    ``resources``."""
    by_worker = [[Finding.from_dict({**f, "workers": [w["worker"]]}) for f in w["findings"]] for w in workers]
    cpu = {host: metrics["cpu"]["p50"] for host, metrics in (resources or {}).items() if "cpu" in metrics}
    found = of_run(by_worker, across, limits, cpu, workers)
    bounds = [Bound(**w["bound"]) if w["bound"] else None for w in workers]
    told = verdict(found, bounds, noted=any(w["quality"] for w in workers))
    return {"findings": [f.to_dict() for f in found], "verdict": asdict(told)}


def _monitor(worker: Worker) -> list[Any]:
    try:
        table = worker.monitor()
    except StepscopeError:  # noted where the samples are summed up
        return []
    return [] if table is None else [table]
