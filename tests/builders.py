"""Builds small Kineto traces for tests: one call an event, microseconds in, exact text out.

>>> trace = TraceBuilder().step(5, 0, 100).launch(0, 5, correlation=101)
>>> window = trace.kernel("sgemm", 10, 80, correlation=101).window()

Every ``ts_us`` and ``dur_us`` is in microseconds counted from ``T0_NS`` (int, decimal text, or float
such as 20.001); an event at ``ts_us`` is read back at ``T0_NS + ts_us * 1000`` Unix ns.
"""

from __future__ import annotations

import gzip as gzip_module
import json
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

from stepscope.schema import Window

#: ``baseTimeNanoseconds`` of the traces, and the trace's own time (us) at which tests count 0.
BASE_NS = 1_751_410_836_000_000_000
ORIGIN_US = 4_458_676_500_000
#: Unix ns of ``ts_us`` = 0.
T0_NS = BASE_NS + ORIGIN_US * 1000

Us = int | float | str | Decimal


def us(value: Us) -> Decimal:
    """A time in us as an exact decimal (a float by its shortest text)."""
    return value if isinstance(value, Decimal) else Decimal(str(value))


class TraceBuilder:
    """One process with host threads and device streams. Methods return the builder, so calls chain.

    Args:
        rank, world_size: written as ``distributedInfo`` when given.
        devices: number of GPUs in ``deviceProperties``.
        pid, tid: the host process, and the thread that calls use unless they name another.
        base_ns: ``baseTimeNanoseconds``; None leaves it out and writes absolute Unix us instead.
    """

    def __init__(
        self,
        rank: int | None = None,
        world_size: int | None = None,
        devices: int = 1,
        pid: int = 4117,
        tid: int = 4117,
        base_ns: int | None = BASE_NS,
    ) -> None:
        self.pid = pid
        self.tid = tid
        self.base_ns = base_ns
        self.origin_us = Decimal(ORIGIN_US) if base_ns is not None else Decimal(T0_NS) / 1000
        self.events: list[dict[str, Any]] = []
        self.header: dict[str, Any] = {
            "schemaVersion": 1,
            "deviceProperties": [
                {"id": i, "name": "NVIDIA A100-SXM4-40GB", "totalGlobalMem": 42297786368, "numSms": 108}
                for i in range(devices)
            ],
        }
        if base_ns is not None:
            self.header["baseTimeNanoseconds"] = base_ns
        if rank is not None:
            self.header["distributedInfo"] = {"backend": "nccl", "rank": rank}
            if world_size is not None:
                self.header["distributedInfo"]["world_size"] = world_size

    # Host events

    def step(self, number: int | str, ts_us: Us, dur_us: Us, tid: int | None = None) -> TraceBuilder:
        """The marker ``ProfilerStep#number``."""
        return self.annotation(f"ProfilerStep#{number}", ts_us, dur_us, tid)

    def annotation(self, name: str, ts_us: Us, dur_us: Us, tid: int | None = None, **args: Any) -> TraceBuilder:
        return self._host("user_annotation", name, ts_us, dur_us, tid, args)

    def op(
        self, name: str, ts_us: Us, dur_us: Us, tid: int | None = None, external_id: int | None = None, **args: Any
    ) -> TraceBuilder:
        return self._host("cpu_op", name, ts_us, dur_us, tid, _some({"External id": external_id}) | args)

    def python(self, name: str, ts_us: Us, dur_us: Us, tid: int | None = None, **args: Any) -> TraceBuilder:
        """A Python frame; ``nn.Module: X`` is a module."""
        return self._host("python_function", name, ts_us, dur_us, tid, args)

    def dataloader(self, ts_us: Us, dur_us: Us, tid: int | None = None) -> TraceBuilder:
        name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
        return self._host("user_annotation", name, ts_us, dur_us, tid, {})

    def launch(
        self,
        ts_us: Us,
        dur_us: Us,
        correlation: int,
        name: str = "cudaLaunchKernel",
        tid: int | None = None,
        external_id: int | None = None,
        cat: str = "cuda_runtime",
    ) -> TraceBuilder:
        """A runtime call that puts work on a stream; ``correlation`` joins it to its runs."""
        args = _some({"External id": external_id, "cbid": 211, "correlation": correlation})
        return self._host(cat, name, ts_us, dur_us, tid, args)

    def runtime(self, name: str, ts_us: Us, dur_us: Us, tid: int | None = None, **args: Any) -> TraceBuilder:
        """Any other runtime call, such as cudaDeviceSynchronize or cudaMalloc."""
        return self._host("cuda_runtime", name, ts_us, dur_us, tid, args)

    def memory(
        self,
        ts_us: Us,
        bytes: int,
        device: int | None = None,
        total: int | None = None,
        tid: int | None = None,
        address: int | None = None,
    ) -> TraceBuilder:
        """An allocation (``bytes`` > 0) or a free (< 0); ``device`` None is the host."""
        args: dict[str, Any] = {
            "Device Type": 0 if device is None else 1,
            "Device Id": -1 if device is None else device,
            "Bytes": bytes,
        }
        args |= _some({"Total Allocated": total, "Addr": address})
        return self.event(
            {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]"} | self._where(tid), ts_us, None, args
        )

    # Device events

    def kernel(
        self,
        name: str,
        ts_us: Us,
        dur_us: Us,
        stream: int = 7,
        correlation: int | None = None,
        device: int = 0,
        external_id: int | None = None,
        **args: Any,
    ) -> TraceBuilder:
        """A kernel run. Arguments such as grid=[1, 1, 1] or **{"Collective name": "allreduce"} are kept."""
        return self._device("kernel", name, ts_us, dur_us, stream, correlation, device, external_id, args)

    def device_range(self, name: str, ts_us: Us, dur_us: Us, device: int = 0, **metrics: float) -> TraceBuilder:
        """What Kineto's range profiler writes of one kernel: hardware counters, on a lane that is no stream's."""
        where = {"pid": device, "tid": 0}
        return self.event({"ph": "X", "cat": "cuda_profiler_range", "name": name} | where, ts_us, dur_us, metrics)

    def memcpy(
        self,
        direction: str,
        ts_us: Us,
        dur_us: Us,
        bytes: int | None = None,
        stream: int = 7,
        correlation: int | None = None,
        device: int = 0,
        external_id: int | None = None,
    ) -> TraceBuilder:
        """A copy, ``direction`` is HtoD, DtoH, DtoD or PtoP."""
        words = {"H": "Pinned", "D": "Device", "P": "Peer"}
        name = f"Memcpy {direction} ({words[direction[0]]} -> {words[direction[-1]]})"
        args = _some({"bytes": bytes})
        return self._device("gpu_memcpy", name, ts_us, dur_us, stream, correlation, device, external_id, args)

    def memset(
        self,
        ts_us: Us,
        dur_us: Us,
        bytes: int | None = None,
        stream: int = 7,
        correlation: int | None = None,
        device: int = 0,
    ) -> TraceBuilder:
        args = _some({"bytes": bytes})
        return self._device("gpu_memset", "Memset (Device)", ts_us, dur_us, stream, correlation, device, None, args)

    def gpu_annotation(
        self, name: str, ts_us: Us, dur_us: Us, stream: int = 7, device: int = 0, external_id: int | None = None
    ) -> TraceBuilder:
        """A host annotation projected on a stream."""
        return self.event(
            {"ph": "X", "cat": "gpu_user_annotation", "name": name, "pid": device, "tid": stream},
            ts_us,
            dur_us,
            _some({"External id": external_id}),
        )

    def sync_record(
        self, name: str, ts_us: Us, dur_us: Us, stream: int = 7, device: int = 0, correlation: int | None = None
    ) -> TraceBuilder:
        """A ``cuda_sync`` record on a device lane: "Event Sync", "Stream Wait Event", ..."""
        args = {"cuda_sync_kind": name}
        return self._device("cuda_sync", name, ts_us, dur_us, stream, correlation, device, None, args)

    # Anything else

    def event(
        self, fields: dict[str, Any], ts_us: Us | None = None, dur_us: Us | None = None, args: dict | None = None
    ) -> TraceBuilder:
        """An event with fields of your own; ``ts_us`` is moved to the trace's own time."""
        event = dict(fields)
        if ts_us is not None:
            event["ts"] = self.origin_us + us(ts_us)
        if dur_us is not None:
            event["dur"] = us(dur_us)
        if args:
            event["args"] = args
        self.events.append(event)
        return self

    def text(self) -> str:
        """The trace as JSON, one event a line."""
        lines = [_object(e) for e in [*self.events, *self._metadata()]]
        header = "".join(f"  {json.dumps(k)}: {json.dumps(v)},\n" for k, v in self.header.items())
        return "{\n" + header + '  "traceEvents": [\n    ' + ",\n    ".join(lines) + "\n  ]\n}\n"

    def json(self) -> bytes:
        return self.text().encode()

    def write(self, path: str | Path, gzip: bool = False) -> Path:
        """Write the trace; ``gzip`` decides what the bytes are, whatever the name says."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip_module.compress(self.json()) if gzip else self.json())
        return path

    def window(self) -> Window:
        """The trace read back through the importer."""
        from stepscope.importers import import_file

        with tempfile.TemporaryDirectory() as folder:
            return import_file(self.write(Path(folder) / "built.pt.trace.json"))

    def _where(self, tid: int | None) -> dict[str, Any]:
        return {"pid": self.pid, "tid": self.tid if tid is None else tid}

    def _host(self, cat: str, name: str, ts_us: Us, dur_us: Us, tid: int | None, args: dict) -> TraceBuilder:
        return self.event({"ph": "X", "cat": cat, "name": name} | self._where(tid), ts_us, dur_us, args)

    def _device(
        self,
        cat: str,
        name: str,
        ts_us: Us,
        dur_us: Us,
        stream: int,
        correlation: int | None,
        device: int,
        external_id: int | None,
        more: dict,
    ) -> TraceBuilder:
        args = {"External id": external_id, "device": device, "stream": stream, "correlation": correlation}
        where = {"pid": device, "tid": stream}
        return self.event({"ph": "X", "cat": cat, "name": name} | where, ts_us, dur_us, _some(args) | more)

    def _metadata(self) -> list[dict[str, Any]]:
        """Process and thread names of the lanes that occur, as Kineto writes them."""
        lanes = {(e.get("pid"), e.get("tid")): "stream" in (e.get("args") or ()) for e in self.events}
        out: list[dict[str, Any]] = []
        for pid in dict.fromkeys(pid for pid, _ in lanes):
            label = "CPU" if pid == self.pid else f"GPU {pid}"
            out.append({"name": "process_name", "ph": "M", "pid": pid, "tid": 0, "args": {"name": "python3"}})
            out.append({"name": "process_labels", "ph": "M", "pid": pid, "tid": 0, "args": {"labels": label}})
        for (pid, tid), on_device in lanes.items():
            name = f"stream {tid} " if on_device else f"thread {tid} (python3)"
            out.append({"name": "thread_name", "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}})
        return out


def _some(args: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in args.items() if v is not None}


def _object(fields: dict[str, Any]) -> str:
    """JSON of one event; decimals as plain text, so that no float touches a time."""
    parts = (
        f"{json.dumps(k)}: {format(v, 'f') if isinstance(v, Decimal) else json.dumps(v)}" for k, v in fields.items()
    )
    return "{" + ", ".join(parts) + "}"
