"""Which rows of an event table are what: host or device, and of which device and queue."""

from __future__ import annotations

import numpy as np

from stepscope.analysis import intervals
from stepscope.analysis.order import coded
from stepscope.schema import DEVICE_WORK, NONE, Events, Kind


def on_host(events: Events) -> np.ndarray:
    """Mask of the rows that lie on host lanes."""
    return _host_lanes(events)[events.lane]


def _host_lanes(events: Events) -> np.ndarray:
    """Mask of the lanes; those that rows of no lane point to are none of the host."""
    return np.array([*(lane.device == NONE and lane.type != "stream" for lane in events.lanes), False], dtype=bool)


def host_rows(events: Events, *kinds: Kind) -> np.ndarray:
    """Indices of the host rows of these kinds."""
    rows = np.flatnonzero(events.of_kind(*kinds))
    return rows[_host_lanes(events)[events.lane[rows]]]


def device_work(events: Events) -> np.ndarray:
    """Indices of the rows that are work on a device queue (kernels, collectives, copies, fills)."""
    return np.flatnonzero(events.of_kind(*DEVICE_WORK))


def device_of(events: Events, rows: np.ndarray) -> np.ndarray:
    """Device ordinal of each row: its own, else its lane's, else 0."""
    own = events.device[rows].astype(np.int64)
    untold = np.flatnonzero(own == NONE)
    if len(untold):
        lanes = np.array([lane.device for lane in events.lanes], dtype=np.int64)
        of_lane = lanes[events.lane[rows][untold]] if events.lanes else own[untold]
        own[untold] = np.where(of_lane == NONE, 0, of_lane)
    return own


def queue_of(events: Events, rows: np.ndarray) -> np.ndarray:
    """A number for the device queue of each row: rows of one device and stream share it.

    The lane stands in for the stream where the source names none.
    """
    stream = coded(events.stream[rows])[1]
    named = events.stream[rows] != NONE
    stream = np.where(named, stream, len(rows) + events.lane[rows])
    device = coded(device_of(events, rows))[1]
    return device * (len(rows) + len(events.lanes) + 1) + stream


def covered(events: Events, rows: np.ndarray) -> np.ndarray:
    """The set of moments that these rows cover (``intervals``)."""
    start = events.ts_ns[rows]
    return intervals.union(start, start + events.dur_ns[rows])
