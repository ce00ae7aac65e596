"""The table of requests of inference: every one with its parts, or requests by name, model or thread."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from stepscope.analysis.groups import Groups
from stepscope.schema import NONE
from stepscope.tables.common import P50, P99, START, THREAD
from stepscope.tables.frame import Column, Frame, Occurrences, first_rows, frame, known, texts
from stepscope.tables.source import Source
from stepscope.timeline import LIVE_BASE

NAME = Column("name", "Request", "text", "What the region or the call that stands for the request is called.")
MODEL = Column("model", "Model", "text", "The model that it asks for, where the server tells it.")
LATENCY = Column("dur_ns", "Latency", "ns", "From the start of the request to its end.")
#: What a moment is of which several could be told is in docs/inference.md.
PARTS = {
    "host_before": ("Host before", "On the host, before anything else of it began."),
    "batch_wait": ("Wait for batch", "In the queue, until its batch began."),
    "batch": ("Batch on host", "Its batch was at work on the host, and no device was for it."),
    "to_device": ("To device", "Copies from host to device, of the request or its batch, without kernels beside them."),
    "device": ("Device", "Kernels, fills and copies on a device, of the request or of its whole batch."),
    "from_device": ("From device", "Copies from device to host, without kernels beside them."),
    "host": ("Host between", "On the host between the other parts, or all of a request without any."),
    "host_after": ("Host after", "On the host, after everything else of it had ended."),
}


class RequestTable:
    """Requests of the always-on stream and of the deep windows; parts are known of the latter."""

    groupings = {"name": "Name", "model": "Model", "thread": "Name and thread"}

    def __init__(self, source: Source) -> None:
        self._source = source
        self._requests = source.requests

    def why_empty(self) -> str | None:
        return None if len(self._requests) else "no_request"

    @cached_property
    def occurrences(self) -> Occurrences:
        found = self._requests
        return Occurrences(found.row + np.where(found.from_live, LIVE_BASE, 0), found.start_ns, found.latency_ns)

    def single(self) -> Frame:
        """One row a request."""
        source, found = self._source, self._requests
        names, ids, models = found.told
        thread, threads = self._threads
        late: list[bool | None] = [None] * len(found)
        for i, is_late in zip(source.request_parts.request.tolist(), source.request_parts.late.tolist(), strict=True):
            late[i] = is_late
        batches, items = self._batches
        return frame(
            [
                (NAME, names),
                (Column("id", "Id", "text", "Which request it is, where that is told."), ids),
                (MODEL, models),
                (START, found.start_ns - source.origin_ns),
                (LATENCY, found.latency_ns),
                *((_part(part), known(self._parts[part])) for part in PARTS),
                (Column("items", "Items", "count", "Items that it put into batches."), items),
                (
                    Column("batches", "Batches", "count", "Batches that it went into; more than one: it was split."),
                    batches,
                ),
                (
                    Column("late", "Late device", "flag", "Device work that it launched ended after it.", shown=False),
                    late,
                ),
                (THREAD, texts(thread, threads)),
                (
                    Column("from", "From", "word", "The always-on stream, or a deep window.", shown=False),
                    texts(np.where(found.from_live, 0, 1), ("always on", "deep window")),
                ),
            ],
            self.occurrences.rows,
            "dur_ns",
        )

    def grouped(self, by: str) -> Frame:
        """One row a group."""
        names, _, models = self._requests.told
        name, distinct = _coded(names)
        second: tuple[Column, np.ndarray, Sequence[str | None]] | None = None
        if by == "model":
            second = (MODEL, *_coded(models))
        elif by == "thread":
            second = (THREAD, *self._threads)
        width = len(second[2]) if second else 1
        groups = Groups(name * width + (second[1] if second else 0))
        label: list[tuple[Column, Any]] = [(NAME, texts(groups.keys // width, distinct))]
        if second:
            label.append((second[0], texts(groups.keys % width, second[2])))
        latency = self._requests.latency_ns
        p50, p90, p99 = groups.nearest_rank(latency, 50, 90, 99)
        return frame(
            [
                *label,
                (Column("count", "Requests", "count", "How many there are."), groups.count),
                (Column("mean_ns", "Mean", "ns", "Mean latency."), groups.sum(latency) / groups.count),
                (P50, p50),
                (Column("p90_ns", "p90", "ns", "90th percentile of the latencies, by nearest rank."), p90),
                (P99, p99),
                (Column("max_ns", "Longest", "ns", "The longest latency."), groups.max(latency)),
                *((_part(part, mean=True), _means(groups, self._parts[part])) for part in PARTS),
            ],
            first_rows(self.occurrences.rows, groups.of, len(groups)),
            "count",
            groups.of,
        )

    @cached_property
    def _parts(self) -> dict[str, np.ndarray]:
        """Each part of each request, ``NONE`` where it is not known."""
        parts = self._source.request_parts
        out = {}
        for part in PARTS:
            out[part] = np.full(len(self._requests), NONE, np.int64)
            ns = parts.ns[part]
            if ns is not None:
                out[part][parts.request] = ns
        return out

    @cached_property
    def _batches(self) -> tuple[Any, Any]:
        """How many batches each request went into, and with how many items; null without any or where not told."""
        found = self._requests
        of, size = found.request_of_task, found.batches.size_of_task[found.task]
        count = np.bincount(of, minlength=len(found))
        untold = np.bincount(of, size == NONE, minlength=len(found)) > 0
        items = np.bincount(of, size, minlength=len(found)).astype(np.int64)
        return known(count, count > 0), known(items, (count > 0) & ~untold)

    @cached_property
    def _threads(self) -> tuple[np.ndarray, list[str]]:
        source, found = self._source, self._requests
        names: dict[str, int] = {}
        out = np.empty(len(found), np.int64)
        lanes = [lane.name.removeprefix("Annotations").strip(" ()") or "training thread" for lane in source.live.lanes]
        for events, mine, told in (
            (source.live, found.from_live, lanes),
            (source.events, ~found.from_live, source.thread_names),
        ):
            number = np.array([names.setdefault(text, len(names)) for text in told], np.int64)
            out[mine] = number[events.lane[found.row[mine]]] if mine.any() else 0
        return out, list(names)


def _part(part: str, mean: bool = False) -> Column:
    label, about = PARTS[part]
    about = f"Mean over the requests in deep windows. {about}" if mean else about
    return Column(f"{part}_ns", label, "ns", about, spare=2)


def _means(groups: Groups, values: np.ndarray) -> list[float | None]:
    """The mean of what is known in each group."""
    is_known = values != NONE
    count, total = groups.sum(is_known.astype(np.int64)), groups.sum(np.where(is_known, values, 0))
    return [float(t) / n if n else None for t, n in zip(total.tolist(), count.tolist(), strict=True)]


def _coded(values: Sequence[str | None]) -> tuple[np.ndarray, list[str | None]]:
    distinct: dict[str | None, int] = {}
    code = [distinct.setdefault(value, len(distinct)) for value in values]
    return np.array(code, np.int64), list(distinct)
