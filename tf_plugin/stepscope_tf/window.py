"""Deep windows: a few steps under the framework's own profiler, handed to a converter process afterwards.

What bounds a window is its number of steps and its seconds.

On GPUs this is untested: there was none when it was written. The converter says so in the window's notes when
a trace holds launches but no kernels.
"""

from __future__ import annotations

import logging
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import stepscope.recorder as recorder_module
from stepscope.controlled import Capture
from stepscope.conversions import Conversions
from stepscope.converter import Conversion
from stepscope.errors import StepscopeError
from stepscope.recorder import Recorder
from stepscope.schema import Kind
from stepscope_tf.profilers import MakeProfiler

log = logging.getLogger("stepscope")

#: A window that is due while the script's own profiler runs is tried again after this many steps.
POSTPONE_STEPS = 10


@dataclass(frozen=True)
class WindowPlan:
    """The window begins with step ``first`` (counted from 0) and holds ``steps`` steps, or ends with the step in
    which it has lasted ``max_s`` seconds.

    Raises:
        StepscopeError: a value makes no plan.
    """

    first: int = 10
    steps: int = 3
    max_s: float = 30.0

    def __post_init__(self) -> None:
        for name, least in (("first", 0), ("steps", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise StepscopeError(
                    f"window=({self.first!r}, {self.steps!r}): give (first step, steps) as whole numbers of at least "
                    "(0, 1), or None for no deep window."
                )


def as_plan(window: tuple[int, int] | None) -> WindowPlan | None:
    """The plan that the argument ``window`` means.

    Raises:
        StepscopeError: it is neither a pair nor None.
    """
    if window is None:
        return None
    if not isinstance(window, (tuple, list)) or len(window) != 2:
        raise StepscopeError(f"window={window!r}: give (first step, steps), or None for no deep window.")
    return WindowPlan(*window)


class DeepWindow:
    """Takes the one window of a plan, and those that are asked for.

    All methods but ``ask`` are for the training thread; every failure ends in a note, none is raised.
    """

    def __init__(self, make_profiler: MakeProfiler, recorder: Recorder, plan: WindowPlan | None) -> None:
        self.stall_ns = 0
        self.taken = 0
        self._profiler = make_profiler(self._give_way)
        self._recorder = recorder
        self._plan = plan or WindowPlan()
        self._first: int | None = None if plan is None else plan.first  # the step to begin with; None: nothing is due
        self._is_off = False  # it gave up
        self._asked: Capture | None = None  # from when it is asked for until it is recorded
        self._wanted: Capture | None = None  # the same once its first step is settled
        self._planned: int | None = None  # what was due when that was settled
        self._steps = self._plan.steps  # of the open window
        self._is_open = False
        self._began = (0, 0)  # step, perf_counter ns
        self._reached = 0  # the step after the latest one that ended in the open window
        self._logdir = Path()
        self._number_offset = 0  # what the training calls a step, less what it is counted as here
        self._marker: Any = None
        self._markers = 0  # in the open window
        self._void: list[int] = []  # those of them that turned out to be no steps
        self._conversions = Conversions(recorder)
        self._reported = False

    def ask(self, capture: Capture) -> str | None:
        """Take a window besides the plan, as soon as can be. Returns why there will be none. For any thread."""
        if self._is_off:
            return "Deep windows are switched off in this process; the notes say why."
        if self._asked is not None:
            return "Another capture is under way in this process; ask again when it is done."
        self._asked = capture
        return None

    # -- around each step --------------------------------------------------------------------------

    def before_step(self, step: int, number: int) -> None:
        """Step ``step`` of this recording is about to begin: open the window if it is due, and mark the step in it.

        Args:
            number: what the training calls the step.
        """
        self._number_offset = number - step
        self.open_if_due(step)
        if not self._is_open:
            return
        try:
            marker = self._profiler.step(number)
            marker.__enter__()
            self._marker = marker
            self._markers += 1
        except Exception as error:
            self._give_up(error)

    def open_if_due(self, step: int) -> None:
        """Step ``step`` of this recording comes next: open the window if it begins with that step."""
        if self._is_open:
            return
        if self._asked is not self._wanted:
            self._put_first(step)
        if self._first is None or step < self._first:
            return
        try:
            self._start(step)
        except Exception as error:
            self._give_up(error)

    def _put_first(self, step: int) -> None:
        capture = self._wanted = self._asked
        assert capture is not None
        offset = self._number_offset
        self._planned, self._first = self._first, capture.settle(step + offset) - offset

    def end_marker(self, is_step: bool = True) -> None:
        """The step has ended, or was none: the converter takes its marker out then."""
        marker, self._marker = self._marker, None
        if marker is not None:
            if not is_step:
                self._void.append(self._markers - 1)
            marker.__exit__(None, None, None)

    def after_step(self, next_step: int) -> None:
        """``next_step`` would be the next: close the window if it has all of its steps."""
        if not self._is_open:
            return
        try:
            self.end_marker()
            self._reached = next_step
            step, began_ns = self._began
            if next_step - step >= self._steps or perf_counter_ns() - began_ns > self._plan.max_s * 1e9:
                self._stop()
        except Exception as error:
            self._give_up(error)

    def finish(self, timeout_s: float) -> None:
        """The training ended: close an open window and wait for the converter, ``timeout_s`` at most."""
        try:
            if self._is_open:
                self.end_marker()
                self._stop()
            self._fail("The recording ended before the window was complete.")
            self._conversions.finish(timeout_s)
        except Exception as error:
            self._give_up(error)

    def report_missing(self) -> None:
        """A training ended: note once if it was too short for the window. A later one may still reach it."""
        if self._first is not None and self._wanted is None and not self._reported:
            self._reported = True
            self._recorder.note(
                "requested_but_absent",
                f"A training ended before step {self._first}, with which its deep window was to begin.",
            )

    # -- starting and stopping -----------------------------------------------------------------------

    def _start(self, step: int) -> None:
        began = perf_counter_ns()
        folder = self._recorder.folder
        assert folder is not None
        # A folder of its own: TensorFlow and JAX name files by the second and would overwrite another window's.
        self._logdir = folder.path / f".{folder.new_window().name}.profile"
        if not self._profiler.start(self._logdir):
            self._first = step + POSTPONE_STEPS
            self._recorder.note(
                "window_postponed",
                f"A deep window was due at step {step}, but another profiler was running.",
            )
            return
        self._is_open = True
        self._steps = self._plan.steps if self._wanted is None else self._wanted.steps
        self._began, self._reached = (step, perf_counter_ns()), step
        self._markers, self._void = 0, []
        recorder_module.mirror = self._profiler.scope
        self._record_stall("start", began)

    def _stop(self) -> None:
        began = perf_counter_ns()
        self._close()
        capture, self._wanted = self._wanted, None
        self._first = None if capture is None else self._planned
        with self._conversions.ahead():
            self._save(capture)
        self._record_stall("stop", began)

    def _save(self, capture: Capture | None) -> None:
        if not self._profiler.stop(save=True):
            why = "No deep window: the script stopped the profiler before its end."
            self._recorder.note("requested_but_absent", why)
            shutil.rmtree(self._logdir, ignore_errors=True)
            if capture is not None:
                self._asked, capture.failure = None, why
            return
        self.taken += 1
        conversion = self._convert(None if capture is None else capture.reason)
        if capture is not None:
            offset = self._number_offset
            capture.recorded(range(self._began[0] + offset, self._reached + offset), conversion)
            self._asked = None

    def _close(self) -> None:
        self._is_open = False
        recorder_module.mirror = None

    def _record_stall(self, part: str, began: int) -> None:
        ended = perf_counter_ns()
        self.stall_ns += ended - began
        self._recorder.span(Kind.OVERHEAD, "profiler_stall", began, ended, args={"part": part})

    def _convert(self, reason: dict[str, Any] | None) -> Conversion:
        window = self._conversions.next_window()
        trace = window.parent.parent / f".{window.name}{self._profiler.suffix}"
        os.replace(next(self._logdir.rglob(f"*{self._profiler.suffix}")), trace)
        shutil.rmtree(self._logdir, ignore_errors=True)
        return self._conversions.start(trace, window, reason, self._void)

    # -- giving way and giving up --------------------------------------------------------------------

    def _give_way(self) -> None:
        """The script is about to start a profiler of its own, which TensorFlow would refuse during ours."""
        if not self._is_open:
            return
        began = perf_counter_ns()
        self.end_marker()
        self._close()
        self._profiler.stop(save=False)
        shutil.rmtree(self._logdir, ignore_errors=True)
        self._first = self._began[0] + POSTPONE_STEPS
        self._recorder.note(
            "window_postponed", "A deep window was broken off, since the script's own profiler started."
        )
        self._record_stall("stop", began)

    def _fail(self, why: str) -> None:
        """What was asked for does not come."""
        if self._wanted is not None:
            self._first = self._planned
        capture, self._asked, self._wanted = self._asked, None, None
        if capture is not None:
            capture.failure = why

    def _give_up(self, error: Exception) -> None:
        self._close()
        self._fail(f"Deep windows were switched off: {error}")
        self._first = None
        self._is_off = True
        self._marker = None
        log.warning("stepscope takes no deep window: %s. Training goes on.", error)
        self._recorder.note("hook_failed", f"The deep window was switched off: {error}")
        try:
            self._profiler.stop(save=False)
            shutil.rmtree(self._logdir, ignore_errors=True)
        except Exception:
            log.debug("the profiler could not be stopped", exc_info=True)
