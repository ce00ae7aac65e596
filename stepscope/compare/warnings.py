"""Why the numbers of two workers may not be comparable."""

from __future__ import annotations

from dataclasses import dataclass

from stepscope.compare.sides import Side

#: Steps captured in depth below which the means of classes, kernels and operators rest on very little.
FEW_STEPS = 2


@dataclass(frozen=True)
class Caution:
    """What to mind, in words. Codes: framework, world_size, devices, precision, batch_size (these differ: ``a`` and
    ``b`` tell what they are), no_deep_steps, few_deep_steps, cut_modules."""

    code: str
    detail: str
    a: str | None = None
    b: str | None = None


def warnings(a: Side, b: Side) -> list[Caution]:
    """What makes the workers differ besides what one wants to compare, and what one of them lacks."""
    sides = (("A", a), ("B", b))
    settings = (
        ("framework", "The frameworks differ", [side.worker["framework"] for _, side in sides]),
        ("world_size", "The numbers of ranks differ", [side.worker["world_size"] for _, side in sides]),
        ("devices", "The devices differ", [", ".join(side.devices()) or "no accelerator" for _, side in sides]),
        ("precision", "Most of the kernels' time is of different precision", [side.precision() for _, side in sides]),
        ("batch_size", "The batch sizes differ", [side.batch_size() for _, side in sides]),
    )
    found = [
        Caution(code, what, str(of_a), str(of_b))
        for code, what, (of_a, of_b) in settings
        if of_a is not None and of_b is not None and of_a != of_b
    ]
    for name, side in sides:
        deep = side.covered("deep_steps")
        if deep == 0:
            lost = "classes of activity, kernels, operators and modules cannot be compared"
            found.append(Caution("no_deep_steps", f"{name} has no step captured in depth: {lost}"))
        elif deep < FEW_STEPS:
            found.append(Caution("few_deep_steps", f"{name} has only one step captured in depth: it may be unusual"))
        listed, total = max(len(side.worker["modules"] or ()) - 1, 0), side.worker["modules_total"] or 0
        if total > listed:
            lost = f"the {listed:,} largest are compared, the others look as if {name} had none of them"
            found.append(Caution("cut_modules", f"{name} has {total:,} modules: {lost}"))
    return found
