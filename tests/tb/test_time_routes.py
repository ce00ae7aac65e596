"""The routes of the Memory, Resources and Data tabs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepscope.schema import NONE
from tests.builders import TraceBuilder
from tests.recorded import RecordedRun
from tests.tb.test_api import api_of, get


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """Two steps of 1 ms in a window, each keeping 30 bytes; a monitor that sees two cores, every 500 us."""
    run = RecordedRun(tmp_path / "exp")
    trace = TraceBuilder()
    for i in range(2):
        run.step(i, 1000 * i, 1000, forward=(1000 * i + 100, 500))
        trace.step(i, 1000 * i, 1000).op("aten::clone", 1000 * i + 10, 50)
        trace.memory(1000 * i + 20, 30, device=0, address=i, total=530 + 30 * i)
    for i in range(4):
        run.sample(500 * i, {("cpu", NONE): 0.5, ("cpu_core", 0): 0.2, ("cpu_core", 1): 0.8})
    run.flush().window(trace).end()
    return tmp_path


def ask(logdir: Path, route: str, status: int = 200, **query: object) -> Any:
    api = api_of(logdir)
    worker = get(api, "runs")["runs"][0]["workers"][0]["id"]
    return get(api, route, status, run="exp", worker=worker, **query)


def test_a_curve_and_what_was_alive(logdir: Path) -> None:
    told = ask(logdir, "memory/curve")
    (allocator,) = told["allocators"]
    assert (allocator["name"], allocator["start_bytes"], allocator["peak_bytes"]) == ("GPU 0", 500, 560)
    assert told["curve"]["allocated"] == [500, 530, 560, 560]
    assert told["peak"] == {"bytes": 560, "t": 1_020_000}
    alive = ask(logdir, "memory/alive", t=1_500_000, by="operator")["alive"]
    assert (alive["level_bytes"], alive["earlier_bytes"]) == (560, 500)
    assert alive["rows"] == [{"name": "aten::clone", "count": 2, "bytes": 60}]


def test_the_fullest_allocator_of_a_device_is_shown_first(tmp_path: Path) -> None:
    trace = TraceBuilder().step(0, 1000, 500)
    for at, device, level in ((1010, None, 900), (1020, 0, 100), (1030, 1, 300)):
        trace.memory(at, level, total=level, device=device)
    RecordedRun(tmp_path / "exp").step(0, 1000, 500).flush().window(trace).end()
    told = ask(tmp_path, "memory/curve")
    assert told["allocators"][told["of"]]["name"] == "GPU 1"


def test_a_moment_outside_of_windows_and_an_unknown_allocator(logdir: Path) -> None:
    told = ask(logdir, "memory/alive", t=9_000_000, by="size")
    assert (told["alive"], told["why"]) == (None, "between_windows")
    assert "no allocator 3" in ask(logdir, "memory/alive", 404, t=0, by="size", of=3)["error"]


def test_growth_after_steps(logdir: Path) -> None:
    told = ask(logdir, "memory/steps", by="operator", outlives=1)
    assert (told["step"], told["allocated"], told["growth"]["per_step_bytes"]) == ([0, 1], [530, 560], 30)
    assert told["kept"]["bytes"] == 60


def test_cores_and_strips(logdir: Path) -> None:
    cores = ask(logdir, "resources/cores", t0=0, t1=1_000_000)
    assert [(row["core"], set(row["mean"])) for row in cores["cores"]] == [(0, {0.2}), (1, {0.8})]
    strips = ask(logdir, "steps/strips", t0=0, t1=2_000_000)
    assert (strips["steps"]["first"], strips["phases"]["name"]) == ([0, 1], ["forward", "forward"])
    assert "must lie after" in ask(logdir, "steps/strips", 400, t0=5, t1=5)["error"]


def test_all_hosts_of_a_run(logdir: Path) -> None:
    RecordedRun(logdir / "exp", rank=1, pid=7, host="node2").sample(0, {("cpu", NONE): 0.7}).flush().end()
    told = get(api_of(logdir), "run/resources", run="exp", columns=1)
    (band,) = told["bands"]
    assert (told["hosts"], band["of"], band["members"]) == (["node1", "node2"], "hosts", 2)
    assert (band["min"], band["max"]) == ([0.5], [0.7])
    (band,) = get(api_of(logdir), "run/resources", run="exp", host="node2")["bands"]
    assert band["members"] == 1


def test_what_was_captured(logdir: Path) -> None:
    told = ask(logdir, "data")
    assert [(w["steps"], w["first_step"], w["last_step"]) for w in told["windows"]] == [(2, 0, 1)]
    assert (told["always_on"]["steps"], told["monitor"]["interval_ns"]) == (2, 500_000)
    assert "worker.json" in [file["name"] for file in told["files"]]
