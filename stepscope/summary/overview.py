"""A run's contract in short, from rollups alone: for runs of so many workers that not all of them can be analysed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepscope.errors import StepscopeError
from stepscope.runs import Run
from stepscope.summary.across import across_workers, complete_ns
from stepscope.summary.distributions import distribution
from stepscope.summary.findings import run_findings
from stepscope.summary.judgement import note_ranks
from stepscope.summary.rollup import Rollup
from stepscope.summary.run import SUMMARY_VERSION, name_apart, run_throughput
from stepscope.summary.unreadable import unreadable_worker
from stepscope.summary.worker import analyse_worker
from stepscope.workers import Worker


def overview(run: Run, rollups: Sequence[Rollup]) -> dict[str, Any]:
    """What ``summarize`` gives, with the same numbers, but of each worker only what a rollup keeps of it.

    ``resources`` tells of each host what one of its monitors saw, the one with the most samples.

    Args:
        run: the run.
        rollups: of its workers, in their order.

    Raises:
        StepscopeError: no worker could be read.
    """
    refused = [note["detail"] for r in rollups for note in r.about["quality"] if note["code"] == "unreadable"]
    if len(refused) == len(rollups):
        raise StepscopeError(refused[0] if refused else f"{run.path}: this run has no worker to read yet.")
    workers = [{**r.about, "quality": list(r.about["quality"])} for r in rollups]
    recorded_ns = {w.id: w.recorded_ns for w in run.workers}
    note_ranks(workers, [recorded_ns.get(w["worker"]) for w in workers])
    name_apart(workers)
    micro_ns = [r.micro_ns[r.steps["complete"][r.micro_step]] for r in rollups]
    across = across_workers(rollups, [w["worker"] for w in workers])
    resources = _by_host(workers)
    return {
        "schema": SUMMARY_VERSION,
        "run": run.name,
        "metadata": run.metadata(),
        **run_findings(workers, across, resources=resources),
        "workers": workers,
        "step_time_ns": distribution(complete_ns(rollups)),
        "micro_step_time_ns": distribution(micro_ns),
        "throughput_samples_per_s": run_throughput(workers),
        "across_workers": across,
        "resources": resources,
        "problems": list(run.problems),
    }


def in_detail(worker: Worker, listed: dict[str, Any]) -> dict[str, Any]:
    """The full part of one worker but its steps, as the run knows it: with the run's name for it and notes on it.

    Args:
        worker: the worker.
        listed: what ``overview`` tells of it.
    """
    try:
        full = analyse_worker(worker).summary
    except StepscopeError as error:
        full = unreadable_worker(worker, error)
    return {**full, **{name: listed[name] for name in ("worker", "quality", "trust")}}


def _by_host(workers: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    def samples(resources: dict[str, Any]) -> int:
        return max((r["samples"] for r in resources.values()), default=0)

    hosts: dict[str, Any] = {}
    for worker in workers:
        found = worker["resources"]
        host = worker["host"] or "unknown"
        if found and samples(found) > samples(hosts.get(host, {})):
            hosts[host] = found
    return hosts or None
