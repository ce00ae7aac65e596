"""The same step of several workers side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepscope.schema import NONE


@dataclass(frozen=True, eq=False)
class Alignment:
    """Which column each step of each worker takes in a table with a row a worker.

    ``by`` is "id" where every step of every worker has a number: the same number is the same step, and where a
    worker counts a number again, its second step with it is another one. Else it is "position": the first steps of
    all workers, the second ones, and so on. Steps of two attempts of a job are never the same.

    ``id`` has one entry a column, its number or position. ``worker`` and ``column`` have one entry a step, worker
    after worker. ``attempt`` has one entry a worker.
    """

    by: str
    id: np.ndarray
    worker: np.ndarray
    column: np.ndarray
    workers: int
    attempt: np.ndarray

    def flat(self, values: Sequence[np.ndarray | None]) -> np.ndarray:
        """Values of the steps of each worker (None: not measured, ``NONE``), worker after worker."""
        lengths = np.bincount(self.worker, minlength=self.workers).tolist()
        known = [np.full(n, NONE) if v is None else v for v, n in zip(values, lengths, strict=True)]
        return np.concatenate([np.empty(0, np.int64), *known])


def align(ids: Sequence[np.ndarray], attempt: np.ndarray | None = None) -> Alignment:
    """Put the steps of several workers side by side.

    Args:
        ids: the step numbers of each worker, ``NONE`` where a step has none.
        attempt: which attempt of the job each worker belongs to (``attempts``); None where all are of one.
    """
    of_worker = np.zeros(len(ids), np.int64) if attempt is None else attempt
    lengths = [len(i) for i in ids]
    worker = np.repeat(np.arange(len(ids)), lengths)
    every = np.concatenate([np.empty(0, np.int64), *ids])
    by = "id"
    if (every == NONE).any():
        by = "position"
        every = np.concatenate([np.empty(0, np.int64), *(np.arange(n) for n in lengths)])
    again, own = _occurrence(worker, every), of_worker[worker]
    order = np.lexsort((every, again, own))
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(every[order]) != 0) | (np.diff(again[order]) != 0) | (np.diff(own[order]) != 0)
    column = np.empty(len(order), np.int64)
    column[order] = np.cumsum(new) - 1
    return Alignment(by, every[order][new], worker, column, len(ids), of_worker)


def _occurrence(worker: np.ndarray, number: np.ndarray) -> np.ndarray:
    """How often each number came before in its worker."""
    order = np.lexsort((number, worker))
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(worker[order]) != 0) | (np.diff(number[order]) != 0)
    at = np.arange(len(order))
    out = np.empty(len(order), np.int64)
    out[order] = at - np.maximum.accumulate(np.where(new, at, 0))
    return out
