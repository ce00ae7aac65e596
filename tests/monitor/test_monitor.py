"""The sampler as a real process: real samples, every way to end it."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import psutil
import pytest

from stepscope.errors import StepscopeError
from stepscope.monitor import start_monitor
from stepscope.monitor.counters import EVENTS
from stepscope.schema import MONITOR_SCHEMA
from stepscope.store import RunFolder, WorkerFolder, read_stream
from tests.until import wait_until


@pytest.fixture
def folder(tmp_path):
    return RunFolder(tmp_path / "run").create_worker(0, "host", os.getpid())


def samples(folder):
    path = folder.monitor_path()
    return read_stream(path, MONITOR_SCHEMA).to_pylist() if path.exists() else []


@pytest.mark.parametrize("interval_ms", [0, 50, 499, 120_000, 500.5, True, "500"])
def test_other_intervals_are_refused_with_the_ones_that_are_allowed(folder, interval_ms):
    with pytest.raises(StepscopeError, match="100, 200, 500, 1000, 5000, 60000"):
        start_monitor(folder, interval_ms)
    assert not folder.monitor_path().exists()


def test_samples_of_a_real_run(folder):
    before_ns = time.time_ns()
    monitor = start_monitor(folder, 100)
    wait_until(lambda: len({row["ts_ns"] for row in samples(folder)}) > 12)
    monitor.stop()
    after_ns = time.time_ns()
    assert not psutil.pid_exists(monitor.pid)
    monitor.stop()  # again is harmless
    assert monitor.notes() == []

    rows = samples(folder)
    metrics = {row["metric"] for row in rows}
    assert {"cpu", "cpu_core", "memory_used", "memory_total", "process_cpu", "process_memory"} <= metrics
    times = sorted({row["ts_ns"] for row in rows})
    assert before_ns < times[0]
    assert times[-1] < after_ns
    for row in rows:
        assert row["value"] >= 0
        if row["metric"] in ("cpu", "cpu_core", "iowait"):
            assert row["value"] <= 1
    cores = {row["index"] for row in rows if row["metric"] == "cpu_core"}
    assert cores == set(range(len(psutil.cpu_times(percpu=True))))


def test_a_pause_takes_no_samples_and_writes_the_ones_before(folder, monkeypatch):
    monkeypatch.setenv("STEPSCOPE_CPU_COUNTERS", "1")
    monitor = start_monitor(folder, 100)
    wait_until(lambda: samples(folder))
    monitor.pause()

    def has_paused():  # what was on its way has come
        before = len(samples(folder))
        time.sleep(1.5)
        return len(samples(folder)) == before

    wait_until(has_paused)
    count = len(samples(folder))
    monitor.resume()
    wait_until(lambda: len(samples(folder)) > count)
    monitor.stop()
    counted = {row["metric"] for row in samples(folder)} & {event.metric for event in EVENTS}
    assert counted or {note.code for note in monitor.notes()} == {"cpu_counters_absent"}


TRAINING = """
    import os, sys, time
    from pathlib import Path
    from stepscope.monitor import start_monitor
    from stepscope.store import WorkerFolder
    monitor = start_monitor(WorkerFolder(Path(sys.argv[1])), 100)
    if sys.argv[2] == "fork" and os.fork() == 0:
        time.sleep(300)  # a data loader worker that outlives its parent and holds a copy of the pipe
        os._exit(0)
    print(monitor.pid, flush=True)
    if sys.argv[2] == "stop":
        if os.fork() == 0:
            time.sleep(300)
            os._exit(0)
        sys.stdin.readline()
        monitor.stop(timeout_s=60)
        print("stopped", flush=True)
    time.sleep(300)
"""


def start_training(folder, how):
    training = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(TRAINING), str(folder.path), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    monitor_pid = int(training.stdout.readline())
    wait_until(lambda: samples(folder))
    return training, monitor_pid


def kill_group(training):
    os.killpg(training.pid, signal.SIGKILL)
    training.communicate()


def is_running(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("how", ["plain", "fork"])
def test_a_killed_training_ends_the_sampler_and_leaves_the_data(folder, how):
    training, monitor_pid = start_training(folder, how)
    try:
        training.kill()
        wait_until(lambda: not is_running(monitor_pid))  # about one second on an idle machine
    finally:
        kill_group(training)
    assert {"cpu", "process_memory"} <= {row["metric"] for row in samples(WorkerFolder(folder.path))}


def test_it_competes_with_the_training_at_a_lower_priority(folder):
    monitor = start_monitor(folder, 100)
    try:
        assert os.getpriority(os.PRIO_PROCESS, monitor.pid) > os.getpriority(os.PRIO_PROCESS, 0)
        assert os.getsid(monitor.pid) == os.getsid(0)  # sessions share the CPU evenly, whatever their priorities
    finally:
        monitor.stop(timeout_s=60)


def test_ctrl_c_leaves_the_sampler_its_last_batch(folder):
    training, monitor_pid = start_training(folder, "plain")
    try:
        os.kill(monitor_pid, signal.SIGINT)
        count = len(samples(folder))
        wait_until(lambda: len(samples(folder)) > count)
        os.killpg(training.pid, signal.SIGINT)
        wait_until(lambda: not is_running(monitor_pid))
    finally:
        kill_group(training)
    assert len(samples(folder)) > count


def test_stop_does_not_wait_for_workers_that_hold_the_pipe(folder):
    training, monitor_pid = start_training(folder, "stop")
    try:
        training.stdin.write("\n")
        training.stdin.flush()
        assert training.stdout.readline() == "stopped\n"
        assert not is_running(monitor_pid)
    finally:
        kill_group(training)


def test_sigterm_writes_the_last_batch(folder):
    monitor = start_monitor(folder, 60000)
    wait_until(lambda: samples(folder))
    count = len(samples(folder))
    time.sleep(0.2)
    os.kill(monitor.pid, signal.SIGTERM)
    monitor.stop()
    assert len(samples(folder)) > count


def test_a_forked_child_cannot_stop_the_sampler(folder):
    monitor = start_monitor(folder, 1000)
    try:
        monitor._owner += 1  # as seen from a fork
        monitor.stop()
        assert is_running(monitor.pid)
    finally:
        monitor._owner -= 1
        monitor.stop()


def test_a_sampler_that_cannot_write_says_so(folder):
    folder.monitor_path().write_bytes(b"")  # somebody else's file is in the way
    monitor = start_monitor(folder, 1000)
    wait_until(lambda: not is_running(monitor.pid))
    monitor.stop()
    [note] = monitor.notes()
    assert note.code == "monitor_stopped"
    assert "FileExistsError" in note.detail
