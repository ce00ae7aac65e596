"""Deep windows as Parquet: ``events.parquet``, ``args.parquet`` and ``window.json`` in one folder, and
``programs.parquet`` where the source holds what XLA compiled.

``window.json`` holds the lanes, the devices, the quality notes and the source's header in one place,
so that a window is whole or absent: the folder is written beside and renamed.
"""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from stepscope.errors import StepscopeError
from stepscope.schema import ARGS_SCHEMA, EVENT_SCHEMA, NONE, PROGRAM_SCHEMA, Events, Lane, Program, Window
from stepscope.store.layout import read_json, write_json
from stepscope.store.rows import layout_rows

# How columns are packed before zstd, by what came out smallest on real traces: starts and external ids differ little
# from row to row; of lengths, correlations and args the upper bytes repeat; of the others there are few values.
_ENCODING = {
    **dict.fromkeys(("ts_ns", "external_id"), "DELTA_BINARY_PACKED"),
    **dict.fromkeys(("dur_ns", "correlation", "args"), "BYTE_STREAM_SPLIT"),
}
_OF_FEW_VALUES = [name for name in EVENT_SCHEMA.names if name not in _ENCODING]
# No value is missing (``NONE`` stands for none), which Parquet else notes for each.
_REQUIRED = pa.schema([field.with_nullable(False) for field in EVENT_SCHEMA])
# Nobody looks for a row by the smallest and largest value of its page: windows are read whole.
_PACKED = {"compression": "zstd", "compression_level": 3, "write_statistics": False}

_DAMAGED = (OSError, pa.ArrowException, KeyError, TypeError, ValueError)


def write_window(folder: Path, window: Window) -> None:
    """Lay out the rows and write the window; the folder appears whole or not at all.

    Raises:
        StepscopeError: the folder exists, or cannot be written.
    """
    if folder.exists():
        raise StepscopeError(f"{folder}: exists already; nothing is overwritten. Choose another name or remove it.")
    window.events = layout_rows(window.events)
    beside = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        beside.mkdir(parents=True)
        events = pa.Table.from_arrays(window.events.to_table().columns, schema=_REQUIRED)
        # Open files, since pyarrow takes a path for a URL (run:1) and none that is no Unicode.
        with open(beside / "events.parquet", "xb") as file:
            pq.write_table(events, file, use_dictionary=_OF_FEW_VALUES, column_encoding=_ENCODING, **_PACKED)
        args = pa.table([pa.array(window.events.args_values, pa.large_utf8())], schema=ARGS_SCHEMA)
        with open(beside / "args.parquet", "xb") as file:
            pq.write_table(args, file, use_dictionary=False, **_PACKED)
        if window.programs:
            _write_programs(beside / "programs.parquet", window.programs)
        write_json(beside / "window.json", window.meta())
        os.rename(beside, folder)
    except OSError as error:
        reason = error.strerror or error
        raise StepscopeError(
            f"{folder}: cannot be written ({reason}). Free some space or choose another folder."
        ) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def read_window(folder: Path) -> Window:
    """A window as it was written.

    Raises:
        StepscopeError: a file of the window is missing or damaged.
    """
    meta = read_json(folder / "window.json")
    try:
        with open(folder / "events.parquet", "rb") as file:
            # read_table goes through pyarrow.dataset, which takes twice as long for a million rows.
            table = pq.ParquetFile(file, read_dictionary=["name"]).read()
        with open(folder / "args.parquet", "rb") as file:
            args = pq.ParquetFile(file).read().column("args").to_pylist()
        lanes = [Lane(**lane) for lane in meta["lanes"]]
        events = Events.from_table(table, lanes, args)
        _check_indices(events)
        return Window.from_meta(meta, events)
    except _DAMAGED as error:
        raise _damaged(folder, error) from error


def read_window_meta(folder: Path) -> Window:
    """A window without its events.

    Raises:
        StepscopeError: ``window.json`` is missing or damaged.
    """
    meta = read_json(folder / "window.json")
    try:
        return Window.from_meta(meta, Events.empty())
    except _DAMAGED as error:
        raise _damaged(folder, error) from error


def read_programs(folder: Path) -> list[Program]:
    """The programs of a window, none where its source held none.

    Raises:
        StepscopeError: the file is damaged.
    """
    try:
        with open(folder / "programs.parquet", "rb") as file:
            columns = pq.ParquetFile(file).read().to_pydict()
        return [Program(*row) for row in zip(columns["name"], columns["id"], columns["proto"], strict=True)]
    except FileNotFoundError:
        return []
    except _DAMAGED as error:
        raise _damaged(folder, error) from error


def _write_programs(path: Path, programs: list[Program]) -> None:
    columns = [[p.name for p in programs], [p.id for p in programs], [p.proto for p in programs]]
    table = pa.table(columns, schema=PROGRAM_SCHEMA)
    with open(path, "xb") as file:
        pq.write_table(table, file, use_dictionary=False, **_PACKED)


def _check_indices(events: Events) -> None:
    """The files of a window fit each other, or an index would fail far from here."""
    for column, size in (("lane", len(events.lanes)), ("args", len(events.args_values)), ("name", len(events.names))):
        values = getattr(events, column)
        if len(values) and (values.max() >= size or values.min() < NONE):
            raise ValueError(f"column {column} points beyond its {size} values")


def _damaged(folder: Path, error: Exception) -> StepscopeError:
    return StepscopeError(f"{folder}: is damaged ({error}). Remove this folder; the other windows stay.")
