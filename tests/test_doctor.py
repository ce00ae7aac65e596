"""``stepscope doctor``: the state of each worker, and what of a run is missing."""

from __future__ import annotations

import json
import os
import socket
import time

import pytest

from stepscope.cli import main
from stepscope.doctor import examine
from stepscope.runs import open_run
from tests.builders import T0_NS
from tests.recorded import RecordedRun

HERE = socket.gethostname()
#: A process number that Linux gives to none.
NOBODY = 2**22 + 1
OLD_S = 600


def recorded(tmp_path, **options) -> RecordedRun:
    run = RecordedRun(tmp_path, **options)
    for number in range(5):
        run.step(number, number * 100, 90, forward=(number * 100, 40))
    return run.flush()


def age(run: RecordedRun, seconds: float = OLD_S) -> None:
    then = time.time() - seconds
    for folder, _, names in os.walk(run.folder.path):
        for name in names:
            os.utime(os.path.join(folder, name), (then, then))


def only(tmp_path):
    (worker,) = examine(open_run(tmp_path)).workers
    return worker


def test_a_finished_worker_is_well(tmp_path):
    recorded(tmp_path).end()
    worker = only(tmp_path)
    assert (worker.state, worker.is_well) == ("finished", True)
    assert (worker.last_step, worker.last_step_end_ns) == (4, T0_NS + 490_000)


