"""Who waits for whom in collectives: the same collective of several workers has one end and different beginnings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepscope.analysis.alignment import Alignment
from stepscope.schema import NONE


@dataclass(frozen=True, eq=False)
class CollectiveWaits:
    """Arrays have one entry a worker.

    ``wait_ns`` is the time beyond the shortest of the workers' times, summed over the ``matched`` runs of the worker;
    ``last`` counts the runs in which its own time was the shortest, ``steps`` the steps with matched runs.
    """

    wait_ns: np.ndarray
    matched: np.ndarray
    last: np.ndarray
    steps: np.ndarray


def collective_waits(
    alignment: Alignment,
    runs: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
    labels: Sequence[Sequence[Sequence]],
) -> CollectiveWaits:
    """Match the runs of all workers: the n-th run of a collective in a process group in a step is the same for all.

    Runs of which two or more workers tell are matched, but no more than the group has ranks: a group of that name is
    then another one on other ranks. The wait is a lower bound where ranks are missing.

    Args:
        alignment: of the workers' steps.
        runs: of each worker the step (position), the label and the duration of each run, in order of their start.
        labels: of each worker what labels stand for: name, group, group size or None, whether on a device.
    """
    names: dict[tuple, int] = {}
    sizes: list[int] = []
    begins = np.concatenate(([0], np.cumsum(np.bincount(alignment.worker, minlength=alignment.workers))))
    parts = []
    for w, ((step, label, dur_ns), own) in enumerate(zip(runs, labels, strict=True)):
        common = np.empty(len(own), np.int64)
        for i, told in enumerate(own):
            common[i] = names.setdefault(tuple(told), len(names))
            if common[i] == len(sizes):
                sizes.append(NONE if told[2] is None else told[2])
        if len(step):
            parts.append((np.full(len(step), w), alignment.column[begins[w] + step], common[label], dur_ns))
    n = alignment.workers
    if not parts:
        none = np.zeros(n, np.int64)
        return CollectiveWaits(none, none, none, none)
    worker, column, what, dur = (np.concatenate(c) for c in zip(*parts, strict=True))
    group_size = np.array(sizes, np.int64)
    turn = _turn(worker, column, what)
    order = np.lexsort((dur, turn, what, column))
    keys = np.stack((column, what, turn))[:, order]
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(keys, axis=1) != 0).any(axis=0)
    first = np.flatnonzero(new)
    count = np.diff(np.append(first, len(order)))
    size = group_size[keys[1, first]]
    matched = (count > 1) & ((size == NONE) | (count <= size))
    shortest = np.repeat(dur[order][first], count)
    known = np.repeat(matched, count)
    who = worker[order]
    steps = np.unique(np.stack((who[known], keys[0][known])), axis=1)[0]
    return CollectiveWaits(
        wait_ns=_sums(who[known], (dur[order] - shortest)[known], n),
        matched=np.bincount(who[known], minlength=n),
        last=np.bincount(who[first[matched]], minlength=n),
        steps=np.bincount(steps, minlength=n),
    )


def _turn(worker: np.ndarray, column: np.ndarray, what: np.ndarray) -> np.ndarray:
    """The how-manieth run of its kind each one is in its worker's step."""
    order = np.lexsort((what, column, worker))  # stable: in order of start
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(np.stack((worker, column, what))[:, order], axis=1) != 0).any(axis=0)
    at = np.arange(len(order))
    out = np.empty(len(order), np.int64)
    out[order] = at - np.maximum.accumulate(np.where(new, at, 0))
    return out


def _sums(who: np.ndarray, values: np.ndarray, n: int) -> np.ndarray:
    out = np.zeros(n, np.int64)
    np.add.at(out, who, values)
    return out
