"""The training loop as the hooks see it: marks in the order of time, and the phases that they make.

A hook only appends a mark. What the marks mean is worked out once a step, when the next batch is asked
for (or the next forward begins, in a loop without a DataLoader): code that runs in pieces, between the
operators of the training, runs with cold caches and costs three times as much.

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
from typing import Any

import torch

from stepscope.live_columns import AlikeSteps
from stepscope.marks import FAST, SAMPLED, SLOW, Marks
from stepscope.recorder import Recorder
from stepscope.schema import NONE
from stepscope.watch import Activity
from stepscope_torch.codes import (
    BACKWARD_BEGIN,
    BACKWARD_END,
    COUNTS,
    END,
    EXHAUSTED,
    GRAD,
    H2D_BEGIN,
    H2D_END,
    IN_BACKWARD,
    IN_FORWARD,
    IN_H2D,
    IN_INPUT,
    IN_OPTIMIZER,
    INPUT_BEGIN,
    INPUT_END,
    INPUT_EXHAUSTED,
    INSIDE,
    NAMES,
    TRAINING,
    activity_after,
)
from stepscope_torch.regular import Regular, learn
from stepscope_torch.steps import StepTracker
from stepscope_torch.window import DeepWindows

log = logging.getLogger("stepscope")

#: Entries, two a mark, that are kept at most before they are worked off, where nothing else makes that happen.
MAX_ENTRIES = 2 * 256
#: After so many steps one is worked out in full again, regular or not. Such a step costs 0.1 ms, and the slowest steps
#: in a hundred are not to be ours: short ones take up to the other number, as long as the checks are no further apart
#: than the time.
_CHECK_EVERY, _CHECK_EVERY_AT_MOST, _CHECK_EVERY_NS = 16, 2048, 2_000_000_000
#: The hooks time themselves from one check to the next, once in so many.
_SAMPLE_EVERY = 4


class Loop:
    """Called by the hooks at the begin and the end of phases; only the training thread is followed.

    That is the thread that runs the first forward, backward or optimizer; batches are counted from the
    thread that started the recording until then. Methods may raise: the hooks catch.

    In the fast modes of ``marks`` the commonest hooks mark by themselves, and a regular step ends by ``next_step``.
    """

    def __init__(self, recorder: Recorder, windows: DeepWindows) -> None:
        #: Hooks keep this object. Its ``thread`` is the training thread, once known. ``at_once`` says that the next
        #: forward or copy may end a step: in SLOW it works off the marks.
        self.marks = Marks()
        self.loader_thread = get_ident()
        self.recorder = recorder
        self.windows = windows
        began = perf_counter_ns()
        self.tracker = StepTracker(recorder, began)
        self.hook_ns: deque[int] = deque(maxlen=1000)  # self time of the hooks a step, one figure a sample
        self.unclosed = 0  # phases that never ended, since an exception passed their end by
        self.other_threads = 0  # forwards, backwards and optimizer steps of other threads
        self.is_broken = False  # the marks could not be made sense of: nothing more can come of them
        self.is_whole = True  # no hook is switched off
        #: Called after each segment until they return False; regular steps have to wait for them.
        self.after_segment: list[Callable[[], bool]] = []
        #: Called every ``_CHECK_EVERY`` steps, or more of short ones.
        self.checks: list[Callable[[], object]] = []
        self._read = 0  # entries that have been worked off and are kept, for a regular step to begin with
        self._known: Regular | None = None  # what the marks expect
        self._latest_known: Regular | None = None
        self._stack: list[tuple[int, int, object, bool]] = []  # phase, start, ..., whether it counts as itself
        self._stepped_in_backward = False
        self._next_check = _CHECK_EVERY
        self._checked = 0  # checks so far; the number of the step and the time of the latest
        self._checked_number, self._checked_ns = 0, began
        self.step_ns = 0  # mean time of a step between the latest two checks, 0 before them
        self._sampled = False
        self._sample_start = 0
        recorder.sources.append(self._regular_steps)
        # A backward runs in C++ and needs Python's lock for moments only: a write then delays a step least.
        self.marks.awaited = BACKWARD_BEGIN
        recorder.quiet_moment = self.marks.wait

    @property
    def thread(self) -> int:
        """Ident of the training thread, 0 until it is known."""
        thread: int = self.marks.thread
        return thread

    @property
    def training_thread(self) -> int:
        """The same, or the thread that began the recording, which is followed until then."""
        return self.thread or self.loader_thread

    # -- called by the hooks ---------------------------------------------------------------------------

    def input_begin(self) -> None:
        """A batch is asked for, in ``loader_thread``."""
        now = perf_counter_ns()
        number = self.marks.next_step(now)
        if number:
            self.tracker.number = self.recorder.step = number
            return
        self.marks.put(INPUT_BEGIN, now)
        self._work_off()
        self._count_sample(now)

    def input_end(self, got_batch: bool) -> None:
        now = perf_counter_ns()
        if got_batch:
            self.marks.put(INPUT_END, now)
        else:
            self.marks.put(INPUT_EXHAUSTED, now)
            self._work_off()
        self._count_sample(now)

    def forward_begin(self, module: torch.nn.Module) -> bool:
        """False where it is not the training loop's."""
        now = perf_counter_ns()
        if get_ident() != self.thread and not self._claim_thread():
            return False
        how = (GRAD if torch.is_grad_enabled() else 0) + (TRAINING if module.training else 0)
        self.marks.put((IN_FORWARD + how, module), now)
        # Annotations are to know that there is no step in validation, and one again after it.
        if self.marks.at_once or how != GRAD + TRAINING or self.recorder.step == NONE:
            self._work_off()
        self._count_sample(now)
        return True

    def forward_end(self, module: torch.nn.Module) -> None:
        now = perf_counter_ns()
        if get_ident() == self.thread:
            self.marks.put((IN_FORWARD + END, module), now)
            self._work_off_many()
            self._count_sample(now)

    def backward_begin(self) -> bool:
        """False where it is not the training loop's."""
        now = perf_counter_ns()
        if get_ident() != self.thread and not self._claim_thread():
            return False
        self.marks.put(BACKWARD_BEGIN, now)
        self._count_sample(now)
        return True

    def backward_end(self) -> None:
        now = perf_counter_ns()
        self.marks.put(BACKWARD_END, now)
        self._count_sample(now)

    def h2d_begin(self) -> bool:
        """False where it is not the training loop's."""
        now = perf_counter_ns()
        if get_ident() != self.loader_thread:
            return False
        self.marks.put(H2D_BEGIN, now)
        if self.marks.at_once:
            self._work_off()
        self._count_sample(now)
        return True

    def h2d_end(self) -> None:
        now = perf_counter_ns()
        self.marks.put(H2D_END, now)
        self._work_off_many()
        self._count_sample(now)

    def optimizer_begin(self, token: object) -> None:
        now = perf_counter_ns()
        if get_ident() != self.thread and not self._claim_thread():
            return
        self.marks.put((IN_OPTIMIZER, token), now)
        self._count_sample(now)

    def optimizer_end(self, token: object, counts: bool) -> None:
        now = perf_counter_ns()
        if get_ident() == self.thread:
            self.marks.put((IN_OPTIMIZER + END + (COUNTS if counts else 0), token), now)
            self.marks.at_once = True
            self.marks.mode = SLOW
            self._count_sample(now)
        elif counts and self.marks.entries()[-2:-1] == [BACKWARD_BEGIN]:
            # Optimizers that step in the hooks of gradients run on autograd's device threads.
            self._stepped_in_backward = True

    def step(self) -> None:
        """The user says that a step ends here."""
        now = perf_counter_ns()
        self.marks.thread = self.loader_thread = get_ident()
        self._work_off()
        self._drop(0)
        self.tracker.mark(now)
        self._segment_ended(now)
        self._forget_regular()
        self._set_mode()

    def finish(self) -> None:
        """The recording ends; where another thread than the training's ends it, what is open goes on."""
        self._work_off()
        if get_ident() == self.training_thread:
            self._drop(0)
        self.tracker.finish()

    def activity(self) -> Activity:
        """What is open right now. For any thread: it reads copies, which may be a moment old."""
        marks, stack = self.marks.entries(), self._stack[:]
        opened = [] if self._read else [(phase, start) for phase, start, _, counts in stack if counts]
        return activity_after(self.tracker.number, opened, marks)

    def look_soon(self) -> None:
        """Have the next step worked out in full, as there is something to do after it. For any thread."""
        self.marks.until = 0

    def lose_hook(self) -> None:
        """A hook was switched off: no step is regular from now on."""
        self.is_whole = False
        self.marks.mode = SLOW
        self._expect_nothing()

    def takes_forward(self) -> bool:
        """Whether a forward that begins now is an outermost one of the training loop."""
        if get_ident() != self.training_thread:
            return False
        self._work_off()
        return self._counts(IN_FORWARD)

    # -- what the marks mean ---------------------------------------------------------------------------

    def _work_off(self) -> None:
        try:
            marks, stack, tracker = self.marks.entries(), self._stack, self.tracker
            from_input = self._read  # a step may have begun with the mark that was kept, and nothing else
            if from_input:
                stack[:] = [(IN_INPUT, marks[1], None, True)]
            number = tracker.number
            self._interpret(marks[from_input:])
            self._expect_nothing()
            if len(stack) == 1 and stack[0][0] == IN_INPUT and tracker.start is None and self._may_be_regular():
                if from_input and tracker.number == number + 1:
                    self._expect(learn(marks[0::2], marks[1::2], tracker.last_phases))
                self.marks.clear()
                self.marks.put(INPUT_BEGIN, stack[0][1])
                self._read = 2
            else:
                self._forget_regular()
            self._set_mode()
        except BaseException as error:
            if isinstance(error, Exception):
                self.is_broken = True
            else:  # the user interrupts the training, which may go on: only what was worked off is lost
                self._drop(0)
                self.tracker.discard()
            self.marks.mode = SLOW
            self._forget_regular()
            raise

    def _may_be_regular(self) -> bool:
        recorder = self.recorder
        return not (
            self.tracker.manual
            or self.after_segment
            or self.windows.is_open
            or not self.is_whole
            or not recorder.enabled
            or recorder.is_full
        )

    def _work_off_many(self) -> None:
        if len(self.marks) > MAX_ENTRIES:
            self._work_off()

    def _expect(self, known: Regular | None) -> None:
        """Steps like the one that was just worked off."""
        if known is None:
            return
        if self._latest_known is not None and known.makes_the_same_as(self._latest_known):
            known = self._latest_known  # all steps of a write in one piece
        self._known = self._latest_known = known
        self.marks.expect(known, known.keys, self.tracker.number)

    def _expect_nothing(self) -> None:
        self._known = None
        self.marks.forget()

    def _regular_steps(self) -> list[AlikeSteps]:
        """For the recorder: the steps that were told by comparison, since the last call."""
        taken: dict[Regular, list[tuple[int, bytes]]] = {}
        for pattern, first, times in self.marks.take():
            taken.setdefault(pattern, []).append((first, times))
        return [pattern.steps(runs) for pattern, runs in taken.items()]

    def _forget_regular(self) -> None:
        self._expect_nothing()
        self.marks.clear()
        self._read = 0

    def _set_mode(self) -> None:
        """Fast where regular steps are known, and a forward that begins now ends none."""
        marks, tracker = self.marks, self.tracker
        marks.at_once = tracker.stepped or tracker.is_validating or self.windows.is_open
        if self._known is None or marks.at_once:
            marks.mode = SLOW
        else:
            marks.mode = marks.calm_mode = SAMPLED if self._sampled else FAST

    def _count_sample(self, since: int) -> None:
        if self._sampled:
            self.marks.sample_ns += perf_counter_ns() - since

    def _interpret(self, marks: list[Any]) -> None:
        stack, tracker = self._stack, self.tracker
        entries = iter(marks)
        for (code, token), now in zip(entries, entries, strict=True):
            if code & END:
                self._end(code & 7, now, token)
                if code & COUNTS:
                    tracker.optimizer_ran(now)
            elif code == EXHAUSTED:
                self._exhausted()
            else:
                phase = code & 7
                counts = not stack or self._counts(phase)
                if phase == IN_INPUT:
                    counts, now = self._input(now)
                elif phase == IN_FORWARD:
                    if counts:
                        now = self._forward(now, id(token), code & GRAD != 0, code & TRAINING != 0)
                elif phase == IN_OPTIMIZER and stack:
                    if self._is_stale(token):
                        self._drop(0)
                        counts = True
                elif phase == IN_H2D and not stack and tracker.stepped and tracker.iteration_ends(now):
                    now = self._segment_ended(now)
                if counts and tracker.start is None and phase != IN_INPUT:
                    tracker.begin(now)
                stack.append((phase, now, token, counts))
        if self.windows.is_open:
            self._mark_window()

    def _counts(self, phase: int) -> bool:
        """Whether a phase that begins now counts as itself, or as part of what is open."""
        if not self._stack:
            return True
        outer, _, _, outer_counts = self._stack[-1]
        return outer_counts and outer in INSIDE[phase]

    def _input(self, now: int) -> tuple[bool, int]:
        if self._stack:
            if any(phase == IN_INPUT for phase, _, _, _ in self._stack):
                return False, now
            self._drop(0)  # an exception has passed the end of these by
        if self.tracker.input_begin(now):
            now = self._segment_ended(now)
        return True, now

    def _exhausted(self) -> None:
        """The open wait was none: it found the end of the data."""
        while self._stack:
            phase, _, _, counts = self._stack.pop()
            if phase == IN_INPUT:
                if counts:
                    self.tracker.input_exhausted()
                    if self.windows.is_open and self.tracker.start is None:
                        self.windows.void_step()
                return

    def _forward(self, now: int, module: int, grad: bool, training: bool) -> int:
        tracker, stack = self.tracker, self._stack
        # In the closure of an optimizer's step: the iteration began with that step.
        begin = stack[0][1] if stack else now
        if tracker.forward_ends(begin, module, grad, training):
            begin = self._segment_ended(begin)
            if begin > now:
                now = begin
                stack[:] = [(phase, now, token, counts) for phase, _, token, counts in stack]
        tracker.begin(begin)
        tracker.forward_begin(module, grad, training)
        return now

    def _is_stale(self, optimizer: object) -> bool:
        """Whether what is open must have been left by an exception.

        No model steps an optimizer in its forward, and no optimizer's step calls itself.
        """
        return self._stack[0][0] == IN_FORWARD or any(token is optimizer for _, _, token, _ in self._stack)

    def _end(self, phase: int, now: int, token: object) -> None:
        """Close the phase that began with ``token``, and drop what was left open inside it."""
        stack = self._stack
        for i in range(len(stack) - 1, -1, -1):
            opened, start, its_token, counts = stack[i]
            if opened == phase and its_token is token:
                if i < len(stack) - 1:
                    self._drop(i + 1)
                stack.pop()
                if phase == IN_INPUT:
                    if counts:
                        self.tracker.input_end(start, now)
                elif counts:
                    self.tracker.add(NAMES[phase], start, now)
                break
        if phase == IN_BACKWARD and self._stepped_in_backward:
            self._stepped_in_backward = False
            self.tracker.optimizer_ran(now)

    def _drop(self, first: int) -> None:
        self.unclosed += sum(counts for _, _, _, counts in self._stack[first:])
        del self._stack[first:]

    def _claim_thread(self) -> bool:
        """Whether this thread is the training thread: the first one that trains is."""
        if self.thread:
            self.other_threads += 1
            return False
        self.marks.thread = get_ident()
        if self.thread != self.loader_thread:
            self.loader_thread = self.thread
            self._forget_regular()
            self._stack.clear()
        return True

    def _mark_window(self) -> None:
        if self.tracker.is_validating:
            self.windows.enter_validation()
        elif self.tracker.start is not None or self._stack:
            self.windows.enter_step(self.tracker.number)

    def _segment_ended(self, now: int) -> int:
        """Between two segments: the place to start and stop deep windows. Returns when the next one begins."""
        tracker = self.tracker
        number = tracker.number
        if number >= self._next_check:
            self._check(number, now)
        if self.after_segment:
            self.after_segment[:] = [call for call in self.after_segment if call()]
        stalled = self.windows.at_boundary(number, tracker.steps, tracker.last_step_ns)
        if stalled:  # told as a stall: no sample of what the hooks usually cost
            self._sampled = False
        # A regular step may end where the step after it has nothing to do here.
        self.marks.until = int(min(self._next_check, self.windows.quiet_until)) - 1
        return perf_counter_ns() if stalled else now

    def _check_interval(self) -> int:
        """Steps to the next check, in units of ``_CHECK_EVERY``; the first checks of a run lie close together."""
        most = min(1 << min(self._checked - 1, 30), _CHECK_EVERY_AT_MOST // _CHECK_EVERY)
        return max(1, min(most, _CHECK_EVERY_NS // max(self.step_ns, 1) // _CHECK_EVERY))

    def _check(self, number: int, now: int) -> None:
        self.step_ns = (now - self._checked_ns) // max(number - self._checked_number, 1)
        self._checked_number, self._checked_ns = number, now
        if self._sampled:
            self.hook_ns.append(self.marks.sample_ns // (number - self._sample_start))
        self._checked += 1
        self._sampled = self._checked % _SAMPLE_EVERY == 1
        self.marks.sample_ns = 0
        self._sample_start = number
        self._next_check = (number // _CHECK_EVERY + self._check_interval()) * _CHECK_EVERY
        for check in self.checks:
            check()
