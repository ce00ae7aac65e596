"""What a viewport shows: rectangles of one slice, or of small neighbours in one pixel, as a table for the browser."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from stepscope.lod import Rectangles
from stepscope.timeline.segment import Rows

VIEW_SCHEMA = pa.schema(
    [
        ("lane", pa.int32()),
        ("depth", pa.int16()),
        ("start", pa.float64()),
        ("dur", pa.float64()),
        ("count", pa.int32()),
        ("busy", pa.float64()),
        ("name", pa.dictionary(pa.int32(), pa.utf8())),
        ("kind", pa.uint8()),
        ("row", pa.int32()),
    ]
)


def rectangles(
    segments: Iterable[Rows], t0_ns: int, t1_ns: int, px: int, lanes: Sequence[int]
) -> dict[str, np.ndarray] | None:
    """The columns of what [t0_ns, t1_ns) shows of these lanes, by lane, depth, start; None where that is nothing."""
    pixel_ns = min(max(1, (t1_ns - t0_ns) // max(px, 1)), 1 << 62)
    parts = []
    for segment in segments:
        # Clipped to the data, since a far-off viewport does not fit into 64 bits; an instant takes up 1 ns.
        begin_ns, end_ns = max(t0_ns, segment.begin_ns), min(t1_ns, segment.end_ns + 1)
        if begin_ns < end_ns:
            ranges = sorted(segment.rows_of[lane] for lane in lanes if lane in segment.rows_of)
            if ranges:
                rows = np.concatenate([np.arange(*r) for r in ranges])
                shown = segment.index.view(rows, begin_ns, end_ns, pixel_ns)
                if len(shown.row):
                    parts.append(_columns(segment, shown))
    return _join(parts, pixel_ns) if parts else None


def view_table(columns: dict[str, np.ndarray] | None, texts: Sequence[str], origin_ns: int) -> pa.Table:
    """The rectangles as VIEW_SCHEMA; ``texts`` are the names that they point to."""
    if columns is None:
        return VIEW_SCHEMA.empty_table()
    used = np.zeros(len(texts), bool)
    used[columns["name"]] = True
    names = pa.array([texts[i] for i in np.flatnonzero(used).tolist()], pa.utf8())
    index = (np.cumsum(used) - 1).astype(np.int32)[columns["name"]]
    arrays = {
        "lane": columns["lane"],
        "depth": columns["depth"],
        "start": columns["start"] - origin_ns,
        "dur": columns["end"] - columns["start"],
        "count": columns["count"],
        "busy": columns["busy"],
        "name": pa.DictionaryArray.from_arrays(pa.array(index), names),
        "kind": columns["kind"],
        "row": columns["row"],
    }
    return pa.table([_as(arrays[f.name], f.type) for f in VIEW_SCHEMA], schema=VIEW_SCHEMA)


def _as(values: Any, type: pa.DataType) -> pa.Array:
    """By numpy: pyarrow's first cast of a process loads its compute module, which takes longer than a view."""
    if isinstance(values, pa.Array):
        return values
    return pa.array(values.astype(type.to_pandas_dtype(), copy=False))


def _columns(segment: Rows, shown: Rectangles) -> dict[str, np.ndarray]:
    event = segment.at(shown.longest)
    return {
        "lane": segment.row_lane[shown.row],
        "depth": segment.row_depth[shown.row],
        "start": shown.start_ns,
        "end": shown.end_ns,
        "count": shown.count,
        "busy": shown.busy_ns,
        "longest": shown.longest_ns,
        "name": segment.name[segment.events.name[event]],
        "kind": segment.events.kind[event],
        "row": event + segment.base,
    }


def _join(parts: list[dict[str, np.ndarray]], pixel_ns: int) -> dict[str, np.ndarray]:
    """The rectangles of several segments in order. What one pixel shows of two windows becomes one rectangle."""
    columns = {k: np.concatenate([p[k] for p in parts]) for k in parts[0]}
    order = np.lexsort((columns["start"], columns["depth"], columns["lane"]))
    columns = {k: v[order] for k, v in columns.items()}
    if len(parts) == 1:
        return columns
    alone = (columns["count"] == 1) & (columns["longest"] >= pixel_ns)
    pixel = columns["start"] // pixel_ns
    begins = np.ones(len(order), bool)
    begins[1:] = alone[1:] | alone[:-1]
    for key in (columns["lane"], columns["depth"], pixel):
        begins[1:] |= key[1:] != key[:-1]
    first = np.flatnonzero(begins)
    if len(first) == len(order):
        return columns
    group = np.cumsum(begins) - 1
    # The longest of each group: sorted by group, then longest first, the first of equals first.
    best = np.lexsort((np.arange(len(order)), -columns["longest"], group))[first]
    out = {k: columns[k][first] for k in ("lane", "depth", "start")}
    out |= {k: columns[k][best] for k in ("longest", "name", "kind", "row")}
    out |= {k: np.add.reduceat(columns[k], first) for k in ("count", "busy")}
    out["end"] = np.maximum.reduceat(columns["end"], first)
    return out
