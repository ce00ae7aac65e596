"""Framework operators: time on the host, the device time of the work that they launched, and their backward pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from stepscope.analysis.arguments import OperatorArgs, decode
from stepscope.analysis.autograd import Autograd
from stepscope.analysis.groups import Groups
from stepscope.analysis.launches import Links
from stepscope.analysis.nesting import Nest, nest
from stepscope.analysis.select import host_rows
from stepscope.schema import NONE, RUNTIME_CALLS, Events, Kind

#: Kernels that are listed for one operator, the largest time first.
MAX_KERNELS = 5
#: Combinations of operator and shapes that are listed, the largest time first.
MAX_SHAPES = 200


@dataclass(frozen=True)
class LaunchedKernel:
    """Device work of one name that calls of one operator launched themselves."""

    name: str
    count: int
    total_ns: int


@dataclass(frozen=True)
class Operator:
    """All calls of one operator. Device times are null where no device work can be told to be any operator's.

    A call inside another one of the same name counts in the totals of both. The backward pass belongs to the
    operator that added the node to the autograd graph, as sequence numbers tell it, and to the operators around
    that one; the times are null where the trace links no node.

    Metrics:
        name: the operator
        count: calls
        host_total_ns: sum of the calls' durations
        host_self_ns: the same without the operators and device runtime calls directly inside
        device_total_ns: durations of the device work launched inside the calls, whatever lies between
        device_self_ns: durations of the device work whose innermost operator is such a call
        device_count: pieces of device work launched inside the calls
        backward_host_ns: durations of the backward nodes that the calls made
        backward_device_ns: durations of the device work launched inside these nodes
        kernels: the (at most 5) device functions, copies and fills whose innermost operator is such a call, with
            count and total_ns, the largest total first
    """

    name: str
    count: int
    host_total_ns: int
    host_self_ns: int
    device_total_ns: int | None
    device_self_ns: int | None
    device_count: int | None
    backward_host_ns: int | None
    backward_device_ns: int | None
    kernels: list[LaunchedKernel]


@dataclass(frozen=True)
class ShapedOperator:
    """All calls of one operator with inputs of the same shapes and types, where the capture recorded them.

    The list is bounded: the 200 with the largest device self time, then host self time;
    ``operators_by_shape_total`` tells how many there are.

    Metrics:
        name: the operator
        input_shapes: shape of each input, as the trace has it; null for calls without
        input_types: type of each input; null for calls without
        count: calls
        host_total_ns: sum of the calls' durations
        host_self_ns: the same without the operators and device runtime calls directly inside
        device_total_ns: durations of the device work launched inside the calls
        device_self_ns: durations of the device work whose innermost operator is such a call
    """

    name: str
    input_shapes: Any
    input_types: Any
    count: int
    host_total_ns: int
    host_self_ns: int
    device_total_ns: int | None
    device_self_ns: int | None


@dataclass(frozen=True, eq=False)
class Calls:
    """Every call of an operator; all arrays but those of runs have one entry a call.

    ``rows`` are rows of the event table. ``of_run`` has one entry a run of the links: the call (position in
    ``rows``) that is the innermost around its launch, ``NONE`` if there is none.
    """

    rows: np.ndarray
    host_total_ns: np.ndarray
    host_self_ns: np.ndarray
    device_total_ns: np.ndarray
    device_self_ns: np.ndarray
    device_count: np.ndarray
    backward_host_ns: np.ndarray
    backward_device_ns: np.ndarray
    of_run: np.ndarray
    has_device: bool
    has_backward: bool
    overlapping: int  # calls that overlap another one of their thread without nesting


def operator_calls(events: Events, links: Links, autograd: Autograd | None = None) -> Calls:
    """Times of each call.

    Device work belongs to the operator around its launch on the launching thread. Where the launch is not
    in the trace, or in no operator, it belongs to the operator with its external id, if exactly one has it.
    """
    tree = nest(events, host_rows(events, Kind.OP, *RUNTIME_CALLS))
    is_op = events.kind[tree.rows] == Kind.OP
    ops = np.flatnonzero(is_op)
    at = _operator_of_run(events, links, tree, is_op)
    hit = at != NONE
    device_own = np.zeros(len(tree.rows), np.int64)
    count_own = np.zeros(len(tree.rows), np.int64)
    np.add.at(device_own, at[hit], events.dur_ns[links.run[hit]])
    np.add.at(count_own, at[hit], 1)
    device_total = tree.sum_inside(device_own)

    back_host = np.zeros(len(tree.rows), np.int64)
    back_device = np.zeros(len(tree.rows), np.int64)
    position = np.full(len(events), NONE, np.int64)
    position[tree.rows] = np.arange(len(tree.rows))
    has_backward = autograd is not None and bool(autograd.linked.any())
    if autograd is not None and has_backward:
        node, made_by = autograd.node[autograd.linked], position[autograd.forward[autograd.linked]]
        np.add.at(back_host, made_by, events.dur_ns[node])
        np.add.at(back_device, made_by, device_total[position[node]])

    number = np.cumsum(is_op) - 1
    of_run = np.full(len(at), NONE, np.int64)
    of_run[hit] = number[at[hit]]
    return Calls(
        rows=tree.rows[ops],
        host_total_ns=events.dur_ns[tree.rows[ops]],
        host_self_ns=tree.self_ns(events)[ops],
        device_total_ns=device_total[ops],
        device_self_ns=device_own[ops],
        device_count=tree.sum_inside(count_own)[ops],
        backward_host_ns=tree.sum_inside(back_host)[ops],
        backward_device_ns=tree.sum_inside(back_device)[ops],
        of_run=of_run,
        has_device=bool(hit.any()),
        has_backward=has_backward,
        overlapping=tree.overlapping(events),
    )


def operators(events: Events, links: Links, calls: Calls | None = None) -> list[Operator]:
    """One entry a name; by device self time where a device ran anything, then by host self time."""
    calls = operator_calls(events, links) if calls is None else calls
    by_name = Groups(events.name[calls.rows].astype(np.int64))
    kernels = _kernels(events, links, calls)
    names = by_name.keys.tolist()
    columns = [*call_sums(calls, by_name).values(), [kernels.get(name, []) for name in names]]
    out = [Operator(events.names[name], *row) for name, *row in zip(names, *columns, strict=True)]
    return sorted(out, key=lambda o: (-(o.device_self_ns or 0), -o.host_self_ns, o.name))


def call_sums(calls: Calls, groups: Groups) -> dict[str, list[Any]]:
    """Sums over each group of calls: column by column, in the order of the fields of ``Operator``."""
    known = {
        "host_total_ns": True,
        "host_self_ns": True,
        "device_total_ns": calls.has_device,
        "device_self_ns": calls.has_device,
        "device_count": calls.has_device,
        "backward_host_ns": calls.has_backward,
        "backward_device_ns": calls.has_backward and calls.has_device,
    }
    return {"count": groups.count.tolist()} | {
        column: groups.sum(getattr(calls, column)).tolist() if told else [None] * len(groups)
        for column, told in known.items()
    }


def operators_by_shape(events: Events, calls: Calls) -> tuple[list[ShapedOperator], int] | None:
    """The entries with the largest times, and how many there are; None where no shapes were recorded."""
    code, texts = input_shapes(events, calls.rows)
    if not any(shapes for shapes, _ in texts):
        return None
    groups = Groups(events.name[calls.rows].astype(np.int64) * len(texts) + code)
    columns = (calls.host_total_ns, calls.host_self_ns, calls.device_total_ns, calls.device_self_ns)
    sums = np.column_stack([groups.sum(column) for column in columns])
    entries = []
    for i in np.lexsort((-sums[:, 1], -sums[:, 3]))[:MAX_SHAPES].tolist():
        name, which = divmod(int(groups.keys[i]), len(texts))
        total, own, *device = sums[i].tolist()
        device = device if calls.has_device else [None, None]
        shapes, types = (msgspec.json.decode(text) if text else None for text in texts[which])
        entries.append(ShapedOperator(events.names[name], shapes, types, int(groups.count[i]), total, own, *device))
    entries.sort(key=lambda o: (-(o.device_self_ns or 0), -o.host_self_ns, o.name, str(o.input_shapes)))
    return entries, len(groups)


def input_shapes(events: Events, rows: np.ndarray) -> tuple[np.ndarray, list[tuple[bytes, bytes]]]:
    """For each call the number of its inputs' shapes and types, and these as JSON; empty where not recorded."""
    args, at = decode(events, rows, OperatorArgs)
    codes: dict[tuple[bytes, bytes], int] = {}
    code = np.array([codes.setdefault((bytes(a.shapes), bytes(a.types)), len(codes)) for a in args], np.int64)[at]
    return code, list(codes)


