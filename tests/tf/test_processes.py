"""What needs a process of its own: other backends, imports, a killed training."""

import json
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


TORCH = """
    import json, sys
    import keras
    from stepscope_tf import ProfilerCallback
    assert "tensorflow" not in sys.modules

    def losses(callbacks):
        keras.utils.set_random_seed(1)
        model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(8), keras.layers.Dense(1)])
        model.compile("adam", "mse")
        x = keras.random.uniform((64, 8), seed=0)
        fit = dict(batch_size=16, epochs=2, verbose=0, validation_data=(x, x[:, :1]), callbacks=callbacks)
        return model.fit(x, x[:, :1], **fit).history

    class Watch(keras.callbacks.Callback):
        asynchronous = None

        def on_epoch_begin(self, epoch, logs=None):
            frame = sys._getframe()
            while "callbacks" not in frame.f_locals or not hasattr(frame.f_locals["callbacks"], "_async_train"):
                frame = frame.f_back
            Watch.asynchronous = frame.f_locals["callbacks"]._async_train

    hook = ProfilerCallback(sys.argv[1], monitor_interval_ms=0)
    same = losses([hook, Watch()]) == losses([])
    hook.close()
    print(json.dumps({"same": same, "asynchronous": Watch.asynchronous}))
"""


def test_keras_on_torch(tmp_path):
    """Steps and validation, no deep window, and Keras goes on handing ``on_train_batch_end`` to its threads."""
    done = run_python(TORCH, tmp_path / "run", KERAS_BACKEND="torch")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told == {"same": True, "asynchronous": True}
    run = read(tmp_path / "run")
    assert run.meta["framework"] == "pytorch"
    assert [s.step for s in run.steps] == list(range(8))
    assert all([p.name for p in run.of_step(s.step)] == ["compute"] for s in run.steps)
    assert len(run.validation) == 2
    assert set(run.meta["phases"]) == {"compute", "validation"}
    assert set(run.notes) == {"requested_but_absent", "host_time_only"}


KILLED = """
    import os, signal, sys, time
    import keras, numpy as np, tensorflow as tf
    from stepscope_tf import ProfilerCallback

    class Kill(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 20:
                self.since = time.monotonic()
            if batch > 20 and time.monotonic() - self.since > 1.2:
                print(batch, flush=True)
                os.kill(os.getpid(), signal.SIGKILL)

    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.zeros((4, 8), "float32")
    data = tf.data.Dataset.from_tensors((x, x[:, :1])).repeat()
    model.fit(data, steps_per_epoch=10**6, verbose=0, callbacks=[ProfilerCallback(sys.argv[1]), Kill()])
"""


def test_a_killed_training_leaves_a_readable_run(tmp_path):
    """The last step came 1.2 s after step 20, and at most the last second is lost."""
    done = run_python(KILLED, tmp_path / "run")
    assert done.returncode == -9, done.stderr
    run = read(tmp_path / "run")
    assert [s.step for s in run.steps] == list(range(len(run.steps)))
    assert len(run.steps) > 20
    assert {p.name for p in run.of_step(20)} == {"compute", "input_wait"}
    assert run.meta["ended_ns"] is None
    assert run.worker.monitor().num_rows > 0
