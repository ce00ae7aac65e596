"""Regions that the user or a library named: durations of any name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.groups import Groups
from stepscope.analysis.order import coded
from stepscope.analysis.select import host_rows
from stepscope.schema import Events, Kind

#: Names that are listed: a region with a number in its name has one for each run of it.
MOST_NAMES = 1000


@dataclass(frozen=True)
class Annotation:
    """All regions of one name.

    The 1,000 with the largest totals are listed. ``annotation_count`` tells how many names there are, and
    ``annotations_others`` what those that are not listed add up to, null where all are.

    Metrics:
        name: the region; null where it stands for all that are not listed
        count: how often it ran
        total_ns: sum of its durations on the host
        min_ns: the shortest
        p50_ns: median duration, by nearest rank
        p90_ns: 90th percentile, by nearest rank
        p99_ns: 99th percentile, by nearest rank
        max_ns: the longest
    """

    name: str | None
    count: int
    total_ns: int
    min_ns: int
    p50_ns: int
    p90_ns: int
    p99_ns: int
    max_ns: int


def annotation_times(live: Events, deep: Events) -> tuple[list[Annotation], Annotation | None, int]:
    """One entry a name, the largest total first, what those that are left out add up to, and how many names there are.

    A name that the always-on stream has is taken from there alone: the deep windows show the same regions.
    """
    names: list[str] = []
    name_of: list[np.ndarray] = []  # of each region its place in names
    durations: list[np.ndarray] = []
    for events, rows in zip((live, deep), annotation_rows(live, deep), strict=True):
        keys, code = coded(events.name[rows])
        name_of.append(code + len(names))
        names += [events.names[name] for name in keys.tolist()]
        durations.append(events.dur_ns[rows])
    groups, dur_ns = Groups(np.concatenate(name_of)), np.concatenate(durations)
    total = groups.sum(dur_ns).tolist()
    order = sorted(range(len(names)), key=lambda i: (-total[i], names[i]))
    listed, left = order[:MOST_NAMES], order[MOST_NAMES:]
    place = np.full(len(names), len(listed), np.int64)
    place[listed] = np.arange(len(listed))
    sums = list(zip(*annotation_sums(Groups(place[groups.of]), dur_ns).values(), strict=True))
    others = Annotation(None, *sums[-1]) if left else None
    return [Annotation(names[i], *row) for i, row in zip(listed, sums, strict=False)], others, len(names)


def annotation_rows(live: Events, deep: Events) -> tuple[np.ndarray, np.ndarray]:
    """The rows of both tables that count as annotations: of ``deep`` only names that ``live`` has not."""
    of_live, of_deep = (host_rows(events, Kind.ANNOTATION) for events in (live, deep))
    known = {live.names[name] for name in np.unique(live.name[of_live]).tolist()}
    is_new = np.array([name not in known for name in deep.names], dtype=bool)
    return of_live, of_deep[is_new[deep.name[of_deep]]] if len(of_deep) else of_deep


def annotation_sums(groups: Groups, dur_ns: np.ndarray) -> dict[str, list[int]]:
    """What is told of each group of regions: column by column, in the order of the fields of ``Annotation``."""
    p50, p90, p99 = groups.nearest_rank(dur_ns, 50, 90, 99)
    return {
        "count": groups.count.tolist(),
        "total_ns": groups.sum(dur_ns).tolist(),
        "min_ns": groups.min(dur_ns).tolist(),
        "p50_ns": p50.tolist(),
        "p90_ns": p90.tolist(),
        "p99_ns": p99.tolist(),
        "max_ns": groups.max(dur_ns).tolist(),
    }


def durations_of(name: str, live: Events, deep: Events, *kinds: Kind) -> np.ndarray:
    """Durations in ns, in order of time, of the host rows of one name.

    From the always-on stream if that has any, else from the deep windows. Only ANNOTATION rows unless other
    ``kinds`` are named (such as PHASE or OP).
    """
    for events in (live, deep):
        rows = host_rows(events, *(kinds or (Kind.ANNOTATION,)))
        rows = rows[events.name[rows] == (events.names.index(name) if name in events.names else -1)]
        if len(rows):
            return events.dur_ns[rows[np.lexsort((events.dur_ns[rows], events.ts_ns[rows]))]]
    return np.empty(0, np.int64)
