"""The always-on recorder: what is given to it is read back, to the nanosecond, and nothing it meets raises."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import threading

import stepscope.recorder as recorder_module
from stepscope.recorder import Recorder
from stepscope.runs import open_run
from stepscope.schema import LIVE_SCHEMA, NONE, Kind
from stepscope.store import read_stream


def rows_of(recorder: Recorder) -> list[dict]:
    return read_stream(recorder.folder.live_path(), LIVE_SCHEMA).to_pylist()


def test_spans_come_back_as_unix_time(recorder):
    recorder.span(Kind.STEP, "step", 1_000, 1_250, step=7)
    recorder.span(Kind.OVERHEAD, "stall", 1_250, 1_300, args={"part": "stop"})
    recorder.stop()
    offset_ns = recorder.clock.offset_ns
    here = threading.get_native_id()
    assert rows_of(recorder) == [
        {"kind": 1, "name": "step", "ts_ns": offset_ns + 1_000, "dur_ns": 250, "step": 7, "tid": here, "args": None},
        {
            "kind": 16,
            "name": "stall",
            "ts_ns": offset_ns + 1_250,
            "dur_ns": 50,
            "step": NONE,
            "tid": here,
            "args": '{"part": "stop"}',
        },
    ]


def test_the_phases_of_a_step_and_deferred_rows_are_the_same_as_spans(recorder):
    recorder.span(Kind.PHASE, "forward", 10, 30, step=1)
    recorder.phases(1, [("forward", 10, 30)])
    keep = recorder.fast_lane()
    keep((lambda step: [(Kind.PHASE, "forward", 10, 30, step, None)], (1,), threading.get_native_id()))
    recorder.stop()
    one, two, three = rows_of(recorder)
    assert one == two == three


def test_worker_json_says_what_is_known(recorder):
    recorder.update_meta(phases=["forward"])
    recorder.note("clock_step", "Detail.", 2)
    recorder.stop()
    (worker,) = open_run(recorder.run).workers
    assert (worker.rank, worker.world_size, worker.pid, worker.framework) == (3, 8, os.getpid(), "pytorch")
    assert worker.meta["phases"] == ["forward"]
    assert [(note.code, note.count) for note in worker.notes] == [("clock_step", 2)]
    assert worker.meta["ended_ns"] >= worker.meta["started_ns"]
    assert not worker.is_live


def test_threads_are_told_by_their_names(recorder):
    thread = threading.Thread(target=recorder.span, args=(Kind.ANNOTATION, "x", 1, 2), name="loader-7")
    recorder.span(Kind.ANNOTATION, "x", 1, 2)
    thread.start()
    recorder.flush()
    thread.join()
    recorder.stop()
    (worker,) = open_run(recorder.run).workers
    assert "MainThread" in {lane.name for lane in worker.live().lanes}
    assert len(worker.live().lanes) == 2


def test_names_and_args_of_any_kind(recorder):
    recorder.span(Kind.ANNOTATION, 5, 1, 2, args={"object": object, "text": "ä\n\ud800"})
    recorder.stop()
    (row,) = rows_of(recorder)
    assert row["name"] == "5"
    assert set(json.loads(row["args"])) == {"object", "text"}


def test_a_name_that_is_no_unicode_costs_that_name_only(recorder):
    recorder.span(Kind.ANNOTATION, "bad \ud800", 1, 2)
    recorder.span(Kind.ANNOTATION, "good", 3, 4)
    recorder.stop()
    assert [row["name"] for row in rows_of(recorder)] == ["bad ?", "good"]
    assert recorder.notes.list() == []


def test_a_folder_that_cannot_be_written_is_said_once(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    recorder = Recorder(tmp_path / "file" / "run", framework="pytorch")
    with caplog.at_level(logging.WARNING, "stepscope"):
        recorder.start()
        recorder.span(Kind.STEP, "step", 1, 2)
        recorder.phases(0, [("forward", 1, 2)])
        recorder.stop()
    assert not recorder.enabled
    assert recorder_module.active is None
    assert len(caplog.records) == 1


def test_a_full_disk_ends_the_recording_and_keeps_what_was_written(recorder, caplog, monkeypatch):
    recorder.span(Kind.STEP, "step", 1, 2, step=0)
    recorder.flush()

    def full(block):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recorder._writer, "append_block", full)
    recorder.span(Kind.STEP, "step", 3, 4, step=1)
    with caplog.at_level(logging.WARNING, "stepscope"):
        recorder.flush()
    assert not recorder.enabled
    recorder.span(Kind.STEP, "step", 5, 6, step=2)
    recorder.stop()
    assert [row["step"] for row in rows_of(recorder)] == [0]
    (note,) = open_run(recorder.run).workers[0].notes
    assert note.code == "recording_stopped"
    assert "No space left" in note.detail


def test_spans_beyond_the_memory_bound_are_counted(recorder, monkeypatch):
    monkeypatch.setattr(recorder_module, "MAX_PENDING", 2)
    waits, go_on = threading.Event(), threading.Event()
    recorder.each_round.append(lambda: waits.set() or go_on.wait(180))
    assert waits.wait(180)
    for i in range(5):
        recorder.span(Kind.STEP, "step", i, i + 1)
    recorder.phases(0, [("forward", 1, 2), ("backward", 2, 3)])
    assert recorder.is_full
    go_on.set()
    recorder.stop()
    assert len(rows_of(recorder)) == 2
    (note,) = open_run(recorder.run).workers[0].notes
    assert (note.code, note.count) == ("dropped_spans", 5)


def test_stop_may_be_called_twice_and_spans_may_come_late(recorder):
    recorder.stop()
    recorder.stop()
    recorder.span(Kind.STEP, "step", 1, 2)
    assert rows_of(recorder) == []


def test_a_forked_child_touches_nothing(recorder):
    recorder.span(Kind.STEP, "step", 1, 2, step=0)
    child = os.fork()
    if child == 0:
        try:
            recorder.span(Kind.STEP, "child", 3, 4, step=1)
            recorder.stop()
            os._exit(0 if recorder_module.active is None and not recorder.enabled else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    recorder.stop()
    assert [row["name"] for row in rows_of(recorder)] == ["step"]


def record_ten_spans(run, barrier, i):
    recorder = Recorder(run, framework="pytorch", rank=0, world_size=1)
    barrier.wait()
    recorder.start()
    for step in range(10):
        recorder.span(Kind.STEP, f"of {i}", 100 * step, 100 * step + 50, step=step)
    recorder.stop()


def test_eight_processes_that_start_at_once_are_eight_whole_workers(tmp_path):
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(8)
    processes = [context.Process(target=record_ten_spans, args=(tmp_path / "run", barrier, i)) for i in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    workers = open_run(tmp_path / "run").workers
    assert {worker.meta["pid"] for worker in workers} == {process.pid for process in processes}
    found = []
    for worker in workers:
        events = worker.live()
        (name,) = {events.text(row) for row in range(len(events))}
        assert sorted(events.step.tolist()) == list(range(10))
        assert worker.meta["ended_ns"] is not None
        found.append(name)
    assert sorted(found) == [f"of {i}" for i in range(8)]
