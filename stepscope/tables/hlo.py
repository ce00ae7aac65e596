"""The table of operations that XLA compiled: every run, or runs by operation, category, framework operator, program."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from stepscope.analysis.groups import Groups
from stepscope.analysis.order import coded
from stepscope.schema import NONE
from stepscope.tables.common import P50, P99, START, spread, step_column
from stepscope.tables.frame import Column, Frame, first_rows, frame, texts
from stepscope.tables.hlo_work import COLUMNS, SELF
from stepscope.tables.rows import EventRows
from stepscope.tables.source import Source

NAME = Column("name", "HLO operation", "text", "The operation, as the compiled program names it.")
PROGRAM = Column("program", "Program", "text", "The compiled program (HLO module), with its number.", spare=4)
CATEGORY = Column(
    "category",
    "Category",
    "word",
    "A matrix product or convolution, alone, in a fusion or a library's; else the kind of fusion, data formatting, "
    "elementwise, control flow (what runs other operations), custom call, or the HLO opcode.",
)
FRAMEWORK = Column(
    "framework_op",
    "Framework operator",
    "text",
    "The framework's path of the operator that it comes from; of a fusion that of its root, else of the last operation "
    "inside that tells any.",
    spare=1,
)
TYPE = Column("op_type", "Operator type", "word", "The type of that operator; JAX tells none.", spare=3)
SOURCE = Column("source", "Source", "text", "The line of code that it comes from, where the compiler tells.", spare=4)
EXPRESSION = Column("expression", "Expression", "text", "The instruction as HLO text, without literals.", spare=4)
SHAPE = Column("shape", "Result", "text", "Type, dimensions and layout of the result.", shown=False)
ELEMENT = Column("element", "Type", "word", "Of a product its left operand's type, else its result's.", shown=False)
WHERE = Column("where", "Ran on", "text", "The device and the stream; without a device the thread of the host.")
EVENT = Column("kernel", "Event", "text", "The name of the event: on a device its kernel.", shown=False)
WHY = Column("why", "Why not known", "text", "Why the FLOPs are not known.", shown=False)
#: TensorFlow writes the options of a compiled function into its name.
_OPTIONS = re.compile(r"_*XlaMustCompile_[A-Za-z0-9_]*")
_GROUPED = ("executions", "total_ns", "self_ns", "share", "mean_ns")
_WORK = ("flops", "flop_share", "transcendentals", "bytes", "flop_per_s", "bytes_per_s", "intensity")
_ROOF = ("bound", "of_roof", "lost_ns")


class HloTable(EventRows):
    """Runs of HLO operations."""

    empty = "no_hlo"
    groupings = {
        "op": "Operation",
        "category": "Category",
        "type": "Operator type",
        "framework": "Framework operator",
        "program": "Program",
        "source": "Source",
    }

    def __init__(self, source: Source) -> None:
        super().__init__(source, source.hlo.runs.rows)
        self._work = source.hlo

    def single(self) -> Frame:
        """One row a run."""
        source, runs = self._source, self._work.runs
        events, rows = source.events, runs.rows
        own = {key: texts(runs.op, values) for key, values in self._texts().items()}
        return frame(
            [
                (NAME, own["name"]),
                (START, source.moments(rows)),
                (Column("dur_ns", "Duration", "ns", "Duration as recorded."), runs.dur_ns),
                (Column("self_ns", "Self", "ns", SELF, shown=False), runs.self_ns),
                step_column(source.steps_at(events.ts_ns[rows], events.step[rows])),
                (WHERE, self._where()),
                (EVENT, texts(events.name[rows], events.names)),
                *((column, own[column.key]) for column in (PROGRAM, CATEGORY, FRAMEWORK)),
            ],
            rows,
            "dur_ns",
        )

    def grouped(self, by: str) -> Frame:
        """One row a group."""
        runs, work, told = self._work.runs, self._work, self._texts()
        column = {"category": CATEGORY, "type": TYPE, "framework": FRAMEWORK, "program": PROGRAM, "source": SOURCE}
        if by == "op":
            names: list[str | None] = []
            of_op = np.arange(len(runs.ops))
        else:
            distinct: dict[str | None, int] = {}
            of_op = np.array([distinct.setdefault(value, len(distinct)) for value in told[column[by].key]], np.int64)
            names = list(distinct)
        used, of_used = coded(np.array(of_op[runs.op] if len(runs) else [], np.int64))
        groups = Groups(of_used)
        place = np.full(int(of_op.max(initial=-1)) + 1, NONE, np.int64)
        place[used] = np.arange(len(used))
        sums = work.sums([place[of_op] if len(of_op) else of_op], len(used))
        sums |= spread(groups, runs.dur_ns)
        is_op = by == "op"
        if is_op:
            told = {key: texts(used, values) for key, values in told.items()}
            label = [(NAME, told["name"])]
            label += [(c, told[c.key]) for c in (CATEGORY, FRAMEWORK, TYPE)]
            sums["bound"] = [work.bound[i] for i in used.tolist()]
        else:
            label = [(column[by], texts(used, names))]
        roof = _ROOF if is_op else _ROOF[1:]
        more = (PROGRAM, SHAPE, ELEMENT, EXPRESSION, SOURCE, WHY) if is_op else ()
        return frame(
            [
                *label,
                (COLUMNS["events"], sums["events"]),
                *((COLUMNS[key], sums[key]) for key in (*_GROUPED, *_WORK, *roof)),
                *([] if is_op else [(COLUMNS["known"], sums["known"])]),
                (replace(P50, shown=False), sums["p50_ns"]),
                (replace(P99, shown=False), sums["p99_ns"]),
                *((c, told[c.key]) for c in more),
            ],
            first_rows(runs.rows, groups.of, len(groups)),
            "self_ns",
            groups.of,
            label[0][0].key,
        )

    def _texts(self) -> dict[str, list[str | None]]:
        """Columns of text by their key, one entry an operation."""
        work = self._work
        return {
            "name": [key.op for key in work.runs.ops],
            "program": [program_label(key.program, key.program_id) for key in work.runs.ops],
            "category": work.told("category"),
            "framework_op": work.told("op_name"),
            "op_type": work.told("op_type"),
            "source": work.told("source"),
            "expression": work.told("text"),
            "shape": work.told("shape"),
            "element": work.told("type"),
            "why": work.why(),
        }

    def _where(self) -> Any:
        source, runs = self._source, self._work.runs
        if runs.on_device:
            return texts(*source.stream_of(runs.rows))
        return texts(source.events.lane[runs.rows], source.thread_names)


def program_label(name: str, number: int | None) -> str:
    """A program as it is shown: with its number, since many have one name, and without what TensorFlow adds to it."""
    name = _OPTIONS.sub("", name)
    return name if number is None else f"{name} ({number})"
