"""The programs of a worker, and what is known of the operations in them by the names that the profiler gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from stepscope.hlo.category import category
from stepscope.hlo.cost import Cost, Costs
from stepscope.hlo.module import Computation, Instruction, Module, read_module
from stepscope.hlo.text import expression
from stepscope.schema import Program

NO_PROGRAM = "The recording does not hold the program."
SEVERAL_PROGRAMS = "Several recorded programs have this name, and the event does not tell which of them ran."
NO_OPERATION = "The recorded program has no operation of this name."


@dataclass(frozen=True)
class Operation:
    """What a program tells of one of its operations. ``type`` is that of the elements it computes with: of a product
    its left operand's, else its result's.
    """

    opcode: str
    category: str
    text: str
    shape: str
    type: str
    is_matrix: bool
    op_name: str
    op_type: str
    source: str
    cost: Cost


class Programs:
    """Reads each program once, when the first of its operations is looked for."""

    def __init__(self, programs: Iterable[Program]) -> None:
        self._by_id: dict[int, Program] = {}
        self._ids: dict[str, set[int]] = {}
        for program in programs:
            self._by_id.setdefault(program.id, program)
            self._ids.setdefault(program.name, set()).add(program.id)
        self._read: dict[int, tuple[Module, Costs]] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def size(self, number: int) -> int:
        """Bytes of the program as it was recorded."""
        return len(self._by_id[number].proto)

    def names(self) -> dict[int, str]:
        return {number: program.name for number, program in self._by_id.items()}

    def number(self, program_id: int | None, name: str) -> int | None:
        """The number of a program that an event names; by its name alone only where one program is called so."""
        if program_id is not None:
            return program_id if program_id in self._by_id else None
        ids = self._ids.get(name, set())
        return next(iter(ids)) if len(ids) == 1 else None

    def module(self, number: int) -> Module | None:
        return self._of(number)[0] if number in self._by_id else None

    def operation(self, program_id: int | None, program: str, op: str) -> Operation | str:
        """What is known of an operation, or in a sentence why nothing is."""
        number = self.number(program_id, program)
        if number is None:
            return SEVERAL_PROGRAMS if program_id is None and program in self._ids else NO_PROGRAM
        module, costs = self._of(number)
        if op not in module.by_name:
            return NO_OPERATION
        computation, instruction = module.by_name[op]
        sort = category(module, instruction)
        origin = _origin(module, instruction)
        is_matrix = sort.startswith(("matrix product", "convolution"))
        return Operation(
            opcode=instruction.opcode,
            category=sort,
            text=expression(module, computation, instruction),
            shape=instruction.shape.text,
            type=_type(module, computation, instruction, is_matrix),
            is_matrix=is_matrix,
            op_name=origin.op_name,
            op_type=origin.op_type,
            source=origin.source,
            cost=costs.of(computation, instruction),
        )

    def _of(self, number: int) -> tuple[Module, Costs]:
        if number not in self._read:
            module = read_module(self._by_id[number].proto)
            self._read[number] = module, Costs(module)
        return self._read[number]


def _origin(module: Module, instruction: Instruction) -> Instruction:
    """The instruction that tells where one comes from: itself, else the last inside its fusion that tells anything."""
    if instruction.op_name or instruction.opcode != "fusion":
        return instruction
    inside = [each for called in module.called(instruction) for each in called.instructions]
    return next((each for each in reversed(inside) if each.op_name), instruction)


def _type(module: Module, computation: Computation, instruction: Instruction, is_matrix: bool) -> str:
    """The type of the first operand of a product, of a fused one inside the fusion; else of the result."""
    called = module.called(instruction)
    if is_matrix and called:
        computation = called[0]
        products = [each for each in computation.instructions if each.opcode in ("dot", "convolution")]
        instruction = products[0] if products else instruction
    shape = instruction.shape
    if is_matrix and instruction.operands and instruction.operands[0] in computation.by_id:
        shape = computation.by_id[instruction.operands[0]].shape
    array = next(shape.arrays(), None)
    return array.type if array else ""
