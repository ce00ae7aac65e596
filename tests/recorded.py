"""Builds recorded runs for tests, as a training process with stepscope would leave them.

>>> run = RecordedRun(tmp_path / "exp1").step(0, 0, 100, input_wait=(0, 40), forward=(40, 50))
>>> run.flush().window(TraceBuilder().step(1, 100, 100)).end()

Times are in microseconds counted from ``tests.builders.T0_NS``, where the traces of ``TraceBuilder`` count
theirs. Nothing reaches the files before ``flush``.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stepscope.runs import open_run
from stepscope.schema import LIVE_SCHEMA, MONITOR_SCHEMA, NONE, Kind, Window
from stepscope.store import RunFolder, StreamWriter, write_window
from tests.builders import T0_NS, TraceBuilder
from tests.until import wait_until


class RecordedRun:
    """One worker of a run. Methods return the builder, so calls chain."""

    def __init__(
        self,
        path: Path,
        rank: int | None = 0,
        pid: int = 4117,
        host: str = "node1",
        framework: str = "pytorch",
        started_us: int | None = 0,
        **meta: Any,
    ) -> None:
        self.path = path
        self.pid = pid
        self.folder = RunFolder(path).create_worker(rank, host, pid)
        self.meta: dict[str, Any] = {
            "rank": rank,
            "world_size": None,
            "host": host,
            "pid": pid,
            "framework": framework,
            "threads": {str(pid): "MainThread"},
            "started_ns": None if started_us is None else T0_NS + started_us * 1000,
            "ended_ns": None,
            "notes": [],
            **meta,
        }
        self._rows: list[dict[str, Any]] = []
        self._live: StreamWriter | None = None
        self._monitor: StreamWriter | None = None
        self.folder.write_meta(self.meta)

    def span(
        self,
        kind: Kind,
        name: str,
        ts_us: int,
        dur_us: int,
        step: int = NONE,
        tid: int | None = None,
        args: dict | None = None,
    ) -> RecordedRun:
        row = {
            "kind": int(kind),
            "name": name,
            "ts_ns": T0_NS + ts_us * 1000,
            "dur_ns": dur_us * 1000,
            "step": step,
            "tid": self.pid if tid is None else tid,
            "args": None if args is None else json.dumps(args),
        }
        self._rows.append(row)
        return self

    def step(self, number: int, ts_us: int, dur_us: int, **phases: tuple[int, int]) -> RecordedRun:
        """A step and its phases, each as (start, duration); written in the order in which hooks end them."""
        for name, (start, dur) in phases.items():
            self.span(Kind.PHASE, name, start, dur, number)
        return self.span(Kind.STEP, "step", ts_us, dur_us, number)

    def flush(self) -> RecordedRun:
        """Write the spans so far as one batch."""
        if self._live is None:
            self._live = StreamWriter(self.folder.live_path(), LIVE_SCHEMA)
        self._live.append({name: [row[name] for row in self._rows] for name in LIVE_SCHEMA.names})
        self._rows.clear()
        return self

    def sample(self, ts_us: int, values: dict[tuple[str, int], float]) -> RecordedRun:
        """One sample of the resource monitor: (metric, index) to value."""
        if self._monitor is None:
            self._monitor = StreamWriter(self.folder.monitor_path(), MONITOR_SCHEMA)
        metrics: Sequence[tuple[str, int]] = list(values)
        self._monitor.append(
            {
                "ts_ns": [T0_NS + ts_us * 1000] * len(metrics),
                "metric": [metric for metric, _ in metrics],
                "index": [index for _, index in metrics],
                "value": list(values.values()),
            }
        )
        return self

    def alive(self) -> RecordedRun:
        """It goes on writing, however long the test takes: a job counts as live for 10 s after it last wrote. What it
        really writes then is no news to a listing, which goes by times."""
        later = time.time() + 3600
        os.utime(self.folder.path / "worker.json", (later, later))
        return self

    def window(self, trace: TraceBuilder | Window) -> RecordedRun:
        """A finished deep window."""
        write_window(self.folder.new_window(), trace if isinstance(trace, Window) else trace.window())
        return self

    def end(self, at_us: int = 1_000_000) -> RecordedRun:
        """Flush, and say that the job ended."""
        self.flush()
        self.meta["ended_ns"] = T0_NS + at_us * 1000
        self.folder.write_meta(self.meta)
        return self


def wait_for_samples(run: Path) -> None:
    """Until the monitor of the only worker has written: its process starts late on a busy machine, and is not waited
    for when the recording ends."""
    (worker,) = open_run(run).workers
    wait_until(lambda: worker.monitor() is not None)
