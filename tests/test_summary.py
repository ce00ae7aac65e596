"""The summary contract on recorded runs and on built traces."""

import json

import pytest

from stepscope.errors import StepscopeError
from stepscope.runs import open_run
from stepscope.schema import LIVE_SCHEMA, MONITOR_SCHEMA, NONE, PHASES, Kind, Window
from stepscope.store import RunFolder, StreamWriter, write_window
from stepscope.summary import analyse_worker, summarize, summarize_worker
from stepscope.summary import worker as module
from tests.analysis.table import Table
from tests.builders import T0_NS, TraceBuilder
from tests.recorded import RecordedRun

MS = 1_000_000


def record(folder, rank=0, steps=6, step_ms=10, windows=(), phases=("input_wait", "forward"), **meta):
    """A run as the hook leaves it: each step of ``step_ms`` waits 1 ms for input and spends 4 ms in forward."""
    worker = RunFolder(folder).create_worker(rank, "node", 100 + rank)
    about = {"rank": rank, "world_size": 2, "host": "node", "pid": 100 + rank, "framework": "pytorch"}
    worker.write_meta({**about, "phases": list(phases), "devices": [], "ended_ns": 1, **meta})
    rows = []
    for i in range(steps):
        start = T0_NS + i * step_ms * MS
        rows.append((Kind.STEP, "step", start, step_ms * MS, i, None))
        rows.append((Kind.PHASE, "input_wait", start, 1 * MS, i, None))
        rows.append((Kind.PHASE, "forward", start + 2 * MS, 4 * MS, i, None))
    kind, name, ts, dur, step, args = zip(*rows, strict=True)
    writer = StreamWriter(worker.live_path(), LIVE_SCHEMA)
    columns = {"kind": kind, "name": name, "ts_ns": ts, "dur_ns": dur, "step": step, "args": args}
    writer.append({**columns, "tid": [4117] * len(rows)})
    writer.close()
    for window in windows:
        write_window(worker.new_window(), window)
    return worker


def deep_window(first, last, step_ms=10):
    """A deep window over the steps first..last: a marker, an operator, a launch and a 3 ms kernel in each."""
    trace = TraceBuilder()
    for i in range(first, last + 1):
        at = i * step_ms * 1000
        trace.step(i, at + 1, step_ms * 1000 - 2).op("aten::mm", at + 2000, 1000)
        trace.launch(at + 2100, 100, correlation=i + 1).kernel("gemm", at + 2500, 3000, correlation=i + 1)
    return trace.window()


