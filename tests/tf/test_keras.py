"""The Keras callback on TensorFlow: steps, phases, validation, and that the training does not change."""

import copy
import sys
import time
from itertools import pairwise
from statistics import median
from types import SimpleNamespace

import pytest

import stepscope
from stepscope.errors import StepscopeError
from stepscope.summary import summarize_worker
from tests.tf.conftest import BATCH, SIZE, arrays, fit, make_model, read

pytestmark = pytest.mark.usefixtures("tf")


def callback(run, window=None, monitor_interval_ms=0):
    from stepscope_tf import ProfilerCallback

    # no budget: on a busy machine any test may take the 10 s after which it is judged
    return ProfilerCallback(run, window=window, monitor_interval_ms=monitor_interval_ms, overhead_budget=None)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, tf):
    """Two epochs of 4 batches with validation, then one more ``fit`` with the same callback."""
    run = tmp_path_factory.mktemp("keras") / "run"
    hook = callback(run)
    model = make_model()
    x, y = arrays(2)
    losses = fit(model, [hook], epochs=2, validation_data=(x, y))
    after_first = read(run)
    more = fit(model, [hook], epochs=3, initial_epoch=2)
    hook.close()
    plain_model = make_model()
    plain = fit(plain_model, [], epochs=2, validation_data=(x, y))
    plain_more = fit(plain_model, [], epochs=3, initial_epoch=2)
    return read(run), (losses, more), (plain, plain_more), after_first


def test_results_are_bit_identical(recorded):
    _, with_callback, without, _ = recorded
    assert with_callback == without


def test_steps_go_on_over_epochs_and_fits(recorded):
    run, *_ = recorded
    assert [s.step for s in run.steps] == list(range(3 * 4))
    assert all(a.end <= b.start for a, b in pairwise(run.steps))
    assert all(s.args == {} for s in run.steps)


def test_every_step_has_its_input_wait_and_compute(recorded):
    run, *_ = recorded
    assert run.notes == {}
    assert set(run.meta["phases"]) == {"input_wait", "compute", "validation"}
    for step in run.steps:
        parts = run.of_step(step.step)
        assert {p.name for p in parts} == {"input_wait", "compute"}
        assert step.start <= parts[0].start
        assert parts[-1].end == step.end
        for a, b in pairwise(parts):
            assert a.end == b.start


def test_phases_sum_to_the_step(recorded):
    run, *_ = recorded
    steps = summarize_worker(run.worker)["steps"]
    assert len(steps) == 12
    found = [{name: ns for name, ns in step["phase_ns"].items() if ns is not None} for step in steps]
    for step, phase_ns in zip(steps, found, strict=True):
        assert sum(phase_ns.values()) == step["host_ns"]
        assert phase_ns["other"] >= 0
        assert phase_ns["input_wait"] > 0
    # not in each: the process may lose its core anywhere
    assert median(phase_ns["compute"] for phase_ns in found) > median(phase_ns["other"] for phase_ns in found)


def test_validation_lies_between_the_steps(recorded):
    run, *_ = recorded
    first, second = run.validation
    assert run.steps[3].end <= first.start
    assert first.end <= run.steps[4].start
    assert run.steps[7].end <= second.start
    assert (first.step, second.step) == (-1, -1)


def test_the_worker_says_who_it_is_and_that_it_ended(recorded):
    run, _, _, after_first = recorded
    assert (run.meta["framework"], run.meta["rank"], run.meta["world_size"]) == ("tensorflow", 0, 1)
    assert {"python", "stepscope", "tensorflow", "keras"} <= set(run.meta["versions"])
    assert run.meta["overhead"]["hook_ns_per_step"] > 0
    # complete after each fit, not just at the end
    assert after_first.meta["ended_ns"] is not None
    assert len(after_first.steps) == 8
    assert run.meta["ended_ns"] > after_first.meta["ended_ns"]


def test_the_model_is_left_as_it_was(tmp_path, tf):
    from tensorflow.python.data.ops.iterator_ops import OwnedIterator

    get_next, next_ = OwnedIterator.get_next, OwnedIterator.__next__
    model = make_model()
    hook = callback(tmp_path / "run")
    fit(model, [hook], batches=1)
    assert OwnedIterator.get_next is get_next
    assert OwnedIterator.__next__ is next_
    assert model.train_function.__module__.startswith("keras.")


def slow_batches(tf, batches, sleep_s, produced_ns=None):
    """Batches that a generator yields late; ``produced_ns`` gets the Unix time of each."""
    x, y = arrays(1)

    def produce():
        for _ in range(batches):
            time.sleep(sleep_s)
            if produced_ns is not None:
                produced_ns.append(time.time_ns())
            with stepscope.annotate("produce"):
                yield x, y

    signature = (tf.TensorSpec((BATCH, SIZE)), tf.TensorSpec((BATCH, 1)))
    return tf.data.Dataset.from_generator(produce, output_signature=signature)


