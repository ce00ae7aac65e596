"""Append-only streams: whatever ended the writer, what was written is read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from stepscope.errors import StepscopeError
from stepscope.schema import LIVE_SCHEMA, MONITOR_SCHEMA
from stepscope.store import StreamReader, StreamWriter, read_stream


def batch(first: int, count: int) -> dict:
    """Rows whose ts_ns count from ``first``."""
    return {
        "kind": [2] * count,
        "name": [f"phase {i % 3}" for i in range(count)],
        "ts_ns": list(range(first, first + count)),
        "dur_ns": [5] * count,
        "step": [7] * count,
        "tid": [99] * count,
        "args": [None if i % 2 else '{"averaged": 2}' for i in range(count)],
    }


def times(table: pa.Table) -> list[int]:
    return table.column("ts_ns").to_pylist()


def test_a_stream_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "live.arrows"
    writer = StreamWriter(path, LIVE_SCHEMA)
    writer.append(batch(0, 3))
    writer.append(batch(3, 2))
    writer.close()
    table = read_stream(path, LIVE_SCHEMA)
    assert table.schema.equals(LIVE_SCHEMA)
    assert table.to_pylist() == [
        {k: v[i] for k, v in rows.items()} for rows, n in ((batch(0, 3), 3), (batch(3, 2), 2)) for i in range(n)
    ]


def test_each_batch_is_in_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "live.arrows"
    writer = StreamWriter(path, LIVE_SCHEMA)
    assert times(read_stream(path, LIVE_SCHEMA)) == []
    writer.append(batch(0, 3))
    assert times(read_stream(path, LIVE_SCHEMA)) == [0, 1, 2]
    writer.append(batch(3, 0))  # no rows: no batch
    writer.append(batch(3, 1))
    assert times(read_stream(path, LIVE_SCHEMA)) == [0, 1, 2, 3]


def test_cut_anywhere_all_whole_batches_are_read(tmp_path: Path) -> None:
    path = tmp_path / "live.arrows"
    writer = StreamWriter(path, LIVE_SCHEMA)
    ends = [0]
    for i in range(3):
        writer.append(batch(10 * i, 10))
        ends.append(writer.tell())
    writer.close()
    data = path.read_bytes()
    cut_path = tmp_path / "cut.arrows"
    for cut in range(len(data) + 1):
        cut_path.write_bytes(data[:cut])
        whole = sum(end <= cut for end in ends[1:])
        assert times(read_stream(cut_path, LIVE_SCHEMA)) == list(range(10 * whole)), f"cut at byte {cut}"


def test_a_reader_gives_each_batch_once_also_when_it_sees_it_half_written(tmp_path: Path) -> None:
    path = tmp_path / "live.arrows"
    writer = StreamWriter(path, LIVE_SCHEMA)
    for i in range(3):
        writer.append(batch(10 * i, 10))
    writer.close()
    data = path.read_bytes()
    growing = tmp_path / "growing.arrows"
    growing.write_bytes(b"")
    reader = StreamReader(growing, LIVE_SCHEMA)
    seen: list[int] = []
    for begin in range(0, len(data), 37):
        with open(growing, "ab") as file:
            file.write(data[begin : begin + 37])
        seen += times(reader.read())
    assert seen == list(range(30))
    assert times(reader.read()) == []


def test_a_damaged_batch_hides_no_other(tmp_path: Path) -> None:
    path = tmp_path / "live.arrows"
    writer = StreamWriter(path, LIVE_SCHEMA)
    writer.append(batch(0, 10))
    begin = writer.tell()
    writer.append(batch(10, 10))
    end = writer.tell()
    writer.append(batch(20, 10))
    writer.close()
    data = bytearray(path.read_bytes())
    data[end - 64 : end] = b"\xff" * 64  # inside the compressed columns of the second batch
    assert begin < end - 64
    path.write_bytes(data)
    reader = StreamReader(path, LIVE_SCHEMA)
    assert times(reader.read()) == [*range(10), *range(20, 30)]
    assert reader.damaged == 1


@pytest.mark.parametrize("kind", ["overwritten", "zeros", "taken out", "put in"])
def test_damage_anywhere_costs_at_most_the_batches_it_touches(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "live.arrows"
    writer = StreamWriter(path, LIVE_SCHEMA)
    edges = [0]
    for i in range(4):
        writer.append(batch(10 * i, 10))
        edges.append(writer.tell())
    writer.close()
    data = path.read_bytes()
    for at in range(0, edges[-1], 8):
        bad = {"overwritten": b"\xa5" * 32, "zeros": b"\0" * 32, "taken out": b"", "put in": b"\xa5" * 32}[kind]
        behind = at if kind == "put in" else at + 32
        path.write_bytes(data[:at] + bad + data[behind:])
        touched = {i for i in range(4) if at < edges[i + 1] and behind > edges[i]}
        reader = StreamReader(path, LIVE_SCHEMA)
        found = times(reader.read())
        untouched = [t for i in range(4) if i not in touched for t in range(10 * i, 10 * i + 10)]
        assert set(untouched) <= set(found), f"{kind} at byte {at}"
        assert len(found) == 40 or reader.damaged == 1 or behind > edges[3], f"{kind} at byte {at}"
        assert times(reader.read()) == []


def test_bytes_that_are_no_stream_hold_nothing_and_that_is_told(tmp_path: Path) -> None:
    path = tmp_path / "live.arrows"
    for data, damaged in ((b"", 0), (b"\0" * 4096, 1), (b"not a stream at all, just some text", 1), (b"\xff" * 3, 0)):
        path.write_bytes(data)
        reader = StreamReader(path, LIVE_SCHEMA)
        for _ in range(2):
            assert reader.read().num_rows == 0
            assert reader.damaged == damaged


def test_a_missing_file_and_another_schema_are_told(tmp_path: Path) -> None:
    with pytest.raises(StepscopeError, match=r"live\.arrows: cannot be read"):
        read_stream(tmp_path / "live.arrows", LIVE_SCHEMA)
    writer = StreamWriter(tmp_path / "live.arrows", LIVE_SCHEMA)
    writer.append(batch(0, 1))
    writer.close()
    with pytest.raises(StepscopeError, match="holds other columns"):
        read_stream(tmp_path / "live.arrows", MONITOR_SCHEMA)


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    StreamWriter(tmp_path / "live.arrows", LIVE_SCHEMA).append(batch(0, 1))
    with pytest.raises(FileExistsError):
        StreamWriter(tmp_path / "live.arrows", LIVE_SCHEMA)
    assert times(read_stream(tmp_path / "live.arrows", LIVE_SCHEMA)) == [0]
