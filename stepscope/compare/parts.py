"""What the steps of two workers are made of, part by part."""

from __future__ import annotations

from dataclasses import dataclass

from stepscope.compare.sides import Side, lacking
from stepscope.schema import ACTIVITIES, PHASES

_DIVISIONS = {
    "phase": ("phase_total_ns", "phased_steps", PHASES, "a step of which phases are known"),
    "activity": ("activity_total_ns", "deep_steps", ACTIVITIES, "a step captured in depth"),
}
_REST = "other"


@dataclass(frozen=True)
class Part:
    """One phase, or one class of activity, as mean of a step."""

    name: str
    a_ns: float
    b_ns: float
    difference_ns: float


@dataclass(frozen=True)
class Parts:
    """Steps of both workers by phase or by class of activity: the parts sum to the whole, and so do their differences.

    Metrics:
        why: a sentence where one of the workers was not divided so; then all else is null or empty
        a_ns: mean of the first worker's steps that were divided so (coverage: phased_steps, deep_steps)
        b_ns: of the second
        difference_ns: b_ns - a_ns
        in_other: parts that were measured of one worker only; its time is counted in other, as the other's is
        rows: of each part name, a_ns, b_ns, difference_ns
    """

    why: str | None
    a_ns: float | None
    b_ns: float | None
    difference_ns: float | None
    in_other: list[str]
    rows: list[Part]


def divided(a: Side, b: Side, division: str) -> Parts:
    """The steps of both workers, divided by ``phase`` or by ``activity``."""
    field, steps, names, what = _DIVISIONS[division]
    totals = [side.worker[field] for side in (a, b)]
    if why := lacking(totals[0] is None, totals[1] is None, what):
        return Parts(why, None, None, None, [], [])
    known = [{name: ns for name, ns in total.items() if ns is not None} for total in totals]
    alone = [name for name in names if name != _REST and (name in known[0]) != (name in known[1])]
    for of in known:
        moved = sum(of.pop(name, 0) for name in alone)
        if moved or _REST in of:
            of[_REST] = of.get(_REST, 0) + moved
    counts = a.covered(steps), b.covered(steps)
    rows = []
    for name in names:
        if name in known[0] or name in known[1]:
            of_a, of_b = (of.get(name, 0) / count for of, count in zip(known, counts, strict=True))
            rows.append(Part(name, of_a, of_b, of_b - of_a))
    whole_a, whole_b = (sum(of.values()) / count for of, count in zip(known, counts, strict=True))
    return Parts(None, whole_a, whole_b, whole_b - whole_a, alone, rows)
