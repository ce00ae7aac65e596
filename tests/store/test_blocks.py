"""Spans as they lie in a live stream come back as they were, those of alike steps as their rows."""

from __future__ import annotations

import json
import struct
import zlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.hot import extension
from stepscope.schema import LIVE_SCHEMA, MONITOR_SCHEMA, Kind
from stepscope.store import StreamWriter, read_stream, read_tail
from stepscope.store.blocks import AlikeSteps, decode, encode, python_planes
from stepscope.store.packed import PACKED_SCHEMA

INT64 = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
ROW = st.tuples(st.integers(0, 255), TEXT, INT64, INT64, INT64, INT64, st.none() | TEXT)
STEP, PHASE, ANNOTATION = int(Kind.STEP), int(Kind.PHASE), int(Kind.ANNOTATION)


def columns(rows) -> dict[str, pa.Array]:
    values = zip(*rows, strict=True) if rows else [[]] * len(LIVE_SCHEMA)
    return {field.name: pa.array(list(v), field.type) for field, v in zip(LIVE_SCHEMA, values, strict=True)}


def rows_of(table) -> list[tuple]:
    return [tuple(row.values()) for row in table.to_pylist()]


@settings(max_examples=60, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=20))
def test_any_rows_come_back(rows):
    names = sorted({row[1] for row in rows})
    kind, name, *numbers, args = zip(*rows, strict=True)
    ts, dur, step, tid = (np.array(column, np.int64) for column in numbers)
    spans = {"kind": np.array(kind, np.uint8), "name": np.array([names.index(n) for n in name])}
    spans |= {"ts_ns": ts, "dur_ns": dur, "step": step, "tid": tid}
    assert rows_of(decode(encode(spans, names, list(args), [], 0))) == rows


# Two runs of steps of 9 marks, whose phases are not in the order of their marks.
MARKS = np.array([0, 3, 10, 11, 30, 40, 41, 90, 100])
PHASES = [("forward", 2, 4), ("input", 0, 1), ("backward", 5, 7)]


def alike(runs) -> AlikeSteps:
    numbers = [number for first, count in runs for number in range(first, first + count)]
    return AlikeSteps(77, PHASES, runs, 9, np.array([MARKS + 100 * number for number in numbers]).tobytes())


def rows_of_alike(number: int, offset: int) -> list[tuple]:
    at = MARKS + 100 * number + offset
    step = (STEP, "step", at[0], 100, number, 77, None)
    return [step, *((PHASE, name, at[b], at[e] - at[b], number, 77, None) for name, b, e in PHASES)]


def test_alike_steps_come_back_as_rows():
    found = decode(encode(None, [], None, [alike([(5, 3), (20, 2)])], 10**18))
    assert found.schema.equals(LIVE_SCHEMA)
    assert rows_of(found) == [row for number in (5, 6, 7, 20, 21) for row in rows_of_alike(number, 10**18)]


def test_rows_and_alike_steps_come_in_the_order_in_which_they_were_told():
    own = [(STEP, "step", 300, 90, 3, 77, "{}"), (PHASE, "forward", 310, 20, 3, 77, None)]
    own += [(ANNOTATION, "late", 450, 40, 4, 78, '{"n": 1}')]
    kind, name, ts, dur, step, tid, args = (list(column) for column in zip(*own, strict=True))
    spans = {"kind": kind, "name": [0, 2, 1], "ts_ns": ts, "dur_ns": dur, "step": step, "tid": tid}
    arrays = {key: np.array(column, np.int64) for key, column in spans.items()}
    block = encode(arrays, ["step", "late", "forward"], args, [alike([(2, 1), (4, 1)])], 0)
    assert name == ["step", "forward", "late"]
    assert rows_of(decode(block)) == [*rows_of_alike(2, 0), *own[:2], own[2], *rows_of_alike(4, 0)]


@given(st.lists(st.tuples(INT64, INT64, INT64), max_size=9), INT64)
def test_the_extension_makes_the_same_planes(steps, offset):
    if extension is None:
        pytest.skip("the extension is not built")
    times = np.array(steps, np.int64).tobytes()
    assert extension.planes(times, 3, offset) == python_planes(times, 3, offset)
    for wrong in ((b"1234567", 1, 0), (bytes(16), 3, 0), (bytes(16), 0, 0)):
        with pytest.raises(ValueError, match="so many marks"):
            extension.planes(*wrong)


def test_alike_steps_take_few_bytes():
    random = np.random.default_rng(1)
    lengths = random.normal(30_000, 300, (2000, 4)).astype(np.int64)
    parts = np.stack([np.zeros(2000, np.int64), *[x for n in lengths.T for x in (random.integers(1, 900, 2000), n)]], 1)
    steps = AlikeSteps(77, PHASES, [(0, 2000)], 9, np.cumsum(parts.ravel()).tobytes())
    assert len(encode(None, [], None, [steps], 10**18)) / 2000 < 16  # their rows would take 40


def steps(first: int, count: int) -> dict[str, pa.Array]:
    return columns([(1, "step", n * 300_000, 300_000, n, 7, None) for n in range(first, first + count)])


def test_steps_take_few_bytes(tmp_path):
    writer = StreamWriter(tmp_path / "live.arrows", LIVE_SCHEMA)
    before = writer.tell()
    writer.append(steps(0, 2000))
    assert (writer.tell() - before) / 2000 < 1  # of equal length: as they are, they take more than 4