class TestRecordedRun:
    def test_steps_come_from_the_stream_and_depth_from_the_windows(self, tmp_path):
        record(tmp_path / "exp", windows=[deep_window(2, 3)])
        (worker,) = summarize(open_run(tmp_path / "exp"))["workers"]
        assert [s["id"] for s in worker["steps"]] == [0, 1, 2, 3, 4, 5]
        assert [s["label"] for s in worker["steps"]] == [f"step {i}" for i in range(6)]
        assert [s["activity_ns"] is not None for s in worker["steps"]] == [False, False, True, True, False, False]
        assert worker["steps"][2]["activity_ns"] == {
            "kernel": 3 * MS,
            "communication": 0,
            "memcpy": 0,
            "memset": 0,
            "runtime": 100_000,
            "dataloader": 0,
            "cpu": 400_000,  # [2.0, 3.0] ms without the launch [2.1, 2.2] and the kernel from 2.5
            "other": 6_500_000,
        }
        assert worker["coverage"] == {
            "steps": 6,
            "deep_steps": 2,
            "phased_steps": 6,
            "windows": 1,
            "first_ns": T0_NS,
            "last_ns": T0_NS + 60 * MS,
        }
        assert worker["gpu"][0]["utilization_steps"] == pytest.approx(0.3)

    def test_phases_sum_to_the_marker_and_unseen_ones_are_null(self, tmp_path):
        record(tmp_path / "exp", windows=[deep_window(2, 3)])
        (worker,) = summarize(open_run(tmp_path / "exp"))["workers"]
        for step in worker["steps"]:
            assert step["phase_ns"] == {
                **dict.fromkeys(PHASES),
                "input_wait": 1 * MS,
                "forward": 4 * MS,
                "other": 5 * MS,
            }

    def test_several_windows(self, tmp_path):
        record(tmp_path / "exp", windows=[deep_window(1, 1), deep_window(4, 5)])
        (worker,) = summarize(open_run(tmp_path / "exp"))["workers"]
        assert worker["coverage"]["deep_steps"] == 3
        assert worker["kernels"][0]["count"] == 3
        assert worker["launches"]["linked"] == 3
        # 3 ms in the first window; in the second from the first kernel to the end of the last: 10 + 3 ms
        assert worker["timeline_ns"]["total"] == 16 * MS
        assert worker["gpu"][0]["utilization_window"] == pytest.approx(9 / 30)

    def test_without_a_window_device_numbers_are_null(self, tmp_path):
        record(tmp_path / "exp")
        (worker,) = summarize(open_run(tmp_path / "exp"))["workers"]
        assert worker["launches"] is None
        assert set(worker["timeline_ns"].values()) == {None}
        assert set(worker["activity_time_ns"].values()) == {None}
        assert (worker["gpu"], worker["kernels"]) == ([], [])

    def test_the_job_knows_its_rank_whatever_the_profiler_file_says(self, tmp_path):
        record(tmp_path / "exp", windows=[deep_window(2, 3)])
        (worker,) = summarize(open_run(tmp_path / "exp"))["workers"]
        assert worker["quality"] == []

    def test_a_damaged_window_leaves_the_rest(self, tmp_path):
        folder = record(tmp_path / "exp", windows=[deep_window(2, 3)])
        (folder.windows()[0] / "events.parquet").write_bytes(b"PAR1")
        (worker,) = summarize(open_run(tmp_path / "exp"))["workers"]
        assert len(worker["steps"]) == 6
        assert [n["code"] for n in worker["quality"]] == ["unreadable_window"]

    def test_damaged_streams_are_told(self, tmp_path):
        folder = record(tmp_path / "exp", windows=[deep_window(2, 3)])
        folder.live_path().write_bytes(b"no stream")
        folder.monitor_path().write_bytes(b"\0" * 100)
        (worker,) = summarize(open_run(tmp_path / "exp"))["workers"]
        assert len(worker["steps"]) == 2  # those of the window
        told = [(n["code"], n["detail"].split(":")[0]) for n in worker["quality"]]
        assert told == [("damaged_stream", "live-000001.arrows"), ("damaged_stream", "monitor-000001.arrows")]

    def test_a_stream_of_other_columns_hides_no_window(self, tmp_path):
        folder = record(tmp_path / "exp", windows=[deep_window(2, 3)])
        folder.live_path().unlink()
        StreamWriter(folder.live_path(), MONITOR_SCHEMA).close()
        (worker,) = summarize(open_run(tmp_path / "exp"))["workers"]
        assert len(worker["steps"]) == 2
        assert "another version" in worker["quality"][0]["detail"]


