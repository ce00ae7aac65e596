"""The lane of another worker that plays the part of a given one: ranks compared lane by lane."""

from __future__ import annotations

import re
from typing import Any

from stepscope.timeline import Timeline
from stepscope.timeline.lanes import TimelineLane

_DIGITS = re.compile(r"\d+")


def peer(timeline: Timeline, lane: int, other: Timeline) -> dict[str, Any]:
    """The lane of ``other`` in the place of ``lane``, its steps and extent.

    Lanes correspond when their paths from the root do: type, name without numbers (process and thread ids, device
    ordinals differ from rank to rank), and which of several such lanes it is; streams keep their number where
    the other worker has it.

    Returns:
        ``lane`` (None where it has no such lane) with ``name``, ``rows``; ``origin_ns``, ``t0``, ``t1``, ``steps`` as
        in the tree.
    """
    tree = other.tree()
    wanted = _places(timeline).get(lane)
    found = None
    if wanted is not None:
        exact = {place: id for id, place in _places(other, keep_stream=True).items()}
        loose = {place: id for id, place in _places(other).items()}
        found = exact.get(_places(timeline, keep_stream=True)[lane], loose.get(wanted))
    about = next((entry for entry in tree["lanes"] if entry["id"] == found), None)
    return {
        **{key: tree[key] for key in ("origin_ns", "t0", "t1", "steps")},
        "lane": found,
        "name": None if about is None else about["name"],
        "rows": 0 if about is None else about["rows"],
    }


def _places(timeline: Timeline, keep_stream: bool = False) -> dict[int, tuple]:
    """The place of each lane: what its path looks like without the numbers that belong to one process."""
    places: dict[int, tuple] = {}
    taken: dict[tuple, int] = {}
    for entry in timeline.tree()["lanes"]:
        lane = timeline.lanes.by_id[entry["id"]]
        above = places[lane.parent] if lane.parent is not None else ()
        look = (*above, (lane.type, _look(lane, keep_stream)))
        which = taken[look] = taken.get(look, -1) + 1
        places[lane.id] = (*above, (lane.type, _look(lane, keep_stream), which))
    return places


def _look(lane: TimelineLane, keep_stream: bool) -> str:
    if lane.type in ("host", "process"):
        return ""
    if lane.type == "stream" and keep_stream:
        return lane.name
    return _DIGITS.sub("#", lane.name)
