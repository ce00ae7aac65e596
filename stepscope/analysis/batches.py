"""Batches that a model server makes of requests: who waited for which, how full they are, how much is padding.

TensorFlow writes them into its XPlane files (tensorflow/core/kernels/batching_util): each task that is put into the
queue produces, and ``ProcessBatch`` consumes all tasks of one batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepscope.analysis.arguments import BatchArgs, decode, integers
from stepscope.analysis.enclosing import innermost
from stepscope.analysis.handoffs import producers, region_of
from stepscope.analysis.select import on_host
from stepscope.schema import NONE, Events

#: Items that no batch reaches: more of them are damage.
_TOO_MANY = 1 << 40
_NAMES = ("ProcessBatch", "OrbaxServing::ProcessBatch")


@dataclass(frozen=True, eq=False)
class Batches:
    """Batches in order of their start, and the tasks that went into them; ``NONE`` is "not told".

    ``rows`` are rows of the event table, ``padded`` the items of each batch after padding and ``size`` those without.
    ``task`` are the rows with which tasks were put into the queue, ``batch_of_task`` points into ``rows``. A batch
    whose tasks were all put before the recording began has none.
    """

    rows: np.ndarray
    size: np.ndarray
    padded: np.ndarray
    task: np.ndarray
    batch_of_task: np.ndarray
    size_of_task: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)


def find_batches(events: Events) -> Batches:
    """The batches of deep windows."""
    rows = named(events, _NAMES)
    rows = rows[np.argsort(events.ts_ns[rows], kind="stable")]
    task, batch_of_task = _tasks(events, rows)
    size = _told(events, rows, "before")
    padded = np.full(len(rows), NONE, np.int64)
    telling = _telling(events, "batch_size_after_padding") if len(rows) else rows
    of = region_of(events, rows, telling)
    telling, of = telling[of != NONE], of[of != NONE]
    at = position_in(rows, of)
    padded[at], padding = _told(events, telling, "padded"), _told(events, telling, "padding")
    at, added = at[padding != NONE], padding[padding != NONE]
    size[at] = np.where(size[at] == NONE, np.maximum(padded[at] - added, NONE), size[at])
    size[(padded != NONE) & (size > padded)] = NONE  # damage: padding takes no items away
    return Batches(rows, size, padded, task, batch_of_task, _task_sizes(events, task))


def position_in(rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where each of ``wanted`` stands in ``rows``, which hold all of them once."""
    order = np.argsort(rows)
    return order[np.searchsorted(rows[order], wanted)]


def named(events: Events, names: Sequence[str]) -> np.ndarray:
    """Host rows of these names."""
    code = [i for i, name in enumerate(events.names) if name in names]
    rows = np.flatnonzero(np.isin(events.name, code)) if code else np.empty(0, np.int64)
    return rows[on_host(events)[rows]] if len(rows) else rows


def _tasks(events: Events, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The producers that batches consume, in order of time, and the batch of each."""
    ids, first = np.unique(events.external_id[rows], return_index=True)
    told = ids > 0
    ids, first = ids[told], first[told]
    if len(ids) == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    task = producers(events)
    task = task[np.isin(events.correlation[task], ids)]
    task = task[np.argsort(events.ts_ns[task], kind="stable")]
    return task, first[np.searchsorted(ids, events.correlation[task])]


def _task_sizes(events: Events, task: np.ndarray) -> np.ndarray:
    """A task tells its own size; where it does not, a call around it that was not split does."""
    size = _told(events, task, "size")
    size = np.where(size == NONE, _told(events, task, "input_size"), size)
    if (size == NONE).any():
        call = input_calls(events, task)
        _, at, count = np.unique(call, return_inverse=True, return_counts=True)
        size = np.where((size == NONE) & (count[at] == 1), _told(events, call, "input_size"), size)
    return size


def input_calls(events: Events, task: np.ndarray) -> np.ndarray:
    """The call that put each task into the queue: the one around it that tells of its input, else the task itself."""
    around = innermost(events, _telling(events, "batching_input_task_size"), task)
    return np.where(around == NONE, task, around)


def _telling(events: Events, key: str) -> np.ndarray:
    """Rows whose args have this key."""
    code = [i for i, text in enumerate(events.args_values) if f'"{key}"' in text]
    return np.flatnonzero(np.isin(events.args, code)) if code else np.empty(0, np.int64)


def _told(events: Events, rows: np.ndarray, member: str) -> np.ndarray:
    """A number of items that rows tell, ``NONE`` where they do not."""
    found, at = decode(events, rows, BatchArgs)
    told = integers([getattr(args, member) for args in found])
    return np.where((told >= 0) & (told < _TOO_MANY), told, NONE)[at]
