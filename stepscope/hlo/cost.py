"""FLOPs and bytes of HLO instructions, from their shapes, as XLA's own HloCostAnalysis defines them.

FLOPs: 2 a multiply-add of a product or convolution (positions of a window in the padding are none), 1 an element of
an elementwise operation on any type, the combining function of a reduction once for each element that it removes,
of a fusion the sum inside it. Transcendental functions (exp, log, tanh, power, square roots, ...) are counted apart.
Bytes: all operands and results once; of slices, gathers and updates in place what they touch; of a fusion nothing of
what passes inside it. Both are what the program asks for, not what the device does: caches, padding and recomputation
are in no count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from stepscope.hlo.attributes import library_dot
from stepscope.hlo.convolution import convolution_flops, library_convolution_flops
from stepscope.hlo.module import Computation, Instruction, Module
from stepscope.hlo.opcodes import APPLIED, CONTAINERS, ELEMENTWISE, FREE, MOVES, TRANSCENDENTAL
from stepscope.hlo.shapes import Shape

FMA = 2
#: Computations inside one another; compilers nest a few.
_DEEPEST = 100
#: FLOPs or bytes of one execution: no device does as many in an hour, a damaged program may ask for them.
_MOST = 1 << 62
PARTS_APART = "It runs other operations, which are rows of their own."
NOT_TOLD = "XLA does not say what a custom call of this target computes."
UNKNOWN = "This version does not know the operation."
NOT_READ = "Its operands or what it calls are not in the recorded program."


@dataclass(frozen=True)
class Cost:
    """Of one execution. None: not known, for the reason ``why``."""

    flops: int | None = None
    transcendentals: int | None = None
    bytes: int | None = None
    why: str | None = None


class Costs:
    """The costs of the instructions of a module, each counted when it is first asked for."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._known: dict[tuple[int, int], Cost] = {}
        self._open: set[int] = set()
        self._inside: dict[int, Cost] = {}
        self._read: dict[tuple[int, int], int] = {}
        self._fused: dict[int, int] = {}

    def of(self, computation: Computation, instruction: Instruction) -> Cost:
        key = (computation.id, instruction.id)
        if key not in self._known:
            cost = self._cost(computation, instruction)
            most = max(cost.flops or 0, cost.transcendentals or 0, cost.bytes or 0)
            self._known[key] = cost if most < _MOST else Cost(why=NOT_READ)
        return self._known[key]

    def inside(self, computation: Computation) -> Cost:
        """FLOPs and transcendentals of all instructions of a computation, each once; no bytes."""
        if computation.id in self._inside:
            return self._inside[computation.id]
        if computation.id in self._open or len(self._open) > _DEEPEST:  # a damaged file may hold a circle
            return Cost(why=NOT_READ)
        self._open.add(computation.id)
        try:
            each = [self.of(computation, instruction) for instruction in computation.instructions]
        finally:
            self._open.discard(computation.id)
        why = next((cost.why for cost in each if cost.flops is None), None)
        known = Cost(why=why) if why is not None else _summed(each)
        self._inside[computation.id] = known
        return known

    # -- one instruction ------------------------------------------------------------------------------

    def _cost(self, computation: Computation, instruction: Instruction) -> Cost:
        opcode = instruction.opcode
        if opcode in FREE:
            return Cost(0, 0, 0)
        if opcode in CONTAINERS:
            return Cost(why=PARTS_APART)
        operands = [operand.shape for operand in computation.operands(instruction) if operand is not None]
        if len(operands) < len(instruction.operands):
            return Cost(why=NOT_READ)
        work = self._work(instruction, operands)
        size = self._fusion_bytes(instruction) if opcode == "fusion" else _bytes(instruction, operands)
        return replace(work, bytes=size, why=work.why or (NOT_READ if size is None else None))

    def _work(self, instruction: Instruction, operands: list[Shape]) -> Cost:
        """FLOPs and transcendentals."""
        opcode, elements = instruction.opcode, instruction.shape.elements
        if opcode in ELEMENTWISE:
            return Cost(elements, 0)
        if opcode in TRANSCENDENTAL or opcode == "rng-bit-generator":
            return Cost(0, elements)
        if opcode in MOVES:
            return Cost(0, 0)
        if opcode in ("fusion", "async-start"):
            called = self._module.called(instruction)
            return self.inside(called[0]) if called else Cost(why=NOT_READ)
        if opcode in APPLIED:
            return self._applied(instruction, operands)
        try:
            flops = _flops(instruction, operands)
        except (IndexError, KeyError):
            return Cost(why=NOT_READ)
        if flops is None:
            return Cost(why=NOT_TOLD if opcode == "custom-call" else UNKNOWN)
        return Cost(flops, 0)

    def _applied(self, instruction: Instruction, operands: list[Shape]) -> Cost:
        """Operations that call a function for many elements."""
        called = [self.inside(computation) for computation in self._module.called(instruction)]
        if not called or not operands or any(cost.flops is None for cost in called):
            return Cost(why=NOT_READ)
        window = prod(size for size, *_ in instruction.attributes.get("window", ()))
        out = next(iter(instruction.shape.arrays()), instruction.shape).elements
        times = {
            "map": [out],
            "reduce": [operands[0].elements - out],
            "reduce-window": [(window - 1) * out],
            "scatter": [operands[-1].elements],
            "select-and-scatter": [operands[1].elements * (window - 1), operands[1].elements]
            if len(operands) > 1
            else [],
        }[instruction.opcode]
        pairs = list(zip(called, times, strict=False))
        return Cost(
            sum((cost.flops or 0) * max(n, 0) for cost, n in pairs),
            sum((cost.transcendentals or 0) * max(n, 0) for cost, n in pairs),
        )

    def _fusion_bytes(self, fusion: Instruction) -> int | None:
        """What a fusion reads of its parameters and large constants, and what it writes."""
        called = self._module.called(fusion)
        root = called[0].root if called else None
        if root is None:
            return None
        if called[0].id not in self._fused:
            self._fused[called[0].id] = self._inside_bytes(called[0], root)
        return self._fused[called[0].id]

    def _inside_bytes(self, inside: Computation, root: Instruction) -> int:
        written = [root]
        if root.opcode == "tuple":
            written = [each for each in inside.operands(root) if each is not None]
        size = 0
        for each in written:
            operands = inside.operands(each)
            if each.opcode == "dynamic-update-slice" and len(operands) > 1 and operands[1] is not None:
                size += operands[1].shape.bytes  # the rest of the buffer stays as it is
            else:
                size += each.shape.bytes
        for each in inside.instructions:
            if each.opcode == "constant" and each.shape.elements > 1:
                size += each.shape.bytes
            elif each.opcode == "parameter":
                size += self._read_bytes(inside, each, 0)
        return size

    def _read_bytes(self, inside: Computation, parameter: Instruction, depth: int) -> int:
        """What the users of a fusion's parameter read: slices what they take, all others the whole, together once."""
        key = (inside.id, parameter.id)
        if key in self._read or depth > _DEEPEST:
            return self._read.get(key, 0)
        self._read[key] = 0  # a damaged file may hold a circle
        size, whole = 0, False
        for user in inside.users.get(parameter.id, ()):
            first = bool(user.operands) and user.operands[0] == parameter.id
            if user.opcode == "fusion":
                for nested in self._module.called(user):
                    at = user.operands.index(parameter.id)
                    inner = [each for each in nested.instructions if each.opcode == "parameter"]
                    size += sum(
                        self._read_bytes(nested, each, depth + 1) for each in inner if each.parameter_number == at
                    )
            elif user.opcode == "slice" or (user.opcode in ("dynamic-slice", "gather") and first):
                size += user.shape.bytes
            elif not (user.opcode == "dynamic-update-slice" and first):
                whole = True
        self._read[key] = size + (parameter.shape.bytes if whole else 0)
        return self._read[key]


