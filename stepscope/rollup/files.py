"""Rollups as files that are kept of a worker (``stepscope.kept``)."""

from __future__ import annotations

import io

import pyarrow as pa

from stepscope import kept
from stepscope.summary.rollup import Rollup, from_table, to_table
from stepscope.workers import Worker

#: Raise it when the format of a rollup changes.
ROLLUP_VERSION = 4

FILE_NAME = "rollup.arrow"
_LZ4 = pa.ipc.IpcWriteOptions(compression="lz4")
_ONE_THREAD = pa.ipc.IpcReadOptions(use_threads=False)  # the file is too small for more
_UNREADABLE = (OSError, pa.ArrowException, KeyError, TypeError, ValueError)


def state_of(worker: Worker) -> str | None:
    """The state of the worker's files in a few letters; None where no rollup is kept."""
    return kept.state_of(worker, ROLLUP_VERSION)


def read(worker: Worker) -> Rollup | None:
    """The rollup that is kept of the worker's files as they are now; None where there is none."""
    state = state_of(worker)
    found = None if state is None else read_any(worker, state)
    return found[1] if found is not None and found[0] == state else None


def read_any(worker: Worker, state: str | None) -> tuple[str, Rollup] | None:
    """The rollup that is kept of the worker, and the state of the files that it was made of: of this state where there
    is one. A folder that cannot be written may hold an old one, and another place the new one."""
    other = None
    for data in kept.read(worker, FILE_NAME):
        try:
            table = pa.ipc.open_file(pa.py_buffer(data), options=_ONE_THREAD).read_all()
            about = table.schema.metadata
            if about[b"version"] != str(ROLLUP_VERSION).encode():
                continue
            made_of = about[b"state"].decode()
            if made_of == state:
                return made_of, from_table(table)
            other = other or (made_of, from_table(table))
        except _UNREADABLE:
            continue
    return other


def write(worker: Worker, rollup: Rollup, state: str) -> bool:
    """Keep the rollup, whole or not at all; False where there is no place that can be written.

    Args:
        worker: whose.
        rollup: what to keep.
        state: ``state_of`` the worker before its files were read.
    """
    table = to_table(rollup, {"version": str(ROLLUP_VERSION), "state": state})
    file = io.BytesIO()
    with pa.ipc.new_file(file, table.schema, options=_LZ4) as writer:
        writer.write_table(table)
    return kept.write(worker, FILE_NAME, file.getvalue())
