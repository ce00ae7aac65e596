"""Everything about one slice of the timeline: where it is, what it belongs to, what it is connected with."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from stepscope.schema import DEVICE_WORK, NONE, Events, Kind
from stepscope.timeline import LIVE_BASE, Timeline
from stepscope.timeline.context import context
from stepscope.timeline.links import Connection
from stepscope.timeline.segment import Segment

_KIND_NAMES = {int(kind): kind.name.lower() for kind in Kind}


def slice_of(timeline: Timeline, row: int) -> dict[str, Any]:
    """Everything about one slice, as docs/api.md tells.

    Raises:
        NoSuchSlice: the row is unknown.
    """
    segment, event = timeline.locate(row)
    events = segment.events
    start_ns, dur_ns = int(events.ts_ns[event]), int(events.dur_ns[event])
    return {
        "origin_ns": str(timeline.origin_ns),
        **timeline.place(segment, event),
        "kind": _KIND_NAMES.get(int(events.kind[event]), "other"),
        "lane_name": timeline.lanes.by_id[int(segment.lane[event])].name,
        "self": dur_ns - _children_ns(timeline, segment, event),
        "step": _step_of(timeline, segment, event, start_ns),
        "args": _told(timeline, segment, event),
        **context(segment, timeline.links_of(segment), event),
        "connections": [_connection(timeline, segment, c) for c in timeline.links_of(segment).of(event)],
    }


def _connection(timeline: Timeline, segment: Segment, connection: Connection) -> dict[str, Any]:
    place = timeline.place(segment, connection.event)
    return {"type": connection.type, **place, "latency": connection.latency_ns}


def _children_ns(timeline: Timeline, segment: Segment, event: int) -> int:
    """Time that the direct children of a slice take. What else runs on a queue is no part of a device's work;
    the children of an always-on step are its phases, on the lane below."""
    events = segment.events
    if int(events.kind[event]) in DEVICE_WORK:
        return 0
    inside = segment.children(event)
    if segment.base >= LIVE_BASE and events.kind[event] == Kind.STEP:
        phases = timeline.lanes.phases_beside(int(segment.lane[event]))
        start_ns = int(events.ts_ns[event])
        inside = segment.within(phases, 0, start_ns, start_ns + int(events.dur_ns[event]))
    return int(events.dur_ns[inside].sum())


def _step_of(timeline: Timeline, segment: Segment, event: int, at_ns: int) -> int | None:
    """The step a slice belongs to: told by its source, else that which holds its start; device work that of
    its launch."""
    told = int(segment.events.step[event])
    if told != NONE:
        return told
    if int(segment.events.kind[event]) in DEVICE_WORK:
        call = timeline.links_of(segment).launch_of(event)
        if call is None:
            return None
        at_ns = int(segment.events.ts_ns[call])
    number, start, end = timeline.steps()
    at = int(np.searchsorted(start, at_ns, "right")) - 1
    return int(number[at]) if at >= 0 and at_ns < end[at] and number[at] != NONE else None


def _told(timeline: Timeline, segment: Segment, event: int) -> dict[str, Any]:
    told = _args(segment.events, event)
    producer, consumer = timeline.links_of(segment).handoffs
    for name, ends in (("correlation", producer), ("external id", consumer)):
        if event in ends:
            told.pop(name, None)  # a number of ours, not the source's
    return told


def _args(events: Events, event: int) -> dict[str, Any]:
    """The args of a slice, and the ids and sizes that its source told; integers that a browser would round as text."""
    columns = {
        "bytes": events.bytes,
        "device": events.device,
        "stream": events.stream,
        "correlation": events.correlation,
        "external id": events.external_id,
    }
    told = {name: int(column[event]) for name, column in columns.items() if column[event] != NONE}
    try:
        own = events.args_of(event)
    except json.JSONDecodeError:
        own = {"args": events.args_values[int(events.args[event])]}
    own = own if isinstance(own, dict) else {"args": own}
    return {k: str(v) if isinstance(v, int) and abs(v) >= 1 << 53 else v for k, v in {**own, **told}.items()}
