"""Spans as they lie in a live stream: one block of bytes a write, the row of an Arrow batch a byte.

While a write is made the training waits for Python's lock, and its caches are cold: Arrow columns take several times as
long as a block. Steps that made the same marks lie as the times of these marks; the reader makes their rows.

A block, integers little-endian::

  uint32    CRC-32 of what follows, zeros at the end included
  uint32    bytes of the block without these zeros
  uint32    bytes of the head
  uint32    bytes of head and numbers
  zstd      head, numbers
  zeros     up to a multiple of 64 bytes

The head is JSON: ``names``; ``rows``, how many; ``args``, a text or null for each row, if any has one; ``alike``, a
list of ``AlikeSteps`` without their times. The numbers are int64: of each ``alike`` the time of each mark less that of
the one before, mark by mark; of the rows the kinds, places in ``names``, gaps between the end of a row and the begin of
the next, durations, differences of steps, threads. Of each of these parts all lowest bytes come first, then all second
ones, and so on: the upper ones are a run of zeros. A first value stands as it is. Nothing is lost; sums wrap around as
the differences did.
"""

from __future__ import annotations

import functools
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import pyarrow as pa

from stepscope.hot import extension
from stepscope.schema import LIVE_SCHEMA, Kind

BLOCK_SCHEMA = pa.schema([("byte", pa.uint8())])

_SIZES = struct.Struct("<IIII")
_ALIGNED = 64
_CODEC = pa.Codec("zstd")
_ROW = ("kind", "name", "ts_ns", "dur_ns", "step", "tid")
#: Bytes of a block as it is unpacked: no write holds so much, and nobody else's file is to fill the memory.
_LARGEST = 1 << 30


@dataclass(frozen=True)
class AlikeSteps:
    """Steps that made the same marks.

    Attributes:
        tid: native id of the thread they ran on.
        phases: name and two places in a step's marks: where it begins and where it ends. A step lasts from its first
            mark to its last.
        runs: number of the first step and count of those that follow one another, as ``times`` has them.
        marks: of a step.
        data: the times of the marks, ns, as int64 step by step.
    """

    tid: int
    phases: Sequence[tuple[str, int, int]]
    runs: Sequence[tuple[int, int]]
    marks: int
    data: bytes

    @property
    def times(self) -> np.ndarray:
        """Of the marks, ns, (steps, marks)."""
        return np.frombuffer(self.data, np.int64).reshape(-1, self.marks)

    @property
    def rows(self) -> int:
        return sum(count for _, count in self.runs) * (1 + len(self.phases))

    @property
    def numbers(self) -> np.ndarray:
        """The number of each step."""
        runs = [np.arange(first, first + count) for first, count in self.runs]
        return runs[0] if len(runs) == 1 else np.concatenate(runs)

    @property
    def dur_ns(self) -> np.ndarray:
        """The duration of each step."""
        times = self.times
        durations: np.ndarray = times[:, -1] - times[:, 0]
        return durations


class _Alike(msgspec.Struct):
    tid: int
    marks: int
    phases: Sequence[tuple[str, int, int]]
    runs: Sequence[tuple[int, int]]


class _Head(msgspec.Struct, omit_defaults=True):
    names: Sequence[str] = ()
    rows: int = 0
    args: Sequence[str | None] | None = None
    alike: Sequence[_Alike] = ()


_HEAD = msgspec.json.Decoder(_Head)


def encode(
    spans: Mapping[str, np.ndarray] | None,
    names: Sequence[str],
    args: Sequence[str | None] | None,
    alike: Sequence[AlikeSteps],
    offset_ns: int,
) -> bytes:
    """A block.

    Args:
        spans: columns of LIVE_SCHEMA without ``args``, as integers of equal length; ``name`` is a place in ``names``.
        args: a text or None for each of ``spans``; None where none has any.
        alike: further steps.
        offset_ns: from the clock of the times given to Unix.
    """
    head = _Head(alike=[_Alike(a.tid, a.marks, a.phases, a.runs) for a in alike])
    parts = [planes(a.data, a.marks, offset_ns) for a in alike]
    if spans is not None:
        head.names, head.rows, head.args = names, len(spans["kind"]), args
        ts, dur, step = spans["ts_ns"], spans["dur_ns"], spans["step"]
        gaps = _gaps(ts, offset_ns)
        gaps[1:] -= dur[:-1]
        numbers = np.concatenate((spans["kind"], spans["name"], gaps, dur, _gaps(step), spans["tid"]), dtype=np.int64)
        parts.append(numbers.view(np.uint8).reshape(-1, 8).T.tobytes())
    text = msgspec.json.encode(head)
    raw = b"".join((text, *parts))
    packed = _CODEC.compress(raw, asbytes=True)
    size = _SIZES.size + len(packed)
    rest = b"".join((_SIZES.pack(0, size, len(text), len(raw))[4:], packed, bytes(-size % _ALIGNED)))
    return zlib.crc32(rest).to_bytes(4, "little") + rest


def message(block: bytes) -> bytes:
    """The Arrow message that holds a block; ``pyarrow`` makes only the first one of a length, which takes 0.1 ms."""
    return _envelope(len(block)) + block


