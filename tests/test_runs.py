"""Runs and workers: found below a log directory, whether stepscope recorded them or another profiler did."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from stepscope import cache
from stepscope.errors import StepscopeError
from stepscope.report import text as report
from stepscope.runs import find_runs, open_run
from stepscope.schema import LIVE_SCHEMA, MONITOR_SCHEMA, Kind
from stepscope.store import RunFolder, StreamWriter, WorkerFolder, write_window
from stepscope.summary import summarize
from stepscope.workers import FileWorker, RecordedWorker, Worker
from tests.builders import TraceBuilder

MS = 1_000_000


def trace() -> TraceBuilder:
    return TraceBuilder(rank=1, world_size=2).step(5, 0, 100).op("aten::mm", 10, 50)


def recorded(run: Path, rank: int = 0, ended_ns: int | None = 1, steps: int = 2) -> WorkerFolder:
    """A recorded worker with ``steps`` steps of 10 ms, each with 4 ms of input wait, and a monitor."""
    worker = RunFolder(run).create_worker(rank, "node1", 100 + rank)
    live = StreamWriter(worker.live_path(), LIVE_SCHEMA)
    for step in range(steps):
        live.append(
            {
                "kind": [Kind.PHASE, Kind.STEP],
                "name": ["input_wait", "step"],
                "ts_ns": [step * 10 * MS, step * 10 * MS],
                "dur_ns": [4 * MS, 10 * MS],
                "step": [step, step],
                "tid": [11, 11],
                "args": [None, None],
            }
        )
    live.close()
    monitor = StreamWriter(worker.monitor_path(), MONITOR_SCHEMA)
    monitor.append({"ts_ns": [0, 5 * MS], "metric": ["cpu", "cpu"], "index": [-1, -1], "value": [0.25, 0.75]})
    monitor.close()
    worker.write_meta(
        {
            "rank": rank,
            "world_size": 2,
            "host": "node1",
            "pid": 100 + rank,
            "framework": "pytorch",
            "threads": {"11": "MainThread"},
            "started_ns": 0,
            "ended_ns": ended_ns,
            "notes": [{"code": "dropped_spans", "count": 3, "detail": "The disk was slow."}],
        }
    )
    return worker


# -- a recorded run ---------------------------------------------------------------------------------


def test_a_recorded_run_tells_what_its_recorder_wrote(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "exp1", rank=1)
    write_window(folder.new_window(), trace().window())
    run = open_run(tmp_path / "exp1")
    assert (run.id, run.name) == ("exp1", "exp1")
    (worker,) = run.workers
    assert (worker.id, worker.rank, worker.world_size, worker.host, worker.pid, worker.framework) == (
        "1-node1-101",
        1,
        2,
        "node1",
        101,
        "pytorch",
    )
    live = worker.live()
    assert [lane.name for lane in live.lanes] == ["MainThread"]
    rows = [(live.text(i), int(live.depth[i]), int(live.ts_ns[i]), int(live.step[i])) for i in range(len(live))]
    assert rows == [("step", 0, 0, 0), ("step", 0, 10 * MS, 1), ("input_wait", 1, 0, 0), ("input_wait", 1, 10 * MS, 1)]
    assert [len(w.events) for w in worker.windows()] == [2]
    monitor = worker.monitor()
    assert monitor is not None
    assert monitor.column("value").to_pylist() == [0.25, 0.75]
    assert [(n.code, n.count) for n in worker.notes] == [("dropped_spans", 3)]


def test_a_worker_that_wrote_nothing_yet_is_empty_and_not_wrong(tmp_path: Path) -> None:
    RunFolder(tmp_path / "exp1").create_worker(0, "a", 1).write_meta({"rank": 0})
    (worker,) = open_run(tmp_path / "exp1").workers
    assert (len(worker.live()), list(worker.windows()), worker.monitor()) == (0, [], None)
    assert (worker.live_reader(), worker.monitor_reader()) == (None, None)
    assert worker.framework == "unknown"


def test_readers_give_what_came_since(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "exp1", steps=0)
    (worker,) = open_run(tmp_path / "exp1").workers
    reader, monitor = worker.live_reader(), worker.monitor_reader()
    assert reader is not None
    assert monitor is not None
    assert (reader.read().num_rows, monitor.read().num_rows, monitor.read().num_rows) == (0, 2, 0)
    assert folder.live_path().exists()


def test_one_damaged_window_hides_no_other_and_is_noted(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "exp1")
    for _ in range(3):
        write_window(folder.new_window(), trace().window())
    (folder.path / "windows" / "000002" / "events.parquet").write_bytes(b"gone")
    (worker,) = open_run(tmp_path / "exp1").workers
    assert worker.window_ids() == ["000001", "000002", "000003"]
    assert [len(w.events) for w in worker.windows()] == [2, 2]
    note = worker.notes[-1]
    assert (note.code, note.count) == ("unreadable_window", 1)
    assert "000002" in note.detail


def test_a_damaged_live_batch_is_counted(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "exp1", steps=3)
    data = bytearray(folder.live_path().read_bytes())
    end = len(data) - 8  # behind the last batch lies the end mark
    data[end - 64 : end] = b"\xff" * 64
    folder.live_path().write_bytes(data)
    (worker,) = open_run(tmp_path / "exp1").workers
    assert len(worker.live()) == 4  # two steps with their phase; the third is lost
    assert [(n.code, n.count) for n in worker.notes] == [("dropped_spans", 3), ("damaged_stream", 1)]


def test_a_recording_that_never_ended_says_so_once_it_is_silent(tmp_path: Path) -> None:
    def codes(worker: Worker) -> set[str]:
        return {n.code for n in worker.notes}

    folder = recorded(tmp_path / "killed", ended_ns=None)
    (worker,) = open_run(tmp_path / "killed").workers
    assert "unfinished_recording" not in codes(worker)  # it may well be running
    for path in folder.path.rglob("*"):
        os.utime(path, (1, 1))
    (worker,) = open_run(tmp_path / "killed").workers
    assert "unfinished_recording" in codes(worker)
    recorded(tmp_path / "ended", ended_ns=1)
    (worker,) = open_run(tmp_path / "ended").workers
    assert "unfinished_recording" not in codes(worker)


@pytest.mark.parametrize("text", ["", "{", '{"rank": 1, "host', "[]", "null", "[" * 100_000, "\xff"])
def test_a_damaged_worker_json_hides_no_steps(tmp_path: Path, text: str) -> None:
    broken = recorded(tmp_path / "exp1", rank=1, steps=3)
    (broken.path / "worker.json").write_text(text, encoding="latin-1")
    (damaged,) = open_run(tmp_path / "exp1").workers
    assert (damaged.rank, damaged.host, damaged.pid) == (1, "node1", 101)
    assert len(damaged.live()) == 6  # three steps with their phase
    assert [n.code for n in damaged.notes] == ["damaged_meta"]


@pytest.mark.parametrize("odd", [None, "x", [1], -1, 10**30, {"a": 1}, [{"a": 1}], {"1": 1}, float("nan")])
def test_odd_members_of_worker_json_are_left_out(tmp_path: Path, odd: Any) -> None:
    folder = recorded(tmp_path / "exp1", rank=1, steps=3)
    meta = folder.read_meta()
    for key in meta:
        (folder.path / "worker.json").write_text(json.dumps({**meta, key: odd}))
        summary = summarize(open_run(tmp_path / "exp1"))
        json.dumps(summary, allow_nan=False)
        assert len(summary["workers"][0]["steps"]) == 3
        assert report.brief(summary)
        assert "analysis_failed" not in {note["code"] for note in summary["workers"][0]["quality"]}


def test_live_while_data_is_fresh_and_the_job_has_not_said_that_it_ended(tmp_path: Path) -> None:
    running = recorded(tmp_path / "a", ended_ns=None)
    recorded(tmp_path / "b", ended_ns=time.time_ns())
    assert open_run(tmp_path / "a").workers[0].is_live
    assert not open_run(tmp_path / "b").workers[0].is_live
    long_ago = time.time_ns() - 3600 * 1_000_000_000
    for path in running.path.iterdir():
        os.utime(path, ns=(long_ago, long_ago))
    worker = open_run(tmp_path / "a").workers[0]
    assert not worker.is_live
    assert worker.updated_ns == long_ago


def test_a_new_window_is_an_update(tmp_path: Path) -> None:
    folder = recorded(tmp_path / "exp1")
    for path in folder.path.iterdir():
        os.utime(path, ns=(1, 1))
    (worker,) = open_run(tmp_path / "exp1").workers
    assert worker.updated_ns == 1
    write_window(folder.new_window(), trace().window())
    assert worker.updated_ns > 1


# -- trace files ----------------------------------------------------------------------------------------


def test_a_trace_file_is_a_run_of_one_worker(tmp_path: Path) -> None:
    path = trace().write(tmp_path / "node1_7.123.pt.trace.json.gz", gzip=True)
    run = open_run(path)
    assert (run.id, [w.id for w in run.workers]) == (path.name, [path.name])
    (worker,) = run.workers
    assert (worker.rank, worker.world_size, worker.framework, worker.meta) == (1, 2, "pytorch", None)
    assert (len(worker.live()), [len(w.events) for w in worker.windows()], worker.monitor()) == (0, [2], None)
    assert not worker.is_live
    assert worker.updated_ns == path.stat().st_mtime_ns


def test_a_folder_of_trace_files_has_a_worker_for_each(tmp_path: Path) -> None:
    for name in ("b.pt.trace.json", "a.pt.trace.json.gz"):
        trace().write(tmp_path / name, gzip=name.endswith("gz"))
    (tmp_path / "notes.txt").write_text("no trace")
    assert [w.id for w in open_run(tmp_path).workers] == ["a.pt.trace.json.gz", "b.pt.trace.json"]


def test_plain_json_counts_only_where_it_was_asked_for(tmp_path: Path) -> None:
    trace().write(tmp_path / "some.json")
    assert [w.id for w in open_run(tmp_path).workers] == ["some.json"]
    assert find_runs(tmp_path) == []  # a log directory is full of JSON that is no trace


def test_files_of_one_name_are_told_apart_by_their_folder(tmp_path: Path) -> None:
    for session in ("2026_01_01", "2026_01_02"):
        path = tmp_path / "plugins" / "profile" / session / "host.xplane.pb"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"")
    assert [w.id for w in open_run(tmp_path).workers] == [
        "plugins/profile/2026_01_01/host.xplane.pb",
        "plugins/profile/2026_01_02/host.xplane.pb",
    ]


def test_nothing_to_open_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StepscopeError, match="no such file or folder"):
        open_run(tmp_path / "missing")
    with pytest.raises(StepscopeError, match="no run and no trace files here"):
        open_run(tmp_path)


def test_a_folder_above_one_run_opens_it_and_above_several_names_them(tmp_path: Path) -> None:
    recorded(tmp_path / "logs" / "exp1")
    assert [w.id for w in open_run(tmp_path / "logs").workers] == ["0-node1-100"]
    recorded(tmp_path / "logs" / "exp2")
    with pytest.raises(StepscopeError, match=r"holds 2 runs \(exp[12], exp[12]\)"):
        open_run(tmp_path / "logs")


# -- a log directory --------------------------------------------------------------------------------------


def test_runs_are_found_below_the_log_directory_the_latest_first(tmp_path: Path) -> None:
    recorded(tmp_path / "group" / "recorded")
    trace().write(tmp_path / "traces" / "t.pt.trace.json")
    (tmp_path / "empty").mkdir()
    trace().write(tmp_path / ".hidden" / "t.pt.trace.json")
    os.utime(tmp_path / "traces" / "t.pt.trace.json", ns=(1, 1))
    assert [run.id for run in find_runs(tmp_path)] == ["group/recorded", "traces"]
    assert find_runs(tmp_path / "empty") == []
    assert find_runs(tmp_path / "missing") == []


def test_the_log_directory_itself_may_be_a_run(tmp_path: Path) -> None:
    logdir = tmp_path / "exp"
    trace().write(logdir / "t.pt.trace.json")
    trace().write(logdir / "exp" / "t.pt.trace.json")
    assert sorted((run.id, run.name) for run in find_runs(logdir)) == [(".", "exp"), ("exp", "exp")]


def test_links_are_followed_once_and_not_in_circles(tmp_path: Path) -> None:
    recorded(tmp_path / "elsewhere" / "exp1")
    logdir = tmp_path / "logs"
    logdir.mkdir()
    (logdir / "linked").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "back").symlink_to(logdir)
    assert [run.id for run in find_runs(logdir)] == ["linked/exp1"]


# -- the cache of imports -----------------------------------------------------------------------------------


def imported_by(path: Path) -> FileWorker:
    (run,) = find_runs(path.parent)
    (worker,) = run.workers
    assert isinstance(worker, FileWorker)
    return worker


def test_an_import_is_kept_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trace().write(tmp_path / "t.pt.trace.json")
    worker = imported_by(path)
    assert not worker.is_ready
    assert len(worker.load().events) == 2
    assert worker.is_ready
    entry = cache.entry(path)
    assert entry is not None
    assert entry.parent == tmp_path / ".stepscope"

    def must_not_run(path: Path) -> None:
        raise AssertionError("the file was parsed again")

    monkeypatch.setattr("stepscope.importers.import_file", must_not_run)
    again = imported_by(path)
    assert (again.is_ready, again.rank, len(again.load().events)) == (True, 1, 2)


def test_a_file_of_a_long_name_is_kept_too(tmp_path: Path) -> None:
    path = trace().write(tmp_path / ("x" * (255 - len(".pt.trace.json")) + ".pt.trace.json"))
    imported_by(path).load()
    assert imported_by(path).is_ready


def test_a_file_that_changed_is_imported_again(tmp_path: Path) -> None:
    path = trace().write(tmp_path / "t.pt.trace.json")
    imported_by(path).load()
    trace().op("aten::add", 70, 5).write(path)
    worker = imported_by(path)
    assert not worker.is_ready
    assert len(worker.load().events) == 3


def test_the_cache_keeps_one_state_of_a_file_and_nothing_that_was_broken_off(tmp_path: Path) -> None:
    path = trace().write(tmp_path / "t.pt.trace.json")
    imported_by(path).load()
    first = cache.entry(path)
    assert first is not None
    begun, left = (first.with_name(f".{first.name}.{i:08x}.tmp") for i in (1, 2))
    later = first.with_name(first.name.replace(f"-v{cache.IMPORTER_VERSION}", f"-v{cache.IMPORTER_VERSION + 1}"))
    other = first.with_name("t.pt.trace.json.more.5-5-v1")  # of another file
    for folder in (begun, left, later, other):
        folder.mkdir()
    os.utime(left, (5, 5))
    trace().op("aten::add", 70, 5).write(path)
    imported_by(path).load()
    assert set(first.parent.iterdir()) == {cache.entry(path), begun, later, other}


def test_beside_a_read_only_file_the_users_cache_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trace().write(tmp_path / "data" / "t.pt.trace.json")
    # A file where the folder would be made: the tests may run as root, whom no permission stops.
    (tmp_path / "data" / ".stepscope").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    assert len(imported_by(path).load().events) == 2
    entry = cache.entry(path)
    assert entry is not None
    assert (tmp_path / "home" / "stepscope") in entry.parents


def test_where_nothing_can_be_written_the_import_still_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trace().write(tmp_path / "data" / "t.pt.trace.json")
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    (tmp_path / "data" / ".stepscope").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setattr("tempfile.tempdir", str(blocked))
    assert len(cache.load(path).events) == 2
    assert cache.entry(path) is None
    assert cache.main([str(path)]) == 2  # a child process could not hand its work over


def test_a_damaged_cache_entry_is_imported_again(tmp_path: Path) -> None:
    path = trace().write(tmp_path / "t.pt.trace.json")
    cache.load(path)
    entry = cache.entry(path)
    assert entry is not None
    (entry / "events.parquet").write_bytes(b"gone")
    assert len(cache.load(path).events) == 2
    assert cache.entry(path) == entry
    assert (entry / "events.parquet").stat().st_size > 100


def test_the_child_that_fills_the_cache_tells_why_it_cannot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.pt.trace.json"
    path.write_text("not a trace")
    assert cache.main([str(path)]) == 2
    sentence = capsys.readouterr().err
    assert sentence.count("\n") == 1
    assert "t.pt.trace.json" in sentence
    assert cache.main([str(trace().write(path))]) == 0
    assert isinstance(open_run(tmp_path).workers[0], FileWorker)
    assert not isinstance(open_run(tmp_path).workers[0], RecordedWorker)


def test_a_user_without_a_home_has_the_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = trace().write(tmp_path / "data" / "t.pt.trace.json")
    (tmp_path / "data" / ".stepscope").write_text("")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr("os.path.expanduser", lambda text: text)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    cache.load(path)
    entry = cache.entry(path)
    assert entry is not None
    assert entry.parents[2] == tmp_path
    assert not Path("~").exists()
