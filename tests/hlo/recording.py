"""A recording of two programs of XLA on a CPU, for tests: an XSpace as TensorFlow and JAX write it."""

from __future__ import annotations

from tests.hlo.programs import computation, dense_layer, instruction, parameter, program
from tests.importers.xspace import PlaneBuilder


def loop() -> bytes:
    """A loop whose body adds."""
    body = computation(
        1, "body", parameter(11, "p", "f32[8]", 0), instruction(12, "add.1", "add", "f32[8]", [11, 11]), root=12
    )
    entry = computation(
        2, "main", parameter(21, "x", "f32[8]", 0), instruction(22, "while.1", "while", "f32[8]", [21], [1]), root=22
    )
    return program("jit_loop", body, entry, entry=2)


def cpu_planes() -> tuple[PlaneBuilder, PlaneBuilder]:
    """A dense layer of a product and a fusion, executed twice, in 20 + 10 and 30 + 10 us; a loop of 10 us with two
    additions of 2 us; and 4 us of what is in no program.
    """
    host = PlaneBuilder("/host:CPU").line(1, "tf_XLAEigen", 10**18)
    dense = {"hlo_module": "jit_step", "program_id": 7}
    for i, took in enumerate((20, 30)):
        at = 100_000_000 * i
        host.event("dot.1", at, took * 1_000_000, hlo_op="dot.1", **dense)
        host.event("f", at + 50_000_000, 10_000_000, hlo_op="add_maximum_fusion", **dense)
    looped = {"hlo_module": "jit_loop", "program_id": 8}
    host.event("while.1", 300_000_000, 10_000_000, hlo_op="while.1", **looped)
    for at in (301_000_000, 304_000_000):
        host.event("add.1", at, 2_000_000, hlo_op="add.1", **looped)
    host.event("lost", 400_000_000, 4_000_000, hlo_op="lost", hlo_module="jit_lost", program_id=9)
    return host, PlaneBuilder("/host:metadata").program(1, "jit_step(7)", dense_layer()).program(
        2, "jit_loop(8)", loop()
    )
