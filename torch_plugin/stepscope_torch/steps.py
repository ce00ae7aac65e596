"""Finds the steps of a training loop in what the hooks see: a state machine without torch.

A *segment* is open from the first activity after the last one ended. It becomes a training step or a
stretch of validation; which one, the first forward tells. A step ends where the next iteration begins
after an optimizer has run in it: at the start of the next batch's loading, or, in a loop without a
DataLoader, of the next outermost forward or copy to the device. So gradient accumulation makes one step
of several batches, and several optimizers in one iteration make one step.
"""

from __future__ import annotations

from typing import Protocol

from stepscope.schema import NONE, Kind

INPUT_WAIT = "input_wait"
VALIDATION = "validation"

#: Iterations after the load of one batch that are taken for work on that batch (a GAN's critic, say). With
#: more of them the batch was fetched once for all: the loop has no DataLoader, and its steps end without one.
MAX_UPDATES_A_BATCH = 16

_STEP, _PHASE = int(Kind.STEP), int(Kind.PHASE)

# What the open segment is.
_UNKNOWN, _TRAINING, _VALIDATING = 0, 1, 2

Phase = tuple[str, int, int]  # name, start_ns, end_ns


class Sink(Protocol):
    """Where rows go; the recorder."""

    step: int  # number of the step that annotations fall in, NONE outside

    def span(self, kind: int, name: str, start_ns: int, end_ns: int, step: int, args: dict | None = None) -> None: ...
    def phases(self, step: int, phases: list[Phase]) -> None: ...


