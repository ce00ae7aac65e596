"""Regions that the user or a library named."""

from __future__ import annotations

from dataclasses import dataclass

from stepscope.analysis.groups import Groups
from stepscope.analysis.percentiles import nearest_rank
from stepscope.analysis.select import host_rows
from stepscope.schema import Events, Kind


@dataclass(frozen=True)
class Annotation:
    """All regions of one name.

    Metrics:
        name: the region
        count: how often it ran
        total_ns: sum of its durations on the host
        p50_ns: median duration, by nearest rank
        p99_ns: 99th percentile, by nearest rank
    """

    name: str
    count: int
    total_ns: int
    p50_ns: int
    p99_ns: int


def annotation_times(live: Events, deep: Events) -> list[Annotation]:
    """One entry a name, the largest total first.

    A name that the always-on stream has is taken from there alone: the deep windows show the same regions.
    """
    by_name = {a.name: a for a in _of(deep)}
    by_name.update({a.name: a for a in _of(live)})
    return sorted(by_name.values(), key=lambda a: (-a.total_ns, a.name))


def _of(events: Events) -> list[Annotation]:
    rows = host_rows(events, Kind.ANNOTATION)
    dur = events.dur_ns[rows]
    groups = Groups(events.name[rows])
    out = []
    for i, name in enumerate(groups.keys.tolist()):
        values = groups.values(i, dur)
        p50, p99 = nearest_rank(values, 50, 99)
        out.append(Annotation(events.names[name], len(values), int(values.sum()), p50, p99))
    return out
