"""The run folder: its layout, its append-only streams and its Parquet windows."""

from stepscope.store.layout import RunFolder, WorkerFolder
from stepscope.store.rows import layout_rows
from stepscope.store.streams import StreamWriter, read_stream
from stepscope.store.windows import read_window, write_window

__all__ = ["RunFolder", "StreamWriter", "WorkerFolder", "layout_rows", "read_stream", "read_window", "write_window"]
