"""The routes of a run as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepscope import rollup
from stepscope.runs import open_run
from stepscope_tensorboard.api import Api
from tests.builders import TraceBuilder
from tests.recorded import RecordedRun
from tests.tb.test_api import api_of, ask, get


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """Ranks 10, 2 and 0 of four: each step takes 100 us; of rank 2 the third takes 150 us and waits 60 us for input."""
    for rank in (10, 2, 0):
        run = RecordedRun(tmp_path / "many", rank=rank, pid=rank, host=f"h{rank}", world_size=11, phases=["input_wait"])
        for i in range(4):
            slow = rank == 2 and i == 2
            run.step(i, i * 200, 150 if slow else 100, input_wait=(i * 200, 60 if slow else 10))
        run.end()
    rollup.rollups(open_run(tmp_path / "many").workers)  # no process is needed for them then
    return tmp_path


@pytest.fixture
def api(logdir: Path) -> Api:
    return api_of(logdir)


def test_the_summary_lists_workers_by_rank(api: Api) -> None:
    found = get(api, "run/summary", run="many")
    ranks = found["ranks"]
    assert (ranks["rank"], ranks["host"]) == ([0, 2, 10], ["h0", "h2", "h10"])
    assert ranks["worker"] == ["0-h0-0", "2-h2-2", "10-h10-10"]
    assert ranks["slowest"] == [0, 1, 0]
    assert ranks["delta_ns"] == [0, 12_500, 0]
    assert (ranks["excess_part"][1], ranks["excess_ns"][1]) == ("input_wait", 12_500)
    assert ranks["input_wait_ns"] == [10_000, 22_500, 10_000]
    assert (found["compared_by"], found["stale"], found["live"]) == ("duration", 0, 0)
    assert found["across_workers"]["missing_rank_count"] == 8
    assert found["step_time_ns"]["max"] == 150_000
    assert found["coverage"] == {"steps": 12, "deep_steps": 0, "phased_steps": 12, "windows": 0}


def test_what_collectives_on_the_host_exposed_is_not_known(tmp_path: Path) -> None:
    trace = TraceBuilder().step(0, 0, 100).op("aten::mm", 10, 50)
    RecordedRun(tmp_path / "r", rank=0, pid=0).window(trace).end()
    RecordedRun(tmp_path / "r", rank=1, pid=1).window(trace.annotation("gloo:all_reduce", 20, 30, tid=9)).end()
    assert get(api_of(tmp_path), "run/summary", run="r")["ranks"]["exposed_ns"] == [0, None]


def test_the_peaks_of_memory(tmp_path: Path) -> None:
    for rank, size in enumerate((1000, 3000)):
        trace = TraceBuilder().step(0, 0, 100).memory(10, size, device=rank, total=size)
        RecordedRun(tmp_path / "r", rank=rank, pid=rank).window(trace).end()
    RecordedRun(tmp_path / "r", rank=2, pid=2).step(0, 0, 100).end()
    found = get(api_of(tmp_path), "run/summary", run="r")
    assert found["memory"] == {
        "worker": [0, 1],
        "device": [0, 1],
        "allocator": [None, None],
        "is_absolute": [True, True],
        "peak_bytes": [1000, 3000],
        "peak_reserved_bytes": [None, None],
    }


def test_the_device_time_of_each_worker(tmp_path: Path) -> None:
    trace = TraceBuilder().step(0, 0, 100)  # compute 0..50, a collective 30..80, a copy 90..100
    trace.kernel("gemm", 0, 50, stream=7).kernel("ncclDevKernel_AllReduce_Sum_f32", 30, 50, stream=8)
    trace.memcpy("HtoD", 90, 10, stream=9)
    RecordedRun(tmp_path / "r", rank=0, pid=0).window(trace).end()
    RecordedRun(tmp_path / "r", rank=1, pid=1).step(0, 0, 100).end()
    found = get(api_of(tmp_path), "run/summary", run="r")["device_time"]
    assert {name: values for name, (values,) in found.items()} == {
        "worker": 0,
        "total": 100_000,
        "computation": 30_000,
        "overlapped": 20_000,
        "communication": 30_000,
        "copies": 10_000,
        "idle": 10_000,
    }


def test_the_steps_of_all_workers(api: Api) -> None:
    found = get(api, "run/steps", run="many")
    assert (found["of"], found["count"], found["first_id"]) == ("duration", 4, [0, 1, 2, 3])
    assert found["cells"] == [[100_000] * 4, [100_000, 100_000, 150_000, 100_000], [100_000] * 4]
    assert (found["min"], found["max"]) == ([100_000] * 4, [100_000, 100_000, 150_000, 100_000])
    assert found["slowest"] == [None, None, 1, None]
    assert found["phase"]["input_wait"] == [10_000, 10_000, round(80_000 / 3), 10_000]
    assert found["activity"] == {}


def test_a_part_of_the_steps_in_few_columns(api: Api) -> None:
    found = get(api, "run/steps", run="many", of="phase.input_wait", offset=1, limit=2, columns=1)
    assert (found["first_id"], found["last_id"], found["slowest"]) == ([1], [2], [1])
    assert found["cells"] == [[10_000], [35_000], [10_000]]


def test_mistakes(api: Api) -> None:
    assert "one of duration, phase.input_wait" in get(api, "run/steps", 400, run="many", of="luck")["error"]
    assert "no run" in get(api, "run/summary", 404, run="few")["error"]
    assert "columns" in get(api, "run/steps", 400, run="many", columns=0)["error"]


def test_an_unchanged_run_is_not_sent_again(api: Api) -> None:
    tag = ask(api, "run/summary", run="many").etag
    assert api.answer("run/summary", {"run": "many"}, tag).status == 304


def test_a_run_that_goes_on_is_shown_as_it_was_meanwhile(logdir: Path) -> None:
    """Making rollups anew takes its time: what is known of a worker stays on the page until then."""
    api = api_of(logdir)
    assert get(api, "run/summary", run="many")["coverage"]["steps"] == 12
    worker = logdir / "many" / "plugins" / "stepscope" / "workers" / "2-h2-2" / "worker.json"
    worker.write_text(worker.read_text().replace('"input_wait"', '"forward"'))
    again = get(api, "run/summary", run="many")
    assert (again["stale"], again["coverage"]["steps"]) == (1, 12)
    api.close()


def test_rollups_that_are_not_there_are_made(logdir: Path) -> None:
    for path in logdir.rglob("rollup.arrow"):
        path.unlink()
    assert get(api_of(logdir), "run/summary", run="many")["coverage"]["steps"] == 12
    assert len(list(logdir.rglob("rollup.arrow"))) == 3


def test_trace_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    RecordedRun(tmp_path / "one").step(1, 0, 100).end()
    found = get(api_of(tmp_path), "run/summary", run="one")
    assert (found["across_workers"], found["ranks"]["worker"]) == (None, [])
    (tmp_path / "bad").mkdir()
    for name in "ab":
        (tmp_path / "bad" / f"{name}.pt.trace.json").write_text("no trace")
    assert "cannot be read" in get(api_of(tmp_path), "run/summary", 422, run="bad")["error"]
