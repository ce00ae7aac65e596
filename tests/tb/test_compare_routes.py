"""The route that compares two workers answers what the command prints."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

from stepscope.cli import main
from tests.builders import TraceBuilder
from tests.tb.test_api import api_of, get


def written(path: Path, kernel: str, dur: int) -> None:
    trace = TraceBuilder().step(5, 0, 1000 + dur).op("aten::mm", 10, 50)
    trace.launch(12, 3, correlation=1).kernel(kernel, 20, dur, correlation=1).write(path / "worker0.pt.trace.json")


def test_two_runs_as_the_command_compares_them(tmp_path: Path) -> None:
    written(tmp_path / "old", "gemm", 60)
    written(tmp_path / "new", "gemm_fast", 30)
    api = api_of(tmp_path)
    worker = "worker0.pt.trace.json"
    at = {"run": "new", "worker": worker, "with_run": "old", "with_worker": worker}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main(["compare", str(tmp_path / "old"), str(tmp_path / "new"), "--format", "json", "--most", "1"]) == 0
    found = get(api, "compare", most=1, **at)
    assert found == json.loads(printed.getvalue())
    assert found["work"]["kernels"]["difference_ns"] == -30_000
    assert found["work"]["kernels"]["rest"]["count"] == 1

    etag = api.answer("compare", at).etag
    assert api.answer("compare", at, etag).status == 304
    unknown = get(api, "compare", 404, **{**at, "with_run": "older"})
    assert "older" in unknown["error"]
    assert "with_worker" in get(api, "compare", 400, run="new", worker=worker, with_run="old")["error"]
