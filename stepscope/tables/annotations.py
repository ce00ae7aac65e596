"""The table of annotations: every region that the user or a library named, or regions by name or thread."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from stepscope.analysis.annotations import Annotation, annotation_rows, annotation_sums
from stepscope.analysis.groups import Groups
from stepscope.definitions import meanings
from stepscope.tables.common import P99, START, THREAD, means, step_column
from stepscope.tables.frame import Column, Frame, Occurrences, first_rows, frame, texts
from stepscope.tables.source import Source
from stepscope.timeline import LIVE_BASE

_A = meanings(Annotation)

NAME = Column("name", "Annotation", "text", "The name of the region.")


class AnnotationTable:
    """Regions of the always-on stream, and of the deep windows those whose name it has not."""

    groupings = {"name": "Name", "thread": "Name and thread"}

    def __init__(self, source: Source) -> None:
        self._source = source
        self._live, self._deep = annotation_rows(source.live, source.events)

    def why_empty(self) -> str | None:
        return None if len(self.occurrences) else "no_annotation"

    @cached_property
    def occurrences(self) -> Occurrences:
        return Occurrences(
            np.concatenate((self._live + LIVE_BASE, self._deep)), self._both("ts_ns"), self._both("dur_ns")
        )

    def single(self) -> Frame:
        """One row a region."""
        name, names = self._names
        thread, threads = self._threads
        found = self.occurrences
        return frame(
            [
                (NAME, texts(name, names)),
                (START, found.ts_ns - self._source.origin_ns),
                (Column("dur_ns", "Duration", "ns", "Duration on the host."), found.dur_ns),
                step_column(self._source.steps_at(found.ts_ns, self._both("step"))),
                (THREAD, texts(thread, threads)),
                (
                    Column("from", "From", "word", "The always-on stream, or a deep window.", shown=False),
                    texts(np.repeat((0, 1), (len(self._live), len(self._deep))), ("always on", "deep window")),
                ),
            ],
            found.rows,
            "dur_ns",
        )

    def grouped(self, by: str) -> Frame:
        """One row a group."""
        name, names = self._names
        thread, threads = self._threads
        width = len(threads) if by == "thread" and threads else 1
        groups = Groups(name * width + (thread if by == "thread" else 0))
        label: list[tuple[Column, Any]] = [(NAME, texts(groups.keys // width, names))]
        if by == "thread":
            label.append((THREAD, texts(groups.keys % width, threads)))
        of = groups.of
        sums = annotation_sums(groups, self.occurrences.dur_ns)
        return frame(
            [
                *label,
                (Column("count", "Count", "count", _A["count"]), sums["count"]),
                (
                    Column("total_ns", "Total", "ns", f"{_A['total_ns']} Nested regions count in each."),
                    sums["total_ns"],
                ),
                (
                    Column("mean_ns", "Mean", "ns", "Total divided by count."),
                    means(sums["total_ns"], sums["count"]),
                ),
                (Column("min_ns", "Shortest", "ns", _A["min_ns"]), sums["min_ns"]),
                (Column("p50_ns", "Median", "ns", _A["p50_ns"]), sums["p50_ns"]),
                (Column("p90_ns", "p90", "ns", _A["p90_ns"], shown=False), sums["p90_ns"]),
                (P99, sums["p99_ns"]),
                (Column("max_ns", "Longest", "ns", _A["max_ns"]), sums["max_ns"]),
            ],
            first_rows(self.occurrences.rows, of, len(groups)),
            "total_ns",
            of,
        )

    def _both(self, column: str) -> np.ndarray:
        parts = (self._source.live, self._live), (self._source.events, self._deep)
        return np.concatenate([getattr(events, column)[rows].astype(np.int64) for events, rows in parts])

    @cached_property
    def _names(self) -> tuple[np.ndarray, list[str]]:
        """The name of each region in one list; the deep windows have other names than the stream."""
        live, deep = self._source.live, self._source.events
        code = np.concatenate((live.name[self._live], deep.name[self._deep] + len(live.names)))
        return code.astype(np.int64), [*live.names, *deep.names]

    @cached_property
    def _threads(self) -> tuple[np.ndarray, list[str]]:
        # The always-on stream has a lane for the annotations of each thread; that of the training has no addition.
        lanes = (lane.name.removeprefix("Annotations").strip(" ()") for lane in self._source.live.lanes)
        live = [name or "training thread" for name in lanes]
        threads = dict.fromkeys([*live, *self._source.thread_names])
        number = {text: i for i, text in enumerate(threads)}
        parts = (
            (np.array([number[t] for t in names], np.int64), events.lane[rows])
            for names, events, rows in (
                (live, self._source.live, self._live),
                (self._source.thread_names, self._source.events, self._deep),
            )
        )
        return np.concatenate([numbers[lanes] for numbers, lanes in parts]), list(threads)
