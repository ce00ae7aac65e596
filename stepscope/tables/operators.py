"""The table of operators: every call, or calls by name, input shapes, call stack or module."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from stepscope.analysis.groups import Groups
from stepscope.analysis.matrix_operators import is_matrix_operator
from stepscope.analysis.operator_work import operator_work
from stepscope.analysis.operators import Operator, call_sums, input_shapes
from stepscope.analysis.stacks import call_stacks
from stepscope.definitions import meanings
from stepscope.schema import NONE
from stepscope.tables.common import (
    MODULE,
    START,
    THREAD,
    labels,
    means,
    share,
    shifted,
    spread,
    step_column,
    worded,
)
from stepscope.tables.frame import Column, Frame, first_rows, frame, known, texts
from stepscope.tables.rows import EventRows
from stepscope.tables.source import Source

_O = meanings(Operator)
#: Between the frames of a stack, which are listed with the innermost one first.
_FRAMES = " ← "

NAME = Column("name", "Operator", "text", "The operator, as the framework names it.")
SHAPES = Column("input_shapes", "Input shapes", "text", "Shape of each input, where the capture recorded shapes.")
TYPES = Column("input_types", "Input types", "text", "Type of each input, where the capture recorded shapes.", spare=3)
STACK = Column("stack", "Call stack", "text", "The frames around the call, the innermost first, at most 64.")
ELIGIBLE = Column(
    "matrix_eligible",
    "TC eligible",
    "flag",
    "Whether an operator of this name may run on Tensor or Matrix Cores: products, convolutions, attention.",
    shown=False,
)
FLOPS = Column(
    "flops",
    "FLOPs",
    "flop",
    "Of matrix products and convolutions whose shapes are recorded: 2 a multiply-add, as torch.utils.flop_counter "
    "counts them. Of the innermost operator alone, so that no sum has them twice; attention is in no count.",
)
BYTES = Column(
    "bytes",
    "Bytes accessed",
    "bytes",
    "Factors and results of these calls, each once; what a product is added to is in no count.",
    shown=False,
)
FLOP_PER_S = Column("flop_per_s", "FLOP/s", "flop_per_s", "")
INTENSITY = Column("intensity", "FLOP/byte", "number", "FLOPs divided by bytes accessed.", shown=False)
OF_ROOF = Column(
    "of_roof",
    "Of the roof",
    "ratio",
    "The least time that the device's published peaks allow (FLOPs, or bytes by its memory bandwidth, whichever takes "
    "longer), divided by the device total of these calls. f32 counts by the rate of TF32 in "
    "convolutions and without it in products, PyTorch's defaults.",
)
_TOTALS = (
    ("host_self_ns", "Host self", True, 0),
    ("host_total_ns", "Host total", True, 1),
    ("device_self_ns", "Device self", True, 0),
    ("device_total_ns", "Device total", True, 1),
    ("device_count", "Device runs", False, 0),
    ("backward_host_ns", "Backward host", False, 0),
    ("backward_device_ns", "Backward device", False, 0),
)


class OperatorTable(EventRows):
    """Calls of framework operators on the host."""

    empty = "no_operator"
    groupings = {"name": "Name", "shapes": "Name and input shapes", "stack": "Name and call stack", "module": "Module"}

    def __init__(self, source: Source) -> None:
        super().__init__(source, source.calls.rows)
        self._calls = source.calls

    def single(self) -> Frame:
        """One row a call."""
        source, calls = self._source, self._calls
        rows, events = calls.rows, source.events
        shape, shapes = self._shapes
        made = frame(
            [
                (NAME, texts(events.name[rows], events.names)),
                (START, source.moments(rows)),
                step_column(source.steps_at(events.ts_ns[rows], events.step[rows])),
                *((self._total(*total, one=True), self._values(total[0])) for total in _TOTALS),
                (ELIGIBLE, self._eligible[events.name[rows]] if len(rows) else np.empty(0, bool)),
                (SHAPES, texts(shape, [s for s, _ in shapes])),
                (TYPES, texts(shape, [t for _, t in shapes])),
                (THREAD, texts(events.lane[rows], source.thread_names)),
                (MODULE, texts(source.module_of(rows), source.module_paths)),
            ],
            rows,
            "host_total_ns",
        )
        return worded(made, source.is_amd)

    def grouped(self, by: str) -> Frame:
        """One row a group."""
        source, calls, events = self._source, self._calls, self._source.events
        name = events.name[calls.rows].astype(np.int64)
        label: list[tuple[Column, Any]]
        if by == "shapes":
            code, shapes = self._shapes
            groups = Groups(name * max(len(shapes), 1) + code)
            which, inputs = np.divmod(groups.keys, max(len(shapes), 1))
            label = [
                (NAME, texts(which, events.names)),
                (SHAPES, texts(inputs, [s for s, _ in shapes])),
                (TYPES, texts(inputs, [t for _, t in shapes])),
            ]
        elif by == "stack":
            code, stacks = self._stacks
            groups = Groups(name * (len(stacks) + 1) + shifted(code))
            which, stack = np.divmod(groups.keys, len(stacks) + 1)
            label = [(NAME, texts(which, events.names)), (STACK, labels(stack, stacks))]
        elif by == "module":
            groups = Groups(shifted(source.module_of(calls.rows)))
            label = [(MODULE, labels(groups.keys, source.module_paths))]
        else:
            groups = Groups(name)
            label = [(NAME, texts(groups.keys, events.names))]
        of = groups.of
        sums = {**call_sums(calls, groups), **spread(groups, calls.host_total_ns)}
        eligible = self._eligible[name] if len(name) else np.empty(0, bool)
        matrix = groups.sum(self._matrix_ns)
        made = frame(
            [
                *label,
                (Column("count", "Calls", "count", "Calls in the deep windows."), sums["count"]),
                *((self._total(*total), sums[total[0]]) for total in _TOTALS),
                (
                    Column(
                        "host_share", "Host share", "share", "Host self time divided by that of all operators.", spare=2
                    ),
                    share(sums["host_self_ns"]),
                ),
                (
                    Column(
                        "device_share", "Device share", "share", "Device self time divided by that of all operators."
                    ),
                    share(sums["device_self_ns"]),
                ),
                (
                    Column("mean_ns", "Host mean", "ns", "Host total divided by the number of calls.", spare=2),
                    means(sums["host_total_ns"], sums["count"]),
                ),
                (
                    Column("p50_ns", "Host median", "ns", "Median host duration, by nearest rank.", shown=False),
                    sums["p50_ns"],
                ),
                (
                    Column(
                        "p99_ns", "Host p99", "ns", "99th percentile of the host durations, by nearest rank.", spare=2
                    ),
                    sums["p99_ns"],
                ),
                (
                    Column("min_ns", "Host shortest", "ns", "The shortest call.", shown=False),
                    groups.min(calls.host_total_ns),
                ),
                (
                    Column("max_ns", "Host longest", "ns", "The longest call.", shown=False),
                    groups.max(calls.host_total_ns),
                ),
                *self._work_columns(groups),
                *([] if by == "module" else [(ELIGIBLE, groups.any(eligible))]),
                (
                    Column(
                        "matrix_ratio",
                        "TC self",
                        "ratio",
                        "Device self time of kernels whose name tells of Tensor or Matrix Cores, divided by all device "
                        "self time. A lower bound: names of generated kernels tell nothing.",
                    ),
                    [m / d if d else None for m, d in zip(matrix.tolist(), sums["device_self_ns"], strict=True)],
                ),
            ],
            first_rows(calls.rows, of, len(groups)),
            "device_self_ns" if calls.has_device else "host_self_ns",
            of,
            label[0][0].key,
        )
        return worded(made, source.is_amd)

    # -- parts ----------------------------------------------------------------------------------------

    def _total(self, key: str, label: str, shown: bool, spare: int, one: bool = False) -> Column:
        calls = self._calls
        exists = calls.has_backward if key.startswith("backward") else calls.has_device or key.startswith("host")
        about = {"host_total_ns": "Duration of the call on the host."}.get(key, _O[key]) if one else _O[key]
        return Column(key, label, "count" if key == "device_count" else "ns", about, shown and exists, spare)

    def _values(self, key: str) -> Any:
        calls = self._calls
        told = calls.has_device or (not key.endswith(("device_ns", "device_count")) and not key.startswith("device"))
        if key.startswith("backward"):
            told = told and calls.has_backward
        values = getattr(calls, key)
        return known(values, np.full(len(values), told))

    def _work_columns(self, groups: Groups) -> list[tuple[Column, Any]]:
        """FLOPs and bytes of products and convolutions, and what these come to in the time of their calls."""
        calls = self._calls
        flops, size, least = self._work
        counted = np.isfinite(flops)
        took = np.where(counted, calls.device_total_ns if calls.has_device else calls.host_total_ns, 0)
        some = groups.any(counted)
        total = {
            name: np.where(some, groups.sum(np.nan_to_num(values)), np.nan)
            for name, values in (("flops", flops), ("bytes", size), ("least", least), ("ns", took.astype(float)))
        }
        roofed = np.where(groups.any(np.isfinite(least)), total["least"], np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            rate, of_roof = total["flops"] / total["ns"] * 1e9, roofed / total["ns"]
        where = "device total" if calls.has_device else "host total"
        return [
            (FLOPS, total["flops"]),
            (BYTES, total["bytes"]),
            (replace(FLOP_PER_S, about=f"FLOPs divided by the {where} of the calls that they are of."), _finite(rate)),
            (INTENSITY, total["flops"] / total["bytes"]),
            (OF_ROOF, _finite(of_roof)),
        ]

    @cached_property
    def _work(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """FLOPs, bytes and the least time in ns that the device's ceilings allow, of each call; NaN where not known."""
        code, works = operator_work(self._source.events, self._calls.rows)
        roof = self._source.ceilings
        rows = [
            (np.nan, np.nan, np.nan)
            if work is None
            else (
                work.flops,
                work.bytes,
                np.nan
                if roof is None
                else 1e9
                * max(
                    work.flops / roof.flop_per_s[roof.precision(work.type, True, work.tf32)],
                    work.bytes / roof.bytes_per_s,
                ),
            )
            for work in works
        ]
        table = np.array(rows, float).reshape(-1, 3)[code]
        return table[:, 0], table[:, 1], table[:, 2]

    @cached_property
    def _eligible(self) -> np.ndarray:
        """By name: may it run on matrix units?"""
        return np.array([is_matrix_operator(name) for name in self._source.events.names], dtype=bool)

    @cached_property
    def _matrix_ns(self) -> np.ndarray:
        """Device self time of each call on matrix units."""
        source, calls = self._source, self._calls
        out = np.zeros(len(calls.rows), np.int64)
        runs = source.runs
        at = calls.of_run[source.position_of_run(runs.rows)]
        hit = runs.matrix & (at != NONE)
        np.add.at(out, at[hit], runs.dur_ns[hit])
        return out

    @cached_property
    def _shapes(self) -> tuple[np.ndarray, list[tuple[str | None, str | None]]]:
        code, found = input_shapes(self._source.events, self._calls.rows)
        return code, [(_text(shapes), _text(types)) for shapes, types in found]

    @cached_property
    def _stacks(self) -> tuple[np.ndarray, list[str]]:
        """The number of the stack of each call, ``NONE`` without one; equal stacks have one number."""
        code, stacks = call_stacks(self._source.events, self._calls.rows)
        distinct: dict[str, int] = {}
        number = [distinct.setdefault(_FRAMES.join(reversed(stack)), len(distinct)) for stack in stacks]
        return np.array([*number, NONE], np.int64)[code], list(distinct)


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, np.nan)


def _text(json: bytes) -> str | None:
    """A JSON list of a record as a text, without the quotes around types."""
    return json.decode("utf-8", "replace").replace('"', "").replace(",", ", ").replace(",  ", ", ") if json else None
