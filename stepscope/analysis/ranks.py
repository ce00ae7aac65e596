"""The workers of a run beside each other: how long their steps take, who is slow, who waits for whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from stepscope.analysis.alignment import Alignment
from stepscope.schema import ACTIVITIES, NONE, PHASES


@dataclass(frozen=True)
class StepSpread:
    """One measure of each step over the workers, in columns; arrays have one entry a step.

    Metrics:
        id: the step's number, or its position where steps have none
        workers: workers that measured it
        mean: mean over these workers, null without any
        min: least of them
        max: most of them
        slowest: the worker with the most (the first of several), null where fewer than two measured it or all are equal
    """

    id: np.ndarray
    workers: np.ndarray
    mean: np.ndarray
    min: np.ndarray
    max: np.ndarray
    slowest: np.ndarray


@dataclass(frozen=True)
class Imbalance:
    """What a run loses because its workers do not need the same time for a step.

    Metrics:
        measure: what was compared: `own`, the step without exposed communication, where it was measured, since who
            comes late makes the others wait and so all steps equally long; else `duration`
        steps: steps that two or more workers measured
        excess_ns: mean over these steps of the slowest worker's time beyond the mean of all; null without such a step
        ratio: the same as share of the slowest worker's time
    """

    measure: str
    steps: int
    excess_ns: float | None
    ratio: float | None


@dataclass(frozen=True)
class Excess:
    """The part of the step in which a worker is furthest beyond the median worker.

    Metrics:
        family: `activity` where workers are compared by `own`, whose parts these are; else `phase`, if there are any
        part: the class or phase
        ns: mean time a step of this worker - median of the workers' means
    """

    family: str
    part: str
    ns: float


@dataclass(frozen=True)
class Rank:
    """One worker beside the others. Only complete steps count.

    Metrics:
        worker: its name
        rank: its rank, null where not known
        host: its host
        steps: complete steps
        p50_ns: median step time
        mean_ns: mean step time
        delta_ns: mean of the measure by which workers are compared - median of the workers' means
        own_ns: mean time a step without exposed communication, over the steps in deep windows
        activity_ns: mean time a step of each class of activity, over the steps in deep windows
        phase_ns: mean time a step of each phase, over the steps with phases
        slowest: steps in which this worker was the slowest of those that measured it
        excess: where it is furthest beyond the median worker; null where nowhere, or nothing was measured
        collective_wait_ns: mean time a step with collectives that others could be compared by: of each collective
            the time beyond the shortest of the workers' times in it, which is that of the last one to come
        waited_for: collectives that began when this worker came: its time in them was the shortest
    """

    worker: str
    rank: int | None
    host: str | None
    steps: int
    p50_ns: int | None
    mean_ns: float | None
    delta_ns: float | None
    own_ns: float | None
    activity_ns: dict[str, float] | None
    phase_ns: dict[str, float] | None
    slowest: int
    excess: Excess | None
    collective_wait_ns: float | None
    waited_for: int | None


@dataclass(frozen=True, eq=False)
class Measures:
    """Matrices (workers, steps) of int64 ns, ``NONE`` where a worker did not measure a step or did not complete it.

    ``duration`` is the step time, ``own`` the step without exposed communication, the others are
    ``activity.<class>`` and ``phase.<phase>``.
    """

    alignment: Alignment
    of: dict[str, np.ndarray]

    @property
    def compared_by(self) -> str:
        """The measure that tells who is slow."""
        told = self.of.get("activity.communication")
        return "own" if told is not None and (told > 0).any() else "duration"


def measures(alignment: Alignment, steps: Sequence[Mapping[str, np.ndarray]]) -> Measures:
    """The matrices of a run.

    Args:
        alignment: of the workers' steps.
        steps: columns of each worker: ``duration_ns``, ``complete``, ``activity.<class>``, ``phase.<phase>``.
    """
    complete = alignment.matrix([s["complete"] for s in steps]) == 1

    def matrix(column: str) -> np.ndarray:
        return np.where(complete, alignment.matrix([s.get(column) for s in steps]), NONE)

    parts = (*(f"activity.{name}" for name in ACTIVITIES), *(f"phase.{name}" for name in PHASES))
    of = {"duration": matrix("duration_ns")}
    of |= {part: matrix(part) for part in parts if any(part in s for s in steps)}
    talk = of.get("activity.communication")
    if talk is not None:
        of["own"] = np.where(talk == NONE, NONE, of["duration"] - talk)
    return Measures(alignment, of)


def spread(alignment: Alignment, matrix: np.ndarray) -> StepSpread:
    """A measure of each step over the workers."""
    known = matrix != NONE
    count = known.sum(axis=0)
    low = np.where(known, matrix, np.iinfo(np.int64).max).min(axis=0, initial=np.iinfo(np.int64).max)
    high = matrix.max(axis=0, initial=NONE)
    total = np.where(known, matrix, 0).sum(axis=0)
    slowest = np.argmax(matrix, axis=0) if len(matrix) else np.empty(0, np.int64)
    return StepSpread(
        id=alignment.id,
        workers=count,
        mean=np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0),
        min=np.where(count > 0, low, NONE),
        max=high,
        slowest=np.where((count > 1) & (high > low), slowest, NONE),
    )


def imbalance(measure: str, spreads: StepSpread) -> Imbalance:
    """What the differences between workers cost, from the spread of the measure."""
    shared = spreads.workers > 1
    if not shared.any():
        return Imbalance(measure, 0, None, None)
    excess = spreads.max[shared] - spreads.mean[shared]
    most = float(spreads.max[shared].sum())
    return Imbalance(measure, int(shared.sum()), float(excess.mean()), float(excess.sum()) / most if most else None)


def means(matrix: np.ndarray) -> np.ndarray:
    """Mean of each worker over the steps that it measured, NaN where there is none."""
    known = matrix != NONE
    count = known.sum(axis=1)
    return np.divide(np.where(known, matrix, 0).sum(axis=1), count, out=np.full(len(count), np.nan), where=count > 0)


def excesses(found: Measures) -> list[Excess | None]:
    """Of each worker, where it is furthest beyond the median worker."""
    by_own = found.compared_by == "own"
    phases = [p for p in PHASES if f"phase.{p}" in found.of]
    family = "activity" if by_own or not phases else "phase"
    parts = [p for p in (ACTIVITIES if family == "activity" else phases) if f"{family}.{p}" in found.of]
    if by_own:
        parts.remove("communication")
    if not parts:
        return [None] * found.alignment.workers
    table = np.stack([beyond_median(means(found.of[f"{family}.{p}"])) for p in parts])
    most = np.argmax(np.where(np.isnan(table), -np.inf, table), axis=0)
    return [
        Excess(family, parts[i], ns) if ns > 0 else None
        for i, ns in zip(most.tolist(), table[most, np.arange(table.shape[1])].tolist(), strict=True)
    ]


def beyond_median(values: np.ndarray) -> np.ndarray:
    """Differences to the median of the values that are known."""
    known = values[~np.isnan(values)]
    return values - np.median(known) if len(known) else values
