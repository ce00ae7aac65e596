"""Phases of a training loop in a trace without our hook, where something marks them reliably."""

from __future__ import annotations

import re

import numpy as np

from stepscope.analysis.autograd import Autograd
from stepscope.analysis.distinct import distinct
from stepscope.analysis.enclosing import innermost, inside
from stepscope.analysis.inferred_steps import OPTIMIZER_STEP
from stepscope.analysis.launches import Links
from stepscope.analysis.memcpy import direction
from stepscope.analysis.phases import PhaseRows
from stepscope.analysis.select import host_rows
from stepscope.analysis.steps import Steps
from stepscope.schema import NONE, PHASES, Events, Kind

#: Operators that move tensors; those around the launch of a copy to a device are the phase ``h2d``.
_MOVES = frozenset({"aten::to", "aten::_to_copy", "aten::copy_"})

#: Regions that torch's wrappers of models open around their forward pass; they exchange buffers or gather weights
#: before the model's own operators.
_WRAPPERS = re.compile(r"(?:DistributedDataParallel|FullyShardedDataParallel)\.forward$")

Spans = tuple[np.ndarray, np.ndarray]  # starts and ends in ns


def marked_phases(events: Events, steps: Steps, links: Links, autograd: Autograd) -> PhaseRows:
    """The phases on the lanes of the steps.

    A *backward pass* reaches from the first to the last node, on whatever thread, between which the training
    thread starts neither an operator that makes a node, nor a fetch, an update or a step. Its *forward pass*
    reaches from the first to the last operator since the pass before that its nodes go back to.
    """
    parts: list[tuple[int, str, Spans]] = []
    visible: set[str] = set()
    lanes = np.unique(steps.lane[~steps.from_live]).tolist()
    updates = _named(events, OPTIMIZER_STEP)
    fetches = host_rows(events, Kind.DATALOADER)
    modules = _forwards(events, np.concatenate((autograd.node, fetches, updates)))
    moves = _moves(events, links)
    for lane in lanes:
        fetch, update, move, module = (_spans(events, rows, lane) for rows in (fetches, updates, moves, modules))
        others = np.concatenate((fetch[0], update[0], steps.host_start_ns[steps.lane == lane]))
        forward, backward = _passes(events, autograd, lane, len(lanes) == 1, others)
        module = _outside(module, backward)
        forward = (np.concatenate((forward[0], module[0])), np.concatenate((forward[1], module[1])))
        for phase, spans in (
            ("input_wait", fetch),
            ("h2d", move),
            ("forward", forward),
            ("backward", backward),
            ("optimizer", update),
        ):
            if len(spans[0]):
                visible.add(phase)
                parts.append((lane, phase, spans))
    none = np.empty(0, np.int64)
    return PhaseRows(
        lane=np.concatenate([none, *(np.full(len(spans[0]), lane) for lane, _, spans in parts)]),
        start_ns=np.concatenate([none, *(spans[0] for _, _, spans in parts)]),
        end_ns=np.concatenate([none, *(spans[1] for _, _, spans in parts)]),
        phase=np.concatenate([none, *(np.full(len(spans[0]), PHASES.index(phase)) for _, phase, spans in parts)]),
        visible=frozenset(visible),
    )


def _passes(
    events: Events, autograd: Autograd, lane: int, is_only_lane: bool, others: np.ndarray
) -> tuple[Spans, Spans]:
    """Forward and backward passes of one training thread. ``others`` are starts that part backward passes."""
    forward_lane = np.where(autograd.linked, events.lane[autograd.forward], NONE)
    mine = np.full(len(autograd.node), is_only_lane)
    mine |= (forward_lane == lane) | (~autograd.linked & (events.lane[autograd.node] == lane))
    node, forward = autograd.node[mine], autograd.forward[mine]
    ops = autograd.grad_op[events.lane[autograd.grad_op] == lane]
    borders = np.sort(np.concatenate((events.ts_ns[ops], others)))
    number = np.searchsorted(borders, events.ts_ns[node], "right")
    distinct, of_node = np.unique(number, return_inverse=True)
    start = np.full(len(distinct), np.iinfo(np.int64).max)
    end = np.full(len(distinct), np.iinfo(np.int64).min)
    np.minimum.at(start, of_node, events.ts_ns[node])
    np.maximum.at(end, of_node, events.ends_ns(node))

    linked = (forward != NONE) & np.isin(forward, ops)
    pass_, op = of_node[linked], forward[linked]
    fresh = (pass_ == 0) | (events.ts_ns[op] >= end[pass_ - 1])  # made since the pass before
    pass_, op = pass_[fresh], op[fresh]
    first = np.full(len(distinct), np.iinfo(np.int64).max)
    last = np.full(len(distinct), np.iinfo(np.int64).min)
    np.minimum.at(first, pass_, events.ts_ns[op])
    np.maximum.at(last, pass_, events.ends_ns(op))
    has_forward = first <= last
    return (first[has_forward], last[has_forward]), (start, end)


def _named(events: Events, pattern: re.Pattern[str]) -> np.ndarray:
    """Host operators and regions whose name begins like the pattern."""
    named = np.array([pattern.match(name) is not None for name in events.names], bool)
    rows = host_rows(events, Kind.OP, Kind.ANNOTATION)
    return rows[named[events.name[rows]]]


def _forwards(events: Events, excluded: np.ndarray) -> np.ndarray:
    """Calls of modules, and the regions of torch's own wrappers, that start in none of the excluded rows."""
    rows = np.concatenate((host_rows(events, Kind.MODULE), _named(events, _WRAPPERS)))
    return rows[~inside(events, excluded, rows)]


def _moves(events: Events, links: Links) -> np.ndarray:
    """Operators around the launches of copies from the host to a device."""
    to_device = np.array([direction(name).startswith("Hto") for name in events.names], bool)
    copies = (links.call_of_run != NONE) & (events.kind[links.run] == Kind.MEMCPY)
    copies[copies] = to_device[events.name[links.run[copies]]]
    calls = distinct(links.call[links.call_of_run[copies]])
    moves = np.array([name in _MOVES for name in events.names], bool)
    ops = host_rows(events, Kind.OP)
    found = innermost(events, ops[moves[events.name[ops]]], calls)
    return distinct(found[found != NONE])


def _spans(events: Events, rows: np.ndarray, lane: int) -> Spans:
    rows = rows[events.lane[rows] == lane]
    return events.ts_ns[rows], events.ts_ns[rows] + events.dur_ns[rows]


def _outside(spans: Spans, passes: Spans) -> Spans:
    """The spans that start in none of the passes, which are in order and disjoint."""
    at = np.searchsorted(passes[0], spans[0], "right") - 1
    inside = at >= 0
    inside[inside] = spans[0][inside] < passes[1][at[inside]]
    return spans[0][~inside], spans[1][~inside]
