"""Shapes of XLA: an array of one element type, or a tuple of shapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from stepscope.protobuf_wire import LENGTH, VARINT, Fault, fields, integers, signed

#: PrimitiveType of xla_data.proto: the name in HLO text, and the bits of an element. None: no array.
_TYPES: dict[int, tuple[str, int | None]] = {
    1: ("pred", 8), 30: ("s1", 1), 26: ("s2", 2), 21: ("s4", 4), 2: ("s8", 8), 3: ("s16", 16), 4: ("s32", 32),
    5: ("s64", 64), 31: ("u1", 1), 27: ("u2", 2), 22: ("u4", 4), 6: ("u8", 8), 7: ("u16", 16), 8: ("u32", 32),
    9: ("u64", 64), 10: ("f16", 16), 11: ("f32", 32), 16: ("bf16", 16), 12: ("f64", 64), 19: ("f8e5m2", 8),
    28: ("f8e4m3", 8), 20: ("f8e4m3fn", 8), 23: ("f8e4m3b11fnuz", 8), 29: ("f8e3m4", 8), 24: ("f8e5m2fnuz", 8),
    25: ("f8e4m3fnuz", 8), 32: ("f4e2m1fn", 4), 33: ("f8e8m0fnu", 8), 15: ("c64", 64), 18: ("c128", 128),
    13: ("tuple", None), 14: ("opaque", None), 17: ("token", None), 34: ("buffer", None),
}  # fmt: skip


#: No memory holds as many.
_MOST_ELEMENTS = 2**62
#: Of one array; programs have a few.
MOST_DIMENSIONS = 1000
#: Tuples in tuples; programs nest a few.
_DEEPEST = 50


@dataclass(frozen=True, slots=True)
class Shape:
    """``parts`` are those of a tuple; ``layout`` lists the dimensions, the one that varies fastest first."""

    type: str = "opaque"
    dimensions: tuple[int, ...] = ()
    layout: tuple[int, ...] = ()
    parts: tuple[Shape, ...] = ()
    element_bits: int | None = None

    @property
    def is_array(self) -> bool:
        return self.element_bits is not None

    def arrays(self) -> Iterator[Shape]:
        """The arrays that it consists of."""
        if self.is_array:
            yield self
        for part in self.parts:
            yield from part.arrays()

    @property
    def elements(self) -> int:
        """Of all arrays."""
        return prod(self.dimensions) if self.is_array else sum(part.elements for part in self.parts)

    @property
    def bytes(self) -> int:
        """Of all arrays; a tuple's own table of pointers is not counted."""
        if self.element_bits is not None:
            return (prod(self.dimensions) * self.element_bits + 7) // 8
        return sum(part.bytes for part in self.parts)

    @property
    def text(self) -> str:
        """As in HLO text: ``f32[64,128]{1,0}``."""
        if not self.is_array and self.type == "tuple":
            return f"({', '.join(part.text for part in self.parts)})"
        if not self.is_array:
            return f"{self.type}[]"
        layout = f"{{{','.join(map(str, self.layout))}}}" if self.layout else ""
        return f"{self.type}[{','.join(map(str, self.dimensions))}]{layout}"


def read_shape(data: bytes, at: int, end: int, depth: int = 0) -> Shape:
    """A ShapeProto; ``depth`` is how many tuples are around it.

    Raises:
        Fault: it is damaged.
    """
    if depth > _DEEPEST:
        raise Fault
    number = packed_bits = 0
    dimensions: list[int] = []
    layout: list[int] = []
    parts: list[Shape] = []
    for f in fields(data, at, end):
        if f.number == 2 and f.wire == VARINT:
            number = f.value
        elif f.number == 3:
            dimensions += map(signed, integers(data, f))
        elif f.number == 4 and f.wire == LENGTH:
            parts.append(read_shape(data, f.start, f.end, depth + 1))
        elif f.number == 5 and f.wire == LENGTH:
            for inner in fields(data, f.start, f.end):
                if inner.number == 1:
                    layout += map(signed, integers(data, inner))
                elif inner.number == 7 and inner.wire == VARINT:
                    packed_bits = inner.value
    if max(len(dimensions), len(layout)) > MOST_DIMENSIONS:
        raise Fault
    if prod(max(size, 1) for size in dimensions) > _MOST_ELEMENTS:
        raise Fault
    name, bits = _TYPES.get(number, (f"type{number}", None))
    if bits is not None and bits < 8:
        bits = packed_bits or 8  # an element has a byte of its own unless the layout packs them
    sizes = tuple(max(size, 0) for size in dimensions)  # a dimension without a bound is below 0
    return Shape(name, sizes, tuple(layout), tuple(parts), bits)
