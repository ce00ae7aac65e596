"""The contract of a run: the parts of its workers, and what holds for all of them together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict
from functools import partial
from typing import Any

from stepscope.analysis.resources import resources
from stepscope.errors import StepscopeError
from stepscope.parallel import ordered
from stepscope.rules import Parameters
from stepscope.runs import Run
from stepscope.summary.across import across_workers
from stepscope.summary.analysed import Analysis
from stepscope.summary.distributions import micro_step_time, step_time
from stepscope.summary.findings import run_findings
from stepscope.summary.judgement import note_damage, note_ranks
from stepscope.summary.rollup import Rollup, empty_rollup, rollup_of
from stepscope.summary.unreadable import unreadable_worker
from stepscope.summary.worker import analyse_worker
from stepscope.workers import Worker

SUMMARY_VERSION = 1


def summarize(
    run: Run, micro: bool = False, executor: Executor | None = None, limits: Parameters | None = None
) -> dict[str, Any]:
    """The whole contract for one run. A worker that cannot be read is kept, with a note that says why.

    Args:
        run: what to summarise.
        micro: also list the micro batches of each step, under ``micro``.
        executor: analyses the workers, several at once if it has several processes.
        limits: thresholds of the rules.

    Raises:
        StepscopeError: no worker could be read.
    """
    analyses: list[Analysis] = []
    rollups: list[Rollup] = []
    refused: list[StepscopeError] = []
    workers = []
    for worker, analysis in zip(
        run.workers, ordered(executor, partial(_analysis_or_error, limits=limits), run.workers), strict=True
    ):
        if isinstance(analysis, StepscopeError):
            refused.append(analysis)
            workers.append(unreadable_worker(worker, analysis))
            rollups.append(empty_rollup(workers[-1]))
            continue
        analyses.append(analysis)
        workers.append(analysis.to_dict(micro))
        rollups.append(rollup_of(analysis))
    if not analyses:
        raise refused[0] if refused else StepscopeError(f"{run.path}: this run has no worker to read yet.")
    resources = run_resources(run.workers)
    for worker, about in zip(run.workers, workers, strict=True):
        note_damage(worker, about)
    name_apart(workers)
    note_ranks(workers, [w.recorded_ns for w in run.workers])
    across = across_workers(rollups, [w["worker"] for w in workers])
    return {
        "schema": SUMMARY_VERSION,
        "run": run.name,
        "metadata": run.metadata(),
        **run_findings(workers, across, limits, resources),
        "workers": workers,
        "step_time_ns": step_time(a.steps for a in analyses),
        "micro_step_time_ns": micro_step_time((a.steps, a.micro) for a in analyses),
        "throughput_samples_per_s": run_throughput(workers),
        "across_workers": across,
        "resources": resources,
        "problems": list(run.problems),
    }


def run_throughput(workers: Sequence[Mapping[str, Any]]) -> float | None:
    """Samples/s of all workers together, each of which has batches of its own; None unless all tell theirs."""
    rates = [w["throughput"] and w["throughput"]["samples_per_s"] for w in workers]
    return None if None in rates else sum(rates)


def _analysis_or_error(worker: Worker, limits: Parameters | None = None) -> Analysis | StepscopeError:
    try:
        return analyse_worker(worker, limits)
    except StepscopeError as error:
        return error


def summarize_worker(worker: Worker) -> dict[str, Any]:
    """One worker's part of the contract.

    Raises:
        StepscopeError: the worker cannot be read.
    """
    return analyse_worker(worker).to_dict()


def run_resources(workers: Iterable[Worker]) -> dict[str, Any] | None:
    """Distributions of the resource monitors' samples by host; None where there was no monitor."""
    by_host: dict[str, list] = {}
    for worker in workers:
        try:
            table = worker.monitor()
        except StepscopeError:
            continue
        if table is not None and table.num_rows:
            by_host.setdefault(worker.host or "unknown", []).append(table)
    if not by_host:
        return None
    return {host: {m: asdict(r) for m, r in resources(tables).items()} for host, tables in by_host.items()}


def name_apart(workers: Sequence[dict[str, Any]]) -> None:
    """Make the names of workers unique within the run."""
    taken: set[str] = set()
    for worker in workers:
        name, n = worker["worker"], 2
        while worker["worker"] in taken:
            worker["worker"], n = f"{name}#{n}", n + 1
        taken.add(worker["worker"])
