"""The routes of areas, search, neighbours, arrows, other ranks and exports."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stepscope_tensorboard.api import Api
from tests.tb.test_api import api_of, ask, get, traced


@pytest.fixture
def api(tmp_path: Path) -> Api:
    """Two ranks: a step [0, 100) us, an operator that launches gemm [20, 80)."""
    for rank in (0, 1):
        traced(tmp_path / "two" / f"r{rank}.pt.trace.json", rank)
    return api_of(tmp_path)


WORKER = {"run": "two", "worker": "r0.pt.trace.json"}


def lane(api: Api, type: str) -> int:
    return next(e["id"] for e in get(api, "timeline/tree", **WORKER)["lanes"] if e["type"] == type)


def test_a_tree_without_the_steps_that_are_known(api: Api) -> None:
    whole = get(api, "timeline/tree", **WORKER)["steps"]
    assert (whole["offset"], len(whole["id"])) == (0, 1)
    again = get(api, "timeline/tree", **WORKER, steps=1, last=whole["start"][0])["steps"]
    assert again == {"offset": 1, "id": [], "start": [], "end": []}
    assert "integer" in get(api, "timeline/tree", 400, **WORKER, steps="x")["error"]


def test_the_curves_of_device_work(api: Api) -> None:
    """gemm runs in [20, 80) us; no other copies, no grid."""
    at = {**WORKER, "lanes": lane(api, "counter")}
    found = get(api, "timeline/curves", **at, t0=0, t1=100_000, bins=5)
    busy, efficiency = found["series"]
    assert (found["t0"], found["t1"], busy["mean"]) == (0, 100_000, [0, 1, 1, 1, 0])
    assert (busy["label"], busy["unit"], busy["why"]) == ("Busy", "ratio", "")
    assert busy["definition"].startswith("Share of the time in which a kernel runs")
    assert efficiency["mean"] == []
    assert "grid" in efficiency["why"]
    beyond = get(api, "timeline/curves", **at, t0=50_000, t1=250_000, bins=4)["series"][0]["mean"]
    assert beyond == [0.6, None, None, None]
    assert get(api, "timeline/curves", **{**at, "lanes": "-5,12345"}, t0=0, t1=9, bins=1)["series"] == []
    assert get(api, "timeline/curves", **at, t0=5, t1=5, bins=2)["t1"] == 6
    assert "bins" in get(api, "timeline/curves", 400, **at, t0=0, t1=9, bins=0)["error"]
    far = 1 << 62
    assert get(api, "timeline/curves", **at, t0=-far, t1=far, bins=2)["series"][0]["mean"] == [None, 0.6]


def test_an_area(api: Api) -> None:
    found = get(api, "timeline/area", **WORKER, t0=0, t1=50_000, lanes=lane(api, "stream"))
    assert (found["busy"], found["idle"], found["names"]["name"]) == (30_000, 20_000, ["gemm"])
    assert get(api, "timeline/area", **WORKER, t0=0, t1=50_000)["count"] == 4


def test_a_search_and_its_mistakes(api: Api) -> None:
    assert get(api, "timeline/search", **WORKER, text="^g.mm$", regex=1, where="both")["names"] == ["gemm"]
    for query in (
        {"text": "(", "regex": 1},
        {"text": ""},
        {"text": "\ud800"},
        {"text": "x", "where": "nowhere"},
        {"text": "x", "case": 2},
    ):
        assert "error" in get(api, "timeline/search", 400, **WORKER, **query)


def test_a_neighbour_and_none(api: Api) -> None:
    row = get(api, "timeline/find", **WORKER, name="gemm")["rows"][0]
    assert get(api, "timeline/neighbour", **WORKER, row=row, by=1)["slice"] is None
    assert "error" in get(api, "timeline/neighbour", 404, **WORKER, row=10_000, by=1)
    assert "one of 1, -1" in get(api, "timeline/neighbour", 400, **WORKER, row=row, by=0)["error"]


def test_arrows(api: Api) -> None:
    found = get(api, "timeline/arrows", **WORKER, t0=0, t1=100_000)
    assert (found["count"], found["type"], found["from_t"], found["to_t"]) == (1, ["run"], [15_000], [20_000])


def test_a_peer(api: Api) -> None:
    found = get(api, "timeline/peer", **WORKER, peer="r1.pt.trace.json", lane=lane(api, "stream"))
    assert (found["lane"], found["steps"]["id"]) == (lane(api, "stream"), [5])
    assert "error" in get(api, "timeline/peer", 404, **WORKER, peer="nobody", lane=1)
    assert "error" in get(api, "timeline/peer", 404, **WORKER, peer="r1.pt.trace.json", lane=1)


@pytest.mark.parametrize(("to", "ending"), [("trace", "pt.trace.json"), ("csv", "csv")])
def test_exports_are_files(api: Api, to: str, ending: str) -> None:
    answer = ask(api, "timeline/export", **WORKER, t0=0, t1=100_000, to=to)
    assert answer.status == 200
    assert answer.headers["Content-Disposition"] == f'attachment; filename="timeline-rank0.{ending}"'
    names: list[Any]
    if to == "csv":
        names = [row["name"] for row in csv.DictReader(io.StringIO(answer.body.decode()))]
    else:
        names = [e["name"] for e in json.loads(answer.body)["traceEvents"] if e["ph"] == "X"]
    assert sorted(names) == ["ProfilerStep#5", "aten::mm", "cudaLaunchKernel", "gemm"]


def test_an_export_of_lanes_that_are_not_there_is_one_without_slices(api: Api) -> None:
    answer = ask(api, "timeline/export", **WORKER, t0=0, t1=100_000, to="trace", lanes="-5,12345")
    assert [e for e in json.loads(answer.body)["traceEvents"] if e["ph"] != "M"] == []


def test_a_view_with_groups(api: Api) -> None:
    lanes = ",".join(str(e["id"]) for e in get(api, "timeline/tree", **WORKER)["lanes"])
    answer = ask(api, "timeline/view", **WORKER, t0=0, t1=100_000, px=1000, lanes=lanes, groups=1)
    table = pa.ipc.open_stream(answer.body).read_all()
    groups = dict(zip(table.column("name").to_pylist(), table.column("stream").to_pylist(), strict=True))
    assert groups["gemm"] == groups["cudaLaunchKernel"] == "GPU 0 stream 7"
    assert set(table.column("module").to_pylist()) == {""}
    assert ask(api, "timeline/view", **WORKER, t0=0, t1=1, px=1, lanes="1", groups="some").status == 400
