"""An HLO module as plain objects, read from the HloProto that XLA's profiler records for each program.

Field numbers are those of xla/service/hlo.proto and xla/xla_data.proto. What is cut or damaged is left out:
the module holds what could be read before it, and ``fault`` tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from stepscope.hlo.attributes import attributes_of
from stepscope.hlo.shapes import Shape, read_shape
from stepscope.protobuf_wire import LENGTH, VARINT, Fault, Field, fields, integers, signed, text

_LOCAL = 2**32 - 1


@dataclass(slots=True)
class Instruction:
    """One HLO instruction. ``operands`` and ``called`` are ids of instructions and computations.

    ``op_name`` is the framework's path of the operator that it comes from (``jit(f)/dot_general``), ``op_type`` its
    type, ``source`` the line of code; each is empty where the compiler does not tell. ``attributes`` has what
    ``stepscope.hlo.attributes`` lists.
    """

    id: int = 0
    name: str = ""
    opcode: str = ""
    shape: Shape = field(default_factory=Shape)
    operands: tuple[int, ...] = ()
    called: tuple[int, ...] = ()
    op_name: str = ""
    op_type: str = ""
    source: str = ""
    fusion_kind: str = ""
    custom_call_target: str = ""
    parameter_number: int = 0
    tuple_index: int = 0
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass
class Computation:
    """Instructions in the order in which the program lists them: operands before their users."""

    id: int = 0
    name: str = ""
    instructions: list[Instruction] = field(default_factory=list)
    root_id: int = 0
    is_fusion: bool = False

    @cached_property
    def by_id(self) -> dict[int, Instruction]:
        return {each.id: each for each in self.instructions}

    @cached_property
    def opcodes(self) -> frozenset[str]:
        return frozenset(each.opcode for each in self.instructions)

    @property
    def root(self) -> Instruction | None:
        return self.by_id.get(self.root_id) or (self.instructions[-1] if self.instructions else None)

    def operands(self, of: Instruction) -> list[Instruction | None]:
        """The operands of an instruction, None for one that is not in the file."""
        return [self.by_id.get(number) for number in of.operands]

    @cached_property
    def users(self) -> dict[int, list[Instruction]]:
        """By id, the instructions that read it, each once."""
        found: dict[int, list[Instruction]] = {}
        for each in self.instructions:
            for number in dict.fromkeys(each.operands):
                found.setdefault(number, []).append(each)
        return found


@dataclass
class Module:
    """``schedule`` has the ids of the instructions of a computation in the order of execution, where it is known.

    ``buffer_assignment`` is that message, undecoded; None where the compiler left none.
    """

    name: str = ""
    id: int = 0
    entry_id: int = 0
    computations: dict[int, Computation] = field(default_factory=dict)
    schedule: dict[int, list[int]] = field(default_factory=dict)
    buffer_assignment: bytes | None = None
    fault: bool = False

    @property
    def entry(self) -> Computation | None:
        return self.computations.get(self.entry_id)

    def instructions(self) -> Iterator[tuple[Computation, Instruction]]:
        for computation in self.computations.values():
            for instruction in computation.instructions:
                yield computation, instruction

    @cached_property
    def by_name(self) -> dict[str, tuple[Computation, Instruction]]:
        """Names are unique in a module; the profiler's ``hlo_op`` is one."""
        return {each.name: (computation, each) for computation, each in self.instructions()}

    def called(self, by: Instruction) -> list[Computation]:
        """The computations that an instruction calls, those that are in the file."""
        return [self.computations[number] for number in by.called if number in self.computations]


def read_module(proto: bytes) -> Module:
    """A module from a serialised HloProto."""
    module = Module()
    frames = _Frames()
    for f in _until_fault(proto, 0, len(proto), module):
        if f.number == 1 and f.wire == LENGTH:
            _read_module(proto, f.start, min(f.end, len(proto)), module, frames)
        elif f.number == 3 and f.wire == LENGTH and f.end <= len(proto):
            module.buffer_assignment = proto[f.start : f.end]
    for computation, instruction in module.instructions():
        _resolve(computation, instruction)
        if not instruction.source and (frame := instruction.attributes.pop("frame", 0)):
            instruction.source = frames.source(frame)
    return module


def _read_module(data: bytes, at: int, end: int, module: Module, frames: _Frames) -> None:
    for f in _until_fault(data, at, end, module):
        stop = min(f.end, end)
        if f.number == 1 and f.wire == LENGTH:
            module.name = text(data, f.start, stop)
        elif f.number == 3 and f.wire == LENGTH:
            computation = _read_computation(data, f.start, stop, module)
            module.computations[computation.id] = computation
        elif f.number == 5 and f.wire == VARINT:
            module.id = f.value
        elif f.number == 6 and f.wire == VARINT:
            module.entry_id = f.value
        elif f.number == 7 and f.wire == LENGTH:
            module.schedule = _read_schedule(data, f.start, stop, module)
        elif f.number == 17 and f.wire == LENGTH:
            frames.read(data, f.start, stop, module)


