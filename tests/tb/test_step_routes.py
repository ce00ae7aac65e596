"""The routes of the Step breakdown and of the panels that the reader shapes."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepscope.runs import open_run
from stepscope.schema import Kind
from stepscope.summary import summarize
from tests.builders import TraceBuilder
from tests.recorded import RecordedRun
from tests.tb.test_api import api_of, get


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """Six steps of 100 us, each with two annotations; steps 1 and 2 in a deep window with three kernels each."""
    run = RecordedRun(tmp_path / "exp")
    trace = TraceBuilder()
    for i in range(6):
        at = 1000 + 100 * i
        run.span(Kind.ANNOTATION, "augment", at + 5, 10 + i).step(i, at, 100, forward=(at + 30, 50))
        if i in (1, 2):
            trace.step(i, at, 100)
            for k, (name, dur) in enumerate((("gemm", 20), ("gemm", 10 * i), ("relu", 5))):
                trace.launch(at + 2 * k, 1, correlation=10 * i + k)
                trace.kernel(name, at + 10 + 25 * k, dur, correlation=10 * i + k)
    run.window(trace).end()
    return tmp_path


def ask(logdir: Path, route: str, **query: object) -> dict:
    worker = get(api_of(logdir), "runs")["runs"][0]["workers"][0]["id"]
    return get(api_of(logdir), route, run="exp", worker=worker, **query)


def test_a_page_of_the_chosen_steps_in_an_order(logdir: Path) -> None:
    page = ask(logdir, "steps", only="activity", sort="kernel", descending=1)
    assert (page["count"], page["index"], page["id"]) == (2, [2, 1], [2, 1])
    assert page["activity"]["kernel"] == [45_000, 35_000]
    assert ask(logdir, "steps", first=2, last=4, limit=2)["index"] == [2, 3]


def test_bars_and_statistics(logdir: Path) -> None:
    bars = ask(logdir, "steps/bars", by="activity", only="activity")
    assert bars["parts"]["kernel"] == [35_000, 45_000]
    bars = ask(logdir, "steps/bars", by="activity", bars=3, share=1)
    assert (bars["width"], bars["divided"]) == (2, [1, 1, 0])
    assert bars["parts"]["kernel"] == [pytest.approx(0.35 / 2), pytest.approx(0.45 / 2), 0]
    told = ask(logdir, "steps/statistics", by="activity")
    worker = summarize(open_run(logdir / "exp"))["workers"][0]
    assert told["time_ns"] == worker["step_time_ns"]
    assert {k: v["total_ns"] for k, v in told["parts"].items()} == worker["activity_total_ns"]
    assert told["histogram"]["count"][-1:] == [6]


def test_phases_as_a_device_went_through_them(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "exp")
    for i in range(2):
        at = 1000 + 100 * i
        run.step(i, at, 100, forward=(at, 60))
        run.span(Kind.DEVICE_ANNOTATION, "forward", at + 20, 50, i, tid=0, args={"queue_ns": 20_000})
    run.end()
    bars = ask(tmp_path, "steps/bars", by="phase")
    assert (bars["parts"], bars["mean"]) == ({"forward": [50_000, 50_000], "other": [50_000, 0]}, [100_000, 50_000])
    assert ask(tmp_path, "steps/bars", by="phase", host=1)["parts"]["forward"] == [60_000, 60_000]
    told = ask(tmp_path, "summary")["worker"]["device_phases"]
    assert told == {"steps": 2, "total_ns": {"forward": 100_000, "other": 50_000}, "queue_p50_ns": 20_000}


def test_one_step_beside_the_others(logdir: Path) -> None:
    told = ask(logdir, "steps/compare", step=2)
    assert [(d["name"], d["delta_ns"]) for d in told["device_work"]["rows"]] == [("gemm", 10_000)]
    assert ask(logdir, "steps/compare", step=0)["device_work"] is None
    assert get(api_of(logdir), "steps/compare", 404, run="exp", worker=told_worker(logdir), step=99)["error"]


def told_worker(logdir: Path) -> str:
    return get(api_of(logdir), "runs")["runs"][0]["workers"][0]["id"]


def test_the_top_kernels_and_all_others(logdir: Path) -> None:
    told = ask(logdir, "kernels/top", k=1, by="time")
    assert (told["kernel_count"], told["total_ns"], told["runs"]) == (2, 80_000, 6)
    assert [(row["name"], row["total_ns"], row["count"]) for row in told["top"]] == [("gemm", 70_000, 4)]
    assert told["rest"] == {"kernels": 1, "count": 2, "total_ns": 10_000}


def test_a_histogram_of_any_name(logdir: Path) -> None:
    names = ask(logdir, "annotations/names")
    assert names == {"count": 1, "annotations": [{"name": "augment", "count": 6}]}
    told = ask(logdir, "annotations/histogram", name="augment", bins=5)
    assert (told["kind"], told["count"], told["total_ns"]) == ("annotation", 6, 75_000)
    assert told["histogram"]["count"] == [1, 1, 1, 1, 2]
    assert ask(logdir, "annotations/histogram", name="forward")["kind"] == "phase"
    assert ask(logdir, "annotations/histogram", name="=none") == {
        "name": "=none",
        "kind": None,
        "count": 0,
        "total_ns": None,
        "time_ns": None,
        "histogram": None,
    }


def test_modules_where_the_capture_shows_none(logdir: Path) -> None:
    assert ask(logdir, "modules") == {"steps": 2, "count": 0, "modules": None}
    assert ask(logdir, "modules", first=4) == {"steps": 0, "count": 0, "modules": None}
