"""Spans as live streams of earlier versions hold them: read, and no longer written.

Times lie as gaps between the end of a row and the begin of the next, step numbers as differences, and of each column
all lowest bytes come first, then all second ones. ``name`` is a place in the JSON list that the first row has in
``names``.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

from stepscope.schema import LIVE_SCHEMA

PACKED_SCHEMA = pa.schema(
    [pa.field("name", pa.int64()) if field.name == "name" else field for field in LIVE_SCHEMA]
    + [pa.field("names", pa.utf8())]
)

_INTEGERS = ("name", "ts_ns", "dur_ns", "step", "tid")


def unpack(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch of PACKED_SCHEMA with the columns of LIVE_SCHEMA.

    Raises:
        ValueError: its names are missing.
    """
    if not batch.num_rows:
        return pa.RecordBatch.from_pylist([], LIVE_SCHEMA)
    values = {name: _from_planes(_integers(batch.column(name))) for name in _INTEGERS}
    names, places = json.loads(batch.column("names")[0].as_py() or "[]"), values.pop("name")
    if places.min() < 0 or places.max() >= len(names):
        raise ValueError("names are missing")
    ts = np.cumsum(values["ts_ns"])
    ts[1:] += np.cumsum(values["dur_ns"][:-1])
    values["ts_ns"], values["step"] = ts, np.cumsum(values["step"])
    columns = {name: pa.array(array) for name, array in values.items()}
    columns["name"] = pa.array(names, pa.utf8()).take(pa.array(places))
    return pa.record_batch([columns.get(name, batch.column(name)) for name in LIVE_SCHEMA.names], schema=LIVE_SCHEMA)


def _integers(column: pa.Array) -> np.ndarray:
    array: np.ndarray = column.fill_null(0).to_numpy(zero_copy_only=False)  # nulls: a damaged batch
    return array


def _from_planes(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values.view(np.uint8).reshape(8, -1).T).view(np.int64).ravel()
