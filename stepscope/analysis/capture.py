"""The deep windows of one worker as one event table that still knows its windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepscope.schema import COLUMN_DTYPES, NONE, Events, Lane


@dataclass(frozen=True, eq=False)
class Capture:
    """Rows ``bounds[i]`` to ``bounds[i + 1]`` of ``events`` are those of window ``i``.

    ``extent_ns`` has shape (windows, 2): from the first start to the last end of each window.
    """

    events: Events
    bounds: np.ndarray
    extent_ns: np.ndarray

    def __len__(self) -> int:
        return len(self.extent_ns)

    def window_of(self, rows: np.ndarray) -> np.ndarray:
        """The window of each row."""
        return np.searchsorted(self.bounds, rows, "right") - 1


def merge(windows: Sequence[Events]) -> Capture:
    """Put windows one after the other.

    Names and lanes become common ones. Correlation and external ids are renumbered where there are
    several windows, because profilers count them anew in each.
    """
    bounds = np.concatenate(([0], np.cumsum([len(w) for w in windows], dtype=np.int64))).astype(np.int64)
    extents = [(int(w.ts_ns.min()), int(w.end_ns.max())) if len(w) else (0, 0) for w in windows]
    extent_ns = np.array(extents, dtype=np.int64).reshape(-1, 2)
    if len(windows) == 1:
        return Capture(windows[0], bounds, extent_ns)
    names: dict[str, int] = {}
    lanes: dict[tuple, int] = {}
    all_lanes: list[Lane] = []
    args_values: list[str] = []
    parts: dict[str, list[np.ndarray]] = {column: [] for column in COLUMN_DTYPES}
    highest = 0
    for window in windows:
        columns = {c: getattr(window, c) for c in COLUMN_DTYPES}
        name_map = np.array([names.setdefault(n, len(names)) for n in window.names], dtype=np.int32)
        lane_map = np.empty(len(window.lanes), np.int32)
        for i, lane in enumerate(window.lanes):
            key = (lane.type, lane.pid, lane.tid, lane.device, lane.stream)
            lane_map[i] = lanes.setdefault(key, len(lanes))
            if lane_map[i] == len(all_lanes):
                all_lanes.append(lane)
        if len(window):
            columns["name"] = name_map[window.name]
            columns["lane"] = lane_map[window.lane]
        columns["args"] = np.where(window.args == NONE, NONE, window.args + len(args_values)).astype(np.int32)
        args_values.extend(window.args_values)
        # Both together: the external id of a consumer is the correlation id of its producer.
        ids, highest = _renumber(np.concatenate((columns["correlation"], columns["external_id"])), highest)
        columns["correlation"], columns["external_id"] = ids[: len(window)], ids[len(window) :]
        for column, part in parts.items():
            part.append(columns[column])
    joined = {c: np.concatenate([np.empty(0, COLUMN_DTYPES[c]), *part]) for c, part in parts.items()}
    return Capture(Events.from_columns(joined, list(names), all_lanes, args_values), bounds, extent_ns)


def _renumber(ids: np.ndarray, highest: int) -> tuple[np.ndarray, int]:
    """Positive ids as ``highest`` + 1, + 2, ...; others stay. Also the new highest."""
    real = ids > 0
    distinct, code = np.unique(ids[real], return_inverse=True)
    out = ids.copy()
    out[real] = code + 1 + highest
    return out, highest + len(distinct)
