"""A run whose profiler recorded a program that XLA compiled, with its buffers."""

from __future__ import annotations

from pathlib import Path

from tests.hlo.assignments import allocation, buffer, with_assignment
from tests.hlo.programs import dense_layer
from tests.importers.xspace import PlaneBuilder, xspace

PROGRAM = 7
DOT_BYTES = OUT_BYTES = 64 * 256 * 4
X_BYTES, W_BYTES, B_BYTES = 64 * 128 * 4, 128 * 256 * 4, 256 * 4


def dense_program() -> bytes:
    """``dense_layer`` with its buffers: the product is temporary, in an allocation that is 64 bytes larger."""
    return with_assignment(
        dense_layer(),
        *(buffer(i + 1, size, 21 + i) for i, size in enumerate((X_BYTES, W_BYTES, B_BYTES, DOT_BYTES, OUT_BYTES))),
        allocation(0, X_BYTES, (1, 0, X_BYTES), parameter=0),
        allocation(1, W_BYTES, (2, 0, W_BYTES), parameter=1),
        allocation(2, B_BYTES, (3, 0, B_BYTES), parameter=2),
        allocation(3, OUT_BYTES, (5, 0, OUT_BYTES), output=1),
        allocation(4, DOT_BYTES + 64, (4, 0, DOT_BYTES)),
    )


def write_dense_run(folder: Path, program: bytes | None = None) -> None:
    """Two executions on the host: the product takes 30 us, the fusion 10. ``program``: another one than the whole."""
    host = PlaneBuilder("/host:CPU").line(1, "tf_XLAEigen/1", 10**18)
    for at in (0, 100_000_000):
        for name, start, length in (("dot.1", 0, 30_000_000), ("add_maximum_fusion", 30_000_000, 10_000_000)):
            host.event(name, at + start, length, hlo_op=name, hlo_module="jit_step", program_id=PROGRAM)
    metadata = PlaneBuilder("/host:metadata").program(PROGRAM, f"jit_step({PROGRAM})", program or dense_program())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "host.xplane.pb").write_bytes(xspace(host, metadata, hostname="host"))
