"""What a slice can be coloured by besides its kind and name: the stream it runs on or feeds, the module it is of."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stepscope.analysis.enclosing import innermost
from stepscope.schema import DEVICE_WORK, NONE, Kind
from stepscope.timeline import LIVE_BASE, Timeline
from stepscope.timeline.links import SegmentLinks
from stepscope.timeline.segment import Segment

GROUPINGS = ("stream", "module")


def with_groups(timeline: Timeline, table: pa.Table) -> pa.Table:
    """A view (``VIEW_SCHEMA``) with a column for each of ``GROUPINGS``, dictionary of utf8: of each rectangle's longest
    slice.

    ``stream``: "GPU 0 stream 7" of device work, and of the call that launched it. ``module``: the innermost module
    call around a slice, around its launch for device work. Empty where a slice has none.
    """
    for by in GROUPINGS:
        table = table.append_column(by, _column(timeline, table.column("row").to_numpy(), by))
    return table


def _column(timeline: Timeline, rows: np.ndarray, by: str) -> pa.Array:
    labels: dict[str, int] = {"": 0}
    group = np.zeros(len(rows), np.int32)
    for segment in timeline.segments():
        mine = np.flatnonzero((rows >= segment.base) & (rows < segment.base + len(segment.events)))
        if len(mine) == 0 or segment.base >= LIVE_BASE:
            continue
        code, texts = _codes(timeline, segment, by)
        ids = np.array([labels.setdefault(text, len(labels)) for text in texts] or [0], dtype=np.int32)
        found = code[rows[mine] - segment.base]
        group[mine] = np.where(found == NONE, 0, ids[found])
    return pa.DictionaryArray.from_arrays(pa.array(group), pa.array(list(labels), pa.utf8()))


def make_groups(timeline: Timeline) -> None:
    """Make what the first view with groups waits for."""
    for segment in timeline.segments():
        for by in GROUPINGS:
            if segment.base < LIVE_BASE:
                _codes(timeline, segment, by)


def _codes(timeline: Timeline, segment: Segment, by: str) -> tuple[np.ndarray, list[str]]:
    """For each event the number of its group, ``NONE`` without one; and the groups."""
    links = timeline.links_of(segment)
    if by not in links.groups:
        links.groups[by] = _streams(timeline, segment, links) if by == "stream" else _modules(segment, links)
    return links.groups[by]


def _streams(timeline: Timeline, segment: Segment, links: SegmentLinks) -> tuple[np.ndarray, list[str]]:
    events = segment.events
    code = np.full(len(events), NONE, np.int64)
    runs = np.flatnonzero(events.of_kind(*DEVICE_WORK))
    lanes, code[runs] = np.unique(segment.lane[runs], return_inverse=True)
    # Of the runs of one call the first gives the stream: written last, it stays.
    linked = np.flatnonzero(links.launches.call_of_run != NONE)[::-1]
    code[links.launches.call[links.launches.call_of_run[linked]]] = code[links.launches.run[linked]]
    by_id = timeline.lanes.by_id
    texts = []
    for lane in lanes.tolist():
        parent = by_id[lane].parent
        device = "" if parent is None else by_id[parent].name.split(" · ")[0]
        texts.append(f"{device} {by_id[lane].name}".strip())
    return code, texts


def _modules(segment: Segment, links: SegmentLinks) -> tuple[np.ndarray, list[str]]:
    events = segment.events
    modules = np.flatnonzero(events.kind == Kind.MODULE)
    code = np.full(len(events), NONE, np.int64)
    if len(modules) == 0:
        return code, []
    rows = np.flatnonzero(np.isin(events.lane, np.unique(events.lane[modules])))
    code[rows] = innermost(events, modules, rows)
    code[modules] = modules  # a module is its own, whatever rounding makes of its start
    linked = links.launches.call_of_run != NONE
    code[links.launches.run[linked]] = code[links.launches.call[links.launches.call_of_run[linked]]]
    known = code != NONE
    names, code[known] = np.unique(events.name[code[known]], return_inverse=True)
    return code, [events.names[n] for n in names.tolist()]
