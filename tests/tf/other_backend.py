"""Trains on the Keras backend of KERAS_BACKEND, with and without the callback; run by test_other_backends.py.

The first argument is a folder for one run a case; printed is a dictionary of what was the same.
"""

import json
import sys
import time
from pathlib import Path

import keras
import numpy as np

import stepscope
from stepscope_tf import ProfilerCallback

loads_tensorflow = "tensorflow" in sys.modules
ROOT = Path(sys.argv[1])
BACKEND = keras.backend.backend()
X = np.random.default_rng(0).random((64, 8), dtype=np.float32)
Y = X[:, :1]
same = {}
told = {}


class Boom(Exception):
    pass


class Slow(keras.utils.PyDataset):
    """Batches that are 20 ms late; with ``fails`` all after the sixth, of which Keras takes some before it trains."""

    def __init__(self, batches=4, fails=False):
        super().__init__()
        self.batches = batches
        self.left = 6 if fails else 1000

    def __len__(self):
        return self.batches

    def __getitem__(self, index):
        self.left -= 1
        if self.left < 0:
            raise Boom
        with stepscope.annotate("produce"):
            time.sleep(0.02)
        return X[:16], Y[:16]


class Failing(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        if batch == 2:
            self.model.layers[0].call = self.fail

    def fail(self, *args, **kwargs):
        raise Boom


class Watch(keras.callbacks.Callback):
    """Whether Keras hands ``on_train_batch_end`` to its threads, as it does without a callback of ours."""

    asynchronous = None

    def on_epoch_begin(self, epoch, logs=None):
        frame = sys._getframe()
        while "callbacks" not in frame.f_locals or not hasattr(frame.f_locals["callbacks"], "_async_train"):
            frame = frame.f_back
        Watch.asynchronous = frame.f_locals["callbacks"]._async_train


def make_model(**options):
    keras.utils.set_random_seed(1)
    layers = [keras.Input((8,)), keras.layers.Dense(8), keras.layers.Dropout(0.3), keras.layers.Dense(1)]
    model = keras.Sequential(layers)
    model.compile("adam", "mse", **options)
    return model


def hook(name, window=None):
    # no budget: on a busy machine any fit may take the 10 s after which it is judged
    return ProfilerCallback(ROOT / name, monitor_interval_ms=0, window=window, overhead_budget=None)


def compare(name, train, window=None, **options):
    """``train(model, callbacks)`` with and without the callback: results and weights to the last bit."""
    ours = hook(name, window)
    results = []
    for callbacks in ([ours], []):
        model = make_model(**options)
        results.append((train(model, callbacks), [np.asarray(w).tolist() for w in model.get_weights()]))
    ours.close()
    same[name] = results[0] == results[1]


def fit(model, callbacks, **options):
    return model.fit(X, Y, **{"batch_size": 16, "verbose": 0, "callbacks": callbacks, **options}).history


def several_fits(model, callbacks):
    first = fit(model, [*callbacks, Watch()], epochs=2, validation_data=(X[:32], Y[:32]))
    return first, fit(model, callbacks, epochs=3, initial_epoch=2)


def on_batches(model, callbacks):
    hooks = keras.callbacks.CallbackList(callbacks, model=model)
    hooks.on_train_begin()
    losses = []
    for batch in range(3):
        hooks.on_train_batch_begin(batch)
        losses.append(float(model.train_on_batch(X[:16], Y[:16])))
        hooks.on_train_batch_end(batch)
    hooks.on_train_end()
    return losses


def open_phases(model, callbacks):
    """What is told to be open where a fit is known to be."""
    seen = []

    def look(*_):
        if callbacks:
            activity = callbacks[0]._session.activity()
            seen.append([activity.phase, activity.step])

    class Looks(keras.utils.PyDataset):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            look()
            return X[:16], Y[:16]

    class Layer(keras.layers.Layer):
        def call(self, x):
            look()
            return x

    class Hooks(keras.callbacks.Callback):
        on_epoch_end = look

    inputs = keras.Input((8,))
    model = keras.Model(inputs, keras.layers.Dense(1)(Layer()(inputs)))

    model.compile("sgd", "mse", run_eagerly=True)
    validation = (X[:16], Y[:16])
    model.fit(Looks(), verbose=0, shuffle=False, callbacks=[*callbacks, Hooks()], validation_data=validation)
    if callbacks:
        told["open"] = seen[-6:]


class Annotate(keras.callbacks.Callback):
    """Regions that begin in a step and end in the next one, so that one is open when a window ends."""

    region = None

    def on_train_batch_begin(self, batch, logs=None):
        if self.region is not None:
            self.region.__exit__(None, None, None)
        self.region = stepscope.annotate("mine")
        self.region.__enter__()


class Rival(keras.callbacks.Callback):
    """A profiler that the script starts during a window."""

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 1:
            if BACKEND == "jax":
                import jax

                jax.profiler.start_trace(str(ROOT / "theirs"))
            else:
                import torch

                self.profile = torch.profiler.profile()
                self.profile.start()

    def on_epoch_end(self, epoch, logs=None):
        if epoch == 1:
            if BACKEND == "jax":
                import jax

                jax.profiler.stop_trace()
                told["theirs"] = bool(list((ROOT / "theirs").rglob("*.xplane.pb")))
            else:
                self.profile.stop()
                told["theirs"] = len(self.profile.events()) > 0


def failing(name, train):
    ours = hook(name)
    model = make_model(run_eagerly=True)
    before = model.train_function
    try:
        train(model, ours)
        raise AssertionError("it was to fail")
    except Boom:
        pass
    same[name] = getattr(model.train_function, "_stepscope_original", before) is before
    ours.close()


compare("several_fits", several_fits)
compare("eager", fit, run_eagerly=True)
if BACKEND == "jax":  # torch.compile needs a C++ compiler
    compare("jit", fit, jit_compile=True)
compare("no_jit", fit, jit_compile=False)
compare("on_batches", on_batches)
compare("open_phases", open_phases)
# a region of the training thread: Keras hands on_train_batch_end to another one
compare("window", lambda m, c: fit(m, [*c, Annotate()], epochs=3), window=(2, 4))
losing = hook("not_finite")
fit(make_model(), [losing], batch_size=64, epochs=1)
make_model().fit(X, Y * np.nan, verbose=0, callbacks=[losing])
losing.close()
compare("rival", lambda m, c: fit(m, [*c, Rival()], epochs=3), window=(1, 100))
compare("slow", lambda model, callbacks: model.fit(Slow(), verbose=0, callbacks=callbacks).history)
if BACKEND == "jax":  # torch has one step an execution only
    compare("executions", lambda m, c: fit(m, c, batch_size=8, epochs=2), steps_per_execution=3)
failing("fails_in_step", lambda model, ours: fit(model, [ours, Failing()]))
failing("fails_in_data", lambda model, ours: model.fit(Slow(10, fails=True), verbose=0, callbacks=[ours]))

print(json.dumps({"same": same, "asynchronous": Watch.asynchronous, "tensorflow": loads_tensorflow} | told))
