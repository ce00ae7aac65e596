"""What only all workers of a run together tell, from their rollups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

import numpy as np

from stepscope.analysis.alignment import align
from stepscope.analysis.attempts import attempts
from stepscope.analysis.collective_waits import collective_waits
from stepscope.analysis.percentiles import nearest_rank
from stepscope.analysis.ranks import FAMILIES, Imbalance, Measures, Rank, beyond_median, excesses, imbalance
from stepscope.schema import NONE
from stepscope.summary.across_collectives import CollectiveOfAll, collectives_of_all
from stepscope.summary.rollup import Rollup

#: Ranks that are told to be missing.
_MISSING = 200
_NO_RUNS = (np.empty(0, np.int64),) * 3


@dataclass(frozen=True)
class AcrossWorkers:
    """All workers of a run beside each other; null for a run of one.

    Steps are put side by side by their numbers, or by position where a worker has a step without one. Where ranks were
    recorded more than once, the job was started more than once: only workers of the same attempt are compared.

    Metrics:
        workers: workers of the run
        world_size: the ranks that the job has, as the workers say (the largest, if they differ); null if none does
        missing_ranks: ranks below world_size that no worker has, at most 200; null where world_size or a worker's
            rank is not known
        missing_rank_count: how many there are
        attempts: how often the job was started, as far as its workers tell: no rank comes twice in an attempt, and
            workers of one ran at the same time
        aligned_by: `id` or `position`
        steps: different steps of all workers
        shared_steps: steps that all workers of their attempt completed
        imbalance: what unequal workers cost
        collectives: what the workers communicated, null where they did not
        ranks: the workers, in the order of the run
    """

    workers: int
    world_size: int | None
    missing_ranks: list[int] | None
    missing_rank_count: int | None
    attempts: int
    aligned_by: str
    steps: int
    shared_steps: int
    imbalance: Imbalance
    collectives: list[CollectiveOfAll] | None
    ranks: list[Rank]


def side_by_side(rollups: Sequence[Rollup]) -> Measures:
    """What is known of the workers' steps."""
    attempt = attempts([r.about["rank"] for r in rollups], [_span(r) for r in rollups])
    return Measures(align([r.steps["id"] for r in rollups], attempt), [_comparable(r) for r in rollups])


def _ends_early(rollup: Rollup) -> bool:
    return any(note["code"] == "truncated" for note in rollup.about["quality"])


def _comparable(rollup: Rollup) -> dict[str, np.ndarray]:
    """The columns of a worker's steps. Device work is often the last part of a file: a step whose collectives are cut
    off would be all its own, and its worker the slowest."""
    if not _ends_early(rollup):
        return rollup.steps
    return {name: values for name, values in rollup.steps.items() if "." not in name}


def across_workers(
    rollups: Sequence[Rollup], names: Sequence[str], found: Measures | None = None
) -> dict[str, Any] | None:
    """``AcrossWorkers`` of a run as plain data; None where there is only one worker.

    Args:
        rollups: of all workers.
        names: what the workers are called in the run.
        found: ``side_by_side`` of them, where it is known already.
    """
    if len(rollups) < 2:
        return None
    found = found or side_by_side(rollups)
    spread = found.spread(found.compared_by)
    about = [r.about for r in rollups]
    sizes = [a["world_size"] for a in about if a["world_size"] is not None]
    missing, missing_count = _missing([a["rank"] for a in about], max(sizes, default=None))
    across = AcrossWorkers(
        workers=len(rollups),
        world_size=max(sizes, default=None),
        missing_ranks=missing,
        missing_rank_count=missing_count,
        attempts=int(found.alignment.attempt.max()) + 1,
        aligned_by=found.alignment.by,
        steps=len(found.alignment.id),
        shared_steps=_shared(found),
        imbalance=imbalance(found.compared_by, spread),
        collectives=collectives_of_all([a["communication"] for a in about], names),
        ranks=_ranks(rollups, names, found, spread.slowest),
    )
    return asdict(across)


def complete_ns(rollups: Sequence[Rollup]) -> list[np.ndarray]:
    """Of each worker how long its complete steps took."""
    return [r.steps["duration_ns"][r.steps["complete"]] for r in rollups]


def _span(rollup: Rollup) -> tuple[int, int] | None:
    """Begin and end of a worker's steps."""
    start_ns = rollup.steps["start_ns"]
    return (int(start_ns.min()), int((start_ns + rollup.steps["host_ns"]).max())) if len(start_ns) else None


def _shared(found: Measures) -> int:
    """Steps that all workers of their attempt completed."""
    at = found.alignment
    of_column = np.zeros(len(at.id), np.int64)
    of_column[at.column] = at.attempt[at.worker]
    return int((found.spread("duration").workers == np.bincount(at.attempt)[of_column]).sum())


def _missing(ranks: list[int | None], world_size: int | None) -> tuple[list[int] | None, int | None]:
    """The first ranks that are missing, and how many there are."""
    if world_size is None or None in ranks:
        return None, None
    present = set(ranks)
    absent = (rank for rank in range(world_size) if rank not in present)  # a damaged file may tell any size
    return list(islice(absent, _MISSING)), world_size - sum(rank in range(world_size) for rank in present)


def _ranks(rollups: Sequence[Rollup], names: Sequence[str], found: Measures, slowest: np.ndarray) -> list[Rank]:
    attempt = found.alignment.attempt
    beyond = beyond_median(found.means(found.compared_by), attempt).tolist()
    own = found.means("own").tolist() if "own" in found.names else [np.nan] * len(rollups)
    wins = np.bincount(slowest[slowest != NONE], minlength=len(rollups)).tolist()
    activity, phase = (_family(found, family) for family in FAMILIES)
    waits = collective_waits(
        found.alignment,
        [_NO_RUNS if _ends_early(r) else (r.collective_step, r.collective, r.collective_ns) for r in rollups],
        [r.labels for r in rollups],
    )
    return [
        Rank(
            worker=names[w],
            rank=r.about["rank"],
            host=r.about["host"],
            attempt=int(attempt[w]) + 1,
            ends_early=_ends_early(r),
            steps=len(step_ns),
            p50_ns=nearest_rank(step_ns, 50)[0] if len(step_ns) else None,
            mean_ns=_known(mean),
            delta_ns=_known(beyond[w]),
            own_ns=_known(own[w]),
            activity_ns=activity[w],
            phase_ns=phase[w],
            slowest=wins[w],
            excess=excess,
            collective_wait_ns=int(waits.wait_ns[w]) / int(waits.steps[w]) if waits.steps[w] else None,
            waited_for=int(waits.last[w]) if waits.matched[w] else None,
        )
        for w, (r, step_ns, mean, excess) in enumerate(
            zip(rollups, complete_ns(rollups), found.means("duration").tolist(), excesses(found), strict=True)
        )
    ]


def _family(found: Measures, family: str) -> list[dict[str, float] | None]:
    """Of each worker the mean of each part; None where nothing of the family was measured."""
    known = [name for name in FAMILIES[family] if f"{family}.{name}" in found.names]
    if not known:
        return [None] * found.alignment.workers
    rows = np.array([found.means(f"{family}.{name}") for name in known]).T.tolist()
    return [{n: v for n, v in zip(known, row, strict=True) if v == v} or None for row in rows]


def _known(value: float) -> float | None:
    return None if value != value else value
