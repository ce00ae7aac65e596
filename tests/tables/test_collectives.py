"""The table of collectives: by group, by size, and each run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import TraceBuilder
from tests.tables.build import rows_of, tables_of


def trace() -> TraceBuilder:
    """Two all_reduces of 40 us, of 4000 bytes behind 20 us of compute and of 8000 behind 60, and one of gloo."""
    made = TraceBuilder(rank=0).step(3, 0, 400)
    for i, (elements, compute) in enumerate(((1000, 20), (2000, 60))):
        told = {"Collective name": "allreduce", "In msg nelems": elements, "dtype": "Float", "Group size": 2}
        at = 200 * i
        made.op("aten::add", at + 9, 5)
        for n in range(3):
            made.launch(at + 10 + n, 1, 10 * i + n + 1)
        made.kernel("ncclDevKernel_AllReduce(x)", at + 50, 40, stream=20, correlation=10 * i + 1, **told)
        made.kernel("gemm", at + 45, 5 + compute, correlation=10 * i + 2)
        made.kernel("sgd", at + max(90, 50 + compute), 5, correlation=10 * i + 3)
    return made.annotation("gloo:broadcast", 5, 3, tid=9)


def test_by_group(tmp_path: Path) -> None:
    all_reduce, broadcast = rows_of(tables_of(tmp_path, trace()), "collectives", "group")
    assert (all_reduce["name"], all_reduce["count"], all_reduce["total_ns"]) == ("all_reduce", 2, 80_000)
    assert (all_reduce["slack_ns"], all_reduce["stall_ns"], all_reduce["in_slack"]) == (80_000, 20_000, 1)
    assert all_reduce["needed_busbw_bytes_per_s"] == pytest.approx(4000 / 20e-6)
    assert (broadcast["name"], broadcast["device"], broadcast["slack_ns"]) == ("broadcast", False, None)


def test_by_size(tmp_path: Path) -> None:
    rows = rows_of(tables_of(tmp_path, trace()), "collectives", "size")
    assert sorted((row["name"], row["message_bytes"], row["stall_ns"]) for row in rows[:2]) == [
        ("all_reduce", 4000, 20_000),
        ("all_reduce", 8000, 0),
    ]
    assert rows[2]["message_bytes"] is None


def test_each_run(tmp_path: Path) -> None:
    rows = rows_of(tables_of(tmp_path, trace()), "collectives", "none")
    small = next(row for row in rows if row["message_bytes"] == 4000)
    assert (small["slack_ns"], small["stall_ns"], small["slack_from"]) == (20_000, 20_000, "order")
    assert (small["exposed_ns"], small["step"], small["stream"]) == (20_000, 3, "GPU 0, stream 20")
    assert (small["operator"], small["start_ns"]) == ("aten::add", 50_000)
    assert small["needed_busbw_bytes_per_s"] == pytest.approx(4000 / 20e-6)
    host = next(row for row in rows if row["name"] == "broadcast")
    assert (host["exposed_ns"], host["stream"], host["operator"]) == (None, None, None)


def test_without_any(tmp_path: Path) -> None:
    tables = tables_of(tmp_path, TraceBuilder().op("aten::mm", 0, 10))
    assert tables.table("collectives").why_empty() == "no_collective"
    assert rows_of(tables, "collectives", "size") == []
