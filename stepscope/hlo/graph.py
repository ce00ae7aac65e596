"""The neighbourhood of an HLO instruction: what it reads and what reads it, fusions opened on demand."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property

from stepscope.hlo.module import Computation, Instruction, Module

#: The most instructions that are drawn: more are no picture any more.
MOST_NODES = 150
#: An instruction with more neighbours is drawn but not walked through, or a tuple of all weights would be the picture.
MOST_NEIGHBOURS = 12
#: The most of one opened fusion.
MOST_INSIDE = 100


@dataclass(frozen=True)
class Node:
    """``hidden_operands`` and ``hidden_users`` are neighbours that are not in the graph. ``within`` names the opened
    fusion that it lies in; ``steps`` counts from the middle."""

    computation: Computation
    instruction: Instruction
    steps: int
    within: str | None = None
    hidden_operands: int = 0
    hidden_users: int = 0


@dataclass(frozen=True)
class Edge:
    """``source`` and ``target`` are names; ``operand`` is the place in what the target reads."""

    source: str
    target: str
    operand: int


@dataclass
class Graph:
    """``left_out``: instructions near enough that were too many."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    left_out: int = 0


class Graphs:
    """The graphs of one module."""

    def __init__(self, module: Module) -> None:
        self._module = module

    @cached_property
    def callers(self) -> dict[int, list[str]]:
        """By computation, the names of the instructions that call it."""
        found: dict[int, list[str]] = {}
        for _, instruction in self._module.instructions():
            for number in instruction.called:
                found.setdefault(number, []).append(instruction.name)
        return found

    def around(self, name: str, depth: int, opened: Collection[str] = ()) -> Graph:
        """What lies at most ``depth`` steps from an instruction, in its computation.

        Args:
            opened: fusions whose insides are drawn in their place; their parameters are what the fusion reads.

        Raises:
            KeyError: there is no such instruction.
        """
        computation, middle = self._module.by_name[name]
        steps, left_out = _near(computation, middle, depth)
        shown = [each for each in computation.instructions if each.id in steps]
        graph = Graph(left_out=left_out)
        ends: dict[int, str] = {}  # by instruction, where its result comes from
        inside: dict[int, tuple[Computation, list[Instruction]]] = {}
        for each in shown:
            ends[each.id] = each.name
            if each.name in opened and each.opcode == "fusion" and (found := self._module.called(each)):
                body = [i for i in found[0].instructions if i.opcode != "parameter"]
                graph.left_out += max(len(body) - MOST_INSIDE, 0)
                inside[each.id] = found[0], body[-MOST_INSIDE:]
                root = found[0].root
                ends[each.id] = root.name if root and root.opcode != "parameter" else each.name
        for each in shown:
            hidden = _hidden(computation, each, steps)
            if each.id in inside and inside[each.id][1]:
                self._open(graph, each, steps, inside[each.id], ends, hidden)
                continue
            graph.nodes.append(Node(computation, each, steps[each.id], None, *hidden))
            _edges(graph, each, each.operands, ends)
        drawn = {node.instruction.name for node in graph.nodes}
        graph.edges = [edge for edge in graph.edges if edge.source in drawn]
        return graph

    def _open(
        self,
        graph: Graph,
        fusion: Instruction,
        steps: dict[int, int],
        inside: tuple[Computation, list[Instruction]],
        ends: dict[int, str],
        hidden: tuple[int, int],
    ) -> None:
        """Draw the inside of a fusion: it reads the fusion's operands instead of its parameters."""
        computation, body = inside
        own = {each.id: each.name for each in body}
        for each in computation.instructions:
            if each.opcode == "parameter" and each.parameter_number < len(fusion.operands):
                number = fusion.operands[each.parameter_number]
                if number in ends:
                    own[each.id] = ends[number]
        root = computation.root
        for each in body:
            lost = sum(number not in own for number in dict.fromkeys(each.operands))
            users = hidden[1] if root is not None and each.id == root.id else 0
            graph.nodes.append(Node(computation, each, steps[fusion.id], fusion.name, lost, users))
            _edges(graph, each, each.operands, own)


def _near(computation: Computation, middle: Instruction, depth: int) -> tuple[dict[int, int], int]:
    """Steps from the middle by instruction, the nearest ones first, and how many near ones there are besides."""
    steps = {middle.id: 0}
    ring = [middle]
    left_out: set[int] = set()
    for distance in range(1, depth + 1):
        found: dict[int, Instruction] = {}
        for each in ring:
            neighbours = (*computation.operands(each), *computation.users.get(each.id, ()))
            for near in neighbours if len(neighbours) <= MOST_NEIGHBOURS or each is middle else ():
                if near is not None and near.id not in steps:
                    found.setdefault(near.id, near)
        ring = list(found.values())[: max(MOST_NODES - len(steps), 0)]
        steps |= {each.id: distance for each in ring}
        left_out |= {number for number in found if number not in steps}
    return steps, len(left_out)


def _hidden(computation: Computation, each: Instruction, shown: Collection[int]) -> tuple[int, int]:
    operands = sum(number not in shown for number in dict.fromkeys(each.operands))
    return operands, sum(user.id not in shown for user in computation.users.get(each.id, ()))


def _edges(graph: Graph, target: Instruction, operands: tuple[int, ...], ends: dict[int, str]) -> None:
    seen = set()
    for place, number in enumerate(operands):
        if number in ends and number not in seen:
            seen.add(number)
            graph.edges.append(Edge(ends[number], target.name, place))
