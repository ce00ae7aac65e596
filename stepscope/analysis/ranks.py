"""The workers of a run beside each other: how long their steps take, who is slow, who waits for whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from stepscope.analysis.alignment import Alignment
from stepscope.schema import ACTIVITIES, NONE, PHASES

#: The exclusive partitions of a step.
FAMILIES = {"activity": ACTIVITIES, "phase": PHASES}
_TALK = "activity.communication"


@dataclass(frozen=True, eq=False)
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
    """The part of the step in which a worker is furthest beyond the median worker, but for exposed communication,
    in which it waits for others.

    Metrics:
        family: `activity` or `phase`
        part: the class or phase
        ns: mean time a step of this worker - median of the means of the attempt's workers
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
        attempt: the attempt of the job that it belongs to, from 1
        ends_early: its file ends in the middle: the parts of its steps and its collectives are not compared, since
            what is cut off would look like a difference between the workers
        steps: complete steps
        p50_ns: median step time
        mean_ns: mean step time
        delta_ns: mean of the measure by which workers are compared - median of the means of the attempt's workers
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
    attempt: int
    ends_early: bool
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


class Measures:
    """What is known of each step of each worker, by the name of the measure.

    ``duration`` is the step time, ``own`` the step without exposed communication, the others are
    ``activity.<class>`` and ``phase.<phase>``. Steps that were not completed count as not measured.
    """

    def __init__(self, alignment: Alignment, steps: Sequence[Mapping[str, np.ndarray]]) -> None:
        """``steps`` are the columns of each worker: ``duration_ns``, ``complete`` and the parts that were measured."""
        self.alignment = alignment
        self._steps = steps
        self._complete = alignment.flat([s["complete"] for s in steps]).astype(bool)
        parts = [f"{family}.{n}" for family, names in FAMILIES.items() for n in names]
        known = [part for part in parts if any(part in s for s in steps)]
        self.names = ["duration", *(["own"] if _TALK in known else []), *known]
        has_talk = _TALK in known and (self.values(_TALK) > 0).any()
        #: The measure that tells who is slow.
        self.compared_by = "own" if has_talk else "duration"

    def values(self, measure: str) -> np.ndarray:
        """One entry a step as ``Alignment`` orders them, ``NONE`` where it was not measured."""
        if measure == "own":
            talk = self.values(_TALK)
            return np.where(talk == NONE, NONE, self.values("duration") - talk)
        column = "duration_ns" if measure == "duration" else measure
        return np.where(self._complete, self.alignment.flat([s.get(column) for s in self._steps]), NONE)

    def means(self, measure: str) -> np.ndarray:
        """Mean of each worker over the steps that it measured, NaN where there is none."""
        values = self.values(measure)
        known = values != NONE
        worker, workers = self.alignment.worker[known], self.alignment.workers
        count = np.bincount(worker, minlength=workers)
        return mean_of(np.bincount(worker, values[known], workers), count)

    def spread(self, measure: str) -> StepSpread:
        """The measure of each step over the workers."""
        values, at = self.values(measure), self.alignment
        known = np.flatnonzero(values != NONE)
        column, own, n = at.column[known], values[known], len(at.id)
        count = np.bincount(column, minlength=n)
        low, high = np.full(n, np.iinfo(np.int64).max), np.full(n, NONE, np.int64)
        np.minimum.at(low, column, own)
        np.maximum.at(high, column, own)
        slowest = np.full(n, at.workers)
        most = own == high[column]
        np.minimum.at(slowest, column[most], at.worker[known[most]])
        return StepSpread(
            id=at.id,
            workers=count,
            mean=mean_of(np.bincount(column, own, n), count),
            min=np.where(count > 0, low, NONE),
            max=high,
            slowest=np.where((count > 1) & (high > low), slowest, NONE),
        )


def imbalance(measure: str, spread: StepSpread) -> Imbalance:
    """What the differences between workers cost, from the spread of the measure."""
    shared = spread.workers > 1
    if not shared.any():
        return Imbalance(measure, 0, None, None)
    excess = spread.max[shared] - spread.mean[shared]
    most = float(spread.max[shared].sum())
    ratio = float(excess.sum()) / most if most else None
    return Imbalance(measure, int(shared.sum()), float(excess.mean()), ratio)


def excesses(found: Measures) -> list[Excess | None]:
    """Of each worker, where it is furthest beyond the median worker."""
    parts = [m for m in found.names if "." in m and m != _TALK]
    if not parts:
        return [None] * found.alignment.workers
    table = np.stack([beyond_median(found.means(m), found.alignment.attempt) for m in parts])
    most = np.argmax(np.where(np.isnan(table), -np.inf, table), axis=0)
    out: list[Excess | None] = []
    for i, ns in zip(most.tolist(), table[most, np.arange(table.shape[1])].tolist(), strict=True):
        family, _, part = parts[i].partition(".")
        out.append(Excess(family, part, ns) if ns > 0 else None)
    return out


def beyond_median(values: np.ndarray, attempt: np.ndarray) -> np.ndarray:
    """Differences to the median of the values of the same attempt that are known."""
    beyond = values.copy()
    for each in np.unique(attempt):
        known = values[(attempt == each) & ~np.isnan(values)]
        if len(known):
            beyond[attempt == each] -= np.median(known)
    return beyond


def mean_of(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Totals divided by counts, NaN where there is nothing to count."""
    return np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)
