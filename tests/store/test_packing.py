"""Spans as they lie in a live stream come back as they were, and streams of before are still read."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.schema import LIVE_SCHEMA, MONITOR_SCHEMA
from stepscope.store import StreamWriter, read_stream, read_tail
from stepscope.store.packing import PACKED_SCHEMA, pack, unpack

INT64 = st.integers(-(2**63), 2**63 - 1)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
ROW = st.tuples(st.integers(0, 255), TEXT, INT64, INT64, INT64, INT64, st.none() | TEXT)


def columns(rows) -> dict[str, pa.Array]:
    values = zip(*rows, strict=True) if rows else [[]] * len(LIVE_SCHEMA)
    return {field.name: pa.array(list(v), field.type) for field, v in zip(LIVE_SCHEMA, values, strict=True)}


@settings(max_examples=60, deadline=None)
@given(st.lists(ROW, max_size=20))
def test_any_rows_come_back(rows):
    given_columns = columns(rows)
    assert unpack(pack(given_columns)).to_pydict() == {name: c.to_pylist() for name, c in given_columns.items()}


def steps(first: int, count: int) -> dict[str, pa.Array]:
    return columns([(1, "step", n * 300_000, 300_000, n, 7, None) for n in range(first, first + count)])


def test_steps_take_few_bytes(tmp_path):
    writer = StreamWriter(tmp_path / "live.arrows", LIVE_SCHEMA)
    before = writer.tell()
    writer.append(steps(0, 2000))
    assert (writer.tell() - before) / 2000 < 1  # of equal length: as they are, they take more than 4


def test_a_stream_that_is_not_packed(tmp_path):
    path = tmp_path / "live.arrows"
    with pa.ipc.new_stream(path, LIVE_SCHEMA) as writer:
        writer.write_batch(pa.record_batch(list(steps(0, 3).values()), schema=LIVE_SCHEMA))
    assert read_stream(path, LIVE_SCHEMA).column("step").to_pylist() == [0, 1, 2]
    assert read_tail(path, LIVE_SCHEMA, 1).column("step").to_pylist() == [0, 1, 2]


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


def test_a_batch_without_its_names_is_no_batch():
    packed = pack(steps(0, 2))
    names = PACKED_SCHEMA.get_field_index("names")
    without = packed.set_column(names, "names", pa.array([None, None], pa.utf8()))
    with pytest.raises(ValueError, match="names are missing"):
        unpack(without)
