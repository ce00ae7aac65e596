"""What of a Keras training is told to be open while it hangs: where in its step it is held."""

from __future__ import annotations

import time

import pytest

from stepscope.doctor import examine
from stepscope.runs import open_run
from tests.tf.conftest import BATCH, arrays, make_model

STEP = 2
#: Nothing here waits so long; it is what a failing test takes.
PATIENCE_S = 300


def what_doctor_tells(run, step, where):
    """The phase that is open in the step, once it is the expected one; the training that waits for this hangs until
    then. It may first be one before that, where the machine is slow."""
    deadline = time.monotonic() + PATIENCE_S
    phase = None
    while phase != where and time.monotonic() < deadline:
        time.sleep(0.02)
        (worker,) = examine(open_run(run)).workers
        if worker.open is not None and worker.open["step"] == step:
            phase = worker.open["phase"]
    return phase


def dataset(tf, at_batch=lambda batch: None):
    x, y = arrays(4)

    def batches():
        for batch in range(4):
            at_batch(batch)
            yield x[batch * BATCH : (batch + 1) * BATCH], y[batch * BATCH : (batch + 1) * BATCH]

    signature = (tf.TensorSpec((BATCH, 8), tf.float32), tf.TensorSpec((BATCH, 1), tf.float32))
    return tf.data.Dataset.from_generator(batches, output_signature=signature)


@pytest.mark.parametrize(
    ("where", "eagerly"),
    [("input_wait", False), ("input_wait", True), ("compute", False), ("compute", True), ("validation", False)],
)
def test_a_hang_in_each_phase(tf, tmp_path, monkeypatch, where, eagerly):
    import keras

    from stepscope_tf import ProfilerCallback

    monkeypatch.setattr("stepscope.watch.NOTED_AFTER_S", 0.05)
    told = []

    def hang(is_time):
        if is_time and not told:
            told.append(what_doctor_tells(tmp_path, None if where == "validation" else STEP, where))

    class Hooks(keras.callbacks.Callback):
        batch = 0

        def on_train_batch_begin(self, batch, logs=None):
            self.batch = batch

        def on_test_begin(self, logs=None):
            hang(where == "validation")

    hooks = Hooks()

    def loss(y, prediction):
        # given the batch: else it may run before that is fetched
        tf.py_function(lambda _: hang(where == "compute" and hooks.batch == STEP), [y], [])
        return keras.ops.mean(keras.ops.square(y - prediction))

    hook = ProfilerCallback(tmp_path, window=None, monitor_interval_ms=None, overhead_budget=None)
    model = make_model()
    model.compile("sgd", loss, run_eagerly=eagerly)
    data = dataset(tf, lambda batch: hang(where == "input_wait" and batch == STEP))
    model.fit(data, verbose=0, callbacks=[hook, hooks], validation_data=dataset(tf))
    hook.close()
    assert told == [where]
    assert examine(open_run(tmp_path)).workers[0].open is None


@pytest.mark.parametrize("where", ["input_wait", "compute"])
def test_a_hang_in_a_loop_of_ones_own(tf, tmp_path, monkeypatch, where):
    from stepscope_tf import Profiler, data, step

    monkeypatch.setattr("stepscope.watch.NOTED_AFTER_S", 0.05)
    told = []

    def batches():
        for batch in range(3):
            if where == "input_wait" and batch == STEP:
                told.append(what_doctor_tells(tmp_path, None, where))
            yield batch

    with Profiler(tmp_path, window=None, monitor_interval_ms=None, overhead_budget=None):
        for batch in data(batches()):
            with step():
                if where == "compute" and batch == STEP:
                    told.append(what_doctor_tells(tmp_path, STEP, where))
    assert told == [where]
