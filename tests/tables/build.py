"""Tables of small traces for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stepscope.runs import open_run
from stepscope.schema import Window
from stepscope.tables import Tables
from stepscope.tables.query import Query
from stepscope.timeline import Timeline
from stepscope.workers import Worker
from tests.builders import TraceBuilder
from tests.recorded import RecordedRun


def worker_of(path: Path, source: TraceBuilder | Window | None) -> Worker:
    """A run with one deep window, or none, and nothing else."""
    run = RecordedRun(path / "run", started_us=0)
    if source is not None:
        run.window(source)
    return open_run(run.path).workers[0]


def tables_of(path: Path, source: TraceBuilder | Window | None) -> Tables:
    return Tables(Timeline(worker_of(path, source)))


def rows_of(tables: Tables, name: str, by: str) -> list[dict[str, Any]]:
    """The rows as dictionaries, in the order in which they are shown by default."""
    order = tables.order(name, by, Query())
    return tables.frame(name, by).data.take(order.all()).to_pylist()


def training() -> TraceBuilder:
    """Two steps; in each a module of two layers, a copy, four launches, and kernels on two streams.

    The second step takes longer: its matrix product runs 40 us instead of 20.
    """
    trace = TraceBuilder()
    for i in range(2):
        at, gemm = i * 1000, 20 * (i + 1)
        trace.step(i, at, 900).annotation("augment", at + 5, 10)
        trace.python("train.py(3): step", at + 20, 500).python("nn.Module: Net_0", at + 30, 400)
        for k, layer in enumerate(("Linear_0", "Linear_1")):
            start = at + 40 + 150 * k
            trace.python(f"nn.Module: {layer}", start, 100)
            shapes = {"Input Dims": [[8, 4 + k], [4]], "Input type": ["float", "float"]}
            trace.op("aten::mm", start + 10, 60, external_id=10 * i + k + 1, **shapes)
            trace.launch(start + 20, 5, 100 * i + k + 1, external_id=10 * i + k + 1)
            shape = {"grid": [108 * (k + 1), 1, 1], "block": [64, 1, 1]}
            resources = {"registers per thread": 64, "shared memory": 2048, "est. achieved occupancy %": 50}
            trace.kernel("hmma_gemm", start + 40, gemm, 7, 100 * i + k + 1, **shape, **resources)
        trace.launch(at + 340, 5, 100 * i + 3).kernel("relu", at + 400, 10, 9, 100 * i + 3)
        trace.launch(at + 500, 4, 100 * i + 4, "cudaMemcpyAsync").memcpy("HtoD", at + 520, 20, 4096, 7, 100 * i + 4)
    return trace.launch(1950, 5, 999)  # its record was lost
