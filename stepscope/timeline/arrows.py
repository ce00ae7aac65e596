"""Every connection that an interval shows: launch to run, forward operator to backward node, producer to consumer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from stepscope.schema import NONE
from stepscope.timeline import LIVE_BASE, Timeline
from stepscope.timeline.segment import Segment
from stepscope.timeline.select import absolute, below

#: The most arrows of one answer; more would be a carpet.
MAX_ARROWS = 2000
_TYPES = ("run", "backward", "consumer")


def arrows(timeline: Timeline, t0: int, t1: int, lanes: Iterable[int] | None, limit: int = MAX_ARROWS) -> dict:
    """The connections with both ends on the given lanes (and those below) that reach into [t0, t1).

    Returns:
        ``count`` of all, and of at most ``limit`` of them, evenly spread in order of start, the columns ``type``
        ("run", "backward" or "consumer"), ``from_row``, ``from_lane``, ``from_depth``, ``from_t`` (the end of a launch
        or a producer, the start of a forward operator), ``to_row``, ``to_lane``, ``to_depth``, ``to_t`` (the start
        of the effect).
    """
    t0_ns, t1_ns = absolute(timeline, t0, t1)
    wanted = np.array(sorted(below(timeline, lanes)), dtype=np.int64)
    parts = []
    for segment in timeline.segments():
        if segment.base >= LIVE_BASE or segment.begin_ns >= t1_ns or segment.end_ns < t0_ns:
            continue
        cause, effect, kind, at_ns = _pairs(timeline, segment)
        events = segment.events
        shown = (at_ns < t1_ns) & (events.ts_ns[effect] >= t0_ns)
        shown &= np.isin(segment.lane[cause], wanted) & np.isin(segment.lane[effect], wanted)
        cause, effect, kind, at_ns = cause[shown], effect[shown], kind[shown], at_ns[shown]
        parts.append(
            np.stack(
                [
                    kind,
                    cause + segment.base,
                    segment.lane[cause],
                    segment.depth[cause],
                    at_ns - timeline.origin_ns,
                    effect + segment.base,
                    segment.lane[effect],
                    segment.depth[effect],
                    events.ts_ns[effect] - timeline.origin_ns,
                ]
            )
        )
    table = np.concatenate([np.empty((9, 0), np.int64), *parts], axis=1)
    count = table.shape[1]
    table = table[:, np.lexsort((table[5], table[4]))]
    if count > limit:
        table = table[:, np.linspace(0, count - 1, limit).astype(np.int64)]
    columns: dict[str, Any] = dict(
        zip(
            ("from_row", "from_lane", "from_depth", "from_t", "to_row", "to_lane", "to_depth", "to_t"),
            table[1:].tolist(),
            strict=True,
        )
    )
    kinds = [_TYPES[k] for k in table[0].tolist()]
    return {"origin_ns": str(timeline.origin_ns), "count": count, "type": kinds, **columns}


def _pairs(timeline: Timeline, segment: Segment) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Cause, effect, type (index into ``_TYPES``) and the time at which the arrow leaves, one entry a pair."""
    links = timeline.links_of(segment)
    launches, autograd = links.launches, links.autograd
    linked = launches.call_of_run != NONE
    forward = autograd.forward[autograd.linked]
    producer, consumer = links.handoffs
    call = launches.call[launches.call_of_run[linked]]
    run = launches.run[linked]
    return (
        np.concatenate((call, forward, producer)).astype(np.int64),
        np.concatenate((run, autograd.node[autograd.linked], consumer)).astype(np.int64),
        np.repeat(np.arange(3), [len(call), len(forward), len(producer)]),
        np.concatenate(
            (_leaves(segment, call, run), segment.events.ts_ns[forward], _leaves(segment, producer, consumer))
        ),
    )


def _leaves(segment: Segment, cause: np.ndarray, effect: np.ndarray) -> np.ndarray:
    """The end of each cause; where the effect began before it, that moment, as it is drawn for a selection."""
    events = segment.events
    return np.maximum(np.minimum(events.ends_ns(cause), events.ts_ns[effect]), events.ts_ns[cause])