def changed(block: bytes, change) -> bytes:
    """A block with another head, and the checksum of that."""
    end, head_size, size = struct.unpack_from("<III", block, 4)
    codec = pa.Codec("zstd")
    raw = codec.decompress(block[16:end], size, asbytes=True)
    head = json.dumps(change(json.loads(raw[:head_size]))).encode()
    raw = head + raw[head_size:]
    packed = codec.compress(raw, asbytes=True)
    rest = struct.pack("<III", 16 + len(packed), len(head), len(raw)) + packed
    return struct.pack("<I", zlib.crc32(rest)) + rest


@pytest.mark.parametrize(
    "change",
    [
        lambda head: head | {"names": []},
        lambda head: head | {"rows": 3},
        lambda head: head | {"rows": "many"},
        lambda head: head | {"args": ["{}"]},
        lambda head: head | {"alike": [{"tid": 1}]},
        lambda head: head | {"alike": [{"tid": 1, "marks": 2, "phases": [["a", 0, 7]], "runs": [[0, 1]]}]},
        lambda head: head | {"alike": [{"tid": 1, "marks": 2, "phases": [], "runs": [[0, 1 << 40]]}]},
        lambda head: head | {"rows": 0, "alike": [{"tid": 1, "marks": 12, "phases": [], "runs": [[1 << 70, 1]]}]},
        lambda head: head | {"rows": 0, "alike": [{"tid": 1 << 70, "marks": 12, "phases": [], "runs": [[0, 1]]}]},
        lambda head: [],
    ],
)
def test_a_head_that_makes_no_sense_is_no_block(change):
    spans = {name: np.zeros(2, np.int64) for name in ("kind", "name", "ts_ns", "dur_ns", "step", "tid")}
    block = encode(spans, ["a"], None, [], 0)
    assert decode(changed(block, lambda head: head)).num_rows == 2
    with pytest.raises(ValueError):  # noqa: PT011  of numpy, msgspec or the block
        decode(changed(block, change))


def test_a_damaged_block_is_told():
    block = encode(None, [], None, [alike([(0, 50)])], 0)
    for at in range(len(block)):
        with pytest.raises(ValueError, match="damaged"):
            decode(block[:at] + bytes([block[at] ^ 4]) + block[at + 1 :])
        with pytest.raises(ValueError, match="damaged"):
            decode(block[:at] or b"\0")


@pytest.mark.parametrize("size", [1, 100, 2000, 1 << 20])
def test_the_last_part_of_a_stream(tmp_path, size):
    path = tmp_path / "live.arrows"
    writer = StreamWriter(path, LIVE_SCHEMA)
    for first in range(0, 50, 5):
        writer.append(steps(first, 5))
    tail = read_tail(path, LIVE_SCHEMA, size).column("step").to_pylist()
    assert tail == list(range(50 - len(tail), 50))
    assert 5 <= len(tail) <= 50
    assert (len(tail) == 50) == (size > 100_000)


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_the_last_part_of_a_stream_without_rows(tmp_path, size):
    StreamWriter(tmp_path / "monitor.arrows", MONITOR_SCHEMA)
    assert read_tail(tmp_path / "monitor.arrows", MONITOR_SCHEMA, size).num_rows == 0


# -- streams of versions before ------------------------------------------------------------------------


def test_a_stream_of_plain_columns(tmp_path):
    path = tmp_path / "live.arrows"
    with pa.ipc.new_stream(path, LIVE_SCHEMA) as writer:
        writer.write_batch(pa.record_batch(list(steps(0, 3).values()), schema=LIVE_SCHEMA))
    assert read_stream(path, LIVE_SCHEMA).column("step").to_pylist() == [0, 1, 2]
    assert read_tail(path, LIVE_SCHEMA, 1).column("step").to_pylist() == [0, 1, 2]


def packed(names: str | None) -> pa.RecordBatch:
    """Two rows: (phase, forward, 1000, 300, 5, 8, None), (annotation, mine, 1310, 20, 6, 8, {})."""
    planes = {
        name: np.array(values).view(np.uint8).reshape(-1, 8).T.ravel().view(np.int64)
        for name, values in {
            "name": [1, 0],
            "ts_ns": [1000, 10],
            "dur_ns": [300, 20],
            "step": [5, 1],
            "tid": [8, 8],
        }.items()
    }
    given_columns = {"kind": pa.array([PHASE, ANNOTATION], pa.uint8()), "args": pa.array([None, "{}"])}
    given_columns |= {"names": pa.array([names, None], pa.utf8()), **{n: pa.array(v) for n, v in planes.items()}}
    return pa.record_batch([given_columns[name] for name in PACKED_SCHEMA.names], schema=PACKED_SCHEMA)


def test_a_stream_of_packed_columns(tmp_path):
    path = tmp_path / "live.arrows"
    for names, damaged in (('["mine", "forward"]', 0), (None, 1)):
        with pa.ipc.new_stream(path, PACKED_SCHEMA) as writer:
            writer.write_batch(packed(names))
        found = rows_of(read_stream(path, LIVE_SCHEMA))
        whole = [(PHASE, "forward", 1000, 300, 5, 8, None), (ANNOTATION, "mine", 1310, 20, 6, 8, "{}")]
        assert found == ([] if damaged else whole)
