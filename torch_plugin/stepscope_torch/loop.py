"""The training loop as the hooks see it: the stack of open phases on the training thread.

Phases nest in few ways that mean something (an optimizer's closure runs forward and backward, a forward
may copy to the device); every other nesting belongs to the outer phase: a DataLoader inside a dataset,
or the forward that activation checkpointing repeats inside backward.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns
from typing import Any, NamedTuple

import torch

from stepscope.recorder import Recorder
from stepscope_torch.steps import INPUT_WAIT, StepTracker
from stepscope_torch.window import DeepWindows

log = logging.getLogger("stepscope")

FORWARD = "forward"
BACKWARD = "backward"
OPTIMIZER = "optimizer"
H2D = "h2d"

#: The phases that each phase may lie in and still count as itself. At the top of the loop all count.
_INSIDE = {
    INPUT_WAIT: frozenset[str](),
    FORWARD: frozenset({OPTIMIZER}),
    BACKWARD: frozenset({FORWARD, OPTIMIZER}),
    OPTIMIZER: frozenset[str](),
    H2D: frozenset({FORWARD, OPTIMIZER}),
}

#: Every so many steps the hooks time themselves.
_SAMPLE_EVERY = 32

_is_grad_enabled = torch.is_grad_enabled


class Open(NamedTuple):
    """A phase that has begun. ``counts`` is False where it belongs to the phase around it."""

    phase: str
    token: object  # what ends it: the module, the optimizer, the call itself
    start: int
    counts: bool


class Loop:
    """Called by the hooks at the begin and the end of phases; only the training thread is followed.

    That is the thread that runs the first forward, backward or optimizer; batches are counted from the
    thread that started the recording until then. Methods may raise: the hooks catch.
    """

    def __init__(self, recorder: Recorder, windows: DeepWindows) -> None:
        self.recorder = recorder
        self.windows = windows
        self.tracker = StepTracker(recorder, perf_counter_ns())
        self.stack: list[Open] = []
        self.hook_ns: deque[int] = deque(maxlen=1000)  # self time of the hooks in each sampled step
        self.unclosed = 0  # phases that never ended, since an exception passed their end by
        self.other_threads = 0  # forwards, backwards and optimizer steps of other threads
        #: Called after each segment until they return False.
        self.after_segment: list[Callable[[], bool]] = []
        self._thread = 0  # the training thread, once known
        self._loader_thread = get_ident()
        self._sampled = False
        self._sample_ns = 0
        self._steps_at_sample = 0

    # -- batches ---------------------------------------------------------------------------------------

    def input_begin(self) -> int:
        """The start of a wait for a batch, 0 where it is none of the training loop's."""
        entered = now = perf_counter_ns()
        if get_ident() != self._loader_thread:
            return 0
        stack = self.stack
        if stack:
            if any(entry.phase == INPUT_WAIT for entry in stack):
                return 0
            self._drop(0)  # an exception has passed the end of these by
        tracker = self.tracker
        if tracker.input_begin(now):
            now = self._segment_ended(now)
        if self.windows.is_open and not tracker.is_open:
            self.windows.enter_step(tracker.number)
        stack.append(Open(INPUT_WAIT, None, now, True))
        if self._sampled:
            self._sample_ns += perf_counter_ns() - entered
        return now

    def input_end(self, start: int, got_batch: bool) -> None:
        now = perf_counter_ns()
        self.stack.clear()
        if got_batch:
            self.tracker.input_end(start, now)
        else:
            self.tracker.input_exhausted()
            if self.windows.is_open and not self.tracker.is_open:
                self.windows.void_step()
        if self._sampled:
            self._sample_ns += perf_counter_ns() - now

    # -- forward ---------------------------------------------------------------------------------------

    def forward_begin(self, module: torch.nn.Module) -> None:
        entered = now = perf_counter_ns()
        if get_ident() != self._thread and not self._claim_thread():
            return
        stack = self.stack
        counts = not stack or self._counts(FORWARD)
        if counts:
            tracker = self.tracker
            grad, training, key = _is_grad_enabled(), module.training, id(module)
            # The closure of an optimizer's step: the iteration began with that step.
            begin = stack[0].start if stack else now
            if tracker.forward_ends(begin, key, grad, training):
                begin = self._segment_ended(begin)
                if begin > now:
                    now = begin
                    stack[:] = [entry._replace(start=now) for entry in stack]
            tracker.begin(begin)
            tracker.forward_begin(key, grad, training)
            if self.windows.is_open:
                self._mark_window()
        stack.append(Open(FORWARD, module, now, counts))
        if self._sampled:
            self._sample_ns += perf_counter_ns() - entered

    def forward_end(self, module: torch.nn.Module) -> None:
        now = perf_counter_ns()
        if get_ident() == self._thread:
            self._end(module, now)
            if self._sampled:
                self._sample_ns += perf_counter_ns() - now

    # -- backward, copies to the device: one call each -------------------------------------------------

    def call_begin(self, phase: str) -> Open | None:
        """A call that is a phase begins; None where it is none of the training loop's, or part of another."""
        entered = now = perf_counter_ns()
        if phase is H2D:
            if get_ident() != self._loader_thread:
                return None
        elif get_ident() != self._thread and not self._claim_thread():
            return None
        stack = self.stack
        if not stack:
            tracker = self.tracker
            if phase is H2D and tracker.iteration_ends(now):
                now = self._segment_ended(now)
            tracker.begin(now)
            if self.windows.is_open:
                self._mark_window()
        elif not self._counts(phase):
            return None
        entry = Open(phase, object(), now, True)
        stack.append(entry)
        if self._sampled:
            self._sample_ns += perf_counter_ns() - entered
        return entry

    def call_end(self, entry: Open) -> None:
        now = perf_counter_ns()
        self._end(entry.token, now)
        if self._sampled:
            self._sample_ns += perf_counter_ns() - now

    # -- optimizer -------------------------------------------------------------------------------------

    def optimizer_begin(self, token: object) -> None:
        entered = now = perf_counter_ns()
        if get_ident() != self._thread and not self._claim_thread():
            return
        stack = self.stack
        if stack and (stack[0].phase == FORWARD or any(entry.token is token for entry in stack)):
            self._drop(0)  # no model steps an optimizer in its forward: an exception has passed its end by
        counts = not stack
        if counts:
            self.tracker.begin(now)
        stack.append(Open(OPTIMIZER, token, now, counts))
        if self._sampled:
            self._sample_ns += perf_counter_ns() - entered

    def optimizer_end(self, token: object, ends_step: bool) -> None:
        now = perf_counter_ns()
        if get_ident() != self._thread:
            # Steps in the hooks of gradients run on autograd's device threads.
            if ends_step and self.stack and self.stack[-1].phase == BACKWARD:
                self.tracker.stepped = True
            return
        self._end(token, now)
        if ends_step:
            self.tracker.optimizer_ran(now)
        if self._sampled:
            self._sample_ns += perf_counter_ns() - now

    # -- the user's own step calls ---------------------------------------------------------------------

    def mark(self) -> None:
        now = perf_counter_ns()
        self._thread = self._loader_thread = get_ident()
        self._drop(0)
        self.tracker.mark(now)
        self._segment_ended(now)

    def finish(self) -> None:
        self._drop(0)
        self.tracker.finish()

    @property
    def is_training_thread(self) -> bool:
        return get_ident() == (self._thread or self._loader_thread)

    def takes_forward(self) -> bool:
        """Whether a forward that begins now is an outermost one of the training loop."""
        return self.is_training_thread and (not self.stack or self._counts(FORWARD))

    # -- inside ----------------------------------------------------------------------------------------

    def _counts(self, phase: str) -> bool:
        outer = self.stack[-1]
        return outer.counts and outer.phase in _INSIDE[phase]

    def _end(self, token: object, now: int) -> None:
        """Close the phase that ``token`` opened, and drop what was left open inside it."""
        stack = self.stack
        for i in range(len(stack) - 1, -1, -1):
            if stack[i].token is token:
                if i < len(stack) - 1:
                    self._drop(i + 1)
                phase, _, start, counts = stack.pop()
                if counts:
                    self.tracker.add(phase, start, now)
                return

    def _drop(self, first: int) -> None:
        self.unclosed += sum(entry.counts for entry in self.stack[first:])
        del self.stack[first:]

    def _claim_thread(self) -> bool:
        """Whether this thread is the training thread: the first one that trains is."""
        if self._thread:
            self.other_threads += 1
            return False
        self._thread = get_ident()
        if self._thread != self._loader_thread:
            self._loader_thread = self._thread
            self.stack.clear()
        return True

    def _mark_window(self) -> None:
        if self.tracker.is_validating:
            self.windows.enter_validation()
        else:
            self.windows.enter_step(self.tracker.number)

    def _segment_ended(self, now: int) -> int:
        """Between two segments: the place to start and stop deep windows. Returns when the next one begins."""
        steps = self.tracker.steps
        if self._sampled:
            self._sampled = False
            if steps == self._steps_at_sample + 1:
                self.hook_ns.append(self._sample_ns)
        if self.after_segment:
            self.after_segment[:] = [call for call in self.after_segment if call()]
        stalled = self.windows.at_boundary(self.tracker.number, steps, self.tracker.last_step_ns)
        if steps % _SAMPLE_EVERY == _SAMPLE_EVERY // 2:
            self._sampled = True
            self._sample_ns = 0
            self._steps_at_sample = steps
        return perf_counter_ns() if stalled else now