@pytest.mark.parametrize("run_eagerly", [False, True])
def test_a_slow_dataset_is_input_wait_and_its_end_is_no_step(tmp_path, tf, run_eagerly):
    """5 batches of unknown number, each 30 ms late: Keras finds the end only by asking for a sixth."""
    hook = callback(tmp_path / "run")
    model = make_model(run_eagerly=run_eagerly)
    produced_ns = []
    model.fit(slow_batches(tf, 5, 0.03, produced_ns), epochs=2, verbose=0, callbacks=[hook])
    hook.close()
    run = read(tmp_path / "run")
    assert [s.step for s in run.steps] == list(range(10))
    for step, produced in zip(run.steps, produced_ns, strict=True):
        [wait] = [p for p in run.of_step(step.step) if p.name == "input_wait"]
        assert wait.end > produced - 1_000_000  # nobody has a batch before it is made (clocks agree to 1 ms)
    assert {a.name for a in run.annotations} == {"produce"}


def test_a_model_trained_before_is_split_too(tmp_path):
    """Its train function was compiled without timestamps; the callback has Keras make it anew, results stay."""
    hook = callback(tmp_path / "run")
    model, plain = make_model(), make_model()
    assert [fit(model, []), fit(model, [hook]), fit(model, []), fit(model, [hook])] == [
        fit(plain, []) for _ in range(4)
    ]
    hook.close()
    run = read(tmp_path / "run")
    assert [s.step for s in run.steps] == list(range(8))
    assert all({p.name for p in run.of_step(s.step)} == {"input_wait", "compute"} for s in run.steps)


def test_steps_per_execution_are_counted_and_averaged(tmp_path):
    """8 batches, 3 an execution: 3, 3 and 2 steps an epoch."""
    hook = callback(tmp_path / "run")
    losses = fit(make_model(steps_per_execution=3), [hook], batches=8, epochs=2)
    hook.close()
    assert losses == fit(make_model(steps_per_execution=3), [], batches=8, epochs=2)
    run = read(tmp_path / "run")
    assert [s.step for s in run.steps] == list(range(16))
    assert [s.args for s in run.steps] == [{"averaged": k} for k in (3, 3, 3, 3, 3, 3, 2, 2)] * 2
    for first in (0, 3, 8, 11):
        a, b, c = run.steps[first : first + 3]
        assert (a.end, b.end) == (b.start, c.start)
        assert max(a.dur, b.dur, c.dur) - min(a.dur, b.dur, c.dur) <= 1
    assert run.phases == []  # unknown, which is not 0
    assert run.notes["phases_unknown"].count == 16
    assert run.meta["phases"] == ["validation"]


def test_steps_per_execution_of_a_dataset_of_unknown_length(tmp_path, tf):
    hook = callback(tmp_path / "run")
    model = make_model(steps_per_execution=3)
    model.fit(slow_batches(tf, 5, 0), epochs=1, verbose=0, callbacks=[hook])
    hook.close()
    assert [s.args["averaged"] for s in read(tmp_path / "run").steps] == [3, 3, 3, 2, 2]


def test_train_on_batch_with_a_callback_list(tmp_path):
    import keras

    hook = callback(tmp_path / "run")
    model = make_model()
    x, y = arrays(1)
    hooks = keras.callbacks.CallbackList([hook], model=model)
    hooks.on_train_begin()
    for batch in range(3):
        hooks.on_train_batch_begin(batch)
        model.train_on_batch(x, y)
        hooks.on_train_batch_end(batch)
    hooks.on_train_end()
    hook.close()
    run = read(tmp_path / "run")
    assert [s.step for s in run.steps] == [0, 1, 2]
    # the batch was given, so that all of the call is compute
    assert {p.name for p in run.of_step(2)} == {"compute"}


def test_several_replicas(tmp_path, tf):
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with strategy.scope():
        model = make_model()
    hook = callback(tmp_path / "run")
    fit(model, [hook], batches=3)
    hook.close()
    run = read(tmp_path / "run")
    assert [s.step for s in run.steps] == [0, 1, 2]
    assert all({p.name for p in run.of_step(s.step)} == {"input_wait", "compute"} for s in run.steps)


class Boom(Exception):
    pass


def test_the_scripts_own_exception_passes_and_leaves_an_incomplete_step(tmp_path, tf):
    def produce():
        x, y = arrays(1)
        yield x, y
        yield x, y
        raise Boom

    signature = (tf.TensorSpec((BATCH, SIZE)), tf.TensorSpec((BATCH, 1)))
    dataset = tf.data.Dataset.from_generator(produce, output_signature=signature)
    hook = callback(tmp_path / "run")
    model = make_model()
    with pytest.raises(tf.errors.UnknownError, match="Boom"):
        model.fit(dataset, verbose=0, callbacks=[hook])
    assert model.train_function.__module__.startswith("keras.")
    run = read(tmp_path / "run")
    assert [s.args for s in run.steps] == [{}, {}, {"complete": False}]
    assert run.meta["ended_ns"] is not None
    # the same callback goes on with the next training
    fit(model, [hook], batches=1)
    hook.close()
    assert [s.step for s in read(tmp_path / "run").steps] == [0, 1, 2, 3]


