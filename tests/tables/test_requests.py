"""The table of requests where the always-on stream has all of them and a deep window some."""

from __future__ import annotations

from pathlib import Path

from stepscope.runs import open_run
from stepscope.schema import Kind
from stepscope.summary import summarize_worker
from stepscope.tables import Tables
from stepscope.timeline import LIVE_BASE, Timeline
from tests.builders import TraceBuilder
from tests.recorded import RecordedRun
from tests.tables.build import rows_of, tables_of


def test_requests_of_the_stream_and_of_a_window(tmp_path: Path) -> None:
    """Three of 400 us; the window has the second, in which a kernel runs for 100 us."""
    run = RecordedRun(tmp_path / "run")
    for i in range(3):
        run.span(Kind.ANNOTATION, f"request {i}", 1000 * i, 400)
    window = (
        TraceBuilder().annotation("request 1", 999, 400).launch(1100, 5, 1).kernel("gemm", 1200, 100, correlation=1)
    )
    run.window(window).end()
    (worker,) = open_run(run.path).workers
    tables = Tables(Timeline(worker))
    rows = sorted(rows_of(tables, "requests", "none"), key=lambda row: row["id"])
    assert [row["name"] for row in rows] == ["request"] * 3
    assert [row["from"] for row in rows] == ["always on", "deep window", "always on"]
    assert [row["device_ns"] for row in rows] == [None, 100_000, None]
    assert [row["host_before_ns"] for row in rows] == [None, 201_000, None]
    assert [row["late"] for row in rows] == [None, False, None]
    assert (tables.table("requests").occurrences.rows >= LIVE_BASE).sum() == 2
    (group,) = rows_of(tables, "requests", "name")
    assert (group["count"], group["mean_ns"], group["device_ns"]) == (3, 400_000, 100_000)
    found = summarize_worker(worker)["inference"]
    assert (found["count"], found["deep"], found["batches"]) == (3, 1, None)


def test_without_any_the_tables_say_so(tmp_path: Path) -> None:
    tables = tables_of(tmp_path, TraceBuilder().op("aten::mm", 0, 10))
    assert tables.table("requests").why_empty() == "no_request"
    assert tables.table("batches").why_empty() == "no_batch"
    for name in ("requests", "batches"):
        for by in (*tables.table(name).groupings, "none"):
            assert rows_of(tables, name, by) == []
