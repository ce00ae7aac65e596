"""The buffer assignment of an HLO module: which values XLA put into which allocation, as it left it in the HloProto.

Field numbers are those of xla/service/hlo.proto (BufferAssignmentProto). What is cut or damaged is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from stepscope.protobuf_wire import LENGTH, Fault, Field, fields, integers, signed, text

#: Sizes from here on (64 TiB) are damage: sums of them would not fit.
_MOST_BYTES = 1 << 46
#: Kinds of allocations, in the order in which they claim one that is several at once.
KINDS = ("parameter", "constant", "output", "thread local", "temporary")
_FLAGS = {3: "thread local", 5: "parameter", 7: "output", 12: "constant"}


@dataclass(slots=True)
class Buffer:
    """One value of the program: a result of an instruction, or a part of a tuple that it results in.

    ``instruction`` is an id, 0 where only ``instruction_name`` is told. ``color`` is a memory space, 0 the usual one.
    """

    id: int = 0
    size: int = 0
    instruction: int = 0
    instruction_name: str = ""
    index: tuple[int, ...] = ()
    color: int = 0


@dataclass(slots=True)
class Allocation:
    """A stretch of memory that is there while the program runs. ``assigned`` has (buffer, offset, size)."""

    index: int = 0
    size: int = 0
    flags: set[str] = field(default_factory=set)
    is_tuple: bool = False
    parameter: int = 0
    parameter_index: tuple[int, ...] = ()
    color: int = 0
    assigned: list[tuple[int, int, int]] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """One of ``KINDS``: what is neither given nor kept is temporary."""
        return next((kind for kind in KINDS if kind in self.flags), "temporary")


@dataclass(slots=True)
class HeapTrace:
    """How XLA's heap simulator filled one allocation: (kind, buffer, the buffer shared with), kinds 0 to 2."""

    allocation: int = 0
    events: list[tuple[int, int, int]] = field(default_factory=list)


ALLOC, FREE, SHARE = 0, 1, 2


@dataclass
class Assignment:
    buffers: dict[int, Buffer] = field(default_factory=dict)
    allocations: list[Allocation] = field(default_factory=list)
    traces: list[HeapTrace] = field(default_factory=list)
    fault: bool = False


def read_assignment(data: bytes) -> Assignment:
    """The buffer assignment from its serialised message."""
    found = Assignment()
    for f in _until_fault(data, 0, len(data), found):
        try:
            if f.wire != LENGTH or f.end > len(data):
                continue
            if f.number == 1:
                buffer = _buffer(data, f)
                found.buffers[buffer.id] = buffer
            elif f.number == 3:
                found.allocations.append(_allocation(data, f))
            elif f.number == 4:
                found.traces.append(_trace(data, f))
        except Fault:
            found.fault = True
    return found


def _buffer(data: bytes, of: Field) -> Buffer:
    found = Buffer()
    for f in fields(data, of.start, of.end):
        if f.number == 1:
            found.id = signed(f.value)
        elif f.number == 2:
            found.size = _size(f.value)
        elif f.number == 4:
            found.color = signed(f.value)
        elif f.number == 3 and f.wire == LENGTH:
            for inner in fields(data, f.start, f.end):
                if inner.number == 2 and inner.wire == LENGTH:
                    found.instruction_name = text(data, inner.start, inner.end)
                elif inner.number == 3:
                    found.index += tuple(integers(data, inner))
                elif inner.number == 4:
                    found.instruction = inner.value
    return found


def _allocation(data: bytes, of: Field) -> Allocation:
    found = Allocation()
    for f in fields(data, of.start, of.end):
        if f.number == 1:
            found.index = signed(f.value)
        elif f.number == 2:
            found.size = _size(f.value)
        elif f.number in _FLAGS and f.value:
            found.flags.add(_FLAGS[f.number])
        elif f.number == 11:
            found.is_tuple = bool(f.value)
        elif f.number == 6:
            found.parameter = signed(f.value)
        elif f.number == 10:
            found.parameter_index += tuple(integers(data, f))
        elif f.number == 8:
            found.color = signed(f.value)
        elif f.number == 9 and f.wire == LENGTH:
            told = {inner.number: signed(inner.value) for inner in fields(data, f.start, f.end)}
            found.assigned.append((told.get(1, 0), told.get(2, 0), _size(told.get(3, 0))))
    return found


def _trace(data: bytes, of: Field) -> HeapTrace:
    found = HeapTrace()
    for f in fields(data, of.start, of.end):
        if f.number == 3:
            found.allocation = signed(f.value)
        elif f.number == 1 and f.wire == LENGTH:
            told = {inner.number: signed(inner.value) for inner in fields(data, f.start, f.end)}
            found.events.append((told.get(1, ALLOC), told.get(2, 0), told.get(5, 0)))
    return found


def _size(value: int) -> int:
    return value if 0 <= value < _MOST_BYTES else 0


def _until_fault(data: bytes, at: int, end: int, found: Assignment) -> Iterator[Field]:
    try:
        for f in fields(data, at, end, clip=True):
            found.fault |= f.end > end
            yield f
    except Fault:
        found.fault = True