@functools.lru_cache(maxsize=1024)
def _envelope(size: int) -> bytes:
    array = pa.Array.from_buffers(pa.uint8(), size, [None, pa.py_buffer(bytes(size))])
    whole: bytes = pa.RecordBatch.from_arrays([array], schema=BLOCK_SCHEMA).serialize().to_pybytes()
    return whole[:-size]


def of_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of a block as a stream holds it; as ``decode``."""
    return decode(batch.column(0).to_numpy().data)


def decode(block: bytes | memoryview) -> pa.RecordBatch:
    """The rows of a block, as LIVE_SCHEMA has them, in the order in which they were told.

    Raises:
        ValueError: it is none that ``encode`` made.
    """
    data = memoryview(block)
    try:
        check, end, head_size, size = _SIZES.unpack_from(data)
        if zlib.crc32(data[4:]) != check or not head_size <= size <= _LARGEST:
            raise ValueError("the block is damaged")
        raw = _CODEC.decompress(data[_SIZES.size : end], size, asbytes=True)
        head = _HEAD.decode(memoryview(raw)[:head_size])
        return _decoded(head, np.frombuffer(raw, np.uint8, offset=head_size))
    except (IndexError, OverflowError, TypeError, struct.error) as error:
        raise ValueError(f"the block is damaged: {error!r}") from error


def _decoded(head: _Head, stored: np.ndarray) -> pa.RecordBatch:
    names, at = list(head.names), 0
    parts = []
    for told in head.alike:
        size = 8 * told.marks * sum(count for _, count in told.runs)
        if not 0 < size <= len(stored) - at:
            raise ValueError("numbers are missing")
        gaps = _from_planes(stored[at : at + size]).reshape(told.marks, -1)
        at += size
        times = np.cumsum(gaps.T.ravel())
        parts.append(_rows_of(AlikeSteps(told.tid, told.phases, told.runs, told.marks, times.tobytes()), names))
    if head.rows:
        values = dict(zip(_ROW, _from_planes(stored[at:]).reshape(6, head.rows), strict=True))
        ts = np.cumsum(values["ts_ns"])
        ts[1:] += np.cumsum(values["dur_ns"][:-1])
        values |= {"ts_ns": ts, "step": np.cumsum(values["step"])}
        values["told_ns"] = np.maximum.accumulate(ts + values["dur_ns"])
        parts.insert(0, values)
    return _batch(parts, names, head.args)


def _rows_of(steps: AlikeSteps, names: list[str]) -> dict[str, np.ndarray]:
    """The steps and their phases; names that are new are added."""
    times = steps.times
    texts, begins, ends = zip(("step", 0, times.shape[1] - 1), *steps.phases, strict=True)
    rows, start = len(texts), times[:, begins]
    places = []
    for text in texts:
        if text not in names:
            names.append(text)
        places.append(names.index(text))
    kinds = [int(Kind.STEP)] + [int(Kind.PHASE)] * (rows - 1)
    return {
        "kind": np.tile(kinds, len(times)),
        "name": np.tile(places, len(times)),
        "ts_ns": start.ravel(),
        "dur_ns": (times[:, ends] - start).ravel(),
        "step": np.repeat(steps.numbers, rows),
        "tid": np.full(len(times) * rows, steps.tid),
        "told_ns": np.repeat(times[:, -1], rows),
    }


def _batch(parts: list[dict[str, np.ndarray]], names: list[str], args: Sequence[str | None] | None) -> pa.RecordBatch:
    columns = {name: np.concatenate([part[name] for part in parts]) for name in (*_ROW, "told_ns")}
    if args is not None and len(args) != len(parts[0]["kind"]):
        raise ValueError("texts are missing")
    texts = pa.array([] if args is None else args, pa.utf8())
    texts = pa.concat_arrays([texts, pa.nulls(len(columns["kind"]) - len(texts), pa.utf8())])
    if len(parts) > 1:
        order = np.argsort(columns["told_ns"], kind="stable")
        columns = {name: column[order] for name, column in columns.items()}
        texts = texts.take(pa.array(order))
    if columns["name"].min() < 0:
        raise ValueError("names are missing")
    arrays = {name: pa.array(columns[name]) for name in _ROW}
    arrays |= {"kind": pa.array(columns["kind"].astype(np.uint8)), "args": texts}
    arrays["name"] = pa.array(names, pa.utf8()).take(arrays["name"])
    return pa.record_batch([arrays[name] for name in LIVE_SCHEMA.names], schema=LIVE_SCHEMA)


def python_planes(times: bytes, marks: int, offset_ns: int) -> bytes:
    """What a block holds of so many marks of each of some steps: their gaps, mark by mark, byte by byte."""
    gaps = _gaps(np.frombuffer(times, np.int64), offset_ns).reshape(-1, marks)
    return gaps.T.ravel().view(np.uint8).reshape(-1, 8).T.tobytes()


planes = python_planes if extension is None else extension.planes


def _from_planes(stored: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(stored.reshape(8, -1).T).view(np.int64).ravel()


def _gaps(values: np.ndarray, offset: int = 0) -> np.ndarray:
    """Each less the one before it; the first one plus the offset."""
    gaps = values.copy()
    gaps[1:] -= values[:-1]
    gaps[:1] += offset
    return gaps
