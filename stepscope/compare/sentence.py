"""A comparison in one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stepscope.compare.parts import Parts
from stepscope.compare.quantities import Quantity
from stepscope.compare.work import Work
from stepscope.report import format as fmt

#: Steps that differ by less are said to take equally long.
EQUAL_RATIO = 0.01
#: What makes up so much of the difference is named.
_NAMED_RATIO = 0.25
_MOST_PARTS = 2


def told(headline: Sequence[Quantity], parts: Mapping[str, Parts], work: Mapping[str, Work]) -> dict[str, Any]:
    """``verdict`` (slower, faster, equal, or null where a step time is not known), ``sentence`` on the median step
    without names of the capture, and ``mostly``: what makes up a quarter of the difference or more, each with ``of``
    (phase, activity, kernels or operators), ``name`` and ``difference_ns`` of a mean step."""
    step = next(quantity for quantity in headline if quantity.name == "step_p50")
    if step.a is None or step.b is None or step.difference is None:
        return {"verdict": None, "sentence": f"The step times cannot be compared: {step.why}", "mostly": []}
    share = abs(step.difference) / step.a if step.a else 0.0
    if share < EQUAL_RATIO:
        sentence = f"B's step takes as long as A's: {fmt.time(step.b)} and {fmt.time(step.a)} (median)"
        return {"verdict": "equal", "sentence": sentence, "mostly": []}
    verdict = "slower" if step.difference > 0 else "faster"
    much, times = f" ({fmt.percent(share)})", ""
    if step.b >= 2 * step.a > 0:  # 1132 % slower is hard to picture
        much, times = "", f", {step.b / step.a:.3g} times as long"
    sentence = (
        f"B's step is {fmt.time(abs(step.difference))}{much} {verdict} than A's{times}: "
        f"{fmt.time(step.b)} instead of {fmt.time(step.a)} (median)"
    )
    return {"verdict": verdict, "sentence": sentence, "mostly": _mostly(step.difference, parts, work)}


def _mostly(difference: float, parts: Mapping[str, Parts], work: Mapping[str, Work]) -> list[dict[str, Any]]:
    """The parts and the kernel, else the operator, that stand out; those that work against the difference do not."""
    division = next((name for name in ("phase", "activity") if parts[name].why is None), None)
    rows = [] if division is None else sorted(parts[division].rows, key=lambda part: -abs(part.difference_ns))
    named = [(division, row.name, row.difference_ns) for row in rows if _stands_out(row.difference_ns, difference)]
    found = named[:_MOST_PARTS]
    found += _work(difference, work)
    return [{"of": of, "name": name, "difference_ns": ns} for of, name, ns in found]


def _work(difference: float, work: Mapping[str, Work]) -> list[tuple[str, str, float]]:
    """A kernel, else an operator that both have; else one that only one has, which may have replaced another."""
    for statuses in (("both",), ("added", "removed")):
        for table in ("kernels", "operators"):
            for row in work[table].rows:
                if row.status in statuses and _stands_out(row.difference_ns, difference):
                    return [(table, row.name, row.difference_ns)]
    return []


def _stands_out(part: float, whole: float) -> bool:
    return part * whole > 0 and abs(part) >= _NAMED_RATIO * abs(whole)
