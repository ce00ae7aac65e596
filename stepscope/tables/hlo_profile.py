"""The time of XLA's operations as a tree: by program, category and operation, or along the framework's paths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stepscope.schema import NONE
from stepscope.tables.frame import Column, Frame, frame
from stepscope.tables.hlo import EXPRESSION, FRAMEWORK, program_label
from stepscope.tables.hlo_work import COLUMNS
from stepscope.tables.rows import EventRows
from stepscope.tables.source import Source

NAME = Column(
    "name", "Name", "text", "The program, then categories or parts of the framework's path, then HLO operations."
)
IN_PARENT = Column("in_parent", "Of the one above", "ratio", "Self time divided by that of the row above.", shown=False)
#: What operations without a framework operator are under.
_UNKNOWN = "(no framework operator told)"
#: Parts of a framework's path that are levels of their own; the rest of a longer one is one.
_DEEPEST = 60
_SHOWN = ("executions", "self_ns", "share")
_WORK = ("flops", "flop_share", "bytes", "flop_per_s", "bytes_per_s", "intensity", "of_roof", "lost_ns", "known")


class HloProfileTable(EventRows):
    """Sums of HLO operations, level by level: each row is the sum of those below it."""

    empty = "no_hlo"
    groupings = {"category": "Category", "framework": "Framework path"}

    def __init__(self, source: Source) -> None:
        super().__init__(source, source.hlo.runs.rows)
        self._work = source.hlo

    def single(self) -> Frame:
        return self.grouped("category")

    def grouped(self, by: str) -> Frame:
        """The tree."""
        work = self._work
        keys = work.runs.ops
        programs = [program_label(key.program, key.program_id) for key in keys]
        if by == "framework":
            above = [
                tuple(filter(None, name.split("/", _DEEPEST))) or (_UNKNOWN,) for name in work.told("op_name", _UNKNOWN)
            ]
        else:
            above = [(name,) for name in work.told("category", "(not in a recorded program)")]
        nodes: dict[tuple[str, ...], int] = {}
        levels: list[np.ndarray] = []
        paths = [(program, *parts) for program, parts in zip(programs, above, strict=True)]
        for depth in range(max(map(len, paths), default=0)):
            of_op = [nodes.setdefault(path[: depth + 1], len(nodes)) if depth < len(path) else NONE for path in paths]
            levels.append(np.array(of_op, np.int64))
        inner = len(nodes)
        leaf = np.arange(len(keys)) + inner
        count = inner + len(keys)
        sums = work.sums([*levels, leaf], count)
        parent = [NONE if len(path) == 1 else nodes[path[:-1]] for path in nodes] + [nodes[path] for path in paths]
        own = sums["self_ns"]
        part = [None if p == NONE or not own[p] else own[i] / own[p] for i, p in enumerate(parent)]
        none: list[str | None] = [None] * inner
        return frame(
            [
                (NAME, [path[-1] for path in nodes] + [key.op for key in keys]),
                (COLUMNS["events"], sums["events"]),
                *((COLUMNS[key], sums[key]) for key in _SHOWN),
                (IN_PARENT, part),
                *((replace(COLUMNS[key], shown=key != "known"), sums[key]) for key in _WORK),
                (replace(FRAMEWORK, shown=by != "framework"), none + work.told("op_name")),
                (replace(EXPRESSION, shown=False), none + work.told("text")),
            ],
            np.arange(count),
            "self_ns",
            leaf[work.runs.op],
            parent=np.array(parent, np.int64),
        )
