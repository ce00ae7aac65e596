"""The run folder: its layout, its append-only streams and its Parquet windows."""

from stepscope.store.layout import RunFolder, WorkerFolder
from stepscope.store.rows import layout_rows
from stepscope.store.streams import StreamReader, StreamWriter, read_stream, read_tail
from stepscope.store.windows import read_programs, read_window, read_window_meta, write_window

__all__ = [
    "RunFolder",
    "StreamReader",
    "StreamWriter",
    "WorkerFolder",
    "layout_rows",
    "read_programs",
    "read_stream",
    "read_tail",
    "read_window",
    "read_window_meta",
    "write_window",
]