def _summed(costs: list[Cost]) -> Cost:
    return Cost(sum(cost.flops or 0 for cost in costs), sum(cost.transcendentals or 0 for cost in costs))


def _flops(instruction: Instruction, operands: list[Shape]) -> int | None:
    opcode, told = instruction.opcode, instruction.attributes
    if opcode == "dot":
        return _dot_flops(told["dot"][0], operands[0], instruction.shape)
    if opcode == "convolution":
        return convolution_flops(told, operands[0], operands[1], instruction.shape)
    if opcode in ("all-reduce", "all-reduce-start"):
        return instruction.shape.elements  # as if of two replicas: their number is not in the instruction
    if opcode == "fft":
        return FMA * 4 * sum(size.bit_length() - 1 for size in told["fft_length"]) * operands[0].elements
    if opcode == "triangular-solve":
        return FMA * operands[0].dimensions[-1] * operands[1].elements
    if opcode == "cholesky":
        return operands[0].dimensions[-1] * operands[0].elements // 3
    if opcode in ("sort", "topk"):
        n = operands[0].elements
        return n * max(n - 1, 0).bit_length()
    if opcode == "custom-call":
        return _library_flops(instruction, operands)
    return None


def _library_flops(call: Instruction, operands: list[Shape]) -> int | None:
    """Of the calls into libraries whose configuration is known."""
    out = next(iter(call.shape.arrays()), None)
    if out is None:
        return None
    if call.custom_call_target.startswith("__cublas$"):
        numbers = library_dot(call.attributes.get("backend_config", ""))
        return None if numbers is None else _dot_flops(numbers[0], operands[0], out)
    if call.custom_call_target.startswith("__cudnn$conv"):
        return library_convolution_flops(call.custom_call_target, call.attributes, operands, out)
    return None


def _dot_flops(contracting: tuple[int, ...], lhs: Shape, out: Shape) -> int:
    return FMA * out.elements * prod(lhs.dimensions[at] for at in set(contracting))


def _bytes(instruction: Instruction, operands: list[Shape]) -> int | None:
    """Of an instruction that is no fusion."""
    opcode, out = instruction.opcode, instruction.shape.bytes
    sizes = [shape.bytes for shape in operands]
    try:
        if opcode == "slice":
            return 2 * out
        if opcode in ("dynamic-slice", "gather"):
            return 2 * out + sizes[1]
        if opcode == "dynamic-update-slice":
            return 2 * sizes[1] + sizes[2]
        if opcode == "scatter":
            count = len(sizes) // 2  # operands, one array of indices, as many updates
            return 3 * sum(sizes[count + 1 :]) + sizes[count]
        if opcode == "custom-call" and instruction.custom_call_target.startswith(("__cublas$", "__cudnn$")):
            return sum(sizes) + next(instruction.shape.arrays()).bytes  # the second result is scratch memory
    except (IndexError, StopIteration):
        return None
    return sum(sizes) + out