class TestRun:
    def test_step_times_of_all_workers(self, tmp_path):
        record(tmp_path / "exp", rank=0, steps=3, step_ms=10)
        record(tmp_path / "exp", rank=1, steps=1, step_ms=30)
        times = summarize(open_run(tmp_path / "exp"))["step_time_ns"]
        assert times == {
            "count": 4,
            "mean": 15.0 * MS,
            "p50": 10 * MS,
            "p90": 30 * MS,
            "p95": 30 * MS,
            "p99": 30 * MS,
            "min": 10 * MS,
            "max": 30 * MS,
        }

    def test_incomplete_steps_are_not_in_the_step_times(self, tmp_path):
        trace = TraceBuilder(rank=0).step(1, 0, 1000).step(2, 1000, 500)
        trace.launch(10, 5, correlation=1).kernel("k", 20, 5, correlation=1).launch(1010, 5, correlation=2)
        found = summarize(open_run(trace.write(tmp_path / "t.pt.trace.json")))
        assert [s["complete"] for s in found["workers"][0]["steps"]] == [True, False]
        assert found["step_time_ns"]["count"] == 1

    def test_two_workers_of_one_rank_and_one_without(self, tmp_path):
        for name, rank in (("a", 1), ("b", 1), ("c", None)):
            TraceBuilder(rank=rank).step(1, 0, 100).write(tmp_path / f"{name}.pt.trace.json")
        workers = summarize(open_run(tmp_path))["workers"]
        codes = {w["worker"][0]: {n["code"] for n in w["quality"]} for w in workers}
        assert "duplicate_rank" in codes["a"]
        assert "duplicate_rank" in codes["b"]
        assert codes["c"] == {"rank_unknown"}

    def test_a_worker_that_cannot_be_read_is_kept_with_the_reason(self, tmp_path):
        TraceBuilder(rank=0).step(1, 0, 100).write(tmp_path / "good.pt.trace.json")
        (tmp_path / "bad.pt.trace.json").write_text("nothing of the kind")
        workers = summarize(open_run(tmp_path))["workers"]
        bad = next(w for w in workers if w["worker"].startswith("bad"))
        good = next(w for w in workers if w["worker"].startswith("good"))
        assert bad["quality"][0]["code"] == "unreadable"
        assert set(bad) == set(good)
        assert set(bad["coverage"]) == set(good["coverage"])
        known = ("worker", "framework", "devices", "events", "findings", "quality", "trust")
        told = [v for name, v in bad.items() if name not in known]
        told = [v for held in told for v in (held.values() if isinstance(held, dict) else [held])]
        assert told == [None] * len(told)  # what could not be read is not measured, and none of it is 0

    def test_a_run_without_a_readable_worker_is_an_error(self, tmp_path):
        (tmp_path / "bad.pt.trace.json").write_text("nothing of the kind")
        with pytest.raises(StepscopeError, match=r"bad\.pt\.trace\.json"):
            summarize(open_run(tmp_path))

    def test_resources_of_each_host(self, tmp_path):
        folder = record(tmp_path / "exp")
        writer = StreamWriter(folder.monitor_path(), MONITOR_SCHEMA)
        values = [0.25, 0.5, 1.0]
        times = [T0_NS + i * 500 * MS for i in range(3)]
        writer.append({"ts_ns": times, "metric": ["cpu"] * 3, "index": [NONE] * 3, "value": values})
        writer.close()
        found = summarize(open_run(tmp_path / "exp"))["resources"]
        assert found["node"]["cpu"]["p50"] == 0.5
        assert (found["node"]["cpu"]["min"], found["node"]["cpu"]["max"]) == (0.25, 1.0)

    def test_strict_json(self, tmp_path):
        record(tmp_path / "exp", windows=[deep_window(2, 3)])
        found = summarize(open_run(tmp_path / "exp"))
        assert json.loads(json.dumps(found, allow_nan=False)) == found


class TestFailures:
    @pytest.mark.parametrize(
        ("analysis", "field"),
        [("kernels", "kernels"), ("operator_calls", "operators"), ("gpus", "gpu"), ("copies", "memcpy")],
    )
    def test_one_analysis_that_fails_hides_no_other(self, tmp_path, monkeypatch, analysis, field):
        def fail(*_):
            raise ValueError("an odd trace")

        monkeypatch.setattr(module, analysis, fail)
        record(tmp_path / "exp", windows=[deep_window(2, 3)])
        worker = summarize_worker(open_run(tmp_path / "exp").workers[0])
        assert worker[field] is None
        assert [(n["code"], n["count"]) for n in worker["quality"]] == [("analysis_failed", 1)]
        assert "an odd trace" in worker["quality"][0]["detail"]
        assert worker["steps"][2]["activity_ns"]["kernel"] == 3 * MS

    @pytest.mark.parametrize("analysis", ["link", "find_steps"])
    def test_what_builds_on_a_failed_one_is_null_and_noted_once(self, tmp_path, monkeypatch, analysis):
        def fail(*_):
            raise KeyError("x")

        monkeypatch.setattr(module, analysis, fail)
        record(tmp_path / "exp", windows=[deep_window(2, 3)])
        found = summarize(open_run(tmp_path / "exp"))
        worker = found["workers"][0]
        assert worker["steps"] is None
        assert found["step_time_ns"] is None
        assert worker["kernels"][0]["name"] == "gemm"
        assert [(n["code"], n["count"]) for n in worker["quality"]] == [("analysis_failed", 1)]


