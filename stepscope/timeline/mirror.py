"""For each device a lane of what the host does for it: the calls that launch its work, and the annotations around them.

The slices stay on their threads and keep their numbers: a mirror shows them once more. Sums, searches and exports see
it only where its lane is asked for by itself (``stepscope.timeline.select``).
"""

from __future__ import annotations

import numpy as np

from stepscope.schema import NONE, Kind
from stepscope.store.rows import row_order
from stepscope.timeline.lanes import Lanes
from stepscope.timeline.links import SegmentLinks
from stepscope.timeline.segment import Rows, Segment, kinds_of

_ANNOTATIONS = (Kind.STEP, Kind.PHASE, Kind.ANNOTATION, Kind.DATALOADER)


class Mirror(Rows):
    """Some slices of a segment on another lane.

    Args:
        segment: where they are from.
        lane: the lane that shows them.
        rows: their places in the segment's events.
    """

    def __init__(self, segment: Segment, lane: int, rows: np.ndarray) -> None:
        e = segment.events
        order, depth = row_order(np.zeros(len(rows), np.int32), e.ts_ns[rows], e.dur_ns[rows], {0})
        super().__init__(e, rows[order], np.full(len(rows), lane, np.int32), depth, segment.name, segment.base)
        self.lane_id = lane
        self.sources = frozenset(kinds_of(segment.lane[rows]).tolist())


def mirrors_of(segment: Segment, links: SegmentLinks, lanes: Lanes) -> list[Mirror]:
    """A mirror for each device that the window's host launched work on."""
    launches = links.launches
    linked = launches.call_of_run != NONE
    runs, calls = launches.run[linked], launches.call[launches.call_of_run[linked]]
    parents = {lane: lanes.by_id[lane].parent for lane in kinds_of(segment.lane[runs]).tolist()}
    annotations = np.flatnonzero(segment.events.of_kind(*_ANNOTATIONS))
    found = []
    for device in sorted({parent for parent in parents.values() if parent is not None}):
        streams = [lane for lane, parent in parents.items() if parent == device]
        launching = calls[np.isin(segment.lane[runs], streams)]
        threads = kinds_of(segment.lane[launching])
        shown = np.zeros(len(segment.events), bool)  # np.unique of as many numbers takes twenty times as long
        shown[launching] = True
        shown[annotations[np.isin(segment.lane[annotations], threads)]] = True
        found.append(Mirror(segment, lanes.host_of(device), np.flatnonzero(shown)))
    return found
