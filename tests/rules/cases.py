"""Small trainings for the rules: ten steps of 1 ms, built as a trace or as a recorded run, and monitors."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from stepscope.rules import Case, Parameters, Samples, find
from stepscope.runs import open_run
from stepscope.schema import LIVE_SCHEMA, MONITOR_SCHEMA, NONE, Kind
from stepscope.store import RunFolder, StreamWriter
from stepscope.summary import analyse_worker
from tests.builders import T0_NS, TraceBuilder

STEP_US = 1000
MS = 1_000_000


def trace(body=lambda trace, at, number: None, steps: int = 10, device: str | None = None) -> TraceBuilder:
    """Steps with a kernel over 20..980 us of each, or with what ``body`` puts there."""
    built = TraceBuilder(rank=0)
    if device is not None:
        built.header["deviceProperties"][0]["name"] = device
    for number in range(steps):
        at = number * STEP_US
        built.step(number, at, STEP_US)
        body(built, at, number)
    return built


def work(built: TraceBuilder, at: int, number: int, begin: int = 20, end: int = 980, name: str = "gemm_bf16") -> None:
    """A launch 10 us before a kernel that runs from ``begin`` to ``end`` us of the step."""
    correlation = len(built.events) + 1
    built.launch(at + begin - 10, 5, correlation).kernel(name, at + begin, end - begin, correlation=correlation)


def worker_of(built: TraceBuilder):
    folder = Path(tempfile.mkdtemp())
    return open_run(built.write(folder / "rank0.pt.trace.json")).workers[0]


def case_of(built: TraceBuilder, **more: Any) -> Case:
    analysis = analyse_worker(worker_of(built))
    return Case(analysis.summary, analysis.steps, analysis.activity, analysis.phases, **more)


def found_in(case: Case) -> dict[str, Any]:
    """Findings by rule. No rule may fail."""
    result = find(case)
    assert result.failed == []
    return {finding.rule: finding for finding in result.findings}


def recorded(folder: Path, step_ms: list[int], phases: dict[str, int], **meta: Any) -> Case:
    """A run as the hook leaves it: steps of so many ms, each with phases of so many us one after the other."""
    worker = RunFolder(folder).create_worker(0, "node", 100)
    about = {"rank": 0, "world_size": 1, "host": "node", "pid": 100, "framework": "pytorch", "devices": []}
    worker.write_meta({**about, "phases": list(phases), "ended_ns": 1, **meta})
    rows, at = [], T0_NS
    for number, ms in enumerate(step_ms):
        rows.append((Kind.STEP, "step", at, ms * MS, number))
        inside = at
        for name, us in phases.items():
            rows.append((Kind.PHASE, name, inside, us * 1000, number))
            inside += us * 1000
        at += ms * MS
    kind, name, ts, dur, step = zip(*rows, strict=True)
    writer = StreamWriter(worker.live_path(), LIVE_SCHEMA)
    columns = {"kind": kind, "name": name, "ts_ns": ts, "dur_ns": dur, "step": step}
    writer.append({**columns, "tid": [1] * len(rows), "args": [None] * len(rows)})
    writer.close()
    analysis = analyse_worker(open_run(folder).workers[0])
    return Case(analysis.summary, analysis.steps, analysis.activity, analysis.phases)


def monitored(count: int = 400, limits: Parameters | None = None, **metrics: Any) -> Case:
    """A worker of which only the monitor is known. ``gpu_0=0.5`` is GPU 0; a function gives each sample."""
    rows = []
    for key, value in metrics.items():
        metric, _, index = key.rpartition("_") if key[-1].isdigit() else (key, "", NONE)
        for i in range(count):
            one = value(i) if callable(value) else value
            rows.append((T0_NS + i * 500 * MS, metric, int(index), float(one)))
    columns = list(zip(*rows, strict=True))
    table = pa.table(dict(zip(MONITOR_SCHEMA.names, columns, strict=True)), schema=MONITOR_SCHEMA)
    return Case({"worker": "w"}, samples=Samples([table]), limits=limits or Parameters())
