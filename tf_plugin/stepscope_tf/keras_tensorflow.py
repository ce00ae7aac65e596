"""The Keras callback on the TensorFlow backend: steps, input wait, compute, validation, a deep window."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import tensorflow as tf

from stepscope.quiet import QuietMoment
from stepscope_tf import environment
from stepscope_tf.input_wait import NO_WAITS, SLOTS, InputProbe, IteratorPatch, Waits, attach, probe_of
from stepscope_tf.keras_base import KerasCallback, guarded
from stepscope_tf.profilers.of_tensorflow import TensorFlowProfiler
from stepscope_tf.session import OpenPhase, Phase
from stepscope_tf.steps import logical_steps, split_evenly

#: What the train function raises when the data has come to an end: then no step took place.
_END_OF_DATA = (StopIteration, tf.errors.OutOfRangeError)
#: The module of Keras' own train functions.
_KERAS_TRAINER = "keras.src.backend.tensorflow.trainer"


#: Steps wait at most this long for their phases, or until this many do.
SPLIT_NS = 250_000_000
SPLIT_STEPS = SLOTS // 2


@dataclass
class _Call:
    """A call of the train function within a step; ``perf_counter_ns`` readings."""

    start_ns: int = 0
    end_ns: int = 0  # 0: it has not returned
    has_batch: bool = False  # the batch was an argument, so that nothing in the call waited for it


@dataclass(frozen=True)
class _Unsplit:
    """A step whose row is written and whose phases are not yet."""

    step: int
    call_start_ns: int
    call_end_ns: int
    end_ns: int


def _phases_of(steps: Sequence[_Unsplit], waits: Waits, unix_offset_ns: int) -> list[Phase]:
    phases: list[Phase] = []
    for s, (wait_ns, got_ns) in zip(steps, waits.in_ns(unix_offset_ns), strict=True):
        dur_ns = min(max(0, got_ns - wait_ns), s.call_end_ns - s.call_start_ns)
        # The stamps have a resolution of 1 us, and the wall clock is known to within a millisecond only.
        begin_ns = max(s.call_start_ns, min(wait_ns, s.call_end_ns - dur_ns))
        phases += [
            ("compute", s.step, s.call_start_ns, begin_ns),
            ("input_wait", s.step, begin_ns, begin_ns + dur_ns),
            ("compute", s.step, begin_ns + dur_ns, s.end_ns),
        ]
    return phases


class ProfilerCallback(KerasCallback):
    """Records a Keras training on the TensorFlow backend.

    A step begins with this callback's ``on_train_batch_begin`` and ends with its ``on_train_batch_end``, before
    which Keras has fetched the losses from the device. Phases of a step: ``input_wait``, ``compute`` (forward,
    backward and optimizer are one compiled call; what other callbacks do before this one counts to it) and
    what remains, ``other``: put this callback first in the list. With ``steps_per_execution`` above 1, each step
    is its execution's even share and the phases are unknown.
    """

    def _prepare(self) -> None:
        self._patch = IteratorPatch()
        self._probe: InputProbe | None = None
        self._owner: Any = None  # the model whose train function is replaced
        self._original: Any = None  # Keras' train function
        self._timed: Any = None  # ours, which calls it
        self._call = _Call()
        self._quiet = QuietMoment()
        self._unsplit: list[_Unsplit] = []
        self._split_ns = 0
        self._batch = 0
        self._step_begin_ns = 0  # 0: no step is open
        self._begin_cost_ns = 0
        self._iterations = 0

    # -- Keras' hooks --------------------------------------------------------------------------------

    @guarded
    def on_train_batch_begin(self, batch: int, logs: dict | None = None) -> None:
        entered = perf_counter_ns()
        if self._step_begin_ns:
            self._session.no_step()
        self._wrap_train_function()  # it may have been made anew, or only now
        self._call.start_ns = self._call.end_ns = 0
        self._batch = batch
        self._session.before_step()
        self._step_begin_ns = perf_counter_ns()
        self._begin_cost_ns = self._step_begin_ns - entered

    @guarded
    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        end_ns = perf_counter_ns()
        start_ns, self._step_begin_ns = self._step_begin_ns, 0
        if not start_ns:
            return
        if batch == self._batch:
            self._single_step(start_ns, end_ns)
        else:
            self._averaged_steps(batch, start_ns, end_ns)
        if logs:
            self._session.loss(logs.get("loss"))
        self._session.hook_costs.append(perf_counter_ns() - end_ns + self._begin_cost_ns)
        self._session.after_step()

    @guarded
    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        self._end_steps()

    @guarded
    def on_test_begin(self, logs: dict | None = None) -> None:
        self._end_steps()
        super().on_test_begin(logs)

    # -- rows ----------------------------------------------------------------------------------------

    def _single_step(self, start_ns: int, end_ns: int) -> None:
        session, call = self._session, self._call
        step = session.next_step
        session.next_step = step + 1
        session.step_row(step, start_ns, end_ns)
        if not call.end_ns:  # not our train function: nothing is known of the inside
            return
        if call.has_batch:
            session.phase_row("compute", step, call.start_ns, end_ns)
            session.see_phases("compute", "validation")
            return
        self._unsplit.append(_Unsplit(step, call.start_ns, call.end_ns, end_ns))
        if len(self._unsplit) >= SPLIT_STEPS or end_ns - self._split_ns > SPLIT_NS:
            self._split_phases()
            self._split_ns = end_ns

    def _split_phases(self) -> None:
        """Write the phases of the steps that have none yet."""
        steps, self._unsplit = self._unsplit, []
        if not steps:
            return
        session = self._session
        waits = self._take_waits()
        if len(waits) != len(steps):
            session.note(
                "phases_unknown",
                "Input wait could not be told from compute in these steps: the train function was not Keras' own, "
                "or was compiled before the callback saw it.",
                len(steps),
            )
            return
        session.phase_rows(_phases_of, steps, waits, session.unix_offset_ns)
        session.see_phases("input_wait", "compute", "validation")

    def _take_waits(self) -> Waits:
        if self._probe is None:
            return NO_WAITS
        try:
            return self._probe.take()
        except Exception as error:
            self._probe = None
            self._session.fail("input wait", error)
            return NO_WAITS

    def _averaged_steps(self, batch: int, start_ns: int, end_ns: int) -> None:
        session = self._session
        before, self._iterations = self._iterations, self._count_iterations()
        per_epoch = self.params.get("steps") if self.params else None
        count = logical_steps(self._batch, batch, per_epoch, self._iterations - before)
        for begin_ns, stop_ns in split_evenly(start_ns, end_ns, count):
            session.step_row(session.next_step, begin_ns, stop_ns, {"averaged": count})
            session.next_step += 1
        session.see_phases("validation")
        session.note(
            "phases_unknown",
            "With steps_per_execution above 1 only the average time of a step is known, and TensorFlow fetches "
            "batches while it computes: input wait and compute cannot be told apart.",
            count,
        )

    def _count_iterations(self) -> int:
        """The optimizer's own count of steps; 0 where it has none."""
        try:
            return int(self.model.optimizer.iterations)
        except Exception:
            return 0

    def _end_steps(self) -> None:
        """No step follows for now. One that is open was none: there was no batch left for it."""
        if self._step_begin_ns:
            self._step_begin_ns = 0
            self._session.no_step()
        self._split_phases()

    # -- the train function ------------------------------------------------------------------------------

    def _open(self) -> bool:
        strategy = getattr(self.model, "distribute_strategy", None)
        place, devices = environment.place(strategy), environment.devices(tf)
        profiler = functools.partial(TensorFlowProfiler, tf)
        return self._session.open("tensorflow", place, devices, self._versions(tf), profiler)

    def _begin_training(self) -> None:
        self._step_begin_ns = 0
        self._remove_hooks()  # what a training that ended with an exception left
        self._iterations = self._count_iterations()
        assert self._session.recorder is not None
        self._session.recorder.quiet_moment = self._quiet.wait
        if getattr(self.model, "steps_per_execution", 1) == 1:
            self._patch.install()
            self._renew_train_function()
        self._wrap_train_function()

    def _renew_train_function(self) -> None:
        """Have Keras make its train function anew, if it is Keras' own and has no timestamps yet.

        That costs nothing where it has not been used (it is compiled at its first call), and one more
        compilation where an earlier ``fit`` without this callback did use it.
        """
        function = getattr(self.model, "train_function", None)
        python = getattr(function, "python_function", function)  # Keras before 3.8 keeps a tf.function here
        if getattr(python, "__module__", "") == _KERAS_TRAINER and probe_of(function) is None:
            self.model.make_train_function(force=True)

    def _wrap_train_function(self) -> None:
        function = getattr(self.model, "train_function", None)
        if function is None or function is self._timed:
            return
        self._split_phases()  # the steps of the function before it
        self._owner = self.model
        self._original = getattr(function, "_stepscope_original", function)
        self._probe = attach(self._original, tf) if self._patch.is_installed else None
        self._take_waits()  # of calls that no recording saw
        self._timed = self._timed_function(self._original, self._probe)
        self.model.train_function = self._timed

    def _timed_function(self, original: Callable[..., Any], probe: InputProbe | None) -> Callable[..., Any]:
        call, quiet = self._call, self._quiet

        def train_function(*args: Any, **kwargs: Any) -> Any:
            if probe is not None:
                probe.enter()
            call.has_batch = bool(args) and isinstance(args[0], types.GeneratorType)  # train_on_batch
            call.start_ns = perf_counter_ns()
            quiet.begins()  # what is compiled runs without Python's lock
            try:
                return original(*args, **kwargs)
            except _END_OF_DATA:
                raise
            except BaseException as error:
                self._on_error(perf_counter_ns(), error)
                raise
            finally:
                call.end_ns = perf_counter_ns()
                if probe is not None:
                    probe.leave()

        train_function._stepscope_original = original  # type: ignore[attr-defined]
        return train_function

    def _on_error(self, now_ns: int, error: BaseException) -> None:
        """The training ends with an exception, after which Keras calls no callback."""
        if not self._is_on:
            return
        self._session.tell_exception(error)
        try:
            if self._step_begin_ns:
                self._session.step_row(self._session.next_step, self._step_begin_ns, now_ns, {"complete": False})
                self._session.next_step += 1
                self._session.no_step()
                self._step_begin_ns = 0
        except Exception as failure:
            self._session.fail("the Keras callback", failure)
        self._end_training(wait=False)

    def _open_in_step(self) -> OpenPhase:
        call, probe = self._call, self._probe
        if not self._step_begin_ns or not call.start_ns or call.end_ns:
            return None, None  # between the call and other callbacks
        if call.has_batch:
            return "compute", call.start_ns
        waits = None if probe is None else probe.waits()
        if waits is None:
            return None, None
        return ("input_wait", call.start_ns) if waits else ("compute", None)

    def _remove_hooks(self) -> None:
        self._split_phases()
        self._patch.remove()
        if self._timed is not None and self._owner.train_function is self._timed:
            self._owner.train_function = self._original
        self._owner = self._timed = self._original = None