class StepTracker:
    """Groups the phases of one training thread into steps. All times are ``perf_counter_ns`` readings.

    ``number`` is the global number of the open step, or of the next one. The methods that may end a
    segment return whether one ended; its rows have gone to the sink by then.
    """

    def __init__(self, sink: Sink, now: int) -> None:
        self.sink = sink
        self.number = 0
        self.cut = 0  # steps that are not complete
        self.stepped = False  # an optimizer that counts has run in the open segment
        self.manual = False  # the user calls mark()
        self.last_step_ns: int | None = None
        self.phases_seen: set[str] = set()
        self.start: int | None = None  # of the open segment
        self.last_phases: list[Phase] = []  # of the last step
        self._kind = _UNKNOWN
        self._phases: list[Phase] = []
        self._has_input = False
        self._batch = (0, 0)  # start of the open segment's last batch, and its place in _phases
        self._batch_is_fresh = False  # nothing has been computed with it yet
        self._updates: list[int] = []  # starts of iterations after the first one of the same batch
        self._trained: set[int] = set()  # modules that have been seen to train
        self._trains_in_eval_mode = False
        self._saw_eval_with_grad = False
        self._last_mark = now
        self._last_optimizer_end = now

    @property
    def steps(self) -> int:
        """Complete steps so far."""
        return self.number - self.cut

    # -- loading a batch -------------------------------------------------------------------------------

    def input_begin(self, now: int) -> bool:
        """The loading of a batch begins."""
        if self._kind == _VALIDATING:
            self._close(now)
            return True
        ended = self.stepped and not self.manual
        if ended:
            self._close(now)
        elif self._is_prelude:
            self._discard_prelude()
        self.sink.step = self.number  # annotations inside the dataset belong to the step that gets the batch
        return ended

    def input_end(self, start: int, end: int) -> None:
        """The batch is there."""
        if self.start is None:
            self.start = start
        self._has_input = True
        self._batch = (start, len(self._phases))
        self._batch_is_fresh = True
        self._phases.append((INPUT_WAIT, start, end))

    def input_exhausted(self) -> None:
        """There was no further batch: that call was no wait for one."""
        if self.start is None:
            self.sink.step = NONE

    # -- forward and copies ----------------------------------------------------------------------------

    def forward_ends(self, now: int, module: int, grad: bool, training: bool) -> bool:
        """An outermost forward of ``module`` is about to begin: does it end the open segment?

        Args:
            grad: whether gradients are enabled.
            training: whether the module is in training mode.
        """
        if self.start is None:
            return False
        trains = grad and (training or self._trains_in_eval_mode)
        if self._kind == _VALIDATING:
            if not trains or self._has_input:  # after a batch was loaded for both, it is one iteration
                return False
            self._close(now)
            return True
        evaluates = not grad and not training and module in self._trained
        if evaluates and self._kind == _TRAINING and (self.manual or not self.stepped):
            return self._validation_interrupts(now)
        return self.iteration_ends(now)

    def iteration_ends(self, now: int) -> bool:
        """A copy to the device is about to begin at the top of the loop: does it end the open segment?"""
        if not self.stepped or self.manual:
            return False
        if not self._has_input:
            self._close(now)
            return True
        if not self._updates or self._updates[-1] < self._last_optimizer_end:
            self._updates.append(now)
        if len(self._updates) <= MAX_UPDATES_A_BATCH:
            return False
        self._split_at_updates()
        return True

    def begin(self, now: int) -> None:
        """An activity that opens a segment begins, if none is open."""
        if self.start is None:
            self.start = now
            self.sink.step = self.number

    def forward_begin(self, module: int, grad: bool, training: bool) -> None:
        """The outermost forward of ``module`` begins, in the open segment."""
        self._batch_is_fresh = False
        if grad and (training or self._trains_in_eval_mode):
            self._trained.add(module)
            if self._kind != _TRAINING:
                self._kind = _TRAINING
                self.sink.step = self.number
        elif self._kind == _UNKNOWN and not self._serves and (module in self._trained or not self._trained):
            # A module that never trains (a teacher, a target network) says nothing about the segment.
            self._kind = _VALIDATING
            self.sink.step = NONE
        if grad and not training:
            self._saw_eval_with_grad = True

    @property
    def is_validating(self) -> bool:
        return self._kind == _VALIDATING

    @property
    def _serves(self) -> bool:
        """Whether the user marks steps of a loop in which nothing trains: steps of inference, and no validation."""
        return self.manual and not self._trained

    @property
    def _is_prelude(self) -> bool:
        """Whether all that the open segment holds came before the loop: a model's move to the device, say."""
        return self.start is not None and self._kind == _UNKNOWN and not self._has_input

    # -- everything else -------------------------------------------------------------------------------

    def add(self, phase: str, start: int, end: int) -> None:
        """A phase has ended."""
        if self.start is None:
            self.start = start
            self.sink.step = self.number
        self._phases.append((phase, start, end))

    def optimizer_ran(self, now: int) -> None:
        """An optimizer that counts has finished its update."""
        self.stepped = True
        self._last_optimizer_end = now
        if self._kind != _TRAINING:
            if self._saw_eval_with_grad:
                self._trains_in_eval_mode = True
            self._kind = _TRAINING
            self.sink.step = self.number

    def mark(self, now: int) -> bool:
        """The user says that a step ends here. From the first call on only these calls end steps."""
        self.manual = True
        if self.start is None:
            self.start = self._last_mark
        if self._kind != _VALIDATING or self._serves:
            self._kind = _TRAINING
            self.stepped = True
        self._close(now)
        self._last_mark = now
        return True

    def discard(self) -> None:
        """What is open was left half worked out: it is no step, and its phases are lost."""
        self._reset()

    def finish(self) -> None:
        """The recording ends: what is open ends with its last activity."""
        if self._is_prelude:
            self._discard_prelude()
        elif self.start is not None and self._phases:
            self._close(max(end for _, _, end in self._phases))

    # -- endings ---------------------------------------------------------------------------------------

    def _close(self, end: int) -> None:
        start = self.start
        if start is not None:
            if self._kind == _VALIDATING:
                self.sink.span(_PHASE, VALIDATION, start, end, NONE)
                self.phases_seen.add(VALIDATION)
            else:
                self._emit_step(start, end, self._phases, self.stepped)
        self._reset()

    def _reset(self) -> None:
        self._kind = _UNKNOWN
        self.start = None
        self._phases = []
        self._has_input = False
        self._batch_is_fresh = False
        self._saw_eval_with_grad = False
        self.stepped = False
        if self._updates:
            self._updates = []
        self.sink.step = NONE

    def _emit_step(self, start: int, end: int, phases: list[Phase], complete: bool) -> None:
        number = self.number
        self.number = number + 1
        self.sink.span(_STEP, "step", start, end, number, None if complete else {"complete": False})
        self.sink.phases(number, phases)
        self.last_phases = phases
        if complete:
            self.last_step_ns = end - start
        else:
            self.cut += 1
        if number < 8 or number % 16 == 15:
            self.phases_seen.update(name for name, _, _ in phases)

    def _discard_prelude(self) -> None:
        """Activities before the loop belong to no step."""
        self.sink.phases(NONE, self._phases)
        self._reset()

    def _validation_interrupts(self, now: int) -> bool:
        """Validation begins in a step that waits for its optimizer: the step ends, and says that it is cut."""
        if not self._has_input:
            self._close(now)
            return True
        if not self._batch_is_fresh:
            return False
        batch_start, place = self._batch
        begun = self._phases[place:]
        if place == 0:
            return False
        self._phases = self._phases[:place]
        self._close(batch_start)
        self.start = batch_start
        self._phases = begun
        self._has_input = True
        return True

    def _split_at_updates(self) -> None:
        """The one batch served many iterations: each of them was a step."""
        start, phases = self.start, self._phases
        assert start is not None
        for update in self._updates:
            self._emit_step(start, update, [p for p in phases if start <= p[1] < update], True)
            start = update
        self._reset()
