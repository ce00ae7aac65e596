"""Joins what autograd runs in the backward pass to the forward operators that it goes back to.

Each thread counts the nodes that it adds to the graph. A forward operator carries the number that its node will
get, and shows thread 0; a node, when it runs, carries its number and the thread that made it. Several forward
operators may carry one number, since most add no node: the innermost of those that start last did.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.arguments import OperatorArgs, decode, integers
from stepscope.analysis.distinct import distinct
from stepscope.analysis.enclosing import inside
from stepscope.analysis.nesting import nest, outer_first
from stepscope.analysis.select import host_rows
from stepscope.schema import NONE, Events, Kind

ENGINE = "autograd::engine::evaluate_function"
#: Nodes of a thread that vote on which lane it is.
_VOTES = 1000


@dataclass(frozen=True, eq=False)
class Autograd:
    """``node`` holds the rows of the backward nodes that lie in no other one, in order of lane and time.

    ``forward`` (one entry a node) is the row of the operator that made it, ``NONE`` where that is not told.
    ``grad_op`` holds the rows of operators outside nodes that may have made one. ``guessed`` counts the nodes
    whose number occurs on several threads, so that the thread with the most matches was taken.
    """

    node: np.ndarray
    forward: np.ndarray
    grad_op: np.ndarray
    guessed: int

    @property
    def linked(self) -> np.ndarray:
        """Mask of the nodes whose forward operator is known."""
        return self.forward != NONE


def link_backward(events: Events) -> Autograd:
    """Find backward nodes and their forward operators.

    A node is a row with the number of a forward thread, or one of the autograd engine. Older traces lack the
    latter, and have the node's own row instead.
    """
    ops = host_rows(events, Kind.OP)
    args, at = decode(events, ops, OperatorArgs)
    sequence = integers([a.sequence for a in args])[at]
    thread = integers([a.forward_thread for a in args])[at]
    numbered = sequence >= 0
    engine = np.array([name.startswith(ENGINE) for name in events.names], dtype=bool)
    is_node = numbered & (thread > 0)
    if len(ops):
        is_node |= engine[events.name[ops]]
    tree = nest(events, ops[is_node])
    outer = tree.rows[tree.outermost]

    grad = numbered & ~is_node
    grad_op = ops[grad]
    outside = ~inside(events, outer, grad_op)

    where = np.full(len(events), NONE, np.int64)
    where[ops] = np.arange(len(ops))
    mine = where[outer]
    forward, guessed = _join(events, outer, sequence[mine], thread[mine], grad_op, sequence[grad])
    return Autograd(outer, forward, grad_op[outside], guessed)


def _join(
    events: Events,
    node: np.ndarray,
    node_number: np.ndarray,
    node_thread: np.ndarray,
    op: np.ndarray,
    op_number: np.ndarray,
) -> tuple[np.ndarray, int]:
    """The forward row of each node, and how many nodes depended on a guess of the thread."""
    forward = np.full(len(node), NONE, np.int64)
    if len(op) == 0 or len(node) == 0:
        return forward, 0
    numbers = distinct(op_number)
    width = len(numbers)
    key = events.lane[op].astype(np.int64) * width + np.searchsorted(numbers, op_number)
    start = events.ts_ns[op]
    order = outer_first(events, op, start, start + np.maximum(events.dur_ns[op], 1))
    order = order[np.argsort(key[order], kind="stable")]
    key, op = key[order], op[order]
    last = np.flatnonzero(np.diff(key, append=-1))  # of each lane and number: the innermost of those that start last
    key, op = key[last], op[last]

    wanted = np.searchsorted(numbers, node_number)
    known = (wanted < width) & (node_number >= 0) & (node_thread > 0)
    known[known] = numbers[wanted[known]] == node_number[known]
    guessed = 0
    for thread in np.unique(node_thread[known]).tolist():
        mine = np.flatnonzero(known & (node_thread == thread))
        lane, rivals = _lane_of_thread(events, key, width, wanted[mine])
        at = np.searchsorted(key, lane * width + wanted[mine])
        hit = at < len(key)
        hit[hit] = key[at[hit]] == lane * width + wanted[mine[hit]]
        forward[mine[hit]] = op[at[hit]]
        guessed += int(np.count_nonzero(hit)) if rivals else 0
    late = forward != NONE
    late[late] = events.ts_ns[forward[late]] > events.ts_ns[node[late]]
    forward[late] = NONE
    return forward, guessed


def _lane_of_thread(events: Events, key: np.ndarray, width: int, wanted: np.ndarray) -> tuple[int, bool]:
    """The lane on which most of the numbers occur, and whether they occur on others too."""
    votes = distinct(wanted)[:_VOTES]
    matches: dict[int, int] = {}
    lanes = distinct(key // width)
    for lane in lanes.tolist():
        own = key[np.searchsorted(key, lane * width) : np.searchsorted(key, (lane + 1) * width)] - lane * width
        matches[lane] = int(np.isin(votes, own).sum())

    def rank(lane: int) -> tuple[int, str, str]:
        return -matches[lane], events.lanes[lane].pid, events.lanes[lane].tid

    best = min(matches, key=rank)
    return best, sum(1 for count in matches.values() if count) > 1
