"""The routes of the XLA tab: programs, their memory in program order, and their graph around an instruction."""

from __future__ import annotations

from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np

from stepscope.hlo.category import category
from stepscope.hlo.graph import Graphs, Node
from stepscope.hlo.memory import LiveBuffer, MemoryCourse
from stepscope.hlo.module import Computation, Module
from stepscope.hlo.text import expression
from stepscope.tables import Tables
from stepscope_tensorboard.answers import Problem, json_answer
from stepscope_tensorboard.parameters import Parameters
from stepscope_tensorboard.routes import Made, Route, WorkerRoutes

MAX_POINTS = 2000
MAX_DEPTH = 6
#: Buffers that are listed; the others are told as a sum.
MAX_BUFFERS = 200
MAX_LINES = 1000
MAX_FOUND = 50
#: Characters of an instruction's text, in the text of a computation and elsewhere: shapes of tuples take thousands.
_LINE, _BRIEF = 4000, 600


class XlaRoutes(WorkerRoutes):
    def routes(self) -> dict[str, Route]:
        """The routes by name."""
        return {
            "xla/programs": self.programs,
            "xla/memory": self.memory,
            "xla/alive": self.alive,
            "xla/graph": self.graph,
            "xla/text": self.text,
            "xla/find": self.find,
        }

    def programs(self, p: Parameters) -> Made:
        version, tables = self._tables(p)
        return version, lambda: json_answer(programs_impl(tables))

    def memory(self, p: Parameters) -> Made:
        number = p.integer("program")
        version, tables = self._tables(p)
        return version, lambda: json_answer(memory_impl(tables, number))

    def alive(self, p: Parameters) -> Made:
        number, at = p.integer("program"), p.integer("at", least=0)
        version, tables = self._tables(p)
        return version, lambda: json_answer(alive_impl(tables, number, at))

    def graph(self, p: Parameters) -> Made:
        number, depth = p.integer("program"), p.integer("depth", 2, least=1, most=MAX_DEPTH)
        op = p.text("op") if p.has("op") else None
        opened = p.text("opened").split(" ") if p.has("opened") else []
        version, tables = self._tables(p)
        return version, lambda: json_answer(graph_impl(tables, number, op, depth, opened))

    def text(self, p: Parameters) -> Made:
        number, name, offset = p.integer("program"), p.text("computation"), p.integer("offset", 0, least=0)
        version, tables = self._tables(p)
        return version, lambda: json_answer(text_impl(tables, number, name, offset))

    def find(self, p: Parameters) -> Made:
        number, wanted = p.integer("program"), p.text("text")
        version, tables = self._tables(p)
        return version, lambda: json_answer(find_impl(tables, number, wanted))

    def _tables(self, p: Parameters) -> tuple[str, Tables]:
        _, worker, session = self._worker(p)
        return session.tables(worker, "hlo")


def programs_impl(tables: Tables) -> dict[str, Any]:
    """The programs, those that took the most time first. Ids are texts: JavaScript has no integers of 64 bits."""
    source = tables.source
    times: dict[int | None, int] = {}
    for (number, _), ns in _times(tables).items():
        times[number] = times.get(number, 0) + ns
    names = source.programs.names()
    order = sorted(names, key=lambda number: (-times.get(number, 0), names[number], number))
    rows = [
        {"id": str(number), "name": names[number], "time_ns": times.get(number), "bytes": source.programs.size(number)}
        for number in order
    ]
    why = None if rows else tables.table("hlo").why_empty() or "no_program"
    return {"programs": rows, "why_empty": why, "on_device": source.hlo.runs.on_device}


def memory_impl(tables: Tables, number: int) -> dict[str, Any]:
    """The memory of a program over its instructions; ``memory`` is null where the compiler did not tell."""
    module, course = _module(tables, number), tables.source.program_views.memory(number)
    if course is None:
        return {"damaged": module.fault, "name": module.name, "memory": None}
    at = _shown(course.level)
    return {
        "damaged": module.fault,
        "name": module.name,
        "memory": asdict(course.memory),
        "is_told": course.is_told,
        "steps": len(course.level),
        "peak": course.peak,
        "at": at.tolist(),
        "level": course.level[at].tolist(),
        "op": [_op(course, i) for i in at.tolist()],
    }


def alive_impl(tables: Tables, number: int, at: int) -> dict[str, Any]:
    """What is alive while the instruction at a position runs."""
    course = tables.source.program_views.memory(number)
    if course is None or at >= len(course.level):
        raise Problem(404, f"The program has no position {at} whose memory is known.")
    found = course.alive(at)
    rest = found[MAX_BUFFERS:]
    return {
        "at": at,
        "op": _op(course, at),
        "level": int(course.level[at]),
        "count": len(found),
        "buffers": [_buffer(course, each) for each in found[:MAX_BUFFERS]],
        "rest_bytes": sum(each.size_bytes for each in rest),
    }


