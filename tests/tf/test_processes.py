"""What needs a process of its own: imports, a killed training."""

import os
import subprocess
import sys
import textwrap

from tests.tf.conftest import read


def run_python(code, *arguments, **env):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", **env},
        check=False,
    )


def test_importing_the_package_imports_no_framework():
    done = run_python("""
        import sys, stepscope_tf
        print([m for m in ("keras", "tensorflow", "torch") if m in sys.modules])
        stepscope_tf.step, stepscope_tf.data
        print([m for m in ("keras", "tensorflow", "torch") if m in sys.modules])
    """)
    assert done.stdout.splitlines() == ["[]", "[]"], done.stderr


KILLED = """
    import os, signal, sys, time
    import keras, numpy as np, tensorflow as tf
    from stepscope.runs import open_run
    from stepscope_tf import ProfilerCallback

    def has_samples():  # the monitor's process starts late on a busy machine
        (worker,) = open_run(sys.argv[1]).workers
        return worker.monitor() is not None

    class Kill(keras.callbacks.Callback):
        before = trained = 0.0

        def on_train_batch_end(self, batch, logs=None):
            now = time.monotonic()
            if batch > 20:  # what is longer is time in which the process was given no core
                self.trained += min(now - self.before, 0.05)
            self.before = now
            if self.trained > 2.5 and has_samples():
                print(batch, flush=True)
                os.kill(os.getpid(), signal.SIGKILL)

    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.zeros((4, 8), "float32")
    data = tf.data.Dataset.from_tensors((x, x[:, :1])).repeat()
    model.fit(data, steps_per_epoch=10**6, verbose=0, callbacks=[ProfilerCallback(sys.argv[1]), Kill()])
"""


def test_a_killed_training_leaves_a_readable_run(tmp_path):
    """The last step came after 2.5 s of training from step 20 on, and at most the last second is lost."""
    done = run_python(KILLED, tmp_path / "run")
    assert done.returncode == -9, done.stderr
    run = read(tmp_path / "run")
    assert [s.step for s in run.steps] == list(range(len(run.steps)))
    assert len(run.steps) > 20
    assert {p.name for p in run.of_step(20)} == {"compute", "input_wait"}
    assert run.meta["ended_ns"] is None
    assert run.worker.monitor().num_rows > 0
