"""Windows that are asked for over the run folder while Keras trains."""

from __future__ import annotations

import time

import pytest

from stepscope.control import Request, ask, responses
from stepscope.runs import open_run
from stepscope.schema import Kind
from tests.tf.conftest import fit, make_model

PATIENCE_S = 300


def make_asking_callback(hook, **fields):
    """Keras' own kind of callback: asks after the fourth batch, and ends the training when it has its answer."""
    import keras

    class Asking(keras.callbacks.Callback):
        batches = 0
        answer = None

        def on_train_batch_end(self, batch, logs=None):
            self.batches += 1
            worker = hook._session.recorder.folder.id
            if self.batches == 4:
                self.deadline = time.monotonic() + PATIENCE_S
                request = Request("capture", [worker], time.time_ns() + PATIENCE_S * 10**9, **fields)
                self.id = ask(hook._run, request)
            elif self.batches > 4:
                time.sleep(0.01)  # the writer thread looks twice a second, and is to look before the fit is over
                said = responses(hook._run, self.id, [worker]).get(worker)
                if said is not None and said.state != "accepted":
                    self.answer = said
                if self.answer is not None or time.monotonic() > self.deadline:
                    self.model.stop_training = True

    return Asking()


@pytest.mark.parametrize("window", [None, (1, 2)])
def test_a_window_on_demand(tf, tmp_path, window):
    from stepscope_tf import ProfilerCallback

    # No window after a slow step, of which a busy machine has many.
    options = {"monitor_interval_ms": None, "overhead_budget": None, "flight_recorder": False}
    hook = ProfilerCallback(tmp_path, window=window, **options)
    asking = make_asking_callback(hook, steps=2, at_step=6)
    fit(make_model(), [hook, asking], batches=20, epochs=10_000)
    assert asking.answer is not None
    assert asking.answer.state == "done", asking.answer
    (worker,) = open_run(tmp_path).workers
    assert asking.answer.window == worker.window_ids()[-1] == ("000002" if window else "000001")
    taken = worker.window(asking.answer.window)
    assert taken.header["stepscope"]["reason"] == {"why": "on_demand"}
    assert asking.answer.first_step >= 6
    first = asking.answer.first_step
    assert taken.events.step[taken.events.of_kind(Kind.STEP)].tolist() == [first, first + 1]
