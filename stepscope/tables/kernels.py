"""The table of kernels: every run, or runs by name, launch configuration, stream, operator or module."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from stepscope.analysis.arguments import KernelArgs, decode
from stepscope.analysis.groups import Groups
from stepscope.analysis.kernel_names import PRECISIONS
from stepscope.analysis.kernels import Kernel, kernel_sums
from stepscope.analysis.launch_config import Dim3
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
    share,
    shifted,
    spread,
    step_column,
    worded,
)
from stepscope.tables.frame import Column, Frame, first_rows, frame, known, texts
from stepscope.tables.rows import EventRows
from stepscope.tables.source import Source

_K = meanings(Kernel)
_XPLANE = re.compile(r"\b(regs|static_shared|dynamic_shared):(\d{1,12})")

NAME = Column("name", "Kernel", "text", "The device function, as the record names it.")
GRID = Column("grid", "Grid", "word", "Blocks in x, y, z, where the record or the launch call tells.")
BLOCK = Column("block", "Block", "word", "Threads of a block in x, y, z.")
KIND = Column("kind", "Kind", "word", "Communication for collectives, else compute.", shown=False)
PRECISION = Column("precision", "Precision", "word", _K["precision"])
TENSOR = Column("matrix_units", "Tensor Core", "flag", _K["matrix_units"])
BLOCKS = Column("blocks_per_sm", "Blocks/SM", "number", _K["blocks_per_sm"])
OCCUPANCY = Column("occupancy", "Occupancy", "ratio", _K["occupancy"])
CLIPPED = Column("clipped_ns", "Clipped", "ns", _K["clipped_ns"], shown=False)

_LATENCY = (
    "From the end of the launch call to the start of the run, at least 0. It holds the wait for earlier work of the "
    "same stream."
)
_WAIT = "The part of the launch latency in which earlier work of the same stream still ran, at least 0."


class KernelTable(EventRows):
    """Runs of kernels and collectives."""

    empty = "no_device"
    groupings = {
        "name": "Name",
        "config": "Name, grid and block",
        "stream": "Stream",
        "operator": "Operator",
        "module": "Module",
    }

    def __init__(self, source: Source) -> None:
        super().__init__(source, source.runs.rows)
        self._runs = source.runs

    def single(self) -> Frame:
        """One row a run."""
        source, runs = self._source, self._runs
        rows, events = runs.rows, source.events
        configs = runs.configs
        registers, shared = self._resources()
        code, streams = source.stream_of(rows)
        latency, wait = self._latencies
        at = self._position
        call = source.call_of_run[at]
        launched = np.where(call != NONE, events.ts_ns[call], events.ts_ns[rows]) if len(rows) else rows
        made = frame(
            [
                (NAME, texts(runs.name, events.names)),
                (START, source.moments(rows)),
                (Column("dur_ns", "Duration", "ns", "Duration as recorded."), runs.dur_ns),
                (
                    Column(
                        "clipped_ns",
                        "Clipped",
                        "ns",
                        "The part of the duration that no earlier run of the stream covers.",
                        shown=False,
                    ),
                    runs.clipped_ns,
                ),
                step_column(source.steps_at(launched, events.step[rows])),
                (STREAM, texts(code, streams)),
                (OPERATOR, texts(source.operator_of_run[at], events.names)),
                (MODULE, texts(source.module_of_run[at], source.module_paths)),
                (Column("latency_ns", "Launch latency", "ns", _LATENCY), known(latency)),
                (Column("queue_wait_ns", "Queue wait", "ns", _WAIT, shown=False), known(wait)),
                (GRID, texts(configs.shape, [_dim(s.grid) for s in configs.shapes])),
                (BLOCK, texts(configs.shape, [_dim(s.block) for s in configs.shapes])),
                (
                    Column("blocks_per_sm", "Blocks/SM", "number", "Grid blocks / multiprocessors."),
                    configs.blocks_per_sm,
                ),
                (
                    Column("occupancy", "Occupancy", "ratio", "Achieved occupancy, as the record estimates it."),
                    configs.occupancy,
                ),
                (Column("registers", "Registers", "count", "Registers of each thread.", shown=False), known(registers)),
                (
                    Column("shared_bytes", "Shared memory", "bytes", "Shared memory of each block.", shown=False),
                    known(shared),
                ),
                (
                    replace(PRECISION, shown=False),
                    texts(np.where(runs.communication, NONE, runs.precision), PRECISIONS),
                ),
                (replace(TENSOR, shown=False), runs.matrix),
                (KIND, texts(runs.communication.astype(np.int64), ("compute", "communication"))),
            ],
            rows,
            "dur_ns",
        )
        return worded(made, self._source.is_amd)

    def grouped(self, by: str) -> Frame:
        """One row a group."""
        source, runs = self._source, self._runs
        names, paths = source.events.names, source.module_paths
        at = self._position
        label: list[tuple[Column, Any]]
        if by in ("name", "config"):
            key = runs.name * 2 + runs.communication
            shapes = runs.configs.shapes
            width = max(len(shapes), 1) if by == "config" else 1
            groups = Groups(key * width + (runs.configs.shape if by == "config" else 0))
            label = [(NAME, texts(groups.keys // width // 2, names))]
            if by == "config":
                of_shape = groups.keys % width
                label.append((GRID, texts(of_shape, [_dim(s.grid) for s in shapes])))
                label.append((BLOCK, texts(of_shape, [_dim(s.block) for s in shapes])))
        elif by == "stream":
            code, streams = source.stream_of(runs.rows)
            groups = Groups(code)
            label = [(STREAM, texts(groups.keys, streams))]
        elif by == "operator":
            groups = Groups(shifted(source.operator_of_run[at]))
            label = [(OPERATOR, labels(groups.keys, names))]
        else:
            groups = Groups(shifted(source.module_of_run[at]))
            label = [(MODULE, labels(groups.keys, paths))]
        of = groups.of
        sums = {**kernel_sums(runs, groups), **spread(groups, runs.dur_ns)}
        is_kernel = by in ("name", "config")
        latency, wait = self._latencies
        made = frame(
            [
                *label,
                (Column("count", "Count", "count", "Runs in the deep windows."), sums["count"]),
                (Column("total_ns", "Total", "ns", _K["total_ns"]), sums["total_ns"]),
                (
                    Column(
                        "share", "Share", "share", "Total divided by the total of all kernels, collectives included."
                    ),
                    share(sums["total_ns"]),
                ),
                (CLIPPED, sums["clipped_ns"]),
                (Column("mean_ns", "Mean", "ns", _K["mean_ns"]), sums["mean_ns"]),
                (Column("min_ns", "Shortest", "ns", _K["min_ns"], shown=False), sums["min_ns"]),
                (P50, sums["p50_ns"]),
                (P99, sums["p99_ns"]),
                (Column("max_ns", "Longest", "ns", _K["max_ns"]), sums["max_ns"]),
                *(
                    [(PRECISION, texts_of(sums["precision"])), (TENSOR, sums["matrix_units"])]
                    if is_kernel
                    else [
                        (
                            Column(
                                "matrix_ratio",
                                "Tensor Core time",
                                "ratio",
                                "Time of kernels whose name tells of Tensor or Matrix Cores, divided by total.",
                            ),
                            _ratio(groups.sum(np.where(runs.matrix, runs.dur_ns, 0)), sums["total_ns"]),
                        )
                    ]
                ),
                (BLOCKS, sums["blocks_per_sm"]),
                (OCCUPANCY, sums["occupancy"]),
                *([(KIND, texts_of(sums["kind"]))] if is_kernel else []),
                (
                    Column("latency_ns", "Launch latency", "ns", f"Mean over the linked runs. {_LATENCY}", shown=False),
                    _mean_known(groups, latency),
                ),
                (
                    Column("queue_wait_ns", "Queue wait", "ns", f"Mean over the linked runs. {_WAIT}", shown=False),
                    _mean_known(groups, wait),
                ),
            ],
            first_rows(runs.rows, of, len(groups)),
            "total_ns",
            of,
            label[0][0].key,
        )
        return worded(made, self._source.is_amd)

    @cached_property
    def _position(self) -> np.ndarray:
        return self._source.position_of_run(self._runs.rows)

    @cached_property
    def _latencies(self) -> tuple[np.ndarray, np.ndarray]:
        """Launch latency and queue wait of each run, ``NONE`` where the launch is not in the trace."""
        source, events = self._source, self._source.events
        at = self._position
        call = source.call_of_run[at]
        linked = call != NONE
        latency, wait = np.full((2, len(at)), NONE, np.int64)
        start, end = events.ts_ns[self._runs.rows[linked]], events.ends_ns(call[linked])
        latency[linked] = np.maximum(start - end, 0)
        queue = source.queues.position[at[linked]]
        free = np.where(source.queues.first[queue], end, source.queues.reach_ns[queue])
        wait[linked] = np.maximum(np.minimum(start, free) - end, 0)
        return latency, wait

    def _resources(self) -> tuple[np.ndarray, np.ndarray]:
        """Registers a thread and shared memory a block, ``NONE`` where the record does not tell."""
        args, at = decode(self._source.events, self._runs.rows, KernelArgs)
        told = np.array([_resources_of(a) for a in args], np.int64).reshape(-1, 2)
        return told[at, 0], told[at, 1]


def texts_of(values: list[str | None]) -> Any:
    """A column of few distinct texts."""
    distinct = {value: i for i, value in enumerate(dict.fromkeys(v for v in values if v is not None))}
    return texts(np.array([NONE if v is None else distinct[v] for v in values], np.int64), list(distinct))


def _dim(size: Dim3 | None) -> str | None:
    return None if size is None else ", ".join(map(str, size))


def _ratio(part: np.ndarray, whole: list[int]) -> list[float | None]:
    return [p / w if w else None for p, w in zip(part.tolist(), whole, strict=True)]


def _mean_known(groups: Groups, values: np.ndarray) -> list[float | None]:
    told = values != NONE
    total, count = groups.sum(np.where(told, values, 0)), groups.sum(told.astype(np.int64))
    return [t / n if n else None for t, n in zip(total.tolist(), count.tolist(), strict=True)]


def _resources_of(args: KernelArgs) -> tuple[int, int]:
    if isinstance(args.details, str):
        told = {name: int(number) for name, number in _XPLANE.findall(args.details)}
        parts = [told[name] for name in ("static_shared", "dynamic_shared") if name in told]
        return told.get("regs", NONE), sum(parts) if parts else NONE
    return _whole(args.registers), _whole(args.shared)


def _whole(value: object) -> int:
    """A size of a record; damage may have made it anything."""
    return value if type(value) is int and 0 <= value < 1 << 40 else NONE
