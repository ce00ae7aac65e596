"""The routes of docs/api.md, without TensorBoard."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stepscope import cache, ending, workers
from stepscope.runs import open_run
from stepscope.store import windows
from stepscope.summary import summarize
from stepscope.timeline import LIVE_BASE
from stepscope_tensorboard import imports, listing
from stepscope_tensorboard.answers import ARROW, JSON, Answer, Cancelled, Pending
from stepscope_tensorboard.api import Api, memory_from_environment
from stepscope_tensorboard.logdirs import Root, roots
from tests.builders import T0_NS, TraceBuilder
from tests.recorded import RecordedRun


def api_of(logdir: Path, **kwargs: Any) -> Api:
    """One that waits for its work, however long that takes: else it tells former states of a running job."""
    api = Api(roots(str(logdir), None), **kwargs)
    api._sessions._wait_s = api._imports._wait_s = api._rollups._wait_s = 180.0
    return api


def get(api: Api, route: str, status: int = 200, **query: Any) -> Any:
    """The JSON of an answer; asks again while a file is being imported, as the page does."""
    answer = ask(api, route, **query)
    assert answer.content_type == JSON
    body = json.loads(answer.body)
    assert answer.status == status, body
    return body


def ask(api: Api, route: str, **query: Any) -> Answer:
    texts = {k: str(v) for k, v in query.items()}
    for _ in range(3600):  # an import runs at low priority
        answer = api.answer(route, texts)
        if answer.status != 202:
            return answer
        assert json.loads(answer.body)["state"] == "importing"
        time.sleep(0.05)
    raise AssertionError("the import does not end")


def trained(path: Path, **kwargs: Any) -> RecordedRun:
    """Three steps of 100 us; the second lies in a deep window with a kernel of 60 us."""
    run = RecordedRun(path, options={"monitor_interval_ms": 500}, versions={"torch": "2.13"}, refused=[], **kwargs)
    for i in range(3):
        at = 1000 + 100 * i
        run.step(i, at, 100, input_wait=(at, 30), forward=(at + 30, 50))
        run.sample(at, {("cpu", -1): 0.25 * (i + 1), ("gpu", 0): 0.5})
    trace = TraceBuilder().step(1, 1100, 100).op("aten::mm", 1110, 20)
    trace.launch(1112, 3, correlation=1).kernel("gemm", 1120, 60, correlation=1)
    return run.window(trace).end()


def traced(path: Path, rank: int | None = 0) -> Path:
    trace = TraceBuilder(rank=rank, world_size=2).step(5, 0, 100).op("aten::mm", 10, 50)
    return trace.launch(12, 3, correlation=1).kernel("gemm", 20, 60, correlation=1).write(path)


# -- runs -------------------------------------------------------------------------------------------


def test_every_route_is_documented(tmp_path: Path) -> None:
    page = Path(__file__).parents[2].joinpath("docs/api.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)) == sorted(api_of(tmp_path).routes)


def test_an_empty_log_directory_has_no_runs(tmp_path: Path) -> None:
    assert get(api_of(tmp_path), "runs") == {"logdir": str(tmp_path), "runs": []}
    assert get(api_of(tmp_path / "missing"), "runs")["runs"] == []


def test_runs_and_their_workers(tmp_path: Path) -> None:
    trained(tmp_path / "exp1", rank=1, world_size=4)
    file = traced(tmp_path / "traces" / "t.pt.trace.json")
    os.utime(file, ns=(5, 5))
    first, second = get(api_of(tmp_path), "runs")["runs"]
    assert first | {"updated_ns": 0} == {
        "id": "exp1",
        "name": "exp1",
        "live": False,
        "updated_ns": 0,
        "error": None,
        "workers": [
            {
                "id": "1-node1-4117",
                "source": "recording",
                "rank": 1,
                "world_size": 4,
                "host": "node1",
                "pid": 4117,
                "framework": "pytorch",
                "live": False,
                "state": "finished",
                "detail": "The recording ended in order.",
            }
        ],
    }
    assert (second["id"], second["updated_ns"]) == ("traces", "5")
    # What a file holds is not known before it is imported, and listing it imports nothing.
    assert second["workers"][0] | {"id": ""} == {
        "id": "",
        "source": "file",
        "rank": None,
        "world_size": None,
        "host": None,
        "pid": None,
        "framework": None,
        "live": False,
        "state": None,
        "detail": None,
    }
    assert not (tmp_path / "traces" / ".stepscope").exists()


def test_an_imported_file_tells_its_rank(tmp_path: Path) -> None:
    traced(tmp_path / "traces" / "t.pt.trace.json", rank=1)
    api = api_of(tmp_path)
    get(api, "summary", run="traces", worker="t.pt.trace.json")
    (worker,) = get(api, "runs")["runs"][0]["workers"]
    assert (worker["rank"], worker["world_size"], worker["framework"]) == (1, 2, "pytorch")


def test_a_job_that_falls_silent_is_told_to_have_broken_off(tmp_path: Path) -> None:
    nobody = 2**22 + 1  # a process number that Linux gives to none
    run = RecordedRun(tmp_path / "exp1", host=socket.gethostname(), pid=nobody).step(0, 0, 100).flush().alive()
    api = api_of(tmp_path)
    of = {"run": "exp1", "worker": run.folder.id}

    def codes() -> list[str]:
        return [note["code"] for note in get(api, "summary", **of)["worker"]["quality"]]

    assert "unfinished_recording" not in codes()
    for folder, _, names in os.walk(run.folder.path):
        for path in (folder, *(os.path.join(folder, name) for name in names)):
            os.utime(path, (T0_NS / 1e9, T0_NS / 1e9))  # nothing was written since; the files are as they were
    assert "unfinished_recording" in codes()
    worker = get(api_of(tmp_path), "runs")["runs"][0]["workers"][0]
    assert (worker["live"], worker["state"]) == (False, "killed")
    assert worker["detail"].startswith(f"Process {nobody} is gone")


def test_a_running_job_is_live_and_what_is_damaged_is_told(tmp_path: Path) -> None:
    RecordedRun(tmp_path / "exp1").step(0, 0, 100).flush().alive()
    broken = RecordedRun(tmp_path / "exp1", rank=1)
    (broken.folder.path / "worker.json").write_text("{")
    api = api_of(tmp_path)
    (run,) = get(api, "runs")["runs"]
    assert (run["live"], [w["rank"] for w in run["workers"]]) == (True, [0, 1])
    (note, *_) = get(api, "summary", run="exp1", worker="1-node1-4117")["worker"]["quality"]
    assert note["code"] == "damaged_meta"


def test_a_run_that_comes_later_is_found(tmp_path: Path) -> None:
    api = api_of(tmp_path)
    assert get(api, "runs")["runs"] == []
    api._listing._due = 1e-9  # a second later
    trained(tmp_path / "exp1")
    assert [r["id"] for r in get(api, "runs")["runs"]] == ["exp1"]


@pytest.mark.parametrize(
    "name", ["<img src=x onerror=alert(1)>", "a%2Fb", "x..%2f..%2fy", "späße 实验", "a b&c=d#e", "+"]
)
def test_runs_of_any_name(tmp_path: Path, name: str) -> None:
    trained(tmp_path / name)
    api = api_of(tmp_path)
    (run,) = get(api, "runs")["runs"]
    assert run["id"] == name
    assert get(api, "summary", run=name, worker="0-node1-4117")["worker"]["step_count"] == 3


def test_a_name_that_is_no_unicode_can_be_asked_for(tmp_path: Path) -> None:
    trained(Path(os.fsdecode(os.fsencode(tmp_path) + b"/exp\xff")))
    api = api_of(tmp_path)
    (run,) = get(api, "runs")["runs"]
    assert get(api, "summary", run=run["id"], worker="0-node1-4117")["worker"]["step_count"] == 3


def test_names_are_looked_up_and_never_joined(tmp_path: Path) -> None:
    trained(tmp_path / "logs" / "exp1")
    trained(tmp_path / "secret")
    api = api_of(tmp_path / "logs")
    for run in ("../secret", "exp1/../../secret", str(tmp_path / "secret"), "exp1/", "EXP1", "", ".", "exp1\0"):
        assert "There is no run" in get(api, "summary", 404, run=run, worker="0-node1-4117")["error"]
    for worker in ("", ".", "..", "../workers/0-node1-4117", "0-node1-4117/"):
        assert "has no worker" in get(api, "timeline/tree", 404, run="exp1", worker=worker)["error"]


# -- summary and steps ----------------------------------------------------------------------------------


def test_the_summary_of_a_recorded_worker_is_that_of_the_command(tmp_path: Path) -> None:
    trained(tmp_path / "exp1")
    (recorded,) = open_run(tmp_path / "exp1").workers
    (recorded.folder.path / ".000009.pt.trace.json").touch()  # a window that waits for an idle core
    answer = get(api_of(tmp_path), "summary", run="exp1", worker="0-node1-4117")
    assert answer["origin_ns"] == str(T0_NS)
    assert answer["coverage"].pop("unconverted_windows") == 1
    assert (answer["run"], answer["live"]) == ("exp1", False)
    command = json.loads(json.dumps(summarize(open_run(tmp_path / "exp1"))))
    (expected,) = command["workers"]
    for finding in command["findings"]:
        for place in finding["places"]:
            if place["start_ns"] is not None:
                place["start_ns"] -= T0_NS
    for told in ("findings", "verdict", "metadata"):
        assert answer[told] == command[told]
    assert answer["findings"]
    for elsewhere in ("findings", "bound"):
        expected.pop(elsewhere)
    steps = expected.pop("steps")
    coverage = expected.pop("coverage")
    worker = answer["worker"]
    counts = [worker[f"{table}_count"] for table in ("kernel", "operator", "step")]
    assert counts == [1, 1, len(steps)]
    assert all(part.items() <= worker[name].items() for name, part in expected.items() if isinstance(part, dict))
    assert {name: worker[name] for name, part in expected.items() if not isinstance(part, dict)} == {
        name: part for name, part in expected.items() if not isinstance(part, dict)
    }
    assert (answer["step_time_ns"], answer["resources"]) == (command["step_time_ns"], command["resources"])
    assert answer["step_time_ns"]["p50"] == 100_000
    assert answer["coverage"]["phased_steps"] == 3
    assert answer["coverage"] | {"first_ns": 0, "last_ns": 0} == coverage | {"first_ns": 0, "last_ns": 0}
    assert (answer["coverage"]["first_ns"], answer["coverage"]["last_ns"]) == (1_000_000, 1_300_000)
    assert (answer["options"], answer["versions"], answer["refused"]) == (
        {"monitor_interval_ms": 500},
        {"torch": "2.13"},
        [],
    )


def test_the_summary_of_a_trace_file(tmp_path: Path) -> None:
    path = traced(tmp_path / "traces" / "t.pt.trace.json")
    answer = get(api_of(tmp_path), "summary", run="traces", worker=path.name)
    assert (answer["origin_ns"], answer["coverage"]["first_ns"]) == (str(T0_NS), 0)
    assert (answer["options"], answer["versions"], answer["refused"]) == (None, None, None)
    assert answer["worker"]["kernels"][0]["total_ns"] == 60_000


def test_notes_on_the_ranks_of_a_run_are_those_of_the_command(tmp_path: Path) -> None:
    for name in ("a", "b"):
        traced(tmp_path / "traces" / f"{name}.pt.trace.json", rank=0)
    api = api_of(tmp_path)
    expected = summarize(open_run(tmp_path / "traces"))["workers"]
    for worker in ("a.pt.trace.json", "b.pt.trace.json", "a.pt.trace.json"):
        answer = get(api, "summary", run="traces", worker=worker)
    codes = [(n["code"], n["count"]) for n in answer["worker"]["quality"]]
    assert ("duplicate_rank", 1) in codes
    assert codes == [(n["code"], n["count"]) for n in expected[0]["quality"]]


def test_a_rank_that_was_started_anew_is_not_told_twice(tmp_path: Path) -> None:
    for attempt in (0, 1):
        run = RecordedRun(tmp_path / "run", 0, 4000 + attempt, started_us=attempt * 1000).step(1, attempt * 1000, 100)
        run.end(attempt * 1000 + 900)
    api = api_of(tmp_path)
    for worker in open_run(tmp_path / "run").workers:
        answer = get(api, "summary", run="run", worker=worker.id)
        assert "duplicate_rank" not in [n["code"] for n in answer["worker"]["quality"]]


def test_long_tables_are_cut_and_counted(tmp_path: Path) -> None:
    trace = TraceBuilder()
    for i in range(250):
        trace.kernel(f"kernel {i}", 10 * i, 1 + i % 5).op(f"op {i}", 10 * i, 2)
    trace.write(tmp_path / "r" / "t.pt.trace.json")
    worker = get(api_of(tmp_path), "summary", run="r", worker="t.pt.trace.json")["worker"]
    assert (len(worker["kernels"]), worker["kernel_count"]) == (200, 250)
    assert (len(worker["operators"]), worker["operator_count"]) == (200, 250)


def test_steps_by_column(tmp_path: Path) -> None:
    trained(tmp_path / "exp1")
    api = api_of(tmp_path)
    answer = get(api, "steps", run="exp1", worker="0-node1-4117")
    assert (answer["origin_ns"], answer["count"], answer["offset"]) == (str(T0_NS), 3, 0)
    assert answer["id"] == [0, 1, 2]
    assert answer["start"] == [1_000_000, 1_100_000, 1_200_000]
    assert answer["duration"] == answer["host"] == [100_000] * 3
    assert answer["complete"] == [True] * 3
    assert answer["inferred"] == [False] * 3
    assert answer["phase"]["input_wait"] == [30_000] * 3
    assert answer["phase"]["forward"] == [50_000] * 3
    assert answer["phase"]["other"] == [20_000] * 3
    # Only the second step lies in a deep window.
    assert answer["activity"]["kernel"] == [None, 60_000, None]
    assert sum(values[1] for values in answer["activity"].values()) == 100_000
    page = get(api, "steps", run="exp1", worker="0-node1-4117", offset=1, limit=1)
    assert (page["count"], page["offset"], page["id"], page["phase"]["forward"]) == (3, 1, [1], [50_000])
    assert get(api, "steps", run="exp1", worker="0-node1-4117", offset=9)["id"] == []


def test_a_picture_of_all_steps_keeps_the_shortest_the_longest_and_the_ends_of_deep_windows(tmp_path: Path) -> None:
    run, at = RecordedRun(tmp_path / "exp1"), 0
    lengths = [100] * 40
    lengths[13], lengths[29] = 900, 7
    trace = TraceBuilder()
    for i, length in enumerate(lengths):
        run.step(i, at, length)
        if i in (20, 21, 22):
            trace.step(i, at, length).kernel("gemm", at + 10, 60)
        at += length
    run.window(trace).end()
    answer = get(api_of(tmp_path), "steps/overview", run="exp1", worker="0-node1-4117", points=8)
    assert (answer["count"], answer["incomplete"], answer["deep"]) == (40, 0, [[20, 22]])
    assert {0, 13, 20, 22, 29, 39} <= set(answer["index"])
    assert len(answer["index"]) <= 8 + 2
    assert answer["id"] == answer["index"] == sorted(answer["index"])
    assert answer["duration"] == [1000 * lengths[i] for i in answer["index"]]
    whole = get(api_of(tmp_path), "steps/overview", run="exp1", worker="0-node1-4117")
    assert whole["index"] == list(range(40))


def test_the_overview_of_a_run_without_steps(tmp_path: Path) -> None:
    TraceBuilder().op("aten::mm", 0, 10).write(tmp_path / "r" / "t.pt.trace.json")
    answer = get(api_of(tmp_path), "steps/overview", run="r", worker="t.pt.trace.json")
    assert (answer["count"], answer["index"], answer["duration"], answer["deep"]) == (0, [], [], [])


# -- resources ----------------------------------------------------------------------------------------


def test_resources_as_series(tmp_path: Path) -> None:
    trained(tmp_path / "exp1")
    api = api_of(tmp_path)
    answer = get(api, "resources", run="exp1", worker="0-node1-4117")
    assert answer["origin_ns"] == str(T0_NS)
    cpu, gpu = answer["series"]
    assert (cpu["id"], cpu["label"], cpu["group"], cpu["unit"]) == ("cpu", "CPU", "CPU", "ratio")
    assert (gpu["id"], gpu["label"]) == ("gpu.0", "GPU 0")
    assert cpu["t"] == [1_000_000, 1_100_000, 1_200_000]
    assert cpu["mean"] == cpu["min"] == cpu["max"] == [0.25, 0.5, 0.75]
    one = get(api, "resources", run="exp1", worker="0-node1-4117", points=1)["series"][0]
    assert (one["t"], one["mean"], one["min"], one["max"]) == ([1_100_000], [0.5], [0.25], [0.75])


def test_a_gap_in_sampling_is_a_null(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "exp1")
    for at in (0, 10, 20, 30, 100, 110):
        run.sample(at, {("cpu", -1): at / 1000})
    run.end()
    (cpu,) = get(api_of(tmp_path), "resources", run="exp1", worker="0-node1-4117")["series"]
    assert cpu["t"] == [0, 10_000, 20_000, 30_000, 65_000, 100_000, 110_000]
    assert cpu["mean"] == [0, 0.01, 0.02, 0.03, None, 0.1, 0.11]


def test_without_a_monitor_there_are_no_series(tmp_path: Path) -> None:
    path = traced(tmp_path / "traces" / "t.pt.trace.json")
    answer = get(api_of(tmp_path), "resources", run="traces", worker=path.name)
    assert (answer["series"], answer["interval_ms"]) == ([], None)


# -- timeline -----------------------------------------------------------------------------------------


def test_the_timeline_routes_agree_with_each_other(tmp_path: Path) -> None:
    trained(tmp_path / "exp1")
    api = api_of(tmp_path)
    at = {"run": "exp1", "worker": "0-node1-4117"}
    tree = get(api, "timeline/tree", **at)
    assert (tree["origin_ns"], tree["t0"], tree["t1"]) == (str(T0_NS), 1_000_000, 1_300_000)
    assert tree["steps"]["id"] == [0, 1, 2]
    own = [lane for lane in tree["lanes"] if lane["type"] != "launches"]  # which shows slices of others once more
    lanes = [lane["id"] for lane in own]
    view = ask(api, "timeline/view", t0=tree["t0"], t1=tree["t1"], px=1000, lanes=",".join(map(str, lanes)), **at)
    assert (view.status, view.content_type) == (200, ARROW)
    table = pa.ipc.open_stream(view.body).read_all()
    assert table.num_rows == sum(lane["events"] for lane in own) == 3 * 3 + 4
    (gemm,) = (r for r in table.to_pylist() if r["name"] == "gemm")
    found = get(api, "timeline/slice", row=gemm["row"], **at)
    assert (found["start"], found["dur"], found["kind"], found["step"]) == (1_120_000, 60_000, "kernel", 1)
    assert found["origin_ns"] == tree["origin_ns"]
    assert [c["type"] for c in found["connections"]] == ["launch", "operator"]
    assert get(api, "timeline/find", name="gemm", **at) == {"count": 1, "rows": [gemm["row"]]}
    assert ask(api, "timeline/view", t0=0, t1=10, px=100, lanes="", **at).status == 200


def test_all_routes_of_a_worker_count_from_one_origin(tmp_path: Path) -> None:
    trained(tmp_path / "recorded", started_us=700)
    trained(tmp_path / "started_unknown", started_us=None)
    traced(tmp_path / "traces" / "t.pt.trace.json")
    api = api_of(tmp_path)
    for run in get(api, "runs")["runs"]:
        at = {"run": run["id"], "worker": run["workers"][0]["id"]}
        with_times = ["summary", "steps", "timeline/tree"]
        if run["id"] == "recorded":
            with_times.append("resources")
        origins = {get(api, route, **at)["origin_ns"] for route in with_times}
        assert len(origins) == 1, run["id"]


def test_new_data_of_a_running_job_is_in_the_next_answer(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "exp1").step(0, 0, 100).flush()
    api = api_of(tmp_path)
    at = {"run": "exp1", "worker": "0-node1-4117"}
    for expected in (1, 2, 3):
        assert get(api, "summary", **at)["worker"]["step_count"] == expected
        assert get(api, "steps", **at)["count"] == expected
        assert len(get(api, "timeline/tree", **at)["steps"]["id"]) == expected
        run.step(expected, expected * 100, 100).flush()
    run.window(TraceBuilder().op("aten::mm", 10, 5))
    assert get(api, "timeline/find", name="aten::mm", **at)["count"] == 1
    assert get(api, "summary", **at)["coverage"]["windows"] == 1


def test_an_earlier_state_of_a_running_job_is_told_to_be_one(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "exp1").step(0, 0, 100).flush()
    api = api_of(tmp_path)
    at = {"run": "exp1", "worker": "0-node1-4117"}
    assert get(api, "summary", **at)["stale"] is False
    (session,) = api._sessions._sessions.values()
    session._summarised._wait_s = 0.0
    run.step(1, 100, 100).flush()
    while (told := get(api, "summary", **at))["stale"]:
        assert told["worker"]["step_count"] == 1
    assert told["worker"]["step_count"] == 2


def test_what_is_made_ahead_is_what_the_tabs_ask_for(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "exp1").step(0, 0, 100).flush()
    run.window(
        TraceBuilder().step(0, 0, 100).op("aten::mm", 10, 5).launch(11, 2, 7).kernel("gemm", 20, 30, correlation=7)
    )
    api, other = api_of(tmp_path), api_of(tmp_path)
    at = {"run": "exp1", "worker": "0-node1-4117"}
    assert get(api, "ahead", **at) == {"ready": True}
    for route, query in {"tables/rows": {"table": "kernels"}, "steps/compare": {"step": "0"}}.items():
        assert get(api, route, **at, **query) == get(other, route, **at, **query), route
    (session,) = api._sessions._sessions.values()
    assert session._timeline is not None
    (window,) = (segment for segment in session._timeline.segments() if segment.base < LIVE_BASE)
    assert session._timeline.links_of(window).groups["stream"][1] == ["GPU 0 stream 7"]
    assert "has no worker" in get(api, "ahead", 404, run="exp1", worker="9")["error"]


def test_what_the_browser_has_is_not_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "LIVE_WITHIN_NS", 3600 * 10**9)  # it goes on, however long the test takes
    run = RecordedRun(tmp_path / "exp1").step(0, 0, 100).flush().sample(0, {("cpu", -1): 0.5})
    api = api_of(tmp_path)
    at = {"run": "exp1", "worker": "0-node1-4117"}
    view = {**at, "t0": "0", "t1": "1000", "px": "100", "lanes": "1"}
    for route, query in {
        "summary": at,
        "steps": at,
        "resources": at,
        "timeline/tree": at,
        "timeline/view": view,
    }.items():
        etag = api.answer(route, query).etag
        assert etag is not None
        again = api.answer(route, query, etag)
        assert (again.status, again.body, again.etag) == (304, b"", etag), route
        other = {"limit": "1", "points": "9", **query}
        assert api.answer(route, other, etag).status == 200, route
    etags = {route: api.answer(route, at).etag for route in ("summary", "steps", "timeline/tree")}
    run.step(1, 100, 100).flush()
    for route, etag in etags.items():
        assert api.answer(route, at, etag).status == 200, route
    assert api_of(tmp_path).answer("timeline/tree", at, api.answer("timeline/tree", at).etag).status == 200


# -- what goes wrong --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("route", "query", "sentence"),
    [
        ("summary", {}, "The parameter run is missing."),
        ("summary", {"run": "exp1"}, "The parameter worker is missing."),
        ("steps", {"offset": "-1"}, "The parameter offset must lie between 0 and"),
        ("steps/overview", {"points": "5"}, "The parameter points must lie between 6 and"),
        ("steps", {"limit": "0"}, "The parameter limit must lie between 1 and"),
        ("steps", {"limit": "ten"}, "The parameter limit must be an integer."),
        ("resources", {"points": "1e9"}, "The parameter points must be an integer."),
        ("resources", {"t0": "now"}, "The parameter t0 must be an integer."),
        ("timeline/view", {"t0": "0", "t1": "9"}, "The parameter px is missing."),
        ("timeline/view", {"t0": "0", "t1": "9", "px": "0", "lanes": ""}, "The parameter px must lie between 1"),
        ("timeline/view", {"t0": "9", "t1": "0", "px": "5", "lanes": ""}, "The parameter t1 must not lie before t0."),
        ("timeline/view", {"t0": "0", "t1": "9", "px": "5", "lanes": "a"}, "The parameter lanes must be integers"),
        ("timeline/view", {"t0": str(1 << 70), "t1": "9", "px": "5", "lanes": ""}, "The parameter t0 must lie between"),
        ("timeline/arrows", {"t0": "0", "t1": "9", "lanes": f"1,{1 << 70}"}, "The parameter lanes must hold integers"),
        ("timeline/slice", {}, "The parameter row is missing."),
        ("timeline/find", {}, "The parameter name is missing."),
    ],
)
def test_a_bad_parameter_is_one_sentence(tmp_path: Path, route: str, query: dict[str, str], sentence: str) -> None:
    trained(tmp_path / "exp1")
    at = {} if route == "summary" else {"run": "exp1", "worker": "0-node1-4117"}
    assert get(api_of(tmp_path), route, 400, **at, **query)["error"].startswith(sentence)


def test_an_unknown_row_and_an_unknown_route(tmp_path: Path) -> None:
    trained(tmp_path / "exp1")
    api = api_of(tmp_path)
    at = {"run": "exp1", "worker": "0-node1-4117"}
    assert "no slice 99" in get(api, "timeline/slice", 404, row=99, **at)["error"]
    assert "There is no route" in get(api, "nothing", 404)["error"]


def test_extreme_viewports(tmp_path: Path) -> None:
    trained(tmp_path / "exp1")
    api = api_of(tmp_path)
    at = {"run": "exp1", "worker": "0-node1-4117"}
    lanes = ",".join(str(lane["id"]) for lane in get(api, "timeline/tree", **at)["lanes"])
    most = 1 << 62  # the step and the launch of the window are shown twice
    views = (
        (0, 0, 20_000, 0),
        (-2 * most + 1, 2 * most - 1, 1, 13 + 2),
        (most, most, 1, 0),
        (1_100_000, 1_100_000, 9, 4),
    )
    for t0, t1, px, slices in views:
        answer = ask(api, "timeline/view", t0=t0, t1=t1, px=px, lanes=lanes, **at)
        assert answer.status == 200, answer.body
        assert sum(pa.ipc.open_stream(answer.body).read_all().column("count").to_pylist()) == slices


def test_a_file_that_is_no_trace_says_why_each_time_and_is_parsed_once(tmp_path: Path) -> None:
    path = tmp_path / "r" / "t.pt.trace.json"
    path.parent.mkdir()
    path.write_text("no trace")
    api = api_of(tmp_path)
    at = {"run": "r", "worker": path.name}
    first = get(api, "summary", 422, **at)["error"]
    assert path.name in first
    assert get(api, "timeline/tree", 422, **at)["error"] == first
    assert get(api, "runs")["runs"][0]["id"] == "r"
    traced(path)  # repaired
    assert get(api, "summary", **at)["worker"]["step_count"] == 1


def test_an_import_that_failed_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = traced(tmp_path / "r" / "t.pt.trace.json")
    data, state = path.read_bytes(), path.stat()
    path.write_bytes(b"x" * len(data))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    monkeypatch.setattr(imports, "_REST_S", 0.0)
    monkeypatch.setattr(imports, "_REST_FACTOR", 0.0)
    api = api_of(tmp_path)
    at = {"run": "r", "worker": path.name}
    assert "not a profiler trace" in get(api, "summary", 422, **at)["error"]
    path.write_bytes(data)  # of the same size and time, as a copy that keeps them makes it
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert get(api, "summary", **at)["worker"]["step_count"] == 1


def test_a_file_that_vanished_is_told(tmp_path: Path) -> None:
    path = traced(tmp_path / "r" / "t.pt.trace.json")
    api = api_of(tmp_path)
    get(api, "runs")
    path.unlink()
    assert path.name in get(api, "summary", 404, run="r", worker=path.name)["error"]


def test_a_run_that_is_asked_for_is_looked_for_though_the_folders_were_walked_just_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_REST_S", 3600.0)
    monkeypatch.setattr(listing, "_REST_FACTOR", 0.0)
    api = api_of(tmp_path)
    assert get(api, "runs")["runs"] == []
    path = traced(tmp_path / "r" / "t.pt.trace.json")
    assert get(api, "runs")["runs"] == []
    assert get(api, "summary", run="r", worker=path.name)["worker"]["step_count"] == 1


def test_a_file_is_imported_in_the_background(tmp_path: Path) -> None:
    path = traced(tmp_path / "r" / "t.pt.trace.json")
    api = api_of(tmp_path)
    api._imports._wait_s = 0.0
    query = {"run": "r", "worker": path.name}
    answer = api.answer("summary", query)
    assert answer.status == 202
    assert json.loads(answer.body)["detail"].startswith(f"Importing {path.name} (0.0 MB)")
    assert get(api, "summary", **query)["worker"]["step_count"] == 1


@pytest.mark.skipif(os.name == "nt", reason="no such pipes")
def test_a_cancelled_import_stays_so_until_it_is_wished_again(tmp_path: Path) -> None:
    path = tmp_path / "t.pt.trace.json"
    os.mkfifo(path)  # whoever opens it waits: an import that takes long
    waiting = imports.Imports(wait_s=0.0)
    with pytest.raises(Pending, match=r"Importing t\.pt\.trace\.json") as asked:
        waiting.need(path)
    assert asked.value.can_cancel
    (child,) = waiting._running.values()
    waiting.cancel(path)
    assert child.wait(180)
    for _ in range(2):
        with pytest.raises(Cancelled, match=r"The import of t\.pt\.trace\.json was cancelled\."):
            waiting.need(path)
    assert os.listdir(tmp_path) == [path.name]
    path.unlink()
    traced(path)
    with pytest.raises(Cancelled):
        waiting.need(path)
    waiting.resume(path)
    waiting._wait_s = 60.0
    waiting.need(path)
    assert cache.entry(path) is not None


def test_a_process_that_is_told_to_end_keeps_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = traced(tmp_path / "t.pt.trace.json")
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(windows.pq, "write_table", lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM))
    ending.unwind_when_told()
    try:
        with pytest.raises(SystemExit):
            cache.main([str(path)])
    finally:
        signal.signal(signal.SIGTERM, before)
    assert os.listdir(tmp_path / ".stepscope") == []


def test_the_summing_up_of_a_run_can_be_cancelled(tmp_path: Path) -> None:
    for rank in range(2):
        traced(tmp_path / "r" / f"{rank}.pt.trace.json")
    api = api_of(tmp_path)
    api._rollups._wait_s = 0.0
    run = api._listing.run("r")
    answer = json.loads(api.answer("run/summary", {"run": "r"}).body)
    assert (answer["state"], answer["can_cancel"]) == ("importing", True)
    (child,) = api._rollups._running.values()
    api._rollups.cancel(run)
    assert child.wait(180)
    assert json.loads(api.answer("run/summary", {"run": "r"}).body)["state"] == "cancelled"
    api._rollups.resume(run)
    assert len(get(api, "run/summary", run="r")["ranks"]["worker"]) == 2


@pytest.mark.skipif(os.name == "nt", reason="such names are for other systems")
def test_names_that_are_no_text_or_very_long(tmp_path: Path) -> None:
    long = "x" * (255 - len(".pt.trace.json")) + ".pt.trace.json"
    traced(tmp_path / long)
    (tmp_path / os.fsdecode(b"run\xff")).mkdir()
    traced(tmp_path / os.fsdecode(b"run\xff/good\xfe.pt.trace.json"))
    (tmp_path / os.fsdecode(b"run\xff/bad\xfe.pt.trace.json")).write_text("no trace")
    api = api_of(tmp_path)
    runs = {run["id"]: [worker["id"] for worker in run["workers"]] for run in get(api, "runs")["runs"]}
    assert runs == {".": [long], "run\\udcff": ["bad\\udcfe.pt.trace.json", "good\\udcfe.pt.trace.json"]}
    for _ in range(2):  # the second time from the cache
        for worker in (long, "good\\udcfe.pt.trace.json"):
            run = "." if worker == long else "run\\udcff"
            assert get(api, "summary", run=run, worker=worker)["worker"]["step_count"] == 1
        error = get(api, "summary", 422, run="run\\udcff", worker="bad\\udcfe.pt.trace.json")["error"]
        assert "is not a profiler trace" in error
        get(api, "runs")


def test_an_error_of_ours_is_an_answer_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained(tmp_path / "exp1")
    api = api_of(tmp_path)

    def fails(worker: object) -> None:
        raise ZeroDivisionError("seven")

    monkeypatch.setattr("stepscope_tensorboard.sessions.analyse_worker", fails)
    error = get(api, "summary", 500, run="exp1", worker="0-node1-4117")["error"]
    assert error == "stepscope failed here (ZeroDivisionError: seven)."


# -- memory and log directories ---------------------------------------------------------------------------------


def test_the_workers_unused_longest_are_dropped(tmp_path: Path) -> None:
    for i in range(4):
        trained(tmp_path / f"exp{i}")
    api = api_of(tmp_path, memory_bytes=1)
    for i in range(4):
        get(api, "timeline/tree", run=f"exp{i}", worker="0-node1-4117")
    held = [key[0] for key in api._sessions._sessions]
    assert held == ["exp3"]
    assert get(api, "timeline/tree", run="exp0", worker="0-node1-4117")["t0"] == 1_000_000


@pytest.mark.parametrize(
    ("text", "expected"), [("", 4 << 30), ("500M", 500 << 20), ("1.5g", 3 << 29), ("123", 123), ("lots", 4 << 30)]
)
def test_the_bound_on_memory(monkeypatch: pytest.MonkeyPatch, text: str, expected: int) -> None:
    monkeypatch.setenv("STEPSCOPE_VIEWER_MEMORY", text)
    assert memory_from_environment() == expected


def test_several_log_directories_by_name(tmp_path: Path) -> None:
    trained(tmp_path / "a" / "exp1")
    trained(tmp_path / "b" / "exp1")
    trained(tmp_path / "c")
    spec = f"first:{tmp_path / 'a'},second:{tmp_path / 'b'},{tmp_path / 'c'}"
    api = Api(roots(None, spec))
    assert sorted(r["id"] for r in get(api, "runs")["runs"]) == [".", "first/exp1", "second/exp1"]
    assert get(api, "summary", run="second/exp1", worker="0-node1-4117")["worker"]["step_count"] == 3


def test_runs_of_one_id_are_told_apart(tmp_path: Path) -> None:
    trained(tmp_path / "a" / "exp1")
    trained(tmp_path / "b" / "exp1")
    api = Api(roots(None, f"{tmp_path / 'a'},{tmp_path / 'b'}"))
    assert sorted(r["id"] for r in get(api, "runs")["runs"]) == ["exp1", "exp1 (2)"]


def test_log_directories_as_tensorboard_writes_them() -> None:
    assert roots("/logs", "x:/y") == [Root("/logs", Path("/logs"))]
    assert roots(None, "name:/a:b,/c:d,gs://bucket/x,n:s3://bucket,C:\\logs") == [
        Root("/a:b", Path("/a:b"), "name"),
        Root("/c:d", Path("/c:d")),
        Root("gs://bucket/x", None),
        Root("s3://bucket", None, "n"),
        Root("C:\\logs", Path("C:\\logs")),
    ]
    assert roots(None, None) == roots("", "") == []


def test_a_log_directory_that_is_no_folder_here_is_told() -> None:
    error = get(Api(roots("s3://bucket/runs", None)), "runs", 400)["error"]
    assert "s3://bucket/runs is none. Copy it (aws s3 sync s3://bucket/runs FOLDER) or mount it" in error
