"""A run's contract in short, from rollups alone: for runs of so many workers that not all of them can be analysed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepscope.runs import Run
from stepscope.summary.across import across_workers
from stepscope.summary.distributions import distribution
from stepscope.summary.judgement import note_ranks
from stepscope.summary.rollup import Rollup
from stepscope.summary.run import SUMMARY_VERSION, name_apart


def overview(run: Run, rollups: Sequence[Rollup]) -> dict[str, Any]:
    """What ``summarize`` gives, with the same numbers, but of each worker only what a rollup keeps of it.

    ``resources`` tells of each host what one of its monitors saw, the one with the most samples.

    Args:
        run: the run.
        rollups: of its workers, in their order.
    """
    workers = [{**r.about, "quality": list(r.about["quality"])} for r in rollups]
    name_apart(workers)
    note_ranks(workers)
    complete = [r.steps["complete"] for r in rollups]
    step_ns = [r.steps["duration_ns"][c] for r, c in zip(rollups, complete, strict=True)]
    micro_ns = [r.micro_ns[c[r.micro_step]] for r, c in zip(rollups, complete, strict=True)]
    return {
        "schema": SUMMARY_VERSION,
        "run": run.name,
        "workers": workers,
        "step_time_ns": distribution(step_ns),
        "micro_step_time_ns": distribution(micro_ns),
        "across_workers": across_workers(rollups, [w["worker"] for w in workers]),
        "resources": _by_host(workers),
        "findings": [],
        "problems": list(run.problems),
    }


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