def _kernels(events: Events, links: Links, calls: Calls) -> dict[int, list[LaunchedKernel]]:
    """Device work by the name of its innermost operator, the largest times first."""
    hit = calls.of_run != NONE
    runs = links.run[hit]
    width = len(events.names)
    groups = Groups(events.name[calls.rows[calls.of_run[hit]]].astype(np.int64) * width + events.name[runs])
    total = groups.sum(events.dur_ns[runs])
    found: dict[int, list[LaunchedKernel]] = {}
    for i, key in enumerate(groups.keys.tolist()):
        kernel = LaunchedKernel(events.names[key % width], int(groups.count[i]), int(total[i]))
        found.setdefault(key // width, []).append(kernel)
    return {name: sorted(kernels, key=lambda k: (-k.total_ns, k.name))[:MAX_KERNELS] for name, kernels in found.items()}


def _operator_of_run(events: Events, links: Links, tree: Nest, is_op: np.ndarray) -> np.ndarray:
    """Position in ``tree`` of the innermost operator of each device run, ``NONE`` if it has none."""
    position = np.full(len(events), NONE, np.int64)
    position[tree.rows] = np.arange(len(tree.rows))
    out = np.full(len(links.run), NONE, np.int64)
    hit = links.call_of_run != NONE
    out[hit] = position[links.call[links.call_of_run[hit]]]
    # From the call up to an operator: one level, two where a runtime call lies inside another.
    climbing = out != NONE
    while climbing.any():
        out[climbing] = tree.parent[out[climbing]]
        climbing = (out != NONE) & ~is_op[out]

    ops = np.flatnonzero(is_op)
    ids = events.external_id[tree.rows[ops]]
    known, first, count = np.unique(ids, return_index=True, return_counts=True)
    once = (count == 1) & (known > 0)
    known, first = known[once], first[once]
    lost = np.flatnonzero(out == NONE)
    wanted = events.external_id[links.run[lost]]
    at = np.searchsorted(known, wanted)
    found = at < len(known)
    found[found] = known[at[found]] == wanted[found]
    out[lost[found]] = ops[first[at[found]]]
    return out
