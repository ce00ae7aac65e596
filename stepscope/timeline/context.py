"""Where a slice comes from in the program: operator, modules, call stack."""

from __future__ import annotations

import json
from typing import Any

from stepscope.schema import DEVICE_WORK, NONE, Kind
from stepscope.timeline.links import SegmentLinks
from stepscope.timeline.segment import Segment

_FRAMES = (Kind.PYTHON, Kind.MODULE)


def context(segment: Segment, links: SegmentLinks, event: int) -> dict[str, Any]:
    """The operator, the modules and the stack around a slice, for device work around the call that launched it.

    Returns:
        ``operator``: the innermost operator around, or the slice itself, as {"row", "name"}; None without one.
        ``modules``: names from the outermost to the innermost. ``stack``: frames from the outermost to the
        innermost, those that the source tells with the operator, else the Python frames around.
    """
    events = segment.events
    on_device = int(events.kind[event]) in DEVICE_WORK
    anchor = links.launch_of(event) if on_device else event
    if anchor is None:
        return {"operator": None, "modules": [], "stack": []}
    around = [anchor, *segment.ancestors(anchor)]
    operator = next((a for a in around if events.kind[a] == Kind.OP), None)
    outside = list(reversed([a for a in around if a != event]))
    told = [] if operator is None else _told_stack(segment, operator)
    return {
        "operator": None if operator is None else {"row": segment.base + operator, "name": events.text(operator)},
        "modules": [events.text(a) for a in outside if events.kind[a] == Kind.MODULE],
        "stack": told or [events.text(a) for a in outside if events.kind[a] in _FRAMES],
    }


def _told_stack(segment: Segment, operator: int) -> list[str]:
    """The stack in an operator's own record, which has the innermost frame first with semicolons between."""
    if segment.events.args[operator] == NONE:
        return []
    try:
        args = segment.events.args_of(operator)
    except json.JSONDecodeError:
        return []
    stack = args.get("Call stack") if isinstance(args, dict) else None
    return [frame for frame in reversed(stack.split(";")) if frame] if isinstance(stack, str) else []
