"""What memory a compiled program needs: allocations by kind, and what of them is alive at each instruction."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from stepscope.hlo.buffers import ALLOC, FREE, KINDS, SHARE, Allocation, Assignment, Buffer, HeapTrace, read_assignment
from stepscope.hlo.module import Computation, Instruction, Module
from stepscope.hlo.schedule import Order, program_order
from stepscope.hlo.shapes import Shape


@dataclass(frozen=True)
class LiveBuffer:
    """One buffer of a compiled program.

    Metrics:
        name: the instruction that makes it, with its place in the result if that is a tuple
        kind: parameter, constant, output, thread local or temporary: that of the allocation that it lies in
        opcode: what the instruction does
        shape: type, dimensions and layout
        op_name: the framework's name of the operator
        source: file and line of the operator
        size_bytes: what the compiler reserves for it
        padding_bytes: size_bytes less the elements times the size of one; null for tuples and what is no array
        first: the instruction that makes it, as a position in program order
        last: the last instruction that reads it
    """

    name: str
    kind: str
    opcode: str
    shape: str
    op_name: str
    source: str
    size_bytes: int
    padding_bytes: int | None
    first: int
    last: int


@dataclass(frozen=True)
class ProgramMemory:
    """Memory of a compiled program, as XLA's buffer assignment tells it; nothing of it is measured.

    Parameters, constants, outputs and thread-local memory are there while the program runs. Temporary buffers share
    allocations: each lives from the instruction that makes it to the last one that reads it, in the order in which
    XLA runs the instructions of the program.

    Metrics:
        parameter_bytes: allocations that hold what the program is given, those that it also returns included
        constant_bytes: allocations of constants
        output_bytes: allocations that hold what it returns and that are no parameters
        thread_local_bytes: allocations that each thread has for itself
        temporary_bytes: all other allocations
        total_bytes: sum of the five: what the program needs to run
        aliased_bytes: parameters whose allocation also holds an output
        temporary_peak_bytes: the most bytes of temporary buffers alive at one instruction
        peak_bytes: temporary_peak_bytes and all allocations that are not temporary
        unused_bytes: total_bytes - peak_bytes: what alignment and gaps between buffers take
        simulated_peak_bytes: the same peak of the temporary buffers in XLA's own heap simulation; null where the file
            holds none
    """

    parameter_bytes: int
    constant_bytes: int
    output_bytes: int
    thread_local_bytes: int
    temporary_bytes: int
    total_bytes: int
    aliased_bytes: int
    temporary_peak_bytes: int
    peak_bytes: int
    unused_bytes: int
    simulated_peak_bytes: int | None


@dataclass(frozen=True, eq=False)
class MemoryCourse:
    """The memory of a program over its instructions.

    ``level`` (one entry an instruction of ``order``) are the bytes alive while it runs; ``peak`` is the first position
    of the highest. ``is_told``: the compiler told the order; else that of the file stands in.
    """

    memory: ProgramMemory
    order: list[tuple[Computation, Instruction]]
    level: np.ndarray
    peak: int
    is_told: bool
    buffers: list[LiveBuffer]
    fixed: list[
        LiveBuffer
    ]  # one an allocation that is there all the time: its largest buffer, at the allocation's size

    def alive(self, at: int) -> list[LiveBuffer]:
        """What is alive while an instruction runs, the largest first; sizes add up to ``level[at]``."""
        found = [*self.fixed, *(b for b in self.buffers if b.first <= at <= b.last)]
        return sorted(found, key=lambda b: (-b.size_bytes, b.name))


def memory_course(module: Module) -> MemoryCourse | None:
    """Memory of a module over its program order; None where the file has no buffer assignment of it."""
    if not module.buffer_assignment:
        return None
    assignment = read_assignment(module.buffer_assignment)
    if not assignment.allocations:
        return None
    makers = _makers(module, assignment)
    order = program_order(module, {(maker.id, assignment.buffers[b].index) for b, maker in makers.items()})
    temporary = _temporary(assignment, makers, order)
    fixed = [_held(each, assignment, makers) for each in assignment.allocations if each.kind != "temporary"]
    by_kind = {kind: sum(a.size for a in assignment.allocations if a.kind == kind) for kind in KINDS}
    level = _level(temporary, max(len(order.steps), 1))
    top = int(level.max())
    total, held = sum(by_kind.values()), sum(by_kind.values()) - by_kind["temporary"]
    memory = ProgramMemory(
        **{f"{kind.replace(' ', '_')}_bytes": size for kind, size in by_kind.items()},
        total_bytes=total,
        aliased_bytes=sum(a.size for a in assignment.allocations if {"parameter", "output"} <= a.flags),
        temporary_peak_bytes=top,
        peak_bytes=held + top,
        unused_bytes=total - held - top,
        simulated_peak_bytes=_simulated(assignment),
    )
    return MemoryCourse(memory, order.steps, level + held, int(level.argmax()), order.is_told, temporary, fixed)


def _makers(module: Module, assignment: Assignment) -> dict[int, Instruction]:
    """By the id of a buffer, the instruction that makes it."""
    by_id = {each.id: each for _, each in module.instructions()}
    found = {}
    for buffer in assignment.buffers.values():
        maker = by_id.get(buffer.instruction)
        if maker is None and buffer.instruction_name in module.by_name:
            maker = module.by_name[buffer.instruction_name][1]
        if maker is not None:
            found[buffer.id] = maker
    return found


def _temporary(assignment: Assignment, makers: dict[int, Instruction], order: Order) -> list[LiveBuffer]:
    """Buffers of temporary allocations, with their lives."""
    end = max(len(order.steps) - 1, 0)
    found: list[LiveBuffer] = []
    for allocation in assignment.allocations:
        if allocation.kind != "temporary":
            continue
        placed = []
        for number, offset, size in allocation.assigned:
            if number in assignment.buffers and number in makers and size > 0:
                key = (makers[number].id, assignment.buffers[number].index)
                placed.append((*order.lives.get(key, (0, end)), offset, size, number))
        for first, last, size, number in _one_at_a_time(placed):
            found.append(_described(assignment.buffers[number], makers[number], "temporary", size, first, last))
    return found


def _one_at_a_time(placed: list[tuple[int, int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """(first, last, size, buffer) of the buffers (first, last, offset, size, buffer) of one allocation.

    An instruction may write over an operand that it reads for the last time: from then on the memory is the result's,
    so that each byte belongs to one buffer at a time. Other values at one place are one value under several names (what
    a loop carries): the memory is held until the last of them ends.
    """
    lives: dict[int, list[int]] = {}
    begins: list[int] = []  # offsets of what holds memory, in order; disjoint
    holds: list[tuple[int, int]] = []  # its end and its buffer
    for first, last, offset, size, number in sorted(placed):
        low = bisect_left(begins, offset)
        if low and holds[low - 1][0] > offset:
            low -= 1
        high = bisect_left(begins, offset + size, low)
        for _, other in holds[low:high]:
            last = max(last, lives[other][1])
            lives[other][1] = min(lives[other][1], first - 1)
        begins[low:high] = [offset]
        holds[low:high] = [(offset + size, number)]
        lives[number] = [first, last, size]
    return [(first, last, size, number) for number, (first, last, size) in lives.items() if first <= last]


def _held(allocation: Allocation, assignment: Assignment, makers: dict[int, Instruction]) -> LiveBuffer:
    """An allocation that is there all the time, told by the largest buffer in it (a parameter by itself)."""
    best: tuple[bool, int, int] | None = None
    for number, _, size in allocation.assigned:
        if (maker := makers.get(number)) is not None:
            rank = (maker.opcode == "parameter", size, -number)
            best = max(best, rank) if best else rank
    if best is None:
        return LiveBuffer("", allocation.kind, "", "", "", "", allocation.size, None, 0, 0)
    buffer = assignment.buffers[-best[2]]
    return _described(buffer, makers[buffer.id], allocation.kind, allocation.size, 0, 0)


def _described(buffer: Buffer, maker: Instruction, kind: str, size: int, first: int, last: int) -> LiveBuffer:
    shape: Shape = maker.shape
    for i in buffer.index:
        shape = shape.parts[i] if i < len(shape.parts) else Shape()
    padding = size - shape.bytes if shape.is_array and size >= shape.bytes else None
    name = maker.name + (f"{{{','.join(map(str, buffer.index))}}}" if buffer.index else "")
    return LiveBuffer(name, kind, maker.opcode, shape.text, maker.op_name, maker.source, size, padding, first, last)


def _level(buffers: list[LiveBuffer], steps: int) -> np.ndarray:
    change = np.zeros(steps + 1, np.int64)
    for buffer in buffers:
        change[buffer.first] += buffer.size_bytes
        change[buffer.last + 1] -= buffer.size_bytes
    return np.cumsum(change)[:-1]


def _simulated(assignment: Assignment) -> int | None:
    """The peak of the temporary buffers in XLA's heap simulation: traces of several allocations add up."""
    temporary = {a.index for a in assignment.allocations if a.kind == "temporary"}
    traces = [t for t in assignment.traces if t.allocation in temporary]
    return sum(_peak(trace, assignment) for trace in traces) if traces else None


def _peak(trace: HeapTrace, assignment: Assignment) -> int:
    alive = top = 0
    shares: dict[int, int] = {}  # by buffer, whose memory it is in
    users: dict[int, int] = {}
    for kind, number, canonical in trace.events:
        owner = canonical if kind == SHARE else shares.get(number, number)
        size = assignment.buffers[owner].size if owner in assignment.buffers else 0
        if kind in (ALLOC, SHARE):
            shares[number] = owner
            users[owner] = users.get(owner, 0) + 1
            alive += size if users[owner] == 1 else 0
        elif kind == FREE and users.get(owner):
            users[owner] -= 1
            alive -= size if users[owner] == 0 else 0
        top = max(top, alive)
    return top
