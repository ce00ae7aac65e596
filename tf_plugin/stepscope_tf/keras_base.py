"""What the Keras callback does on every backend: begin, end, validation, and never an exception of its own."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from time import perf_counter_ns
from typing import Any, Concatenate, ParamSpec, TypeVar

import keras

from stepscope.budget import DEFAULT_RATIO
from stepscope.flight import FlightPlan
from stepscope_tf import environment
from stepscope_tf.fits import Fit
from stepscope_tf.session import OpenPhase, Session

P = ParamSpec("P")
Self = TypeVar("Self", bound="KerasCallback")


def guarded(method: Callable[Concatenate[Self, P], None]) -> Callable[Concatenate[Self, P], None]:
    """A hook whose failure switches the callback off, with a note, instead of ending the training."""

    @functools.wraps(method)
    def safe(self: Self, *args: P.args, **kwargs: P.kwargs) -> None:
        if self._is_on:
            try:
                method(self, *args, **kwargs)
            except Exception as error:
                self._switch_off(error)

    return safe


class KerasCallback(keras.callbacks.Callback):
    """Records what Keras trains; the backends' callbacks add the steps."""

    def __init__(
        self,
        run: str | os.PathLike[str],
        *,
        window: tuple[int, int] | None = (10, 3),
        monitor_interval_ms: int | None = 500,
        batch_size: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        flight_recorder: FlightPlan | bool | None = None,
        overhead_budget: float | None = DEFAULT_RATIO,
    ) -> None:
        """Record into the run folder ``run``, e.g. ``runs/exp1``; it is made if missing.

        Args:
            window: (first step, number of steps) of the one deep window, None for none. Steps count from 0 and
                go on over epochs and over every ``fit`` that gets this same callback.
            monitor_interval_ms: sampling interval of the resource monitor: 100, 200, 500, 1000, 5000 or 60000;
                0 or None for no monitor.
            batch_size: samples in one batch of this process, for the throughput.
            metadata: anything worth knowing about the run, such as hyperparameters; shown with it. Of all
                recordings into the same folder the first one's stays.
            flight_recorder: whether deep windows open by themselves after slow steps and losses that are no numbers;
                a ``stepscope.flight.FlightPlan`` says how many. Default: where ``window`` is not None.
            overhead_budget: share of the training's time that recording may take; above it, judged every 10 s, the
                phases of steps are given up, never the steps. None for no bound.

        Raises:
            StepscopeError: an argument is none of these.
        """
        super().__init__()
        self._arguments: dict[str, Any] = {
            "window": window,
            "monitor_interval_ms": monitor_interval_ms,
            "batch_size": batch_size,
            "metadata": metadata,
            "flight_recorder": flight_recorder,
            "overhead_budget": overhead_budget,
        }
        self._run = run
        self._session = Session(run, **self._arguments)
        self._is_on = False
        self._test_begin_ns = 0  # 0: no validation is open
        self._prepare()

    def __reduce__(self) -> tuple[Any, ...]:
        # Tuners copy the callbacks for each trial: a copy records anew.
        return functools.partial(type(self), self._run, **self._arguments), ()

    def close(self) -> None:
        """End the recording for good; otherwise it ends with the process. Harmless when called twice."""
        self._is_on = False
        self._session.close()

    # -- Keras' hooks --------------------------------------------------------------------------------

    def on_train_begin(self, logs: dict | None = None) -> None:
        try:
            self._session.fit = Fit()
            self._is_on = self._open()
            if self._is_on:
                self._test_begin_ns = 0
                self._begin_training()
                self._session.open_phase = self._opened
        except Exception as error:
            self._switch_off(error)

    def on_train_end(self, logs: dict | None = None) -> None:
        if self._is_on:
            self._end_training()

    @guarded
    def on_test_begin(self, logs: dict | None = None) -> None:
        self._test_begin_ns = perf_counter_ns()

    @guarded
    def on_test_end(self, logs: dict | None = None) -> None:
        began_ns, self._test_begin_ns = self._test_begin_ns, 0
        self._session.phase_row("validation", -1, began_ns, perf_counter_ns())

    # -- for the backends -------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Set up the backend's own attributes."""

    def _open(self) -> bool:
        raise NotImplementedError

    def _begin_training(self) -> None:
        """Put hooks in place."""
        raise NotImplementedError

    def _opened(self) -> OpenPhase:
        """The phase that is open. For the writer thread."""
        began_ns = self._test_begin_ns
        return ("validation", began_ns) if began_ns else self._open_in_step()

    def _open_in_step(self) -> OpenPhase:
        raise NotImplementedError

    def _remove_hooks(self) -> None:
        """Take the hooks out again; harmless where there are none."""
        raise NotImplementedError

    def _end_training(self, wait: bool = True) -> None:
        """The training ended, well or not; ``wait`` for what is still being written."""
        self._is_on = False
        try:
            self._remove_hooks()
        except Exception as error:
            self._session.fail("the Keras callback", error)
        self._session.pause(wait)

    def _switch_off(self, error: Exception) -> None:
        self._session.fail("the Keras callback", error)
        self._end_training(wait=False)

    def _versions(self, tf: Any = None) -> dict[str, str]:
        return environment.versions(tf, keras)
