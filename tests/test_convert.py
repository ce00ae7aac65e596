"""The converter: a trace becomes a window with its source beside it, in a process of its own."""

from __future__ import annotations

import gzip
import os
import signal
import sys

import pytest

from stepscope.conversions import Conversions
from stepscope.convert import ON_DEMAND, convert, finish, main, take_over
from stepscope.converter import _BOOT_S, Conversion, Converter
from stepscope.errors import StepscopeError
from stepscope.schema import Kind
from stepscope.store import RunFolder, read_window
from tests.builders import TraceBuilder


@pytest.fixture
def worker(tmp_path):
    worker = RunFolder(tmp_path / "run").create_worker(3, "node1", 4117)
    worker.write_meta({"framework": "pytorch", "rank": 3, "world_size": 8, "host": "node1", "pid": 4117})
    return worker


ONE_STEP = TraceBuilder().step(5, 0, 100).op("aten::mm", 0, 50)


def left_in(worker, trace=ONE_STEP, window="000001"):
    """What a profiler has left in the folder of a worker."""
    return trace.write(worker.path / f".{window}.pt.trace.json")


def done(conversion, converter):
    """In a process that neither rests nor gives way: beside other tests it might get no core for minutes."""
    conversion.begin(converter)
    conversion.rest_no_more()
    assert conversion.wait(300)
    assert not conversion.running
    return conversion


def steps_of(window):
    return sorted(window.events.step[window.events.of_kind(Kind.STEP)].tolist())


def test_a_trace_becomes_a_window_with_its_source(worker):
    trace = left_in(worker)
    text = trace.read_bytes()
    convert(trace, worker.new_window())
    (folder,) = worker.windows()
    window = read_window(folder)
    assert steps_of(window) == [5]
    assert (window.rank, window.world_size, window.host, window.pid) == (3, 8, "node1", 4117)
    with gzip.open(folder / "trace.json.gz") as file:
        assert file.read() == text
    assert not trace.exists()


