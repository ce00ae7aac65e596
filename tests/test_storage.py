"""Storage that fails a recording: full, gone, read-only, without an answer. The training goes on, the reason stays."""

from __future__ import annotations

import errno
import logging
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import stepscope.recorder as recorder_module
from stepscope import last_words
from stepscope.doctor import Diagnosis, examine
from stepscope.recorder import Recorder
from stepscope.runs import open_run
from stepscope.schema import Kind
from stepscope.store import WorkerFolder
from tests.slow_disk import slow_disk
from tests.until import wait_until

ROOT = Path(__file__).resolve().parents[1]


def record(recorder: Recorder, steps: int, first: int = 0) -> None:
    for step in range(first, first + steps):
        recorder.span(Kind.STEP, "step", step * 1000, step * 1000 + 900, step)


def only(run: Path) -> Diagnosis:
    (worker,) = examine(open_run(run)).workers
    return worker


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk(tmp_path, caplog):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("this root may not mount")
    try:
        recorder = Recorder(disk / "run", framework="pytorch", rank=0)
        recorder.start()
        record(recorder, 10)
        recorder.flush()
        with pytest.raises(OSError, match="No space"):
            (disk / "filler").write_bytes(b"x" * 300_000)
        rng = random.Random(1)
        while recorder.enabled:  # what is recorded has to need more than the last page
            for _ in range(1000):
                recorder.span(Kind.STEP, str(rng.random()), rng.randrange(10**9), 2 * 10**9, 11)
            recorder.flush()
        recorder.stop()
        (worker,) = examine(open_run(disk / "run")).workers
        assert worker.state == "stopped"
        assert "No space left" in worker.detail
        assert worker.last_step is not None
        assert len(caplog.records) == 1
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_folder_that_is_removed(tmp_path, caplog):
    recorder = Recorder(tmp_path / "run", framework="pytorch", rank=0)
    recorder.start()
    record(recorder, 10)
    shutil.rmtree(tmp_path / "run")
    recorder.note("clock_step", "makes worker.json due")
    with caplog.at_level(logging.WARNING, "stepscope"):
        recorder.flush()
        record(recorder, 10)
        recorder.stop()
    assert not recorder.enabled
    assert not (tmp_path / "run").exists()
    assert "Training goes on" in caplog.text


@pytest.fixture
def disk(tmp_path):
    """One that can be made to stop answering, as a network file system whose server is away."""
    with slow_disk(tmp_path) as disk:
        if disk is None:
            pytest.skip("this process may not mount a FUSE file system")
        yield disk
        disk.go_on()


@pytest.mark.parametrize("code", [errno.EROFS, errno.EIO, errno.ESTALE], ids=errno.errorcode.get)
def test_storage_that_cannot_be_written_any_more(disk, caplog, code):
    recorder = Recorder(disk.path / "run", framework="pytorch", rank=0)
    recorder.start()
    record(recorder, 10)
    recorder.flush()
    disk.fail(code)
    record(recorder, 10, first=10)
    with caplog.at_level(logging.WARNING, "stepscope"):
        recorder.flush()
        record(recorder, 10, first=20)
    assert not recorder.enabled
    assert os.strerror(code) in caplog.text
    disk.heal()
    recorder.flush()
    recorder.stop()
    worker = only(disk.path / "run")
    assert (worker.state, worker.last_step, worker.damage) == ("stopped", 9, [])
    assert os.strerror(code) in worker.detail
    assert len(caplog.records) == 1


def test_a_reason_that_could_not_be_written_is_when_the_training_is_over(disk, monkeypatch):
    left = []
    monkeypatch.setattr(last_words, "leave", lambda folder, detail: left.append((folder, detail)))
    recorder = Recorder(disk.path / "run", framework="pytorch", rank=0)
    recorder.start()
    disk.fail(errno.EROFS)
    record(recorder, 10)
    recorder.stop()
    ((folder, detail),) = left
    waits = threading.Thread(target=last_words.wait_and_tell, args=(folder, -1, detail))
    waits.start()
    waits.join(0.1)
    assert waits.is_alive()
    disk.heal()
    waits.join(180)
    assert only(disk.path / "run").state == "stopped"
    assert os.strerror(errno.EROFS) in only(disk.path / "run").detail


def test_nobody_waits_for_a_folder_that_is_gone(tmp_path):
    last_words.wait_and_tell(WorkerFolder(tmp_path / "gone"), -1, "")
    assert not (tmp_path / "gone").exists()


def test_storage_that_stalls_costs_the_training_nothing_and_is_told(disk, monkeypatch):
    recorder = Recorder(disk.path / "run", framework="pytorch", rank=0)
    recorder.start()
    record(recorder, 1)
    assert recorder.flush()
    disk.stall()
    with monkeypatch.context() as patch:  # for this round only: on a busy machine any takes long
        patch.setattr(recorder_module, "STALLED_NS", 200_000_000)
        record(recorder, 1, first=1)
        while recorder._pending:  # until the writer thread has it in hand
            time.sleep(0.001)
        record(recorder, 100, first=2)  # returns, although the writer thread is held in the kernel
        time.sleep(0.3)
        assert recorder.enabled
        disk.go_on()
        wait_until(recorder.notes.list)
    recorder.stop()
    (worker,) = open_run(disk.path / "run").workers
    assert int(worker.live().of_kind(Kind.STEP).sum()) == 102
    (note,) = worker.notes
    assert (note.code, note.count) == ("storage_stalled", 1)
    assert examine(open_run(disk.path / "run")).is_well


def test_storage_that_answers_after_the_end_gets_all(disk, caplog, monkeypatch):
    monkeypatch.setattr(recorder_module, "STOP_TIMEOUT_S", 0.01)
    recorder = Recorder(disk.path / "run", framework="pytorch", rank=0)
    recorder.start()
    thread = recorder._thread
    disk.stall()
    record(recorder, 1)  # only now: the writer thread may have its round at any moment
    assert not recorder.flush()
    with caplog.at_level(logging.WARNING, "stepscope"):
        recorder.stop()
    assert "did not answer" in caplog.text
    disk.go_on()
    thread.join(180)
    (worker,) = examine(open_run(disk.path / "run")).workers
    assert (worker.state, worker.last_step, worker.damage) == ("finished", 0, [])


#: Ends while its storage does not answer.
ENDS = """
import sys
import stepscope.recorder
from stepscope.schema import Kind
from stepscope.store import WorkerFolder

recorder = stepscope.recorder.Recorder(sys.argv[1], framework="pytorch", rank=0)
recorder.start()
recorder.span(Kind.STEP, "step", 1, 2, 0)
assert recorder.flush()
stepscope.recorder.STOP_TIMEOUT_S = 0.2
print("ready", flush=True)
sys.stdin.readline()
recorder.span(Kind.STEP, "step", 3, 4, 1)
"""


def test_storage_that_does_not_answer_at_the_end_neither_holds_the_process_nor_stays_unsaid(disk):
    with subprocess.Popen(
        [sys.executable, "-c", ENDS, disk.path / "run"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as training:
        assert training.stdout.readline() == "ready\n"
        disk.stall()
        _, said = training.communicate("go on\n", timeout=180)
    assert training.returncode == 0
    assert "did not answer" in said
    disk.go_on()
    wait_until(lambda: only(disk.path / "run").state != "killed")
    worker = only(disk.path / "run")
    assert (worker.state, worker.last_step) == ("stopped", 0)
    assert worker.detail.startswith("The storage did not answer when the recording ended")
