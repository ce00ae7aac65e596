"""Units of devices in the summary: arithmetic and traffic are what the tables of operators and HLO operations sum."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepscope.runs import open_run
from stepscope.summary import summarize
from stepscope.tables import Tables
from tests.builders import TraceBuilder
from tests.tables.build import rows_of, tables_of
from tests.tables.test_hlo import A100, gpu


def units_of(path: Path) -> dict[tuple[int, str], dict[str, Any]]:
    (worker,) = summarize(open_run(path))["workers"]
    assert "analysis_failed" not in [note["code"] for note in worker["quality"]]
    return {(unit["device"], unit["unit"]): unit for unit in worker["device_units"]}


def hlo_row(tables: Tables) -> dict[str, Any]:
    (row,) = rows_of(tables, "hlo", "op")
    return row


def test_hlo_operations_by_device(tmp_path: Path) -> None:
    """Both GPUs did the same: each has the rates of the table, and the peak of TF32 products of an A100."""
    row = hlo_row(gpu(tmp_path, **A100))
    units = units_of(tmp_path / "host.xplane.pb")
    for device in range(2):
        work, traffic = units[device, "arithmetic"], units[device, "memory_hlo"]
        assert work["achieved"] == pytest.approx(row["flop_per_s"])
        assert work["peak"] == pytest.approx(156e12)
        assert traffic["achieved"] == pytest.approx(row["bytes_per_s"])
        assert (traffic["peak"], traffic["measured"]) == (1555e9, "estimated")


def test_without_a_model_there_is_no_peak(tmp_path: Path) -> None:
    row = hlo_row(gpu(tmp_path))
    work = units_of(tmp_path / "host.xplane.pb")[0, "arithmetic"]
    assert (work["achieved"], work["peak"]) == (pytest.approx(row["flop_per_s"]), None)
    assert "model" in work["why"]


def test_products_of_pytorch(tmp_path: Path) -> None:
    shapes = {"Input Dims": [[1024, 512], [512, 2048]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}
    trace = TraceBuilder().op("aten::mm", 10, 80, external_id=2, **shapes)
    trace.launch(20, 5, 7, external_id=2).kernel("gemm", 200, 20, 7, 7)
    (row,) = rows_of(tables_of(tmp_path, trace), "operators", "name")
    trace.write(tmp_path / "worker0.pt.trace.json")
    work = units_of(tmp_path / "worker0.pt.trace.json")[0, "arithmetic"]
    assert (work["achieved"], work["peak"]) == (pytest.approx(row["flop_per_s"]), pytest.approx(312e12))
