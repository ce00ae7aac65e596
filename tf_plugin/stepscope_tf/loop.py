"""For training loops of one's own: ``Profiler`` records, ``step`` marks a step, ``data`` times the input.

>>> with Profiler("runs/exp1"):  # doctest: +SKIP
...     for n, batch in enumerate(data(dataset)):
...         with step(n):
...             train(batch)
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Mapping
from threading import get_ident
from time import perf_counter_ns
from typing import Any, Generic, TypeVar

from stepscope.budget import DEFAULT_RATIO
from stepscope.flight import FlightPlan
from stepscope_tf import environment
from stepscope_tf.session import OpenPhase, Session

T = TypeVar("T")


class Profiler:
    """Switches recording on for a custom training loop; a context manager, or ``start`` and ``stop``.

    Args:
        run: the run folder, e.g. ``runs/exp1``; made if missing.
        window: (first step, number of steps) of the one deep window, None for none; steps count from 0 as they
            come, whatever numbers ``step`` gives them.
        monitor_interval_ms: sampling interval of the resource monitor: 100, 200, 500, 1000, 5000 or 60000; 0 or
            None for no monitor.
        batch_size: samples in one batch of this process, for the throughput.
        metadata: anything worth knowing about the run, such as hyperparameters; shown with it. Of all recordings
            into the same folder the first one's stays.
        flight_recorder: whether deep windows open by themselves after slow steps; a ``stepscope.flight.FlightPlan``
            says how many. Default: where ``window`` is not None.
        overhead_budget: share of the training's time that recording may take; above it, judged every 10 s, the phases
            of steps are given up, never the steps. None for no bound.

    Raises:
        StepscopeError: an argument is none of these.
    """

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
        self._make = lambda: Session(
            run, window, monitor_interval_ms, batch_size, metadata, flight_recorder, overhead_budget
        )
        self._session: Session | None = self._make()
        self._is_started = False

    def start(self) -> None:
        """Begin to record; raises nothing. After ``stop`` it begins a new worker folder in the same run."""
        global _loop
        if self._is_started:
            return
        session = self._session or self._make()
        self._session = session
        try:
            import tensorflow as tf

            from stepscope_tf.profilers.of_tensorflow import TensorFlowProfiler

            place, devices = environment.place(tf.distribute.get_strategy()), environment.devices(tf)
            profiler = functools.partial(TensorFlowProfiler, tf)
            opened = session.open("tensorflow", place, devices, environment.versions(tf), profiler)
        except Exception as error:
            session.fail("the recording", error)
            opened = False
        if opened:
            self._is_started = True
            _loop = _Loop(session)

    def loss(self, value: Any) -> None:
        """Tell the loss of the step that has ended: one that is no number is noted and opens a deep window.

        Waits for a GPU to have it, as reading a tensor does. Raises nothing.
        """
        if self._session is not None and self._is_started:
            try:
                self._session.loss(float(value))
            except Exception as error:
                self._session.fail("the loss", error)

    def stop(self) -> None:
        """End the recording and wait a bounded time for the deep window; raises nothing, harmless when called twice."""
        global _loop
        session, self._session = self._session, None
        if session is None:
            return
        if _loop is not None and _loop.session is session:
            _loop = None
        self._is_started = False
        session.close()

    def __enter__(self) -> Profiler:
        self.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and self._session is not None:
            self._session.tell_exception(error)
        self.stop()


class step:
    """``with step(n):`` marks training step ``n``; without a number, steps are counted from 0.

    The step in the recording begins with the wait for its batch, if ``data`` saw one just before the block, and
    ends with the block. Its phases are ``input_wait`` and ``compute``; without ``data`` they are unknown.

    On a GPU the block measures how long it takes to hand over the work, not the work itself, unless something
    in the block waits for the device (reading the loss does). While nothing records, this does nothing.
    """

    __slots__ = ("_loop", "_number")

    def __init__(self, number: int | None = None) -> None:
        self._number = number
        self._loop: _Loop | None = None

    def __enter__(self) -> step:
        self._loop = _loop if _loop is not None and _loop.begin(self._number) else None
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        if self._loop is not None:
            self._loop.end(complete=kind is None)


class data(Generic[T]):
    """Iterates ``batches`` and times each ``next``: the input wait on the host. Can be iterated again and again.

    A wait belongs to the step that begins next in the same thread, or to the one that is open. What the
    dataset prefetches meanwhile is no wait. While nothing records, it just iterates.
    """

    def __init__(self, batches: Iterable[T]) -> None:
        self._batches = batches

    def __iter__(self) -> Iterator[T]:
        iterator = iter(self._batches)
        while True:
            if _loop is not None:
                _loop.before_wait()
            began = perf_counter_ns()
            try:
                batch = next(iterator)
            except StopIteration:
                return
            finally:
                if _loop is not None:
                    _loop.after_wait()
            if _loop is not None:
                _loop.waited(began, perf_counter_ns())
            yield batch

    def __len__(self) -> int:
        return len(self._batches)  # type: ignore[arg-type]


class _Loop:
    """The steps of one thread; a failure switches it off with a note."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._is_on = True
        self._thread = 0  # of the step that is open, else of the latest wait
        self._number: int | None = None  # of the open step
        self._begin_ns = 0
        self._waits: list[tuple[int, int]] = []
        self._waits_since = 0  # 0: nothing waits
        session.open_phase = self._opened

    def _opened(self) -> OpenPhase:
        """The phase that is open. For the writer thread."""
        since = self._waits_since
        if since:
            return "input_wait", since
        return (None, None) if self._number is None else ("compute", self._begin_ns)

    def before_wait(self) -> None:
        """The wait for a batch belongs to the step after it: a deep window that is due has to hold it too."""
        self._waits_since = perf_counter_ns()
        if self._is_on and self._number is None:
            self.session.before_wait()

    def after_wait(self) -> None:
        """It is over, with a batch or without."""
        self._waits_since = 0

    def waited(self, began_ns: int, ended_ns: int) -> None:
        if not self._is_on:
            return
        try:
            if self._number is None:
                self._flush_waits()  # there was no step after the wait before this one: evaluation, a skipped batch
                self._thread = get_ident()
            if self._thread == get_ident():
                self._waits.append((began_ns, ended_ns))
        except Exception as error:
            self._switch_off(error)

    def begin(self, number: int | None) -> bool:
        """False if this is no step of its own: one inside another is part of it."""
        if not self._is_on or self._number is not None:
            return False
        try:
            if self._thread != get_ident():
                self._flush_waits()
                self._thread = get_ident()
            self._number = self.session.next_step if number is None else int(number)
            self.session.before_step(self._number)
            self._begin_ns = perf_counter_ns()
        except Exception as error:
            self._switch_off(error)
        return self._is_on

    def end(self, complete: bool) -> None:
        end_ns = perf_counter_ns()
        if not self._is_on or self._number is None:
            return
        try:
            number, self._number = self._number, None
            waits, self._waits = self._waits, []
            begin_ns = min([self._begin_ns, *(w[0] for w in waits)])
            self.session.step_row(number, begin_ns, end_ns, None if complete else {"complete": False})
            compute_from = self._begin_ns
            for began, ended in waits:
                self.session.phase_row("compute", number, compute_from, began)
                self.session.phase_row("input_wait", number, began, ended)
                compute_from = max(compute_from, ended)
            if waits:
                self.session.phase_row("compute", number, compute_from, end_ns)
                self.session.see_phases("input_wait", "compute")
            self.session.next_step += 1
            self.session.after_step()
        except Exception as error:
            self._switch_off(error)

    def _flush_waits(self) -> None:
        waits, self._waits = self._waits, []
        for began, ended in waits:
            self.session.phase_row("input_wait", -1, began, ended)

    def _switch_off(self, error: Exception) -> None:
        self._is_on = False
        self.session.fail("the steps of the loop", error)


#: The loop that is recorded, or None.
_loop: _Loop | None = None
