"""A table as a file: CSV for spreadsheets, Parquet for programs."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from stepscope.errors import StepscopeError
from stepscope.tables.frame import Frame
from stepscope.timeline.export import guarded

#: The most rows of a CSV file: spreadsheets take about a million.
MAX_CSV_ROWS = 2_000_000
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class TooManyRows(StepscopeError):
    """More rows than one file holds."""


def as_csv(frame: Frame, order: np.ndarray, keys: Sequence[str], origin_ns: int) -> bytes:
    """The rows in this order as CSV, a header first; a cell of what was not measured is empty.

    A text that a spreadsheet would take for a formula gets an apostrophe before it.

    Raises:
        TooManyRows: there are more than ``MAX_CSV_ROWS``.
    """
    if len(order) > MAX_CSV_ROWS:
        raise TooManyRows(
            f"The table has {len(order):,} rows and a CSV file at most {MAX_CSV_ROWS:,}; filter it, or take Parquet."
        )
    table = _table(frame, order, keys, origin_ns)
    for i, column in enumerate(table.columns):
        if pa.types.is_dictionary(column.type):
            data = column.combine_chunks()
            safe = pa.array([guarded(text) for text in data.dictionary.to_pylist()], pa.utf8())
            plain = pa.DictionaryArray.from_arrays(data.indices, safe).cast(pa.utf8())
            table = table.set_column(i, table.field(i).name, plain)
        elif pa.types.is_string(column.type):
            safe = pa.array([None if t is None else guarded(t) for t in column.to_pylist()], pa.utf8())
            table = table.set_column(i, table.field(i).name, safe)
    sink = pa.BufferOutputStream()
    pa.csv.write_csv(table, sink)
    return sink.getvalue().to_pybytes()


def as_parquet(frame: Frame, order: np.ndarray, keys: Sequence[str], origin_ns: int) -> bytes:
    """The rows in this order as Parquet, texts as they are."""
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(_table(frame, order, keys, origin_ns), sink, compression="zstd")
    return sink.getvalue().to_pybytes()


def file_name(*words: str) -> str:
    """Words as the name of a file, in letters that every file system takes."""
    parts = (_UNSAFE.sub("-", word).strip("-.") for word in words)
    return "_".join(part[:80] for part in parts if part) or "table"


def _table(frame: Frame, order: np.ndarray, keys: Sequence[str], origin_ns: int) -> pa.Table:
    """The rows and columns of a file; moments are also told as Unix time."""
    table = frame.data.select(list(keys)).take(pa.array(order))
    for key in keys:
        column = frame.column(key)
        if column is not None and column.unit == "moment":
            unix = pa.compute.add(table.column(key), origin_ns)
            at = table.schema.get_field_index(key) + 1
            table = table.add_column(at, f"{key.removesuffix('_ns')}_unix_ns", unix)
    return table
