"""Modules of two workers as a tree: what each adds with all its parts, and by itself."""

from __future__ import annotations

from dataclasses import dataclass

from stepscope.compare.sides import Side
from stepscope.compare.work import deep_sums, mean


@dataclass(frozen=True)
class Node:
    """One module of either worker, with its parts; its parts and itself sum to it. The first node is the root: all of
    a step, and by itself what belongs to no module.

    Metrics:
        name: the last name of its path
        parent: position of the node that it is a part of, which comes before it; null for the root
        status: both, added (only the second worker has it) or removed
        a_ns: self times of it and of all below it, a step of the first worker
        b_ns: of the second
        difference_ns: b_ns - a_ns
        a_self_ns, b_self_ns, self_difference_ns: the same of it alone
        a_count, b_count: calls a step; null where the capture does not tell
    """

    name: str
    parent: int | None
    status: str
    a_ns: float
    b_ns: float
    difference_ns: float
    a_self_ns: float
    b_self_ns: float
    self_difference_ns: float
    a_count: float | None
    b_count: float | None


def tree(a: Side, b: Side) -> list[Node]:
    """Every listed module of both, each after what it is a part of; empty where one of them has none."""
    _, sums = deep_sums(a, b, "modules", lambda row: tuple(row["path"]))
    if not all(sums):
        return []
    paths = {path[:length] for found in sums for path in found for length in range(len(path) + 1)} | {()}
    order = sorted(paths)  # a prefix comes before what it begins
    place = {path: i for i, path in enumerate(order)}
    totals = [[found.get(path, (0, None))[0] for path in order] for found in sums]
    present = [[path in found for path in order] for found in sums]
    for i in range(len(order) - 1, 0, -1):
        parent = place[order[i][:-1]]
        for total, has in zip(totals, present, strict=True):
            total[parent] += total[i]
            has[parent] |= has[i]
    steps = a.covered("deep_steps"), b.covered("deep_steps")
    nodes = []
    for i, path in enumerate(order):
        own = [mean(found.get(path), count) for found, count in zip(sums, steps, strict=True)]
        (a_self, a_count), (b_self, b_count) = own
        a_ns, b_ns = (total[i] / count for total, count in zip(totals, steps, strict=True))
        status = "both" if present[0][i] and present[1][i] else "added" if present[1][i] else "removed"
        nodes.append(
            Node(
                path[-1] if path else "",
                place[path[:-1]] if path else None,
                status,
                a_ns,
                b_ns,
                b_ns - a_ns,
                a_self,
                b_self,
                b_self - a_self,
                a_count if path else None,
                b_count if path else None,
            )
        )
    return nodes
