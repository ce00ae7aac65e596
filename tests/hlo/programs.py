"""Builds small HloProtos for tests: the wire format of xla/service/hlo.proto, by hand."""

from __future__ import annotations

from collections.abc import Sequence

from tests.importers.xspace import member, varint

TYPES = {"pred": 1, "s32": 4, "f16": 10, "f32": 11, "bf16": 16, "token": 17}


def packed(number: int, values: Sequence[int]) -> bytes:
    """Repeated numbers as one range; nothing where there are none."""
    return member(number, b"".join(varint(v) for v in values))


def message(number: int, content: bytes) -> bytes:
    """A message that is there even if it is empty."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def shape(text: str) -> bytes:
    """A ShapeProto from ``f32[64,128]``; ``(f32[2], s32[])`` is a tuple."""
    if text.startswith("("):
        parts = text[1:-1].split(", ")
        return member(2, 13) + b"".join(message(4, shape(part)) for part in parts)
    name, _, sizes = text.rstrip("]").partition("[")
    dimensions = [int(size) for size in sizes.split(",") if size]
    layout = packed(1, range(len(dimensions) - 1, -1, -1))
    return member(2, TYPES[name]) + packed(3, dimensions) + message(5, layout)


def instruction(
    id: int,
    name: str,
    opcode: str,
    of: str,
    operands: Sequence[int] = (),
    called: Sequence[int] = (),
    op_name: str = "",
    op_type: str = "",
    source: tuple[str, int] | None = None,
    extra: bytes = b"",
) -> bytes:
    """An HloInstructionProto; ``extra`` are further fields of it."""
    metadata = member(1, op_type) + member(2, op_name)
    if source:
        metadata += member(3, source[0]) + member(4, source[1])
    return (
        member(1, name)
        + member(2, opcode)
        + message(3, shape(of))
        + member(7, metadata)
        + member(35, id)
        + packed(36, operands)
        + packed(38, called)
        + extra
    )


def fusion(
    id: int, name: str, of: str, operands: Sequence[int], called: int, kind: str = "kLoop", **more: str
) -> bytes:
    return instruction(id, name, "fusion", of, operands, [called], extra=member(11, kind), **more)


def parameter(id: int, name: str, of: str, number: int) -> bytes:
    return instruction(id, name, "parameter", of, extra=member(9, number))


def dot(id: int, name: str, of: str, lhs: int, rhs: int, contracting: int = 1, **more: str) -> bytes:
    numbers = packed(1, [contracting]) + packed(2, [0])
    return instruction(id, name, "dot", of, [lhs, rhs], extra=message(30, numbers), **more)


def computation(id: int, name: str, *instructions: bytes, root: int, is_fusion: bool = False) -> bytes:
    body = b"".join(message(2, each) for each in instructions)
    return member(1, name) + body + member(5, id) + member(6, root) + member(7, int(is_fusion))


def program(name: str, *computations: bytes, entry: int, schedule: dict[int, Sequence[int]] | None = None) -> bytes:
    """An HloProto. ``schedule`` has the ids of instructions in the order of execution, by computation."""
    body = member(1, name) + member(6, entry) + b"".join(message(3, each) for each in computations)
    if schedule:
        entries = (message(1, member(1, key) + message(2, packed(1, ids))) for key, ids in schedule.items())
        body += message(7, b"".join(entries))
    return message(1, body)


def dense_layer() -> bytes:
    """``relu(x @ w + b)`` for x of 64 x 128 and w of 128 x 256: a product and a fusion of the rest.

    The product has 2 * 64 * 256 * 128 FLOPs, the fusion 2 * 64 * 256 (an addition and a maximum).
    """
    fused = computation(
        1,
        "fused_computation",
        parameter(11, "p0", "f32[64,256]", 0),
        parameter(12, "p1", "f32[256]", 1),
        instruction(13, "bias", "broadcast", "f32[64,256]", [12], op_name="model/dense/BiasAdd"),
        instruction(14, "sum", "add", "f32[64,256]", [11, 13], op_name="model/dense/BiasAdd"),
        instruction(15, "zero", "constant", "f32[]"),
        instruction(16, "zeros", "broadcast", "f32[64,256]", [15]),
        instruction(17, "relu", "maximum", "f32[64,256]", [14, 16], op_name="model/dense/Relu", op_type="Relu"),
        root=17,
        is_fusion=True,
    )
    entry = computation(
        2,
        "main",
        parameter(21, "x", "f32[64,128]", 0),
        parameter(22, "w", "f32[128,256]", 1),
        parameter(23, "b", "f32[256]", 2),
        dot(24, "dot.1", "f32[64,256]", 21, 22, op_name="model/dense/MatMul", op_type="MatMul", source=("m.py", 7)),
        fusion(25, "add_maximum_fusion", "f32[64,256]", [24, 23], 1, op_name="model/dense/Relu", op_type="Relu"),
        root=25,
    )
    return program("jit_step", fused, entry, entry=2, schedule={2: [21, 22, 23, 24, 25]})
