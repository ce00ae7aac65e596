"""Framework operators: time on the host, and the device time of the work that they launched."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.groups import Groups
from stepscope.analysis.launches import Links
from stepscope.analysis.nesting import Nest, nest
from stepscope.analysis.select import host_rows
from stepscope.schema import NONE, RUNTIME_CALLS, Events, Kind


@dataclass(frozen=True)
class Operator:
    """All calls of one operator. Device times are null where no device work can be told to be any operator's.

    Metrics:
        name: the operator
        count: calls
        host_total_ns: sum of the calls' durations (a call inside another of the same name counts in both)
        host_self_ns: the same without the operators and device runtime calls directly inside
        device_total_ns: durations of the device work launched inside the calls, whatever lies between
        device_self_ns: durations of the device work whose innermost operator is such a call
    """

    name: str
    count: int
    host_total_ns: int
    host_self_ns: int
    device_total_ns: int | None
    device_self_ns: int | None


def operators(events: Events, links: Links) -> list[Operator]:
    """One entry a name; by device self time where a device ran anything, then by host self time.

    Device work belongs to the operator around its launch on the launching thread. Where the launch is not
    in the trace, or in no operator, it belongs to the operator with its external id, if exactly one has it.
    """
    tree = nest(events, host_rows(events, Kind.OP, *RUNTIME_CALLS))
    is_op = events.kind[tree.rows] == Kind.OP
    ops = np.flatnonzero(is_op)
    if len(ops) == 0:
        return []
    dur = events.dur_ns[tree.rows]
    own = dur.copy()
    nested = tree.parent != NONE
    np.subtract.at(own, tree.parent[nested], tree.inside_ns[nested])
    own = np.maximum(own, 0)  # children that overlap one another would take a moment twice

    device_own = np.zeros(len(tree.rows), np.int64)
    at = _operator_of_run(events, links, tree, is_op)
    np.add.at(device_own, at[at != NONE], events.dur_ns[links.run[at != NONE]])
    before = np.concatenate(([0], np.cumsum(device_own)))
    device_total = before[tree.stop] - before[:-1]

    by_name = Groups(events.name[tree.rows[ops]].astype(np.int64))
    columns = [by_name.sum(column[ops]).tolist() for column in (dur, own, device_total, device_own)]
    has_device = bool((at != NONE).any())
    out = [
        Operator(
            events.names[name], count, total, self_ns, dev if has_device else None, dev_self if has_device else None
        )
        for name, count, total, self_ns, dev, dev_self in zip(
            by_name.keys.tolist(), by_name.count.tolist(), *columns, strict=True
        )
    ]
    return sorted(out, key=lambda o: (-(o.device_self_ns or 0), -o.host_self_ns, o.name))


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