def graph_impl(tables: Tables, number: int, op: str | None, depth: int, opened: list[str]) -> dict[str, Any]:
    """The neighbourhood of an instruction; without one, of that which took the most time, else of the result."""
    module, graphs = _module(tables, number), tables.source.program_views.graphs(number)
    assert graphs is not None
    times = {name: ns for (of, name), ns in _times(tables).items() if of == number}
    name = op or _first(module, times)
    if name is None:
        raise Problem(404, f"Of the program {module.name} no instruction could be read.")
    if name not in module.by_name:
        raise Problem(404, f"The program {module.name} has no instruction {name}.")
    computation, middle = module.by_name[name]
    graph = graphs.around(name, depth, opened)
    return {
        "damaged": module.fault,
        "op": name,
        "middle": _node(module, Node(computation, middle, 0), times),
        "computation": _computation(module, computation, graphs),
        "computations": sorted(each.name for each in module.computations.values() if not each.is_fusion),
        "program_ns": sum(times.values()),
        "nodes": [_node(module, each, times) for each in graph.nodes],
        "edges": [[each.source, each.target, each.operand] for each in graph.edges],
        "left_out": graph.left_out,
    }


def text_impl(tables: Tables, number: int, name: str, offset: int) -> dict[str, Any]:
    """The instructions of a computation as HLO text, from the ``offset``-th on."""
    module, graphs = _module(tables, number), tables.source.program_views.graphs(number)
    assert graphs is not None
    computation = next((each for each in module.computations.values() if each.name == name), None)
    if computation is None:
        raise Problem(404, f"The program {module.name} has no computation {name}.")
    lines = computation.instructions[offset : offset + MAX_LINES]
    return {
        "damaged": module.fault,
        "computation": _computation(module, computation, graphs),
        "count": len(computation.instructions),
        "offset": offset,
        "lines": [
            {"op": each.name, "text": _cut(expression(module, computation, each), _LINE), "op_name": each.op_name}
            for each in lines
        ],
    }


def find_impl(tables: Tables, number: int, wanted: str) -> dict[str, Any]:
    """Instructions whose name, opcode or framework name holds a text; those whose name begins with it come first."""
    module, low = _module(tables, number), wanted.lower()
    found = []
    for computation, each in module.instructions():
        if low in each.name.lower() or low in each.op_name.lower() or low == each.opcode:
            found.append((not each.name.lower().startswith(low), len(each.name), each.name, computation, each))
    found.sort(key=lambda row: row[:3])
    rows = [
        {"op": each.name, "opcode": each.opcode, "op_name": each.op_name, "computation": computation.name}
        for _, _, _, computation, each in found[:MAX_FOUND]
    ]
    return {"count": len(found), "rows": rows}


def _module(tables: Tables, number: int) -> Module:
    module = tables.source.programs.module(number)
    if module is None:
        raise Problem(404, f"This capture holds no program {number}.")
    return module


def _times(tables: Tables) -> dict[tuple[int | None, str], int]:
    """Self time by program and instruction."""
    work = tables.source.hlo
    self_ns = np.bincount(work.runs.op, work.runs.self_ns, len(work.runs.ops))
    programs = tables.source.programs
    found: dict[tuple[int | None, str], int] = {}
    for key, ns in zip(work.runs.ops, self_ns.tolist(), strict=True):
        place = (programs.number(key.program_id, key.program), key.op)
        found[place] = found.get(place, 0) + round(ns)
    return found


def _first(module: Module, times: dict[str, int]) -> str | None:
    known = [name for name in times if name in module.by_name]
    if known:
        return max(known, key=lambda name: times[name])
    root = module.entry.root if module.entry else None
    return root.name if root else None


def _shown(level: np.ndarray) -> np.ndarray:
    """Positions that are drawn: all, or the first of the highest of each stretch."""
    if len(level) <= MAX_POINTS:
        return np.arange(len(level))
    borders = np.linspace(0, len(level), MAX_POINTS + 1).astype(np.int64)
    highest = [a + int(level[a:b].argmax()) for a, b in pairwise(borders.tolist()) if b > a]
    return np.array(highest, np.int64)


def _op(course: MemoryCourse, at: int) -> str | None:
    return course.order[at][1].name if at < len(course.order) else None


def _buffer(course: MemoryCourse, each: LiveBuffer) -> dict[str, Any]:
    told = asdict(each)
    if each.kind == "temporary":
        told["last_op"] = _op(course, each.last)
    return told


def _computation(module: Module, computation: Computation, graphs: Graphs) -> dict[str, Any]:
    return {
        "name": computation.name,
        "is_entry": computation is module.entry,
        "instructions": len(computation.instructions),
        "callers": graphs.callers.get(computation.id, [])[:MAX_FOUND],
    }


def _node(module: Module, node: Node, times: dict[str, int]) -> dict[str, Any]:
    each = node.instruction
    return {
        "op": each.name,
        "opcode": each.opcode,
        "category": category(module, each),
        "shape": each.shape.text,
        "bytes": each.shape.bytes,
        "op_name": each.op_name,
        "source": each.source,
        "text": _cut(expression(module, node.computation, each), _BRIEF),
        "calls": [called.name for called in module.called(each)],
        "steps": node.steps,
        "within": node.within,
        "hidden_operands": node.hidden_operands,
        "hidden_users": node.hidden_users,
        "time_ns": times.get(each.name),
    }


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
