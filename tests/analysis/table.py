"""Event tables for tests, row by row, in ns: what the analyses read, without an importer in between."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from stepscope.schema import NONE, Events, Kind, Lane

_COLUMNS = (
    "ts_ns",
    "dur_ns",
    "lane",
    "name",
    "kind",
    "correlation",
    "external_id",
    "device",
    "stream",
    "bytes",
    "step",
)


class Table:
    """Rows of host threads and device streams. Methods return the table, so calls chain."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, ...]] = []
        self.names: dict[str, int] = {}
        self.lanes: dict[tuple, int] = {}
        self.args: dict[int, str] = {}

    def host(
        self,
        kind: Kind,
        name: str,
        ts: int,
        dur: int,
        tid: int = 1,
        correlation: int = NONE,
        external_id: int = NONE,
        step: int = NONE,
    ) -> Table:
        lane = self._lane(("thread", tid, NONE, NONE))
        return self._add(kind, name, ts, dur, lane, correlation, external_id, NONE, NONE, NONE, step)

    def device(
        self,
        kind: Kind,
        name: str,
        ts: int,
        dur: int,
        stream: int = 7,
        device: int = 0,
        correlation: int = NONE,
        external_id: int = NONE,
        size: int = NONE,
    ) -> Table:
        lane = self._lane(("stream", stream, device, stream))
        return self._add(kind, name, ts, dur, lane, correlation, external_id, device, stream, size, NONE)

    def step(self, number: int, ts: int, dur: int, tid: int = 1) -> Table:
        return self.host(Kind.STEP, f"ProfilerStep#{number}", ts, dur, tid, step=number)

    def op(self, name: str, ts: int, dur: int, tid: int = 1, external_id: int = NONE) -> Table:
        return self.host(Kind.OP, name, ts, dur, tid, external_id=external_id)

    def launch(self, ts: int, dur: int, correlation: int, tid: int = 1, name: str = "cudaLaunchKernel") -> Table:
        return self.host(Kind.LAUNCH, name, ts, dur, tid, correlation)

    def phase(self, name: str, ts: int, dur: int, tid: int = 1) -> Table:
        return self.host(Kind.PHASE, name, ts, dur, tid)

    def kernel(self, name: str, ts: int, dur: int, correlation: int = NONE, **more: int) -> Table:
        return self.device(Kind.KERNEL, name, ts, dur, correlation=correlation, **more)

    def told(self, **args: Any) -> Table:
        """Give the last row these args."""
        self.args[len(self.rows) - 1] = json.dumps(args)
        return self

    def events(self) -> Events:
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(_COLUMNS)
        arrays: dict[str, Any] = {c: np.array(v, dtype=np.int64) for c, v in zip(_COLUMNS, columns, strict=True)}
        lanes = [
            Lane(type, f"{type} {tid}", "1", str(tid), "", device, stream) for type, tid, device, stream in self.lanes
        ]
        texts = list(dict.fromkeys(self.args.values()))
        arrays["args"] = np.array(
            [texts.index(self.args[i]) if i in self.args else NONE for i in range(len(self.rows))], dtype=np.int64
        )
        return Events.from_columns(arrays, list(self.names), lanes, texts)

    def _lane(self, key: tuple) -> int:
        return self.lanes.setdefault(key, len(self.lanes))

    def _add(self, kind: Kind, name: str, ts: int, dur: int, lane: int, *rest: int) -> Table:
        self.rows.append((ts, dur, lane, self.names.setdefault(name, len(self.names)), int(kind), *rest))
        return self
