"""Tables as files."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from stepscope.runs import open_run
from stepscope.summary import summarize_worker
from stepscope.tables import TABLES, Tables, export
from stepscope.tables.export import TooManyRows, as_csv, as_parquet, file_name
from stepscope.timeline import Timeline
from tests.builders import T0_NS, TraceBuilder
from tests.panels import panels
from tests.tables.build import tables_of

HOSTILE = [
    '=HYPERLINK("http://x")',
    "+1",
    "-2+3",
    "@SUM(A1)",
    "\tx",
    "<b>a</b>",
    'a,"b"',
    "line\nbreak",
    "\u202eabc 🚀",
]


def hostile() -> TraceBuilder:
    trace = TraceBuilder()
    for i, name in enumerate(HOSTILE):
        trace.kernel(name, 100 * i, 10)
    return trace


def test_no_cell_of_a_csv_file_is_a_formula(tmp_path: Path) -> None:
    tables = tables_of(tmp_path, hostile())
    frame = tables.frame("kernels", "none")
    text = as_csv(frame, np.arange(len(frame)), ["name", "start_ns", "latency_ns"], tables.origin_ns).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    by_start = sorted(rows, key=lambda row: int(row["start_ns"]))
    assert [row["name"] for row in by_start] == [f"'{n}" if n[0] in "=+-@\t" else n for n in HOSTILE]
    assert [int(row["start_unix_ns"]) - T0_NS for row in by_start] == [100_000 * i for i in range(len(HOSTILE))]
    assert {row["latency_ns"] for row in rows} == {""}  # not measured, which is not 0


def test_parquet_keeps_names_and_types(tmp_path: Path) -> None:
    tables = tables_of(tmp_path, hostile())
    frame = tables.frame("kernels", "name")
    table = pq.read_table(io.BytesIO(as_parquet(frame, np.arange(len(frame)), ["name", "total_ns"], tables.origin_ns)))
    assert sorted(table.column("name").to_pylist()) == sorted(HOSTILE)
    assert str(table.schema.field("total_ns").type) == "int64"


def test_every_table_is_whole_in_both_kinds_of_files(tmp_path: Path) -> None:
    """Those of requests, batches and collectives too, with names that are formulas."""
    source = tmp_path / "node.xplane.pb"
    source.write_bytes(panels('=1+"\u202e", 2'))
    (worker,) = open_run(source).workers
    assert [note for note in summarize_worker(worker)["quality"] if note["code"] == "analysis_failed"] == []
    tables = Tables(Timeline(worker))
    filled = set()
    for name, kind in TABLES.items():
        for by in ("none", *kind.groupings):
            frame = tables.frame(name, by)
            order, keys = np.arange(len(frame)), [column.key for column in frame.columns]
            rows = list(csv.reader(io.StringIO(as_csv(frame, order, keys, tables.origin_ns).decode())))
            assert len(rows) - 1 == len(frame)
            assert not [cell for row in rows for cell in row if cell.startswith("=")]
            parquet = pq.read_table(io.BytesIO(as_parquet(frame, order, keys, tables.origin_ns)))
            assert (parquet.num_rows, parquet.column_names) == (len(frame), rows[0])
            filled |= {name} if len(frame) else set()
    assert {"requests", "batches", "collectives"} <= filled


def test_a_csv_file_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "MAX_CSV_ROWS", 3)
    frame = tables_of(tmp_path, hostile()).frame("kernels", "none")
    with pytest.raises(TooManyRows, match="9 rows and a CSV file at most 3"):
        as_csv(frame, np.arange(len(frame)), ["name"], 0)


def test_names_of_files() -> None:
    assert file_name("sweep/lr=0.1", '../"x"\r\n', "kernels") == "sweep-lr-0.1_x_kernels"
    assert file_name("", "..") == "table"
