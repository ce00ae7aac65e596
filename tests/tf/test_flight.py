"""Losses that are no numbers, and exceptions that end a training, in Keras."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.doctor import examine
from stepscope.runs import open_run
from tests.tf.conftest import BATCH, arrays, make_model, read


def test_a_loss_that_is_no_number(tf, tmp_path):
    from stepscope_tf import ProfilerCallback

    x, y = arrays(6)
    y[3 * BATCH :] = np.nan
    hook = ProfilerCallback(tmp_path, window=None, monitor_interval_ms=None, overhead_budget=None)
    make_model().fit(x, y, batch_size=BATCH, verbose=0, shuffle=False, callbacks=[hook])
    hook.close()
    assert read(tmp_path).notes["loss_not_finite"].detail == "The loss was nan in step 3."


def test_a_loss_of_a_loop_of_ones_own(tf, tmp_path):
    from stepscope_tf import Profiler, step

    with Profiler(tmp_path, window=None, monitor_interval_ms=None, overhead_budget=None) as prof:
        for value in (1.0, tf.constant(np.inf), "no number"):
            with step():
                pass
            prof.loss(value)
    notes = read(tmp_path).notes
    assert notes["loss_not_finite"].detail == "The loss was inf in step 1."
    assert "hook_failed" in notes


def test_an_exception_that_ends_the_training(tf, tmp_path):
    from stepscope_tf import ProfilerCallback

    x, y = arrays(6)

    def batches():
        for i in range(3):
            yield x[i * BATCH : (i + 1) * BATCH], y[i * BATCH : (i + 1) * BATCH]
        raise OSError("no such sample")

    data = tf.data.Dataset.from_generator(
        batches, output_signature=(tf.TensorSpec((BATCH, 8), tf.float32), tf.TensorSpec((BATCH, 1), tf.float32))
    )
    hook = ProfilerCallback(tmp_path, window=None, monitor_interval_ms=None, overhead_budget=None)
    with pytest.raises(Exception, match="no such sample"):
        make_model().fit(data, verbose=0, callbacks=[hook])
    hook.close()
    (worker,) = examine(open_run(tmp_path)).workers
    assert worker.state == "failed"
    assert "no such sample" in worker.detail
    assert "in step 3" in worker.detail