@pytest.mark.parametrize("where", ["before_step", "step_row", "after_step", "phase_rows"])
def test_an_error_of_ours_never_reaches_the_training(tmp_path, monkeypatch, where, caplog, plain_losses):
    from stepscope_tf.session import Session

    def fail(*args, **kwargs):
        raise Boom(where)

    monkeypatch.setattr(Session, where, fail)
    hook = callback(tmp_path / "run")
    assert fit(make_model(), [hook]) == plain_losses
    hook.close()
    run = read(tmp_path / "run")
    assert run.notes["hook_failed"].count == 1
    assert where in run.notes["hook_failed"].detail
    assert len([r for r in caplog.records if "switched off" in r.message]) == 1


def test_a_probe_that_fails_costs_the_phases_only(tmp_path, monkeypatch):
    from stepscope_tf.input_wait import InputProbe

    def fail(*args):
        raise Boom

    monkeypatch.setattr(InputProbe, "take", fail)
    hook = callback(tmp_path / "run")
    fit(make_model(), [hook])
    hook.close()
    run = read(tmp_path / "run")
    assert len(run.steps) == 4
    assert run.phases == []
    assert {"hook_failed", "phases_unknown"} == set(run.notes)


def test_an_unwritable_folder_is_said_once_and_training_goes_on(tmp_path, caplog, plain_losses):
    (tmp_path / "file").write_text("in the way")
    hook = callback(tmp_path / "file" / "run", window=(1, 1), monitor_interval_ms=500)
    model = make_model()
    assert fit(model, [hook]) == plain_losses
    fit(model, [hook])
    hook.close()
    warnings = [r.message for r in caplog.records if r.name == "stepscope"]
    assert len(warnings) == 1
    assert str(tmp_path / "file") in warnings[0]


def test_a_second_recording_stays_off_while_the_first_runs(tmp_path, caplog):
    first, second = callback(tmp_path / "first"), callback(tmp_path / "second")
    fit(make_model(), [first, second], batches=2)
    first.close()
    second.close()
    assert len(read(tmp_path / "first").steps) == 2
    assert not (tmp_path / "second").exists()
    assert "second" in caplog.text


def test_a_new_callback_ends_the_one_that_rests(tmp_path):
    first, second = callback(tmp_path / "first"), callback(tmp_path / "second")
    model = make_model()
    fit(model, [first], batches=2)
    fit(model, [second], batches=3)
    second.close()
    assert len(read(tmp_path / "first").steps) == 2
    run = read(tmp_path / "second")
    assert [s.step for s in run.steps] == [0, 1, 2]
    assert len(run.phases) == 3 * 3  # compute, input_wait, compute


def test_a_copy_records_anew(tmp_path):
    hook = callback(tmp_path / "run", window=(5, 2))
    twin = copy.deepcopy(hook)
    assert type(twin) is type(hook)
    assert twin._session is not hook._session
    assert twin._session.plan == hook._session.plan


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"monitor_interval_ms": 250}, "100, 200, 500, 1000, 5000, 60000"),
        ({"window": 5}, "first step, steps"),
        ({"window": (3,)}, "first step, steps"),
        ({"window": (-1, 2)}, "at least"),
        ({"window": (0, 0)}, "at least"),
        ({"window": (0.5, 1)}, "at least"),
    ],
)
def test_arguments_that_make_no_sense_are_refused_before_training(tmp_path, arguments, message):
    from stepscope_tf import ProfilerCallback

    with pytest.raises(StepscopeError, match=message):
        ProfilerCallback(tmp_path / "run", **arguments)
    assert not (tmp_path / "run").exists()


def test_a_fit_that_was_interrupted_gives_way_to_the_next_one(tmp_path, tf):
    """Its callbacks do not hear of the end. One that trains within another fit's callback is no next one."""
    inner, model = make_model(), make_model()

    class Other(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 1:
                fit(inner, [callback(tmp_path / "refused")])
            if batch == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(model, [callback(tmp_path / "a"), Other()])
    hook = callback(tmp_path / "b")
    fit(model, [hook])
    hook.close()
    assert not (tmp_path / "refused").exists()
    assert "never_stopped" in read(tmp_path / "a").notes
    assert [step.step for step in read(tmp_path / "b").steps] == [0, 1, 2, 3]


def test_a_session_of_an_earlier_cell_is_ended_by_the_next_one(tmp_path, monkeypatch, tf):
    """A custom loop, say, that was interrupted: nothing tells that it is over but the next cell."""
    cells = SimpleNamespace(execution_count=1)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: cells))
    old = callback(tmp_path / "a")
    old.set_model(make_model())
    old.on_train_begin()  # by no fit
    fit(make_model(), [callback(tmp_path / "refused")])
    cells.execution_count = 2
    hook = callback(tmp_path / "b")
    fit(make_model(), [hook])
    hook.close()
    assert not (tmp_path / "refused").exists()
    assert "never_stopped" in read(tmp_path / "a").notes
    assert [step.step for step in read(tmp_path / "b").steps] == [0, 1, 2, 3]
