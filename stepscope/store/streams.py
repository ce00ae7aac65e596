"""Append-only Arrow IPC streams: readable up to the last whole batch, whatever ended the writer."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from stepscope.errors import StepscopeError

# zstd: 3 to 6 times smaller than plain on spans, and the codec runs without the GIL.
_OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd")

# What pyarrow raises on bytes that are no message: a damaged length is a failed allocation.
_UNREADABLE = (pa.ArrowException, OSError, MemoryError)


class StreamWriter:
    """Writes batches of one schema to a new file; each ``append`` reaches the kernel before it returns.

    Raises:
        OSError: the file exists already, or the disk is full (then the stream ends at the last whole batch).
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.schema = schema
        self._file = open(path, "xb", buffering=0)  # noqa: SIM115  kept open until close()
        self._sink = pa.PythonFile(self._file, mode="w")
        self._writer = pa.ipc.new_stream(self._sink, schema, options=_OPTIONS)

    def append(self, columns: Mapping[str, Sequence[Any] | pa.Array]) -> None:
        """One batch: a column of equal length for each field of the schema."""
        arrays = [pa.array(columns[field.name], field.type) for field in self.schema]
        if len(arrays[0]):
            self._writer.write_batch(pa.record_batch(arrays, schema=self.schema))

    def close(self) -> None:
        try:
            self._writer.close()
        finally:
            self._file.close()

    def tell(self) -> int:
        return os.fstat(self._file.fileno()).st_size


class StreamReader:
    """Reads a stream that may still be written or was cut; each ``read`` gives what came since the last.

    ``damaged`` counts batches of full length whose content could not be decoded; they are left out.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.schema = schema
        self.damaged = 0
        self._offset = 0  # behind the last whole message

    def read(self) -> pa.Table:
        """The batches that became whole since the last call.

        Raises:
            StepscopeError: the file is missing, or it is a stream of something else.
        """
        try:
            with open(self.path, "rb") as file:
                file.seek(self._offset)
                data = pa.BufferReader(file.read())
        except OSError as error:
            raise StepscopeError(f"{self.path}: cannot be read ({error.strerror}).") from error
        batches: list[pa.RecordBatch] = []
        messages = pa.ipc.MessageReader.open_stream(data)
        begin = self._offset
        while True:
            try:
                message = messages.read_next_message()
            except (StopIteration, *_UNREADABLE):  # the end for now: nothing more, or a cut message
                return pa.Table.from_batches(batches, self.schema)
            if message.type == "schema":
                self._check(message)
            else:
                batches += self._decode(message)
            self._offset = begin + data.tell()

    def _check(self, message: pa.ipc.Message) -> None:
        try:
            same = pa.ipc.read_schema(message).equals(self.schema)
        except _UNREADABLE:
            self.damaged += 1  # the batches may still be whole
            return
        if not same:
            raise StepscopeError(
                f"{self.path}: holds other columns than this version writes; it was made by another version."
            )

    def _decode(self, message: pa.ipc.Message) -> list[pa.RecordBatch]:
        try:
            batch = pa.ipc.read_record_batch(message, self.schema)
            batch.validate(full=True)
        except _UNREADABLE:
            self.damaged += 1
            return []
        return [batch]


def read_stream(path: Path, schema: pa.Schema) -> pa.Table:
    """All whole batches of a stream that may still be written or was cut.

    Raises:
        StepscopeError: the file is missing, or it is a stream of something else.
    """
    return StreamReader(path, schema).read()
