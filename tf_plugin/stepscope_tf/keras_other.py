"""The Keras callback on the torch and JAX backends: steps, input wait, compute, validation.

There Keras runs ``on_train_batch_end`` in other threads unless some callback has one, which makes it wait for the
device after every step. So this one has none, and takes the times where batches are fetched and around the train
function instead: on torch Keras' iterator fetches a batch before the call, on JAX the call takes an iterator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import get_ident
from time import perf_counter_ns
from typing import Any

import keras

from stepscope_tf import environment
from stepscope_tf.host_steps import HostSteps, Part
from stepscope_tf.keras_base import KerasCallback, guarded
from stepscope_tf.profilers import of_backend
from stepscope_tf.session import OpenPhase, Session

_FRAMEWORKS = {"torch": "pytorch"}

#: Calls what fetches a batch, and records when that began and ended.
Timed = Callable[[Callable[[], Any]], Any]


class _Rows:
    """Where ``HostSteps`` puts its steps: the session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.sees_fetches = False
        self.ends_epoch = False  # the step that is open, or comes next, is the last one of its epoch
        self._stall_ns = 0  # of deep windows, when the latest step began

    def begin(self, now: int) -> int:
        before_ns = self._stall_ns
        self._session.before_step()
        self._stall_ns = 0 if self._session.window is None else self._session.window.stall_ns
        return now if self._stall_ns == before_ns else perf_counter_ns()

    def computed(self) -> None:
        if self.ends_epoch:  # no fetch follows that would end it
            self._session.end_marker()

    def end(self, start_ns: int, end_ns: int, parts: list[Part], complete: bool) -> None:
        session = self._session
        session.end_marker()
        session.step_row(session.next_step, start_ns, end_ns, None if complete else {"complete": False})
        for name, begin_ns, stop_ns in parts:
            session.phase_row(name, session.next_step, begin_ns, stop_ns)
        session.see_phases(*(["input_wait"] if self.sees_fetches else []), "compute", "validation")
        session.next_step += 1
        session.after_step()

    def cancel(self) -> None:
        self._session.no_step()


