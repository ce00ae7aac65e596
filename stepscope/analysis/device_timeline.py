"""The device side of a capture as a whole: computing, exposed communication and copies, idle."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from stepscope.analysis import intervals
from stepscope.analysis.select import covered, device_work
from stepscope.schema import Events, Kind


@dataclass(frozen=True)
class DeviceTimeline:
    """Union of all devices of a worker, in ns, from the first to the last device event of a capture.

    Metrics:
        total: first device event's start to the last one's end; several deep windows add up
        compute: covered by compute kernels
        exposed_communication: covered by collectives and by no compute kernel
        exposed_memcpy: covered by copies and by none of the above
        exposed_memset: covered by fills and by none of the above
        idle: covered by no device work; with the four above it sums to total
        communication: covered by collectives, overlaps with other work included
        memcpy: covered by copies, overlaps with other work included
    """

    total: int = 0
    compute: int = 0
    exposed_communication: int = 0
    exposed_memcpy: int = 0
    exposed_memset: int = 0
    idle: int = 0
    communication: int = 0
    memcpy: int = 0

    def __add__(self, other: DeviceTimeline) -> DeviceTimeline:
        return DeviceTimeline(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


def device_timeline(events: Events) -> DeviceTimeline | None:
    """The timeline of one deep window; None if no device ran anything in it.

    Events of no length count for where the window begins and ends.
    """
    rows = device_work(events)
    if len(rows) == 0:
        return None
    kinds = (Kind.KERNEL, Kind.COLLECTIVE, Kind.MEMCPY, Kind.MEMSET)
    sets = [covered(events, np.flatnonzero(events.of_kind(kind))) for kind in kinds]
    compute, exposed_communication, exposed_memcpy, exposed_memset = map(intervals.length, intervals.exclusive(sets))
    start = events.ts_ns[rows]
    total = int((start + events.dur_ns[rows]).max() - start.min())
    return DeviceTimeline(
        total=total,
        compute=compute,
        exposed_communication=exposed_communication,
        exposed_memcpy=exposed_memcpy,
        exposed_memset=exposed_memset,
        idle=total - compute - exposed_communication - exposed_memcpy - exposed_memset,
        communication=intervals.length(sets[1]),
        memcpy=intervals.length(sets[2]),
    )
