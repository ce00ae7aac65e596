"""Where in the user's code operators are called from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.arguments import OperatorArgs, decode
from stepscope.analysis.enclosing import innermost
from stepscope.analysis.groups import Groups
from stepscope.analysis.nesting import nest, paths
from stepscope.analysis.operators import Calls
from stepscope.analysis.select import host_rows
from stepscope.schema import NONE, Events, Kind

#: Operators whose calls are looked at, those with the largest times.
MAX_OPERATORS = 30
#: Entries that are listed.
MAX_STACKS = 50
#: Frames of a stack that are kept, from the operator outwards.
MAX_FRAMES = 64
_STACK = '"Call stack"'


@dataclass(frozen=True)
class OperatorStack:
    """All calls of one operator from one place in the code, where the capture recorded call stacks.

    Only the 30 operators with the largest device self time, then host self time, are looked at, and the 50
    entries with the largest times are listed.

    Metrics:
        name: the operator
        stack: the frames around the call, outermost first, at most the innermost 64
        count: calls
        host_total_ns: sum of the calls' durations
        host_self_ns: the same without the operators and device runtime calls directly inside
        device_total_ns: durations of the device work launched inside the calls
        device_self_ns: durations of the device work whose innermost operator is such a call
    """

    name: str
    stack: list[str]
    count: int
    host_total_ns: int
    host_self_ns: int
    device_total_ns: int | None
    device_self_ns: int | None


def operator_stacks(events: Events, calls: Calls) -> list[OperatorStack] | None:
    """The entries with the largest times; None where no call stack was recorded."""
    picked = _largest(events, calls)
    rows = calls.rows[picked]
    stack, stacks = call_stacks(events, rows)
    known = np.flatnonzero(stack != NONE)
    if len(known) == 0:
        return None
    picked, rows, stack = picked[known], rows[known], stack[known]
    width = len(stacks)
    groups = Groups(events.name[rows].astype(np.int64) * width + stack)
    columns = (calls.host_total_ns, calls.host_self_ns, calls.device_total_ns, calls.device_self_ns)
    sums = np.column_stack([groups.sum(column[picked]) for column in columns])
    out = []
    for i in np.lexsort((-sums[:, 1], -sums[:, 3]))[:MAX_STACKS].tolist():
        name, which = divmod(int(groups.keys[i]), width)
        total, own, *device = sums[i].tolist()
        device = device if calls.has_device else [None, None]
        out.append(OperatorStack(events.names[name], list(stacks[which]), int(groups.count[i]), total, own, *device))
    return sorted(out, key=lambda o: (-(o.device_self_ns or 0), -o.host_self_ns, o.name, o.stack))


def call_stacks(events: Events, rows: np.ndarray) -> tuple[np.ndarray, list[tuple[str, ...]]]:
    """For each call the number of its stack, ``NONE`` without one; and the stacks, which may repeat.

    A stack is what the record itself tells, else the Python frames around the call on its thread.
    """
    stack, stacks = _told(events, rows)
    frames = host_rows(events, Kind.PYTHON, Kind.MODULE)
    silent = stack == NONE
    if len(frames) and silent.any():
        around, found = _frames_around(events, frames, rows[silent])
        stack[silent] = np.where(around != NONE, around + len(stacks), NONE)
        stacks += found
    return stack, stacks


def _largest(events: Events, calls: Calls) -> np.ndarray:
    """Positions of the calls of the operators with the largest times."""
    groups = Groups(events.name[calls.rows].astype(np.int64))
    order = np.lexsort((-groups.sum(calls.host_self_ns), -groups.sum(calls.device_self_ns)))
    wanted = np.zeros(len(events.names), bool)
    wanted[groups.keys[order[:MAX_OPERATORS]]] = True
    return np.flatnonzero(wanted[events.name[calls.rows]])


def _told(events: Events, rows: np.ndarray) -> tuple[np.ndarray, list[tuple[str, ...]]]:
    """For each call the number of the stack in its record, ``NONE`` without one; and the stacks.

    Such a text has the innermost frame first, with semicolons between.
    """
    if not any(_STACK in text for text in events.args_values):
        return np.full(len(rows), NONE, np.int64), []
    args, at = decode(events, rows, OperatorArgs)
    stacks: dict[tuple[str, ...], int] = {}
    code = [
        stacks.setdefault(tuple(a.stack.split(";")[MAX_FRAMES - 1 :: -1]), len(stacks))
        if isinstance(a.stack, str) and a.stack
        else NONE
        for a in args
    ]
    return np.array(code, np.int64)[at], list(stacks)


def _frames_around(events: Events, frames: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, list[tuple[str, ...]]]:
    """For each call the number of the stack of frames around it, ``NONE`` without one; and the stacks."""
    tree = nest(events, frames)
    chains = paths(tree, events.name[tree.rows].astype(np.int64))
    position = np.full(len(events), NONE, np.int64)
    position[tree.rows] = np.arange(len(tree.rows))
    inner = innermost(events, frames, rows)
    path = np.where(inner != NONE, chains.of[position[inner]], NONE)
    used, code = np.unique(path, return_inverse=True)
    stacks = []
    for p in used[used != NONE].tolist():
        names: list[str] = []
        while p != NONE and len(names) < MAX_FRAMES:
            names.append(events.names[int(chains.label[p])])
            p = int(chains.parent[p])
        stacks.append(tuple(reversed(names)))
    return code - int(np.count_nonzero(used == NONE)), stacks
