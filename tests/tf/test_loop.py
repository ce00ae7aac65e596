"""Custom loops: Profiler, step and data."""

import threading
from itertools import pairwise

import pytest

import stepscope
import stepscope_tf
from stepscope.schema import Kind
from tests.recorded import wait_for_samples
from tests.tf.conftest import read


def record(run, window=None, monitor_interval_ms=0):
    # no budget: on a busy machine any test may take the 10 s after which it is judged
    return stepscope_tf.Profiler(run, window=window, monitor_interval_ms=monitor_interval_ms, overhead_budget=None)


def test_without_a_profiler_nothing_happens():
    batches = stepscope_tf.data([1, 2])
    with stepscope_tf.step(3):
        assert list(batches) == [1, 2]
    assert list(batches) == [1, 2]
    assert len(batches) == 2


def test_a_step_begins_with_the_wait_for_its_batch(tmp_path, tf):
    with record(tmp_path / "run"):
        for n, _ in enumerate(stepscope_tf.data(tf.data.Dataset.range(3)), start=100):
            with stepscope_tf.step(n), stepscope.annotate("inside"):
                pass
    run = read(tmp_path / "run")
    assert [s.step for s in run.steps] == [100, 101, 102]
    assert [a.step for a in run.annotations] == [100, 101, 102]
    for step in run.steps:
        wait, compute = run.of_step(step.step)
        assert (wait.name, compute.name) == ("input_wait", "compute")
        assert step.start == wait.start
        assert wait.end <= compute.start
        assert compute.end == step.end
    assert all(a.end <= b.start for a, b in pairwise(run.steps))
    assert run.meta["phases"] == ["input_wait", "compute"]
    assert run.meta["ended_ns"] is not None


def test_waits_inside_the_step_split_its_compute(tmp_path, tf):
    batches = iter(stepscope_tf.data(range(4)))
    with record(tmp_path / "run"):
        for _ in range(2):
            with stepscope_tf.step():
                next(batches)
                next(batches)
    run = read(tmp_path / "run")
    assert [s.step for s in run.steps] == [0, 1]
    for step in run.steps:
        parts = run.of_step(step.step)
        assert [p.name for p in parts] == ["compute", "input_wait", "compute", "input_wait", "compute"]
        assert sum(p.dur for p in parts) == step.dur


def test_waits_that_no_step_follows_belong_to_none(tmp_path, tf):
    with record(tmp_path / "run"):
        for _ in stepscope_tf.data(range(3)):
            pass  # evaluation
        for _ in stepscope_tf.data(range(2)):
            with stepscope_tf.step():
                pass
    run = read(tmp_path / "run")
    assert len(run.steps) == 2
    assert [len(run.of_step(n)) for n in (-1, 0, 1)] == [3, 2, 2]


def test_without_data_the_phases_are_unknown(tmp_path, tf):
    with record(tmp_path / "run"):
        for _ in range(2):
            with stepscope_tf.step():
                pass
    run = read(tmp_path / "run")
    assert len(run.steps) == 2
    assert run.phases == []
    assert run.meta["phases"] == []


def test_a_step_inside_a_step_is_part_of_it_and_another_threads_data_is_not(tmp_path, tf):
    with record(tmp_path / "run"), stepscope_tf.step(7):
        with stepscope_tf.step(8):
            pass
        thread = threading.Thread(target=list, args=(stepscope_tf.data(range(3)),))
        thread.start()
        thread.join()
    run = read(tmp_path / "run")
    assert [s.step for s in run.steps] == [7]
    assert run.phases == []


def test_an_exception_passes_and_leaves_an_incomplete_step(tmp_path, tf):
    with pytest.raises(ZeroDivisionError), record(tmp_path / "run"), stepscope_tf.step():
        _ = 1 / 0
    run = read(tmp_path / "run")
    assert [s.args for s in run.steps] == [{"complete": False}]


def test_start_stop_and_start_again(tmp_path, tf):
    profiler = record(tmp_path / "run")
    for _ in range(2):
        profiler.start()
        profiler.start()
        with stepscope_tf.step():
            pass
        profiler.stop()
        profiler.stop()
    assert len(list((tmp_path / "run").rglob("worker.json"))) == 2
    with stepscope_tf.step():
        pass  # after the end


def test_a_window_of_a_loop(tmp_path, tf):
    @tf.function
    def train(x):
        return x + 1

    with record(tmp_path / "run", window=(1, 2)):
        for n in (50, 60, 70, 80):
            with stepscope_tf.step(n):
                train(tf.constant(1.0))
    run = read(tmp_path / "run")
    [window] = run.worker.windows()
    numbers = window.events.step[window.events.of_kind(Kind.STEP)].tolist()
    assert sorted(numbers) == [60, 70]


def test_the_window_of_a_loop_holds_the_wait_of_its_first_step(tmp_path, tf):
    with record(tmp_path / "run", window=(1, 2)):
        for x in stepscope_tf.data(tf.data.Dataset.range(5)):
            with stepscope_tf.step():
                tf.square(x)
    run = read(tmp_path / "run")
    live = run.worker.live()
    opened = int(live.end_ns[live.of_kind(Kind.OVERHEAD)].min())
    first_wait = int(live.ts_ns[live.of_kind(Kind.PHASE) & (live.step == 1)].min())
    assert opened <= first_wait


def test_an_error_of_ours_switches_the_steps_off_only(tmp_path, tf, monkeypatch):
    from stepscope_tf.session import Session

    def fail(*args):
        raise RuntimeError("ours")

    monkeypatch.setattr(Session, "step_row", fail)
    with record(tmp_path / "run"):
        for _ in stepscope_tf.data(range(3)):
            with stepscope_tf.step():
                pass
    run = read(tmp_path / "run")
    assert run.notes["hook_failed"].count == 1


def test_the_monitor_runs_along(tmp_path, tf):
    with record(tmp_path / "run", monitor_interval_ms=100), stepscope_tf.step():
        wait_for_samples(tmp_path / "run")
    run = read(tmp_path / "run")
    assert run.worker.monitor() is not None


def test_an_unwritable_folder_is_harmless(tmp_path, tf, caplog):
    (tmp_path / "file").write_text("in the way")
    with record(tmp_path / "file" / "run", monitor_interval_ms=500), stepscope_tf.step():
        pass
    assert len([r for r in caplog.records if r.name == "stepscope"]) == 1