def _read_computation(data: bytes, at: int, end: int, module: Module) -> Computation:
    computation = Computation()
    for f in _until_fault(data, at, end, module):
        stop = min(f.end, end)
        if f.number == 1 and f.wire == LENGTH:
            computation.name = text(data, f.start, stop)
        elif f.number == 2 and f.wire == LENGTH:
            computation.instructions.append(_read_instruction(data, f.start, stop, module))
        elif f.number == 5 and f.wire == VARINT:
            computation.id = f.value
        elif f.number == 6 and f.wire == VARINT:
            computation.root_id = f.value
        elif f.number == 7 and f.wire == VARINT:
            computation.is_fusion = bool(f.value)
    _tell_apart(computation, module)
    return computation


def _tell_apart(computation: Computation, module: Module) -> None:
    """Of instructions with one id, in a damaged file, the first keeps it; the others get one that no operand names."""
    ids: set[int] = set()
    for at, each in enumerate(computation.instructions):
        if each.id in ids:
            each.id = -1 - at
            module.fault = True
        ids.add(each.id)


def _read_instruction(data: bytes, at: int, end: int, module: Module) -> Instruction:
    found = Instruction()
    rest: list[Field] = []
    operands: list[int] = []
    called: list[int] = []
    try:
        for f in fields(data, at, end):
            number, start, stop = f.number, f.start, f.end
            if f.wire == LENGTH and number in _TEXTS:
                setattr(found, _TEXTS[number], text(data, start, stop))
            elif number == 3 and f.wire == LENGTH:
                found.shape = read_shape(data, start, stop)
            elif number == 7 and f.wire == LENGTH:
                _read_metadata(data, start, stop, found)
            elif number == 35:
                found.id = f.value
            elif number == 36:
                operands += integers(data, f)
            elif number == 38:
                called += integers(data, f)
            elif number == 9:
                found.parameter_number = signed(f.value)
            elif number == 13:
                found.tuple_index = signed(f.value)
            else:
                rest.append(f)
        found.attributes |= attributes_of(found.opcode, found.custom_call_target, data, rest)
    except Fault:
        module.fault = True
    found.operands, found.called = tuple(operands), tuple(called)
    return found


_TEXTS = {1: "name", 2: "opcode", 11: "fusion_kind", 28: "custom_call_target"}


def _read_metadata(data: bytes, at: int, end: int, found: Instruction) -> None:
    file, line = "", 0
    for f in fields(data, at, end):
        if f.number == 1 and f.wire == LENGTH:
            found.op_type = text(data, f.start, f.end)
        elif f.number == 2 and f.wire == LENGTH:
            found.op_name = text(data, f.start, f.end)
        elif f.number == 3 and f.wire == LENGTH:
            file = text(data, f.start, f.end)
        elif f.number == 4 and f.wire == VARINT:
            line = f.value
        elif f.number == 15 and f.wire == VARINT:
            found.attributes["frame"] = f.value
    if file:
        found.source = f"{file}:{line}" if line else file


def _read_schedule(data: bytes, at: int, end: int, module: Module) -> dict[int, list[int]]:
    """HloScheduleProto: a map from computations to sequences of instructions."""
    schedule: dict[int, list[int]] = {}
    try:
        for entry in fields(data, at, end):
            key, order = 0, []
            for f in fields(data, entry.start, entry.end) if entry.wire == LENGTH else ():
                if f.number == 1:
                    key = f.value
                elif f.number == 2 and f.wire == LENGTH:
                    for inner in fields(data, f.start, f.end):
                        order += integers(data, inner) if inner.number == 1 else []
            schedule[key] = order
    except Fault:
        module.fault = True
    return schedule


def _resolve(computation: Computation, instruction: Instruction) -> None:
    """Newer files number instructions within a computation, in the lower half of an id: all that operands tell."""
    if instruction.operands and instruction.operands[0] not in computation.by_id:
        base = instruction.id & ~_LOCAL
        instruction.operands = tuple(base | (number & _LOCAL) for number in instruction.operands)


def _until_fault(data: bytes, at: int, end: int, module: Module) -> Iterator[Field]:
    try:
        for f in fields(data, at, end, clip=True):
            module.fault |= f.end > end
            yield f
    except Fault:
        module.fault = True


class _Frames:
    """StackFrameIndexProto: newer compilers keep places in the code apart, each instruction tells the number of one."""

    def __init__(self) -> None:
        self._files: list[str] = []
        self._places: list[tuple[int, int]] = []
        self._frames: list[int] = []

    def read(self, data: bytes, at: int, end: int, module: Module) -> None:
        for f in _until_fault(data, at, end, module):
            if f.wire != LENGTH or f.end > end:
                continue
            if f.number == 1:
                self._files.append(text(data, f.start, f.end))
            elif f.number in (3, 4):
                numbers = {inner.number: inner.value for inner in _until_fault(data, f.start, f.end, module)}
                if f.number == 3:
                    self._places.append((numbers.get(1, 0), numbers.get(3, 0)))
                else:
                    self._frames.append(numbers.get(1, 0))

    def source(self, frame: int) -> str:
        """File and line of a frame, empty where it is not there; all numbers begin at 1."""
        try:
            file, line = self._places[self._frames[frame - 1] - 1]
            return f"{self._files[file - 1]}:{line}" if file else ""
        except IndexError:
            return ""
