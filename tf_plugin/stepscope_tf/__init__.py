"""The TensorFlow and Keras hook of stepscope.

>>> from stepscope_tf import ProfilerCallback
>>> model.fit(x, y, callbacks=[ProfilerCallback("runs/exp1")])  # doctest: +SKIP

Custom loops use ``Profiler``, ``step`` and ``data``. Importing this package imports neither Keras nor TensorFlow:
a name does that when it is first used, so that a script on another Keras backend never loads TensorFlow for it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepscope_tf.keras_tensorflow import ProfilerCallback
    from stepscope_tf.loop import Profiler, data, step

__all__ = ["Profiler", "ProfilerCallback", "data", "step"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _callback_module() if name == "ProfilerCallback" else "stepscope_tf.loop"
    value = globals()[name] = getattr(importlib.import_module(module), name)
    return value


def _callback_module() -> str:
    """Only on TensorFlow may a callback have an ``on_train_batch_end``: elsewhere it makes Keras synchronise."""
    import keras

    return "stepscope_tf.keras_tensorflow" if keras.backend.backend() == "tensorflow" else "stepscope_tf.keras_other"
