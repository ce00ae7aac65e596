"""The table of collectives: every run, or these by collective and process group, or by the size of the message too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stepscope.analysis.collective_slack import SOURCES
from stepscope.analysis.collective_sums import Collective, collectives_by, exposed_of, labels_of, sizes_of
from stepscope.analysis.groups import Groups
from stepscope.definitions import meanings
from stepscope.schema import NONE
from stepscope.tables.common import OPERATOR, START, STREAM, means, step_column
from stepscope.tables.frame import Column, Frame, first_rows, frame, known, texts
from stepscope.tables.rows import EventRows
from stepscope.tables.source import Source

_C = meanings(Collective)
_NAME = Column("name", "Collective", "text", _C["name"])
_GROUP = Column("group", "Group", "text", _C["group"])
_ABOUT = Column("group_description", "About the group", "text", _C["group_description"], shown=False)
_RANKS = Column("group_size", "Ranks", "id", _C["group_size"])
_DEVICE = Column("device", "On a device", "flag", _C["device"], shown=False)
_FROM = Column("slack_from", "Slack from", "word", _C["slack_from"], spare=2)
_MESSAGE = Column("message_bytes", "Message", "bytes", "The size of one message; none where it is not told.")


class CollectiveTable(EventRows):
    """Collectives on devices, and those of libraries on the host."""

    empty = "no_collective"
    groupings = {"group": "Collective and group", "size": "Collective, group and message"}

    def __init__(self, source: Source) -> None:
        super().__init__(source, source.collectives.rows)
        self._runs = source.collectives
        self._labels, self._label = labels_of(self._runs)

    def single(self) -> Frame:
        """One row a run."""
        source, runs, rows, events = self._source, self._runs, self._rows, self._source.events
        slack, size, dur = runs.slack, sizes_of(runs), events.dur_ns[rows]
        needed = np.full(len(rows), np.nan)
        np.divide(size * 1e9, slack.ns, out=needed, where=slack.ns > 0)
        crossing = np.array([m.crossing for m in runs.messages], np.float64)[runs.message]
        on_bus = bool(np.isfinite(runs.busbw).any())
        stream = np.full(len(rows), NONE, np.int64)
        stream[runs.on_device], streams = source.stream_of(rows[runs.on_device])
        operator = np.full(len(rows), NONE, np.int64)
        at = source.position_of_run(rows[runs.on_device])
        operator[runs.on_device] = source.operator_of_run[at]
        launched = events.ts_ns[rows].copy()
        call = source.call_of_run[at]
        launched[runs.on_device] = np.where(call != NONE, events.ts_ns[call], launched[runs.on_device])
        exposed = np.where(runs.on_device, exposed_of(events, runs), NONE)
        return frame(
            [
                *self._label_columns(self._label),
                (START, source.moments(rows)),
                (Column("dur_ns", "Duration", "ns", "Duration as recorded; it holds the wait for the last rank."), dur),
                (
                    Column("exposed_ns", "Exposed", "ns", "The part in which no compute kernel ran.", spare=2),
                    known(exposed),
                ),
                (
                    Column("slack_ns", "Slack", "ns", "From its begin until what waits for it could have begun."),
                    known(slack.ns),
                ),
                (Column("stall_ns", "Stall", "ns", "Time in which something waited for it."), known(slack.stall_ns)),
                (_FROM, [SOURCES[code] for code in slack.source.tolist()]),
                (_MESSAGE, [None if np.isnan(v) else int(v) for v in size.tolist()]),
                (
                    Column(
                        "algbw_bytes_per_s",
                        "Algorithm bandwidth",
                        "bytes_per_s",
                        "Message / duration.",
                        shown=not on_bus,
                    ),
                    runs.algbw,
                ),
                (
                    Column(
                        "busbw_bytes_per_s",
                        "Bus bandwidth",
                        "bytes_per_s",
                        "Algorithm bandwidth times the share of the message that crosses the bus.",
                    ),
                    runs.busbw,
                ),
                (
                    Column(
                        "needed_algbw_bytes_per_s",
                        "Needed bandwidth",
                        "bytes_per_s",
                        "Message / slack.",
                        shown=not on_bus,
                    ),
                    needed,
                ),
                (
                    Column(
                        "needed_busbw_bytes_per_s",
                        "Needed bus bandwidth",
                        "bytes_per_s",
                        "The same as bus bandwidth.",
                        spare=3,
                    ),
                    needed * crossing,
                ),
                step_column(source.steps_at(launched, events.step[rows])),
                (STREAM, texts(stream, streams)),
                (OPERATOR, texts(operator, events.names)),
            ],
            rows,
            "dur_ns",
        )

    def grouped(self, by: str) -> Frame:
        """One row a group."""
        size = sizes_of(self._runs)
        sizes, code = np.unique(np.where(np.isnan(size), NONE, size).astype(np.int64), return_inverse=True)
        width = max(len(sizes), 1) if by == "size" else 1
        groups = Groups(self._label * width + (code.reshape(-1) if by == "size" else 0))
        found = collectives_by(groups, self._labels, self._source.events, self._runs, width)
        label = self._label_columns(groups.keys // width)
        if by == "size":
            label.append((_MESSAGE, known(sizes[groups.keys % width]) if len(groups) else []))
        of = groups.of
        on_bus = any(each.busbw_bytes_per_s is not None for each in found)

        def of_each(field: str) -> Sequence[Any]:
            return [getattr(each, field) for each in found]

        def column(field: str, name: str, unit: Any = "ns", **more: Any) -> tuple[Column, Any]:
            return Column(field, name, unit, _C[field], **more), of_each(field)

        return frame(
            [
                *label,
                column("count", "Count", "count"),
                column("total_ns", "Total"),
                (
                    Column("mean_ns", "Mean", "ns", "Total divided by count.", spare=3),
                    means(of_each("total_ns"), of_each("count")),
                ),
                column("min_ns", "Shortest", shown=False),
                column("max_ns", "Longest", shown=False),
                column("exposed_ns", "Exposed", spare=1),
                column("slack_ns", "Slack"),
                column("stall_ns", "Stall"),
                column("in_slack", "In slack", "count", spare=3),
                column("slack_known", "Slack known", "count", shown=False),
                (_FROM, of_each("slack_from")),
                column("bytes", "Bytes", "bytes", spare=1 if by == "size" else 0),
                column("bytes_known", "Bytes known", "count", shown=False),
                column("algbw_bytes_per_s", "Algorithm bandwidth", "bytes_per_s", shown=not on_bus),
                column("busbw_bytes_per_s", "Bus bandwidth", "bytes_per_s"),
                column("needed_algbw_bytes_per_s", "Needed bandwidth", "bytes_per_s", shown=not on_bus),
                column("needed_busbw_bytes_per_s", "Needed bus bandwidth", "bytes_per_s"),
            ],
            first_rows(self._rows, of, len(groups)),
            "total_ns",
            of,
        )

    def _label_columns(self, of: np.ndarray) -> list[tuple[Column, Any]]:
        told = [self._labels[i] for i in of.tolist()]
        columns = (_NAME, _GROUP, _ABOUT, _RANKS, _DEVICE)
        return [(column, [label[i] for label in told]) for i, column in enumerate(columns)]
