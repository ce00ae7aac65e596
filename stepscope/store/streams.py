"""Append-only Arrow IPC streams: readable up to the last whole batch, whatever ended the writer."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from stepscope.errors import StepscopeError
from stepscope.schema import LIVE_SCHEMA
from stepscope.store import blocks, packed

# On the thread that writes: pyarrow would start a pool of its own in the process, one thread a core.
_OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=False)

#: Bytes that hold the schema of a stream.
_SCHEMA_BYTES = 16_384

#: How each message begins (Arrow IPC format, "encapsulated messages"); the size of its metadata follows.
_BEGIN = b"\xff\xff\xff\xff"
#: How a stream ends.
_END = _BEGIN + bytes(4)

# What pyarrow raises on bytes that are no message: a damaged length is a failed allocation.
_UNREADABLE = (pa.ArrowException, OSError, MemoryError)


class StreamWriter:
    """Writes batches of one schema to a new file; each ``append`` reaches the kernel before it returns.

    Those of LIVE_SCHEMA are stored as ``blocks``, which the recorder makes by itself.

    Raises:
        OSError: the file exists already, or the disk is full (then the stream ends at the last whole batch).
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.schema = schema
        self._file = open(path, "xb", buffering=0)  # noqa: SIM115  kept open until close()
        self._holds_blocks = schema.equals(LIVE_SCHEMA)
        self._write((blocks.BLOCK_SCHEMA if self._holds_blocks else schema).serialize())

    def append(self, columns: Mapping[str, Sequence[Any] | pa.Array]) -> None:
        """One batch: a column of equal length for each field of the schema."""
        arrays = [_array(columns[field.name], field.type) for field in self.schema]
        batch = pa.record_batch(arrays, schema=self.schema)
        if batch.num_rows and self._holds_blocks:
            self.append_block(_block(batch))
        elif batch.num_rows:
            self._write(_serialized(batch))

    def append_block(self, block: bytes) -> None:
        """One batch of LIVE_SCHEMA, as ``blocks.encode`` makes it."""
        self._write(blocks.message(block))

    def close(self) -> None:
        try:
            self._write(_END)
        finally:
            self._file.close()

    def _write(self, data: bytes | pa.Buffer) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._file.write(rest) :]

    def tell(self) -> int:
        return os.fstat(self._file.fileno()).st_size


def _block(batch: pa.RecordBatch) -> bytes:
    names = batch.column("name").dictionary_encode()
    spans = {name: batch.column(name).to_numpy() for name in ("kind", "ts_ns", "dur_ns", "step", "tid")}
    spans["name"] = names.indices.to_numpy().astype(np.int64)
    return blocks.encode(spans, names.dictionary.to_pylist(), batch.column("args").to_pylist(), [], 0)


def _serialized(batch: pa.RecordBatch) -> pa.Buffer:
    """A batch as its message, to be written at once: pyarrow makes 30 writes of it, each a call into Python."""
    sink = pa.BufferOutputStream()
    writer = pa.ipc.new_stream(sink, batch.schema, options=_OPTIONS)
    begin = sink.tell()  # behind the schema, which the file has already
    writer.write_batch(batch)
    return sink.getvalue()[begin:]


def _array(column: Sequence[Any] | pa.Array, dtype: pa.DataType) -> pa.Array:
    return column if isinstance(column, pa.Array) else pa.array(column, dtype)


def _as_it_is(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


# How a stream of LIVE_SCHEMA may be stored, and what makes a batch of it.
_LIVE = ((blocks.BLOCK_SCHEMA, blocks.of_batch), (packed.PACKED_SCHEMA, packed.unpack))


class StreamReader:
    """Reads a stream that may still be written or was cut; each ``read`` gives what came since the last.

    ``damaged`` counts the places whose bytes could not be decoded; the batches before and behind them are read.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.schema = schema
        self.damaged = 0
        self._offset = 0  # behind the last whole message
        self._ways = [*(_LIVE if schema.equals(LIVE_SCHEMA) else ()), (schema, _as_it_is)]
        self._way = self._ways[0]  # until the stream's own schema says which

    def read(self) -> pa.Table:
        """The batches that became whole since the last call.

        Raises:
            StepscopeError: the file is missing, or it is a stream of something else.
        """
        try:
            with open(self.path, "rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError as error:
            raise StepscopeError(f"{self.path}: cannot be read ({error.strerror}).") from error
        batches: list[pa.RecordBatch] = []
        at = 0
        while at < len(data):
            message, end = _message(data, at)
            decoded = self._decode(message)
            if decoded is not None:
                batches += decoded
                at = end
            elif (following := _next_message(data, at + 1)) is not None:
                self.damaged += 1
                at = following
            elif message is not None:
                self.damaged += 1
                at = end
            else:
                break  # the end for now: a cut message, or the mark of the end
        self._offset += at
        if self._offset == 0 and not self.damaged and not data.startswith(_BEGIN[: len(data)]):
            self.damaged = 1  # no message, and no begin of one that is still being written
        return pa.Table.from_batches(batches, self.schema)

    def skip_to(self, from_end: int) -> None:
        """Go on at the first message so many bytes (a negative number) before the end; harmless without a file."""
        try:
            with open(self.path, "rb") as file:
                self._decode(_message(file.read(_SCHEMA_BYTES), 0)[0])  # it tells how the batches are to be read
                self._offset = max(0, file.seek(0, os.SEEK_END) + from_end)
        except OSError:
            self._offset = 0

    def _decode(self, message: pa.ipc.Message | None) -> list[pa.RecordBatch] | None:
        """The batch that a message holds, none for the schema; None where it cannot be decoded."""
        if message is None:
            return None
        try:
            if message.type == "schema":
                own = pa.ipc.read_schema(message)
                way = next((way for way in self._ways if way[0].equals(own)), None)
            else:
                stored, make = self._way
                batch = pa.ipc.read_record_batch(message, stored)
                batch.validate(full=True)
                return [make(batch)]
        except (*_UNREADABLE, ValueError):
            return None
        if way is None:
            raise StepscopeError(
                f"{self.path}: holds other columns than this version writes; it was made by another version."
            )
        self._way = way
        return []


def _message(data: bytes, at: int) -> tuple[pa.ipc.Message | None, int]:
    """The message that begins at a byte, None where none does, and the first byte behind it."""
    source = pa.BufferReader(pa.py_buffer(data).slice(at))
    try:
        message = pa.ipc.MessageReader.open_stream(source).read_next_message()
    except (StopIteration, *_UNREADABLE):
        return None, at
    return message, at + source.tell()


def _next_message(data: bytes, at: int) -> int | None:
    """Where the next whole message begins, from a byte on."""
    while (at := data.find(_BEGIN, at)) >= 0:
        size = int.from_bytes(data[at + 4 : at + 8], "little", signed=True)
        if 0 < size < len(data) - at and _message(data, at)[0] is not None:
            return at
        at += 1
    return None


def read_stream(path: Path, schema: pa.Schema) -> pa.Table:
    """All whole batches of a stream that may still be written or was cut.

    Raises:
        StepscopeError: the file is missing, or it is a stream of something else.
    """
    return StreamReader(path, schema).read()


def read_tail(path: Path, schema: pa.Schema, size: int = 1 << 18) -> pa.Table:
    """The last whole batches of a stream, about ``size`` bytes of them and one batch at least if there is one.

    Raises:
        StepscopeError: the file is missing, or it is a stream of something else.
    """
    while True:
        reader = StreamReader(path, schema)
        reader.skip_to(-size)
        from_begin = not reader._offset
        table = reader.read()
        if table.num_rows or from_begin:
            return table
        size *= 8
