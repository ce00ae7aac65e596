"""One XPlane file with all that is of inference, of several slices of TPUs and of hardware counters, for the pages
that show them."""

from __future__ import annotations

from tests.hlo.programs import computation, instruction, program
from tests.importers.xspace import PlaneBuilder, member, xspace

_MS = 1_000_000_000  # in ps
_START_NS = 1_771_595_639_000_000_000


def panels(mark: str = "") -> bytes:
    """``mark`` becomes part of each name that a file can give."""
    return xspace(*_served(mark), *_slices(mark), PlaneBuilder("Task Environment", profile_start_time=_START_NS))


def _served(mark: str) -> tuple[PlaneBuilder, PlaneBuilder]:
    """Two requests that one batch serves with a kernel, and samples of two hardware counters."""
    host = PlaneBuilder("/host:CPU")
    for k in range(2):
        host.line(k + 1, f"client {mark}").event("request", 0, 100 * _MS, request_id=k, model_id=mark or "model")
        host.event("ScheduleOutputTask", 10 * (k + 1) * _MS, _MS, size=3, _pt=3, _p=70)
    host.line(9, "batch_threads").event("ProcessBatch", 40 * _MS, 50 * _MS, batch_size_before_padding=6, _ct=3, _c=70)
    host.event("ConcatInputTensors", 41 * _MS, _MS, batch_size_after_padding=8, padding_amount=2)
    host.event("cuLaunchKernel", 43 * _MS, _MS, correlation_id=1)
    device = PlaneBuilder("/device:GPU:0").line(13, "Stream #13(Compute)")
    device.event(f"sgemm{mark}", 50 * _MS, 20 * _MS, correlation_id=1).line(14, "_counters_", _START_NS)
    for value in (20.0, 60.0):
        device.event(f"Active (%) {mark}", 0, 0, **{"sm__cycles_active.avg.pct_of_peak_sustained_elapsed": value})
        device.event("Bytes", 0, 0, **{f"dram__bytes.sum{mark}": value, "performance_counter_description": f"d{mark}"})
    return host, device


def _slices(mark: str) -> tuple[PlaneBuilder, PlaneBuilder]:
    """A core that sends to and receives from another slice."""
    told = {"_xla_host_transfer_rendezvous": mark or "ring", "_xla_megascale_transfer_type": "ALL_REDUCE"}
    frontend = member(68, b"".join(member(1, member(1, key) + member(2, value)) for key, value in told.items()))
    core = PlaneBuilder("/device:TPU:0").line(1, "XLA Modules").event("jit_step(77)", 0, 100 * _MS).line(2, "XLA Ops")
    instructions = []
    for i, opcode in enumerate(("send", "send-done", "recv", "recv-done")):
        begins = opcode in ("send", "recv")
        extra = member(26, i // 2 + 1) + (frontend if begins else b"")
        instructions.append(instruction(10 + i, f"{opcode}.1", opcode, "f32[256]", extra=extra))
        text = f"%{opcode}.1 = f32[256] {opcode}()"
        core.about(text, hlo_category=f"host {opcode}").event(text, (10 + 20 * i) * _MS, 5 * _MS)
    compiled = program("jit_step", computation(1, "main", *instructions, root=10), entry=1)
    return core, PlaneBuilder("/host:metadata").program(5, "jit_step(77)", compiled)