class ProfilerCallback(KerasCallback):
    """Records a Keras training on the torch or the JAX backend: steps and their phases, and deep windows.

    A step begins where its batch is fetched and ends where the next one is; the last one of an epoch ends with its
    call. All times are those of the host: a GPU may go on after them. Phases of a step: ``input_wait``, ``compute``
    (forward, backward and optimizer are one call) and what remains, ``other``. On JAX the steps of one execution
    (``steps_per_execution``) are told apart by their fetches.
    """

    def _prepare(self) -> None:
        self._owner: Any = None  # the model whose train function is replaced
        self._original: Any = None
        self._timed: Any = None
        self._thread = 0
        self._is_validating = False
        self._rows = _Rows(self._session)
        self._steps = HostSteps(self._rows)
        self._patch = _FetchPatch(self._timed_fetch)

    # -- Keras' hooks --------------------------------------------------------------------------------

    @guarded
    def on_train_batch_begin(self, batch: int, logs: dict | None = None) -> None:
        self._wrap_train_function()
        per_epoch = self.params.get("steps") if self.params else None
        at_once = getattr(self.model, "steps_per_execution", None) or 1
        self._rows.ends_epoch = per_epoch is not None and batch + at_once >= per_epoch

    @guarded
    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        self._steps.finish()
        if logs:  # those of a step cannot be had without waiting for the device
            self._session.loss(logs.get("loss"))

    @guarded
    def on_test_begin(self, logs: dict | None = None) -> None:
        self._steps.finish()
        self._is_validating = True
        super().on_test_begin(logs)

    @guarded
    def on_test_end(self, logs: dict | None = None) -> None:
        super().on_test_end(logs)
        self._is_validating = False

    # -- fetches and calls ------------------------------------------------------------------------------

    def _timed_fetch(self, fetch: Callable[[], Any]) -> Any:
        """``fetch()``, and when it began and ended."""
        if not self._is_on or self._is_validating or get_ident() != self._thread:
            return fetch()
        self._rows.sees_fetches = True
        self._fetch_begin()
        try:
            batch = fetch()
        except StopIteration:
            self._fetch_end(False)
            raise
        except BaseException as error:
            self._session.tell_exception(error)
            self._fetch_end(False)
            self._break_off()
            raise
        self._fetch_end(True)
        return batch

    @guarded
    def _fetch_begin(self) -> None:
        self._steps.fetch_begin(perf_counter_ns())

    @guarded
    def _fetch_end(self, got_batch: bool) -> None:
        self._steps.fetch_end(perf_counter_ns(), got_batch)

    @guarded
    def _call_begin(self, fetches_inside: bool) -> None:
        self._steps.call_begin(perf_counter_ns(), fetches_inside)

    @guarded
    def _call_end(self, complete: bool) -> None:
        ended_ns = perf_counter_ns()
        self._steps.call_end(ended_ns, complete)
        self._session.hook_costs.append(perf_counter_ns() - ended_ns)

    def _break_off(self) -> None:
        """The training ends with an exception, after which Keras calls no callback."""
        if self._is_on:
            self._end_training(wait=False)

    # -- the train function ------------------------------------------------------------------------------

    def _open(self) -> bool:
        backend = keras.backend.backend()
        framework = _FRAMEWORKS.get(backend, backend)
        if not self._session.open(framework, environment.place(), [], self._versions(), of_backend(backend)):
            return False
        self._session.note(
            "host_time_only", "On this Keras backend steps are times of the host; a GPU may go on after them."
        )
        return True

    def _begin_training(self) -> None:
        self._remove_hooks()
        self._thread = get_ident()
        self._is_validating = False
        if keras.backend.backend() == "torch":
            self._patch.install()
        self._wrap_train_function()

    def _open_in_step(self) -> OpenPhase:
        return self._steps.opened()

    def _wrap_train_function(self) -> None:
        function = getattr(self.model, "train_function", None)
        if function is None and getattr(self.model, "compiled", False):  # before the first train_on_batch
            self.model.make_train_function()
            function = self.model.train_function
        if function is None or function is self._timed:
            return
        self._owner = self.model
        self._original = getattr(function, "_stepscope_original", function)
        self._timed = self._timed_function(self._original)
        self.model.train_function = self._timed

    def _timed_function(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def train_function(*args: Any, **kwargs: Any) -> Any:
            fetches_inside = _fetches_inside(args)
            if fetches_inside:
                args = (args[0], _TimedIterator(args[1], self._timed_fetch))
            self._call_begin(fetches_inside)
            try:
                result = original(*args, **kwargs)
            except StopIteration:  # the data has come to an end
                self._call_end(True)
                raise
            except BaseException as error:
                self._session.tell_exception(error)
                self._call_end(False)
                self._break_off()
                raise
            self._call_end(True)
            return result

        train_function._stepscope_original = original  # type: ignore[attr-defined]
        return train_function

    def _remove_hooks(self) -> None:
        self._patch.remove()
        if self._timed is not None and self._owner.train_function is self._timed:
            self._owner.train_function = self._original
        self._owner = self._timed = self._original = None
        self._steps.finish()


def _fetches_inside(args: tuple[Any, ...]) -> bool:
    """Whether these are a state and an iterator, as JAX has them; ``train_on_batch`` has one that nothing waits for."""
    is_of_jax = len(args) == 2 and hasattr(args[1], "__next__")
    return is_of_jax and "train_on_batch" not in getattr(args[1], "__qualname__", "")


class _TimedIterator:
    def __init__(self, iterator: Iterator[Any], timed: Timed) -> None:
        self._next = iterator.__next__
        self._timed = timed

    def __iter__(self) -> _TimedIterator:
        return self

    def __next__(self) -> Any:
        return self._timed(self._next)


class _FetchPatch:
    """Times ``EpochIterator.__next__``, with which ``fit`` fetches its batches on torch.

    Where Keras has no such method (before 3.7 or so) input wait stays unknown.
    """

    def __init__(self, timed: Timed) -> None:
        self._timed = timed
        self._patched: tuple[Any, Any, Any] | None = None  # class, original, ours

    def install(self) -> None:
        try:
            from keras.src.trainers.epoch_iterator import EpochIterator
        except ImportError:
            return
        original = EpochIterator.__dict__.get("__next__")
        if original is None:
            return
        timed = self._timed

        def __next__(iterator: Any) -> Any:
            return timed(lambda: original(iterator))

        EpochIterator.__next__ = __next__
        self._patched = EpochIterator, original, __next__

    def remove(self) -> None:
        patched, self._patched = self._patched, None
        if patched is not None:
            owner, original, ours = patched
            if owner.__dict__.get("__next__") is ours:  # else somebody put theirs on top; ours then only passes on
                owner.__next__ = original