def test_it_runs_in_a_process_that_the_working_directory_cannot_mislead(worker, tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')")
    monkeypatch.chdir(tmp_path)
    conversion = Conversion(left_in(worker), worker.new_window())
    assert done(conversion, Converter(worker.path, gives_way=False)).error() is None
    assert steps_of(read_window(worker.windows()[0])) == [5]


def test_it_gives_way_to_the_training(worker):
    converter = Converter(worker.path)
    try:
        pid = converter.pid
        assert os.getpriority(os.PRIO_PROCESS, pid) > os.getpriority(os.PRIO_PROCESS, 0)
        if sys.version_info >= (3, 11):
            assert os.getpgid(pid) == pid != os.getpgid(0)  # Ctrl+C does not reach it
        assert os.getsid(pid) == os.getsid(0)  # sessions share the CPU evenly, whatever their priorities
        if hasattr(os, "SCHED_IDLE"):
            assert os.sched_getscheduler(pid) == os.SCHED_IDLE
    finally:
        converter.end()
    assert converter.wait(300)


def test_one_that_was_started_ahead_waits_for_its_trace(worker):
    converter = Converter(worker.path, gives_way=False)
    converter.wait_for_rest(0.01)
    assert converter.running
    conversion = Conversion(left_in(worker), worker.new_window())
    assert done(conversion, converter).error() is None
    assert steps_of(read_window(worker.windows()[0])) == [5]


def test_what_begins_in_one_that_was_started_ahead_waits_until_that_rests(worker, monkeypatch):
    waited = []
    monkeypatch.setattr(Converter, "wait_for_rest", lambda self, timeout_s: waited.append(timeout_s))
    planned = Conversion(left_in(worker), worker.new_window())
    done(planned, Converter(worker.path, gives_way=False))
    assert waited == [_BOOT_S]
    asked = Conversion(left_in(worker), worker.new_window(), {"why": ON_DEMAND})
    done(asked, Converter(worker.path, gives_way=False))
    assert waited == [_BOOT_S]


def test_one_whose_parent_ends_without_a_word_ends_too(worker):
    converter = Converter(worker.path, gives_way=False)
    converter._process.stdin.close()
    assert converter.wait(300)
    assert converter.error() is None
    assert worker.windows() == []


def test_one_that_hurries_is_a_process_like_all_others(worker):
    trace = left_in(worker)
    conversion = Conversion(trace, worker.new_window())
    conversion.begin()
    conversion.hurry()
    assert not conversion.gives_way
    if hasattr(os, "SCHED_IDLE"):
        assert os.sched_getscheduler(conversion._converter.pid) == os.sched_getscheduler(0)
    assert conversion.wait(300)
    assert conversion.error() is None
    assert steps_of(read_window(worker.windows()[0])) == [5]
    assert (worker.windows()[0] / "trace.json.gz").exists()
    assert not trace.exists()


@pytest.mark.parametrize(("reason", "at_end"), [({"why": ON_DEMAND}, False), (None, False), (None, True)])
def test_one_that_gets_no_core_hurries_if_somebody_waits_and_in_the_end(recorder, monkeypatch, reason, at_end):
    conversions = Conversions(recorder)
    window = conversions.next_window()
    with conversions.ahead():
        os.kill(conversions._ahead.pid, signal.SIGSTOP)
        conversion = conversions.start(left_in(recorder.folder), window, reason)
    if not at_end:
        monkeypatch.setattr("stepscope.conversions.PATIENCE_S", 0.0)
        recorder.flush()
        assert conversion.gives_way == (reason is None)
    conversions.finish(300)
    assert not conversion.gives_way
    assert steps_of(read_window(window)) == [5]
    assert not recorder.meta["notes"]


def test_more_of_them_than_run_at_once_wait_for_their_turn(recorder, monkeypatch):
    monkeypatch.setattr("stepscope.conversions.AT_ONCE", 1)
    conversions = Conversions(recorder)
    windows, started = [], []
    for step in (5, 6):
        windows.append(conversions.next_window())
        trace = left_in(recorder.folder, TraceBuilder().step(step, 0, 100), windows[-1].name)
        with conversions.ahead():
            started.append(conversions._ahead)
            if step == 5:
                os.kill(started[0].pid, signal.SIGSTOP)
            conversion = conversions.start(trace, windows[-1], None)
    assert started[1] is None
    assert conversion.waits
    assert conversion.running
    recorder.flush()  # the writer thread looks, and there is no place yet
    assert conversion.waits
    os.kill(started[0].pid, signal.SIGCONT)
    conversions.finish(300)
    assert [steps_of(read_window(window)) for window in windows] == [[5], [6]]
    assert not list(recorder.folder.path.glob(".0*"))
    assert not recorder.meta["notes"]


def test_one_that_somebody_waits_for_does_not_wait_for_its_turn(recorder, monkeypatch):
    monkeypatch.setattr("stepscope.conversions.AT_ONCE", 0)
    conversions = Conversions(recorder)
    window = conversions.next_window()
    conversion = conversions.start(left_in(recorder.folder), window, {"why": ON_DEMAND})
    assert not conversion.waits
    conversions.finish(300)
    assert steps_of(read_window(window)) == [5]


def test_what_waits_when_the_training_ends_is_taken_over(worker):
    traces = []
    for step in (5, 6):
        traces.append(left_in(worker, TraceBuilder().step(step, 0, 100).step(step + 2, 200, 10), f"00000{step}"))
        folder = worker.path / "windows" / f"00000{step}"
        Conversion(traces[-1], folder, {"why": "on_demand"}, [1]).wait_for_turn()
    take_over(worker.path, parent=os.getppid())
    assert worker.windows() == []  # it lives, and is to give them their turn
    traces[0].unlink()  # another process has just begun, or it is lost
    take_over(worker.path, parent=-1)
    (folder,) = worker.windows()
    window = read_window(folder)
    assert steps_of(window) == [6]
    assert window.header["stepscope"]["reason"] == {"why": "on_demand"}
    assert not list(worker.path.glob(".0*"))


def test_one_without_work_is_ended(recorder):
    conversions = Conversions(recorder)
    with conversions.ahead():
        converter = conversions._ahead
    assert converter.wait(300)


def test_what_another_process_had_begun_is_brought_to_its_end(worker):
    trace = left_in(worker)
    text = trace.read_bytes()
    folder = worker.new_window()
    left = folder.with_name(f".{folder.name}.0123abcd.tmp")
    left.mkdir(parents=True)
    finish(trace, folder, {})  # it was ended before the window was whole
    assert steps_of(read_window(folder)) == [5]
    assert not left.exists()
    trace.write_bytes(text)
    (folder / "trace.json.gz").unlink()
    finish(trace, folder, {})  # before the source was kept
    assert gzip.decompress((folder / "trace.json.gz").read_bytes()) == text
    assert not trace.exists()
    finish(trace, folder, {})  # when all was done
    assert steps_of(read_window(folder)) == [5]


def test_a_file_that_is_no_trace_stays_and_says_so(worker):
    trace = worker.path / ".000001.pt.trace.json"
    trace.write_text("no trace")
    conversion = Conversion(trace, worker.new_window())
    assert str(trace) in done(conversion, Converter(worker.path, gives_way=False)).error()
    assert trace.exists()
    assert worker.windows() == []


def test_markers_that_were_no_steps_are_taken_out(worker):
    trace = TraceBuilder().step(5, 0, 10).step(5, 20, 100).step(6, 120, 10).step(6, 140, 100)
    trace.header["stepscope"] = {"void_markers": [0, 2]}
    convert(left_in(worker, trace), worker.new_window())
    window = read_window(worker.windows()[0])
    rows = window.events.of_kind(Kind.STEP)
    assert window.events.dur_ns[rows].tolist() == [100_000, 100_000]


def test_launches_without_any_device_work_are_noted(worker):
    trace = TraceBuilder().step(5, 0, 100).launch(10, 5, correlation=1).launch(20, 5, correlation=2)
    convert(left_in(worker, trace), worker.new_window())
    notes = read_window(worker.windows()[0]).notes
    (note,) = [note for note in notes if note.code == "requested_but_absent"]
    assert "2 launches" in note.detail


def test_nothing_is_overwritten(worker):
    folder = worker.new_window()
    folder.mkdir(parents=True)
    trace = left_in(worker)
    with pytest.raises(StepscopeError, match="exists already"):
        convert(trace, folder)
    assert trace.exists()


def test_the_command_tells_how_it_is_called(capsys):
    assert main(["one"]) == 2
    assert "TRACE FOLDER" in capsys.readouterr().err


def test_the_child_imports_no_framework(worker):
    code = (
        "import sys; from stepscope.convert import main; main(sys.argv[1:]);"
        "sys.exit(any(m in sys.modules for m in ('torch', 'tensorflow', 'tensorboard')))"
    )
    command = [sys.executable, "-c", code, str(left_in(worker)), str(worker.new_window())]
    assert os.spawnv(os.P_WAIT, sys.executable, command) == 0