class TestQuality:
    def notes(self, trace, tmp_path):
        run = open_run(trace.write(tmp_path / "rank0.pt.trace.json"))
        return {n["code"]: n["count"] for n in summarize(run)["workers"][0]["quality"]}

    def test_launches_without_any_run(self, tmp_path):
        trace = TraceBuilder(rank=0).step(1, 0, 100).launch(5, 3, correlation=1).launch(15, 3, correlation=2)
        assert self.notes(trace, tmp_path) == {"requested_but_absent": 1, "launch_without_run": 2}

    def test_work_that_starts_before_its_launch(self, tmp_path):
        trace = TraceBuilder(rank=0).step(1, 0, 100).launch(15, 3, correlation=1).kernel("k", 10, 5, correlation=1)
        assert self.notes(trace, tmp_path) == {"clock_skew": 1}

    def test_what_was_asked_for_and_is_not_there(self, tmp_path):
        trace = TraceBuilder(rank=0).step(1, 0, 100)
        trace.header["profile_memory"] = 1
        assert self.notes(trace, tmp_path) == {"requested_but_absent": 1}
        assert self.notes(trace.memory(5, 100, total=100), tmp_path) == {}

    def test_markers_inside_markers(self, tmp_path):
        assert self.notes(TraceBuilder(rank=0).step(1, 0, 100).step(2, 10, 20), tmp_path) == {"nested_step": 1}


def test_columns_and_rows_say_the_same(tmp_path):
    record(tmp_path / "exp", windows=[deep_window(2, 3)])
    analysis = analyse_worker(open_run(tmp_path / "exp").workers[0])
    assert analysis.summary["steps"] is None
    assert [s["duration_ns"] for s in analysis.step_rows()] == analysis.steps.duration_ns.tolist()


def test_a_worker_that_has_recorded_nothing_yet(tmp_path):
    worker = RunFolder(tmp_path / "exp").create_worker(0, "node", 1)
    worker.write_meta({"rank": 0, "host": "node", "pid": 1, "framework": "pytorch"})
    found = summarize(open_run(tmp_path / "exp"))
    assert found["step_time_ns"] is None
    assert found["workers"][0]["steps"] == []


def test_a_window_without_events(tmp_path):
    record(tmp_path / "exp", windows=[Window(Table().events())])
    (worker,) = summarize(open_run(tmp_path / "exp"))["workers"]
    assert worker["coverage"]["windows"] == 1
    assert worker["coverage"]["first_ns"] == T0_NS


def test_a_step_that_the_hook_saw_stays_its_own_where_the_marker_of_a_window_reaches_far_behind_it(tmp_path):
    """In a loop that marks its steps itself, what follows a step belongs to the marker alone."""
    run = RecordedRun(tmp_path / "run")
    for i in range(3):
        run.step(i, 1000 * i, 100, forward=(1000 * i, 80))
    run.window(TraceBuilder().step(1, 990, 900).op("aten::mm", 1010, 20)).end()
    (worker,) = summarize(open_run(tmp_path / "run"))["workers"]
    assert [(s["id"], s["duration_ns"], s["phase_ns"]["forward"]) for s in worker["steps"]] == [
        (i, 100_000, 80_000) for i in range(3)
    ]
