"""Tiny Keras models, and what a recording of them holds. TensorFlow is imported once for all tests here."""

from __future__ import annotations

import os
from types import SimpleNamespace

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from stepscope.runs import open_run
from stepscope.schema import NONE, Kind

SIZE = 8
BATCH = 16


@pytest.fixture(scope="session")
def tf():
    tensorflow = pytest.importorskip("tensorflow")
    keras = pytest.importorskip("keras")
    if keras.backend.backend() != "tensorflow":
        pytest.skip("Keras runs on another backend")
    return tensorflow


@pytest.fixture(autouse=True)
def _no_recording_is_left():
    """A test must not find the session of the one before it."""
    yield
    from stepscope_tf import session

    if session.current is not None:
        session.current.close()


def make_model(**compile_options):
    """A model with dropout, so that its losses depend on every random number drawn."""
    import keras

    keras.utils.set_random_seed(1)
    layers = [keras.Input((SIZE,)), keras.layers.Dense(8), keras.layers.Dropout(0.3), keras.layers.Dense(1)]
    model = keras.Sequential(layers)
    model.compile("adam", "mse", **compile_options)
    return model


def arrays(batches: int):
    x = np.random.default_rng(0).random((batches * BATCH, SIZE), dtype=np.float32)
    return x, x.sum(axis=1, keepdims=True)


def fit(model, callbacks, batches=4, **options):
    """The losses of each epoch."""
    x, y = arrays(batches)
    return model.fit(x, y, batch_size=BATCH, verbose=0, callbacks=callbacks, **options).history


@pytest.fixture(scope="session")
def plain_losses(tf):
    """Of ``fit(make_model(), [])``."""
    return fit(make_model(), [])


def read(run):
    """The recording of the run's one worker: ``steps`` and ``phases`` as rows, ``meta``, ``notes`` by code."""
    [worker] = open_run(run).workers
    events = worker.live()

    def rows(kind):
        found = [
            SimpleNamespace(
                name=events.text(i),
                start=int(events.ts_ns[i]),
                end=int(events.end_ns[i]),
                dur=int(events.dur_ns[i]),
                step=int(events.step[i]),
                args=events.args_of(i),
            )
            for i in np.flatnonzero(events.of_kind(kind))
        ]
        return sorted(found, key=lambda row: row.start)

    phases = rows(Kind.PHASE)
    return SimpleNamespace(
        worker=worker,
        events=events,
        meta=worker.meta,
        notes={n.code: n for n in worker.notes},
        steps=rows(Kind.STEP),
        phases=[p for p in phases if p.step != NONE],
        validation=[p for p in phases if p.name == "validation"],
        annotations=rows(Kind.ANNOTATION),
        stalls=rows(Kind.OVERHEAD),
        of_step=lambda n: [p for p in phases if p.step == n],
    )
