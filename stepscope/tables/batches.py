"""The table of batches that a model server made of requests: every batch, or batches by size or thread."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.analysis.groups import Groups
from stepscope.analysis.inference import Batching, batch_waits
from stepscope.definitions import meanings
from stepscope.schema import NONE
from stepscope.tables.common import P99, START, THREAD, spread
from stepscope.tables.frame import Column, Frame, first_rows, frame, known, texts
from stepscope.tables.rows import EventRows
from stepscope.tables.source import Source

_B = meanings(Batching)

NAME = Column("name", "Batch", "text", "How many items it has with padding.")


class BatchTable(EventRows):
    """Batches of the deep windows."""

    empty = "no_batch"
    groupings = {"size": "Size with padding", "thread": "Thread"}

    def __init__(self, source: Source) -> None:
        self._batches = source.requests.batches
        super().__init__(source, self._batches.rows)

    def single(self) -> Frame:
        """One row a batch."""
        source, found, events = self._source, self._batches, self._source.events
        tasks = np.bincount(found.batch_of_task, minlength=len(found))
        longest = np.full(len(found), NONE, np.int64)
        np.maximum.at(longest, found.batch_of_task, batch_waits(source.requests))
        padding = self._padding
        device = source.request_parts.batch_device_ns
        return frame(
            [
                (NAME, self._names),
                (START, source.moments(self._rows)),
                (Column("dur_ns", "Duration", "ns", "Duration on the host."), events.dur_ns[self._rows]),
                (
                    Column("tasks", "Tasks", "count", "Requests in it, or parts of those that were split."),
                    known(tasks, tasks > 0),
                ),
                (Column("items", "Items", "count", "Items in it without padding."), known(found.size)),
                (Column("padding", "Padding", "count", "Items that were added."), known(padding)),
                (
                    Column("padding_ratio", "Padded", "ratio", "Items that were added, of all in it."),
                    _ratios(padding, np.where(padding == NONE, 0, found.padded)),
                ),
                (
                    Column(
                        "wait_ns", "Longest wait", "ns", "Of its tasks, from being put into the queue to its start."
                    ),
                    known(longest),
                ),
                (
                    Column("device_ns", "Device time", "ns", "Time in which kernels ran that it launched."),
                    [None] * len(found) if device is None else device,
                ),
                (THREAD, texts(events.lane[self._rows], source.thread_names)),
            ],
            self._rows,
            "dur_ns",
        )

    def grouped(self, by: str) -> Frame:
        """One row a group."""
        source, found, events = self._source, self._batches, self._source.events
        groups = Groups(found.padded if by == "size" else events.lane[self._rows])
        named = self._size_names(groups.keys) if by == "size" else texts(groups.keys, source.thread_names)
        dur = events.dur_ns[self._rows]
        of = groups.of
        tasks = Groups(of[found.batch_of_task])
        waits = batch_waits(source.requests)
        device = source.request_parts.batch_device_ns

        def of_tasks(values: np.ndarray) -> Any:
            out = np.full(len(groups), np.nan)
            out[tasks.keys] = values
            return out

        padding = self._padding
        is_told = padding != NONE
        padded = groups.sum(np.where(is_told, found.padded, 0))
        is_sized = found.size != NONE
        return frame(
            [
                (NAME if by == "size" else THREAD, named),
                (Column("count", "Batches", "count", _B["count"]), groups.count),
                (Column("total_ns", "Total", "ns", "Sum of their durations on the host."), groups.sum(dur)),
                (Column("mean_ns", "Mean", "ns", "Total divided by the batches."), groups.sum(dur) / groups.count),
                (P99, spread(groups, dur)["p99_ns"]),
                (Column("tasks_mean", "Tasks", "number", _B["tasks_mean"]), self._tasks_mean(groups, of)),
                (
                    Column("items_mean", "Items", "number", _B["size_mean"]),
                    _ratios(groups.sum(np.where(is_sized, found.size, 0)), groups.sum(is_sized.astype(np.int64))),
                ),
                (
                    Column("padding_ratio", "Padded", "ratio", _B["padding_ratio"]),
                    _ratios(groups.sum(np.where(is_told, padding, 0)), padded),
                ),
                (
                    Column(
                        "wait_mean_ns", "Mean wait", "ns", "Mean time of a task in the queue, until its batch began."
                    ),
                    of_tasks(tasks.sum(waits) / tasks.count),
                ),
                (
                    Column("wait_max_ns", "Longest wait", "ns", "The longest time of a task in the queue."),
                    of_tasks(tasks.max(waits)),
                ),
                (
                    Column("device_ns", "Device time", "ns", _B["device_ns"]),
                    [None] * len(groups) if device is None else groups.sum(device) / groups.count,
                ),
            ],
            first_rows(self._rows, of, len(groups)),
            "total_ns",
            of,
            "name" if by == "size" else "thread",
        )

    @property
    def _padding(self) -> np.ndarray:
        found = self._batches
        return np.where((found.size == NONE) | (found.padded == NONE), NONE, found.padded - found.size)

    def _tasks_mean(self, groups: Groups, of: np.ndarray) -> list[float | None]:
        """Of the batches of which any task is known."""
        tasks = np.bincount(self._batches.batch_of_task, minlength=len(of))
        return _ratios(groups.sum(tasks), groups.sum((tasks > 0).astype(np.int64)))

    @property
    def _names(self) -> Any:
        return self._size_names(self._batches.padded)

    def _size_names(self, sizes: np.ndarray) -> Any:
        distinct, code = np.unique(sizes, return_inverse=True)
        return texts(code, [f"{size} items" if size != NONE else "size not told" for size in distinct.tolist()])


def _ratios(parts: np.ndarray, wholes: np.ndarray) -> list[float | None]:
    return [part / whole if whole else None for part, whole in zip(parts.tolist(), wholes.tolist(), strict=True)]
