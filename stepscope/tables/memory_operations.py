"""The table of memory operations: every copy and fill, or these by kind, size or stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.analysis.groups import Groups
from stepscope.analysis.memcpy import MemoryOperation, operation_labels, transfer_sums
from stepscope.definitions import meanings
from stepscope.schema import NONE
from stepscope.tables.common import (
    MODULE,
    OPERATOR,
    P50,
    P99,
    START,
    STREAM,
    labels,
    means,
    share,
    spread,
    step_column,
)
from stepscope.tables.frame import Column, Frame, first_rows, frame, known, texts
from stepscope.tables.rows import EventRows
from stepscope.tables.source import Source

_M = meanings(MemoryOperation)
#: Lower edges of the classes of size; a class reaches up to, not including, the next edge.
SIZE_EDGES = (0, 1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 24, 1 << 28)
SIZE_CLASSES = (
    "below 1 KiB",
    "1 to 16 KiB",
    "16 to 256 KiB",
    "256 KiB to 1 MiB",
    "1 to 16 MiB",
    "16 to 256 MiB",
    "256 MiB and more",
)

_LABELS = (
    Column("operation", "Operation", "word", "Memcpy or memset."),
    Column("direction", "Direction", "word", _M["direction"]),
    Column("source", "From", "word", _M["source"]),
    Column("target", "To", "word", _M["target"]),
)
SIZE = Column("size", "Size", "word", "Class of the size; none where the record does not tell the size.")


class MemoryOperationTable(EventRows):
    """Copies and fills on device queues."""

    empty = "no_memory_operation"
    groupings = {"kind": "Kind", "size": "Size", "stream": "Stream"}

    def __init__(self, source: Source) -> None:
        rows, labels_, at = operation_labels(source.events)
        super().__init__(source, rows)
        distinct = {label: i for i, label in enumerate(dict.fromkeys(labels_))}
        self._labels = list(distinct)
        self._kind = np.array([distinct[label] for label in labels_], np.int64)[at]

    def single(self) -> Frame:
        """One row an operation."""
        source, rows, events = self._source, self._rows, self._source.events
        size, dur = events.bytes[rows], events.dur_ns[rows]
        told = (size != NONE) & (dur > 0)
        at = source.position_of_run(rows)
        call = source.call_of_run[at]
        launched = np.where(call != NONE, events.ts_ns[call], events.ts_ns[rows]) if len(rows) else rows
        code, streams = source.stream_of(rows)
        return frame(
            [
                (
                    Column("name", "Name", "text", "The record's own name."),
                    texts(events.name[rows], events.names),
                ),
                *((column, self._label(i, self._kind)) for i, column in enumerate(_LABELS)),
                (START, source.moments(rows)),
                (Column("dur_ns", "Duration", "ns", "Duration as recorded."), dur),
                (Column("bytes", "Bytes", "bytes", "Bytes moved or filled."), known(size)),
                (
                    Column("bytes_per_s", "Rate", "bytes_per_s", "Bytes divided by duration; 1 GB/s is 1e9 bytes/s."),
                    np.where(told, size * 1e9 / np.maximum(dur, 1), np.nan),
                ),
                step_column(source.steps_at(launched, events.step[rows])),
                (STREAM, texts(code, streams)),
                (OPERATOR, texts(source.operator_of_run[at], events.names)),
                (MODULE, texts(source.module_of_run[at], source.module_paths)),
            ],
            rows,
            "dur_ns",
        )

    def grouped(self, by: str) -> Frame:
        """One row a group."""
        events, rows = self._source.events, self._rows
        size, dur = events.bytes[rows], events.dur_ns[rows]
        label: list[tuple[Column, Any]]
        if by == "size":
            groups = Groups(np.where(size == NONE, 0, np.searchsorted(SIZE_EDGES, size, "right")))
            label = [(SIZE, labels(groups.keys, SIZE_CLASSES))]
        elif by == "stream":
            code, streams = self._source.stream_of(rows)
            groups = Groups(code)
            label = [(STREAM, texts(groups.keys, streams))]
        else:
            groups = Groups(self._kind)
            label = [(column, self._label(i, groups.keys)) for i, column in enumerate(_LABELS)]
        of = groups.of
        sums = {**transfer_sums(groups, size, dur), **spread(groups, dur)}
        return frame(
            [
                *label,
                (Column("count", "Count", "count", "Operations in the deep windows."), sums["count"]),
                (Column("time_ns", "Total", "ns", _M["time_ns"]), sums["time_ns"]),
                (
                    Column("share", "Share", "share", "Total divided by the total of all copies and fills."),
                    share(sums["time_ns"]),
                ),
                (Column("bytes", "Bytes", "bytes", _M["bytes"]), sums["bytes"]),
                (
                    Column("bytes_per_s", "Rate", "bytes_per_s", f"{_M['bytes_per_s']} 1 GB/s is 1e9 bytes/s."),
                    sums["bytes_per_s"],
                ),
                (
                    Column("mean_ns", "Mean", "ns", "Total divided by the number of operations."),
                    means(sums["time_ns"], sums["count"]),
                ),
                (Column("min_ns", "Shortest", "ns", "The shortest.", shown=False), groups.min(dur)),
                (P50, sums["p50_ns"]),
                (P99, sums["p99_ns"]),
                (Column("max_ns", "Longest", "ns", "The longest."), groups.max(dur)),
            ],
            first_rows(rows, of, len(groups)),
            "time_ns",
            of,
            label[0][0].key,
        )

    def _label(self, part: int, kind: np.ndarray) -> Any:
        return texts(kind, [label[part] for label in self._labels])
