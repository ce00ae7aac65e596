"""Deep windows of TensorFlow's profiler: taken, marked, converted, and out of the way of others."""

import json

import numpy as np
import pytest

import stepscope
from stepscope.schema import Kind
from tests.tf.conftest import fit, make_model, read

pytestmark = pytest.mark.usefixtures("tf")


def callback(run, window):
    from stepscope_tf import ProfilerCallback

    return ProfilerCallback(run, window=window, monitor_interval_ms=0, overhead_budget=None)


def markers(window):
    """Numbers of the window's steps."""
    return sorted(window.events.step[window.events.of_kind(Kind.STEP)].tolist())


def annotate_steps():
    """A callback of the script that annotates each step."""
    import keras

    class Annotate(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            with stepscope.annotate("mine"):
                pass

    return Annotate()


def test_a_window_holds_its_steps_and_the_annotations_in_them(tmp_path):
    """Epochs of 4 batches: steps 5 to 7 lie in the second one, where Keras' own numbers are 1 to 3."""
    hook = callback(tmp_path / "run", (5, 3))
    losses = fit(make_model(), [hook, annotate_steps()], epochs=3)
    assert losses == fit(make_model(), [], epochs=3)
    hook.close()
    run = read(tmp_path / "run")
    assert run.notes == {}
    [window] = run.worker.windows()
    assert markers(window) == [5, 6, 7]
    assert (window.framework, window.rank, window.pid) == ("tensorflow", 0, run.meta["pid"])
    names = {window.events.text(i) for i in range(len(window.events))}
    assert "mine" in names
    # the marker holds the step of the hook and reaches into no other, on the same clock
    steps = {s.step: s for s in run.steps}
    rows = np.flatnonzero(window.events.of_kind(Kind.STEP))
    for i in rows:
        before, step, after = (steps[int(window.events.step[i]) + by] for by in (-1, 0, 1))
        assert before.end - 1_000_000 < window.events.ts_ns[i] < step.start + 1_000_000
        assert step.end - 1_000_000 < window.events.end_ns[i] < after.start + 1_000_000
    assert not list(run.worker.folder.path.glob(".*"))


def test_starting_and_stopping_is_recorded_as_stall_outside_the_steps(tmp_path):
    hook = callback(tmp_path / "run", (1, 2))
    fit(make_model(), [hook])
    hook.close()
    run = read(tmp_path / "run")
    start, stop = run.stalls
    assert (start.args, stop.args) == ({"part": "start"}, {"part": "stop"})
    assert run.steps[0].end <= start.start
    assert start.end <= run.steps[1].start
    assert run.steps[2].end <= stop.start
    assert stop.end <= run.steps[3].start
    assert run.meta["overhead"]["stall_ns"] >= start.dur + stop.dur


def test_the_end_of_the_training_closes_a_window(tmp_path):
    hook = callback(tmp_path / "run", (2, 100))
    fit(make_model(), [hook])
    hook.close()
    [window] = read(tmp_path / "run").worker.windows()
    assert markers(window) == [2, 3]


def test_a_window_ends_with_the_step_in_which_its_seconds_are_over(tmp_path):
    from stepscope_tf.window import WindowPlan

    hook = callback(tmp_path / "run", (1, 3))
    hook._session.plan = WindowPlan(1, 3, max_s=1e-9)
    fit(make_model(), [hook])
    hook.close()
    [window] = read(tmp_path / "run").worker.windows()
    assert markers(window) == [1]


def test_a_training_too_short_for_its_window_says_so(tmp_path):
    hook = callback(tmp_path / "run", (10, 3))
    fit(make_model(), [hook])
    hook.close()
    run = read(tmp_path / "run")
    assert list(run.worker.windows()) == []
    assert "before step 10" in run.notes["requested_but_absent"].detail


def test_executions_of_several_steps_are_marked_by_their_first(tmp_path):
    hook = callback(tmp_path / "run", (3, 6))
    fit(make_model(steps_per_execution=3), [hook], batches=12)
    hook.close()
    [window] = read(tmp_path / "run").worker.windows()
    assert markers(window) == [3, 6]


def test_a_profiler_of_the_script_that_runs_already_is_left_alone(tmp_path, tf):
    hook = callback(tmp_path / "run", (1, 2))
    tf.profiler.experimental.start(str(tmp_path / "theirs"))
    try:
        fit(make_model(), [hook])
    finally:
        tf.profiler.experimental.stop()
    hook.close()
    assert list((tmp_path / "theirs").rglob("*.xplane.pb"))
    run = read(tmp_path / "run")
    assert list(run.worker.windows()) == []
    assert "window_postponed" in run.notes


def test_a_profiler_that_the_script_starts_comes_first(tmp_path, tf):
    """Keras' TensorBoard callback profiles batch 3 while the window of steps 1 to 9 is open."""
    import keras

    hook = callback(tmp_path / "run", (1, 9))
    original = tf.profiler.experimental.start
    theirs = keras.callbacks.TensorBoard(tmp_path / "theirs", profile_batch=3, write_graph=False)
    fit(make_model(), [hook, theirs], batches=12)
    hook.close()
    assert tf.profiler.experimental.start is original
    assert list((tmp_path / "theirs").rglob("*.xplane.pb"))
    run = read(tmp_path / "run")
    assert len(run.steps) == 12
    assert "broken off" in run.notes["window_postponed"].detail
    # tried again 10 steps later, when theirs was done
    [window] = run.worker.windows()
    assert markers(window) == [11]


def test_a_profiler_below_python_is_left_alone(tmp_path, tf, monkeypatch):
    """What TensorFlow does when its profiler server holds the only session: it raises and keeps a dead one."""
    from tensorflow.python.profiler import profiler_v2

    class Taken:
        def start(self, *args):
            raise tf.errors.AlreadyExistsError(None, None, "Another profiler is running.")

    hook = callback(tmp_path / "run", (1, 2))
    with monkeypatch.context() as patch:
        patch.setattr(profiler_v2._pywrap_profiler, "ProfilerSession", Taken)
        fit(make_model(), [hook])
    hook.close()
    assert "window_postponed" in read(tmp_path / "run").notes
    tf.profiler.experimental.start(str(tmp_path / "theirs"))  # nothing of ours is in the way
    tf.profiler.experimental.stop()


def test_a_window_that_the_script_stops_is_noted(tmp_path, tf):
    import keras

    class Stop(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            if batch == 2:
                tf.profiler.experimental.stop(save=False)

    hook = callback(tmp_path / "run", (1, 2))
    fit(make_model(), [hook, Stop()])
    hook.close()
    run = read(tmp_path / "run")
    assert len(run.steps) == 4
    assert "stopped the profiler" in run.notes["requested_but_absent"].detail


@pytest.mark.parametrize("method", ["start", "stop"])
def test_a_profiler_that_fails_costs_the_window_only(tmp_path, monkeypatch, method, plain_losses):
    from tensorflow.python.profiler import profiler_v2

    original = getattr(profiler_v2, method)

    def fail(*args, **kwargs):
        if method == "stop" and not kwargs.get("save", True):
            return original(*args, **kwargs)
        raise RuntimeError("no CUPTI")

    monkeypatch.setattr(profiler_v2, method, fail)
    hook = callback(tmp_path / "run", (1, 2))
    assert fit(make_model(), [hook]) == plain_losses
    hook.close()
    run = read(tmp_path / "run")
    assert len(run.steps) == 4
    assert "no CUPTI" in run.notes["hook_failed"].detail
    assert profiler_v2._profiler is None


def test_a_trace_that_cannot_be_converted_is_kept(tmp_path, monkeypatch):
    from stepscope import conversions

    def not_a_trace(trace, *arguments):
        trace.write_bytes(b"no trace")
        return conversion(trace, *arguments)

    conversion = conversions.Conversion
    monkeypatch.setattr(conversions, "Conversion", not_a_trace)
    hook = callback(tmp_path / "run", (1, 1))
    fit(make_model(), [hook])
    hook.close()
    run = read(tmp_path / "run")
    assert "window_not_converted" in run.notes
    assert (run.worker.folder.path / ".000001.xplane.pb").read_bytes() == b"no trace"


def test_options_are_in_the_workers_file(tmp_path):
    hook = callback(tmp_path / "run", None)
    fit(make_model(), [hook], batches=1)
    hook.close()
    [path] = (tmp_path / "run").rglob("worker.json")
    assert json.loads(path.read_text())["options"] == {"window": None, "monitor_interval_ms": None}
