"""What a recording leaves when its process is taken away: all up to the last second, and the reason."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from time import perf_counter_ns

import pytest

from stepscope.doctor import Diagnosis, examine
from stepscope.recorder import Recorder
from stepscope.runs import open_run
from stepscope.watch import Activity, Watch
from tests.until import wait_until

KILLS = 20
ROOT = Path(__file__).resolve().parents[1]

#: Records steps of 2 ms, and writes the end of each into a file of its own, at once.
TRAINING = """
import os, sys, time
from stepscope.recorder import Recorder
from stepscope.schema import Kind

recorder = Recorder(sys.argv[1], framework="pytorch", rank=0, world_size=1)
recorder.start()
sidecar = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT)
print("started", flush=True)
step = 0
while True:
    began = time.perf_counter_ns()
    time.sleep(0.002)
    ended = time.perf_counter_ns()
    recorder.span(Kind.STEP, "step", began, ended, step)
    os.write(sidecar, b"%d\\n" % recorder.clock.to_unix(ended))
    step += 1
"""


#: What is beyond this in a step of 2 ms is time in which the process was given no core, and neither was its writer
#: thread.
RUNNING_NS = 3_000_000


def kill(folder: Path, after_s: float) -> tuple[int, int, int]:
    """Steps of the training and of the recording, and ns of the training that the recording lacks."""
    folder.mkdir()
    training = subprocess.Popen(
        [sys.executable, "-c", TRAINING, folder / "run", folder / "sidecar"], stdout=subprocess.PIPE, cwd=ROOT
    )
    assert training.stdout is not None
    training.stdout.readline()
    time.sleep(after_s)
    os.kill(training.pid, signal.SIGKILL)
    training.communicate()
    ends = [int(line) for line in (folder / "sidecar").read_bytes().splitlines()]
    found = examine(open_run(folder / "run"))
    (worker,) = found.workers
    assert (worker.state, worker.damage) == ("killed", [])
    recorded = 0 if worker.last_step is None else worker.last_step + 1
    lost = ends[max(recorded - 1, 0) :]
    return len(ends), recorded, sum(min(end - before, RUNNING_NS) for before, end in pairwise(lost))


def test_twenty_kills_leave_twenty_readable_runs_that_lack_a_second_at_most(tmp_path):
    random_s = random.Random(4)
    moments = [random_s.uniform(0, 1.5) for _ in range(KILLS)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(kill, [tmp_path / str(i) for i in range(KILLS)], moments))
    assert len(found) == KILLS
    assert max(lost_ns for _, _, lost_ns in found) < 1_000_000_000
    assert any(recorded for _, recorded, _ in found)
    assert all(recorded <= done + 1 for done, recorded, _ in found)


def only(run: Path) -> Diagnosis:
    (worker,) = examine(open_run(run)).workers
    return worker


def meta_of(recorder: Recorder) -> dict:
    return json.loads((recorder.folder.path / "worker.json").read_text())


#: Takes memory until the kernel ends it.
TAKES_ALL = """
import os, sys, time
from pathlib import Path
from stepscope.monitor import start_monitor
from stepscope.recorder import Recorder

(Path(sys.argv[2]) / "cgroup.procs").write_text(str(os.getpid()))
recorder = Recorder(sys.argv[1], framework="pytorch", rank=0)
recorder.start()
monitor = start_monitor(recorder.folder, 100)
while not recorder.folder.monitor_path().exists():
    time.sleep(0.01)
held = []
while True:
    held.append(os.urandom(20_000_000))
"""


@pytest.fixture
def small_group():
    """A control group that may use 150 MB."""
    for parent, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = Path(parent) / f"stepscope-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        if not os.access(group / limit, os.W_OK):
            group.rmdir()
            continue
        (group / limit).write_text("150000000")
        yield group
        members = group / "cgroup.procs"
        wait_until(lambda members=members: not members.read_text())  # its sampler ends by itself
        group.rmdir()
        return
    pytest.skip("this process may not make a control group with a limit on memory")


def test_the_kernel_ends_a_training_for_want_of_memory(tmp_path, small_group):
    done = subprocess.run([sys.executable, "-c", TAKES_ALL, tmp_path / "run", small_group], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    wait_until(lambda: "for want of memory" in only(tmp_path / "run").detail)
    worker = only(tmp_path / "run")
    assert worker.state == "killed"
    assert "ended processes of this training for want of memory, this one most likely" in worker.detail
    assert worker.damage == []


class Watched:
    """A recorder and a watch of what the test says is open."""

    def __init__(self, tmp_path):
        self.recorder = Recorder(tmp_path / "run", framework="pytorch", rank=0)
        self.recorder.start()
        self.activity = Activity(None, None, None)
        self.watch = Watch(self.recorder, lambda: self.activity, threading.get_ident)

    def open(self, phase, ago_s):
        self.activity = Activity(7, phase, perf_counter_ns() - int(ago_s * 1e9))
        self.watch.look()
        self.recorder.flush()
        return meta_of(self.recorder).get("open")


@pytest.fixture
def watched(tmp_path):
    watched = Watched(tmp_path)
    yield watched
    watched.recorder.stop()


def test_what_is_open_for_a_while_is_told(watched, monkeypatch):
    monkeypatch.setattr("stepscope.watch.NOTED_AFTER_S", 60)  # far more and far less than this machine may be busy
    monkeypatch.setattr("stepscope.watch.STACK_AFTER_S", 600)
    assert watched.open("forward", 0.1) is None
    began_ns = time.time_ns()
    told = watched.open("backward", 180)
    assert (told["step"], told["phase"], told["stack"]) == (7, "backward", None)
    slack_ns = 100_000_000  # of the clocks
    assert began_ns - slack_ns <= told["since_ns"] + 180_000_000_000 <= time.time_ns() + slack_ns


def test_what_is_open_for_long_is_told_with_the_stack(watched):
    told = watched.open("backward", 30)
    assert any("in test_what_is_open_for_long_is_told_with_the_stack" in frame for frame in told["stack"])


def test_an_end_in_order_leaves_nothing_open(watched):
    watched.open("backward", 30)
    watched.watch.close()
    watched.recorder.stop()
    assert meta_of(watched.recorder)["open"] is None


def test_a_sign_of_life_without_any_news(watched, monkeypatch):
    path = watched.recorder.folder.path / "worker.json"
    monkeypatch.setattr("stepscope.watch.BEAT_S", 3600)
    os.utime(path, (1, 1))
    watched.watch.look()
    assert path.stat().st_mtime == 1
    monkeypatch.setattr("stepscope.watch.BEAT_S", 0)
    watched.watch.look()
    assert path.stat().st_mtime > 1
