"""The Keras callback on the torch and JAX backends: each call of the train function is a step.

There Keras runs ``on_train_batch_end`` in other threads unless some callback has one, which makes it wait for the
device after every step. So this one has none, and takes the times around the train function instead.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import keras

from stepscope_tf import environment
from stepscope_tf.keras_base import KerasCallback, guarded
from stepscope_tf.steps import logical_steps, split_evenly

_FRAMEWORKS = {"torch": "pytorch"}


class ProfilerCallback(KerasCallback):
    """Records a Keras training on the torch or the JAX backend: steps and validation, no deep window.

    A step is the time of one call of the train function on the host; a GPU may go on after it. On torch the batch
    is fetched before the call, so all of it is ``compute`` and input wait is unknown; on JAX it is fetched in the
    call, so that neither is known.
    """

    def _prepare(self) -> None:
        self._owner: Any = None  # the model whose train function is replaced
        self._original: Any = None
        self._timed: Any = None
        self._batch = 0

    @guarded
    def on_train_batch_begin(self, batch: int, logs: dict | None = None) -> None:
        self._batch = batch
        self._wrap_train_function()

    def _open(self) -> bool:
        backend = keras.backend.backend()
        framework = _FRAMEWORKS.get(backend, backend)
        if not self._session.open(framework, environment.place(), [], self._versions()):
            return False
        self._session.note(
            "host_time_only",
            "On this Keras backend a step is the time of a call on the host; a GPU may go on after it.",
        )
        if self._session.plan is not None:
            self._session.note(
                "requested_but_absent", f"No deep window: Keras runs on {backend}, and only TensorFlow's is taken."
            )
        return True

    def _begin_training(self) -> None:
        self._remove_hooks()
        self._wrap_train_function()

    def _wrap_train_function(self) -> None:
        function = getattr(self.model, "train_function", None)
        if function is None or function is self._timed:
            return
        self._owner = self.model
        self._original = getattr(function, "_stepscope_original", function)
        self._timed = self._timed_function(self._original)
        self.model.train_function = self._timed

    def _timed_function(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def train_function(*args: Any, **kwargs: Any) -> Any:
            self._before_call()
            start_ns = perf_counter_ns()
            result = original(*args, **kwargs)
            self._after_call(start_ns, perf_counter_ns())
            return result

        train_function._stepscope_original = original  # type: ignore[attr-defined]
        return train_function

    @guarded
    def _before_call(self) -> None:
        self._session.before_step()

    @guarded
    def _after_call(self, start_ns: int, end_ns: int) -> None:
        session = self._session
        per_execution = getattr(self.model, "steps_per_execution", 1) or 1
        per_epoch = self.params.get("steps") if self.params else None
        count = logical_steps(self._batch, self._batch + per_execution - 1, per_epoch)
        args = None if count == 1 else {"averaged": count}
        is_compute = keras.backend.backend() == "torch"
        for begin_ns, stop_ns in split_evenly(start_ns, end_ns, count):
            session.step_row(session.next_step, begin_ns, stop_ns, args)
            if is_compute:
                session.phase_row("compute", session.next_step, begin_ns, stop_ns)
            session.next_step += 1
        session.see_phases(*(["compute"] if is_compute else []), "validation")
        session.hook_ns.append(perf_counter_ns() - end_ns)
        session.after_step()

    def _remove_hooks(self) -> None:
        if self._timed is not None and self._owner.train_function is self._timed:
            self._owner.train_function = self._original
        self._owner = self._timed = self._original = None
