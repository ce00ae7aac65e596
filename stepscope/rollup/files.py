"""Where rollups are kept, and whether one that is kept still holds.

A recorded worker's lies in its folder, or in the user's cache folder where that cannot be written; that of a trace
file lies in the file's cache entry. Nothing is kept of files that are read without the cache. A rollup names the
state of the files that it was made of: the sizes of the streams, which only grow, the ids of the windows, which are
never changed, and worker.json. Copying a run keeps its rollups valid.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import uuid
from pathlib import Path

import pyarrow as pa

from stepscope import __version__, cache
from stepscope.runs import FileWorker, RecordedWorker, Worker
from stepscope.summary.rollup import Rollup, from_table, to_table

#: Raise it when what a rollup holds changes, be it that an analysis counts otherwise.
ROLLUP_VERSION = 2

FILE_NAME = "rollup.arrow"
_LZ4 = pa.ipc.IpcWriteOptions(compression="lz4")
_ONE_THREAD = pa.ipc.IpcReadOptions(use_threads=False)  # the file is too small for more
_UNREADABLE = (OSError, pa.ArrowException, KeyError, TypeError, ValueError)


def is_kept(worker: Worker) -> bool:
    """Whether there is a place for a rollup of this worker."""
    return isinstance(worker, RecordedWorker) or (isinstance(worker, FileWorker) and worker.use_cache)


def state_of(worker: Worker) -> str | None:
    """The state of the worker's files in a few letters; None where no rollup is kept."""
    made_by = f"{ROLLUP_VERSION} {__version__}"
    if isinstance(worker, FileWorker):
        entry = cache.entry(worker.path) if worker.use_cache else None
        return None if entry is None else _digest(f"{made_by} {entry.name}")
    if not isinstance(worker, RecordedWorker):
        return None
    folder = worker.folder
    sizes = [_size(folder.live_path()), _size(folder.monitor_path())]
    with contextlib.suppress(OSError):
        about = (folder.path / "worker.json").read_bytes()
        return _digest(f"{made_by} {sizes} {worker.window_ids()} {worker.is_live} {_digest(about)}")
    return None


def read(worker: Worker) -> Rollup | None:
    """The rollup that is kept of the worker's files as they are now; None where there is none."""
    state = state_of(worker)
    kept = None if state is None else read_any(worker)
    return kept[1] if kept is not None and kept[0] == state else None


def read_any(worker: Worker) -> tuple[str, Rollup] | None:
    """The rollup that is kept of the worker, and the state of the files that it was made of."""
    for folder in _places(worker):
        with contextlib.suppress(*_UNREADABLE):
            data = (folder / FILE_NAME).read_bytes()
            table = pa.ipc.open_file(pa.py_buffer(data), options=_ONE_THREAD).read_all()
            kept = table.schema.metadata
            if kept[b"version"] == str(ROLLUP_VERSION).encode():
                return kept[b"state"].decode(), from_table(table)
    return None


def write(worker: Worker, rollup: Rollup, state: str) -> bool:
    """Keep the rollup, whole or not at all; False where there is no place that can be written.

    Args:
        worker: whose.
        rollup: what to keep.
        state: ``state_of`` the worker before its files were read.
    """
    table = to_table(rollup, {"version": str(ROLLUP_VERSION), "state": state})
    for folder in _places(worker):
        beside = folder / f".{FILE_NAME}.{uuid.uuid4().hex[:8]}.tmp"
        try:
            if not isinstance(worker, RecordedWorker) or folder != worker.folder.path:
                folder.mkdir(parents=True, exist_ok=True)
            with open(beside, "xb") as file, pa.ipc.new_file(file, table.schema, options=_LZ4) as writer:
                writer.write_table(table)
            os.replace(beside, folder / FILE_NAME)
        except OSError:
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)
        else:
            return True
    return False


def _places(worker: Worker) -> list[Path]:
    if isinstance(worker, FileWorker):
        entry = cache.entry(worker.path)
        return [] if entry is None else [entry]
    if not isinstance(worker, RecordedWorker):
        return []
    return [worker.folder.path, *cache.user_places(_digest(str(worker.folder.path.resolve())))]


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _digest(text: str | bytes) -> str:
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    return hashlib.blake2b(data, digest_size=12).hexdigest()