def test_a_running_worker_is_well(tmp_path):
    run = RecordedRun(tmp_path, host=HERE, pid=os.getpid(), started_us=(time.time_ns() - T0_NS) // 1000)
    run.step(0, (time.time_ns() - T0_NS) // 1000, 90).flush()
    assert (only(tmp_path).state, only(tmp_path).is_well) == ("running", True)


def test_a_process_that_is_gone_was_killed(tmp_path):
    recorded(tmp_path, host=HERE, pid=NOBODY)
    assert only(tmp_path).state == "killed"


def test_a_number_that_another_process_got_since_is_not_the_worker(tmp_path):
    recorded(tmp_path, host=HERE, pid=os.getpid())  # recorded in the past, when this process did not run
    assert only(tmp_path).state == "killed"


def test_memory_that_was_used_up_is_the_likely_reason(tmp_path):
    run = recorded(tmp_path, host=HERE, pid=NOBODY)
    run.sample(400, {("cgroup_memory_used", -1): 10e9, ("cgroup_memory_limit", -1): 16e9})
    assert "Memory" not in only(tmp_path).detail
    run.sample(500, {("cgroup_memory_used", -1): 15.9e9, ("cgroup_memory_limit", -1): 16e9})
    assert "Memory was at 99% of the container's limit" in only(tmp_path).detail


def test_a_kill_for_want_of_memory_is_told_for_all_workers_of_the_host(tmp_path):
    """As the sampler of one of them has it; the samples after it show the memory that it set free."""
    sampled = recorded(tmp_path, host=HERE, pid=NOBODY)
    told = {"code": "out_of_memory", "count": 1, "detail": "The kernel ended processes."}
    (sampled.folder.path / "monitor-notes.json").write_text(json.dumps({"notes": [told]}))
    recorded(tmp_path, rank=1, host=HERE, pid=NOBODY + 1)
    recorded(tmp_path, rank=2, host="elsewhere")
    one, other, elsewhere = examine(open_run(tmp_path)).workers
    assert "for want of memory, this one most likely" in one.detail
    assert "out_of_memory" in [note.code for note in one.notes]
    assert "for want of memory" in other.detail
    assert "for want of memory" not in elsewhere.detail


@pytest.mark.parametrize("text", ["", "[]", '{"notes": 5}', '{"notes": [{"code": 1}, {}]}'])
def test_notes_of_the_sampler_of_any_form(tmp_path, text):
    run = recorded(tmp_path, host=HERE, pid=NOBODY)
    (run.folder.path / "monitor-notes.json").write_text(text)
    assert only(tmp_path).state == "killed"


def test_signs_of_life_without_steps_are_a_hang(tmp_path):
    opened = {"step": 5, "phase": "backward", "since_ns": T0_NS + 500_000, "stack": ["train.py:7 in main"]}
    recorded(tmp_path, host="elsewhere", open=opened)
    worker = only(tmp_path)
    assert worker.state == "hung"
    assert worker.open == opened


def test_silence_from_another_host_is_no_proof(tmp_path):
    age(recorded(tmp_path, host="elsewhere"))
    worker = only(tmp_path)
    assert worker.state == "lost"
    assert "process 4117 on elsewhere" in worker.detail


def test_what_was_open_before_the_last_step_ended_is_not_open(tmp_path):
    opened = {"step": 2, "phase": "forward", "since_ns": T0_NS + 200_000, "stack": None}
    recorded(tmp_path, host=HERE, pid=NOBODY, open=opened)
    assert only(tmp_path).open is None


def test_an_exception_and_a_disk_error_are_told(tmp_path):
    failed = {"type": "ValueError", "message": "no", "step": 5, "at": "train.py:7 in main", "ts_ns": 1}
    recorded(tmp_path / "a", exception=failed).end()
    stopped = {"code": "recording_stopped", "count": 1, "detail": "The recorder stopped recording: No space left"}
    recorded(tmp_path / "b", notes=[stopped])
    assert only(tmp_path / "a").state == "failed"
    assert "ValueError in step 5: no" in only(tmp_path / "a").detail
    interrupted = {**failed, "type": "KeyboardInterrupt", "message": ""}
    recorded(tmp_path / "c", exception=interrupted).end()
    assert only(tmp_path / "c").detail == "The training ended with KeyboardInterrupt in step 5."
    assert only(tmp_path / "b").state == "stopped"
    assert "No space left" in only(tmp_path / "b").detail


def test_missing_and_repeated_ranks(tmp_path):
    for rank, pid in ((0, 1), (2, 2), (2, 3)):
        recorded(tmp_path, rank=rank, pid=pid, world_size=4).end()
    found = examine(open_run(tmp_path))
    assert (found.missing_ranks, found.repeated_ranks, found.is_well) == ([1, 3], [2], False)


def test_windows_that_were_not_converted_and_damaged_files(tmp_path):
    run = recorded(tmp_path).end()
    (run.folder.path / ".000001.pt.trace.json").write_text("{")
    (run.folder.path / "windows/000002").mkdir(parents=True)
    live = run.folder.live_path()
    live.write_bytes(live.read_bytes() + b"\xff\xff\xff\xff" + b"x" * 200)
    worker = only(tmp_path)
    assert worker.unfinished == [".000001.pt.trace.json"]
    assert worker.last_step == 4
    assert "unreadable_window" in [note.code for note in worker.damage]
    assert not worker.is_well


@pytest.mark.parametrize(("killed", "status"), [(False, 0), (True, 1)])
def test_the_command(tmp_path, capsys, killed, status):
    run = recorded(tmp_path, host=HERE, pid=NOBODY)
    if not killed:
        run.end()
    assert main(["doctor", str(tmp_path)]) == status
    text = capsys.readouterr().out
    assert ("KILLED" if killed else "FINISHED") in text
    assert "last step    4, ended" in text
    assert main(["doctor", str(tmp_path), "--format", "json"]) == status
    told = json.loads(capsys.readouterr().out)
    assert told["well"] is not killed
    assert told["workers"][0]["last_step"] == 4


def test_names_do_not_reach_the_terminal_as_they_are(tmp_path, capsys):
    failed = {"type": "Error", "message": "\x1b[2J\u202emoc", "step": None}
    recorded(tmp_path, exception=failed).end()
    main(["doctor", str(tmp_path)])
    assert "?[2J?moc" in capsys.readouterr().out


def test_what_is_no_recorded_run_is_said(tmp_path, capsys):
    (tmp_path / "a.pt.trace.json").write_text('{"traceEvents": []}')
    assert main(["doctor", str(tmp_path)]) == 2
    assert "was not recorded by stepscope" in capsys.readouterr().err
