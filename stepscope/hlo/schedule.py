"""The order in which a program executes its instructions, called computations included, and how long values live in it.

As XLA's own HloLiveRange counts it: the instructions of the bodies of loops, calls and conditionals stand right before
the instruction that runs them, each once; fusions and the functions of reductions are part of their instruction.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from stepscope.hlo.module import Computation, Instruction, Module

_RUNS_OTHERS = frozenset(("call", "while", "conditional", "async-start"))
#: Results that name parts of operands or hand them on, and are no use of them.
_FORWARDS = frozenset(("tuple", "get-tuple-element", "bitcast", "opt-barrier", "add-dependency", "domain"))

#: Computations inside one another that are followed: no program nests so far, a damaged file may.
_DEEPEST = 100
#: Places in one result that are followed; a damaged file may double them with each tuple.
_MOST_PLACES = 200_000

#: A value: the instruction that defines it, and where in its result.
Value = tuple[int, tuple[int, ...]]
#: By place in a result the values that may lie there.
Places = dict[tuple[int, ...], frozenset[Value]]


@dataclass
class Order:
    """``steps`` are the instructions in program order. By value, ``lives`` has its first and last position.

    ``is_told``: the compiler told the order of every computation; else that of the file stands in.
    """

    steps: list[tuple[Computation, Instruction]] = field(default_factory=list)
    lives: dict[Value, tuple[int, int]] = field(default_factory=dict)
    is_told: bool = True


def program_order(module: Module, defined: set[Value]) -> Order:
    """Program order of a module, and the lives of the values ``defined``; all other results are taken for aliases.

    A value lives from its definition to the last instruction that reads it, through tuples and bitcasts; what a loop
    carries lives to the end of the loop, and what the program returns to its end.
    """
    walk = _Walk(module, defined)
    entry = module.entry
    if entry is not None:
        root = walk.computation(entry, [])
        walk.use(root, len(walk.order.steps) - 1)
    return walk.order


class _Walk:
    def __init__(self, module: Module, defined: set[Value]) -> None:
        self.order = Order()
        self._module = module
        self._defined = defined
        self._indices: dict[int, list[tuple[int, ...]]] = {}
        for instruction, index in defined:
            self._indices.setdefault(instruction, []).append(index)
        self._done: dict[int, Places] = {}
        self._parts: dict[int, dict[int, Places]] = {}
        self._depth = 0

    def computation(self, computation: Computation, arguments: list[Places]) -> Places:
        """Append a computation; its root's places. One that was visited before is not appended again."""
        if computation.id in self._done or self._depth > _DEEPEST:
            return self._done.get(computation.id, {})
        self._depth += 1
        self._done[computation.id] = {}  # a damaged file may hold a circle
        order = self._module.schedule.get(computation.id)
        if order is None:
            self.order.is_told = False
            instructions = computation.instructions
        else:
            instructions = [each for number in order if (each := computation.by_id.get(number))]
        places: dict[int, Places] = {}
        for instruction in instructions:
            given = [places.get(number, {}) for number in instruction.operands]
            places[instruction.id] = self._instruction(computation, instruction, given, arguments)
        self._depth -= 1
        root = computation.root
        self._done[computation.id] = places.get(root.id, {}) if root else {}
        return self._done[computation.id]

    def use(self, places: Places, at: int) -> None:
        for values in places.values():
            for value in values:
                first, last = self.order.lives.get(value, (at, at))
                self.order.lives[value] = first, max(last, at)

    def _instruction(
        self, computation: Computation, instruction: Instruction, given: list[Places], arguments: list[Places]
    ) -> Places:
        handed: Places = {}
        called = self._module.called(instruction) if instruction.opcode in _RUNS_OTHERS else []
        for i, each in enumerate(called):
            root = self.computation(each, _arguments(instruction, given, i))
            if each.root and each.root.shape.type == instruction.shape.type:  # the condition of a loop returns nothing
                handed = _union(handed, root)
        self.order.steps.append((computation, instruction))
        at = len(self.order.steps) - 1
        if instruction.opcode not in _FORWARDS:
            for places in (*given, handed):
                self.use(places, at)
        if instruction.opcode == "parameter" and instruction.parameter_number < len(arguments):
            handed = arguments[instruction.parameter_number]
        if instruction.opcode == "get-tuple-element" and given:
            result = dict(self._part(instruction, given[0]))
        else:
            result = dict(_forwarded(instruction, given, handed))
        for index in self._indices.get(instruction.id, ()):
            value = (instruction.id, index)
            self.order.lives.setdefault(value, (at, at))
            result[index] = frozenset((value,))
        return result

    def _part(self, instruction: Instruction, whole: Places) -> Places:
        """What lies in one element of a tuple; each tuple is divided once, as some have thousands of elements."""
        number = instruction.operands[0]
        if number not in self._parts:
            parts: dict[int, Places] = {}
            for index, values in whole.items():
                if index:
                    parts.setdefault(index[0], {})[index[1:]] = values
            self._parts[number] = parts
        return self._parts[number].get(instruction.tuple_index, {})


def _arguments(instruction: Instruction, given: list[Places], nth: int) -> list[Places]:
    """What the parameters of the nth called computation hold."""
    if instruction.opcode == "conditional":  # the first operand chooses, each branch has one of the others
        return given[nth + 1 : nth + 2]
    return given


def _forwarded(instruction: Instruction, given: list[Places], handed: Places) -> Places:
    """The places of a result that is no value of its own."""
    opcode = instruction.opcode
    if opcode == "tuple":
        if sum(map(len, given)) > _MOST_PLACES:
            return {}
        return {(i, *index): values for i, places in enumerate(given) for index, values in places.items()}
    if opcode in _RUNS_OTHERS or opcode == "parameter":
        return _union(handed, given[0]) if opcode == "while" and given else handed
    whole = frozenset().union(*(values for places in given for values in places.values()))
    if opcode == "opt-barrier" and given:
        return given[0]
    return {(): whole} if whole else {}


def _union(a: Places, b: Places) -> Places:
    return {index: a.get(index, frozenset()) | b.get(index, frozenset()) for index in {*a, *b}}
