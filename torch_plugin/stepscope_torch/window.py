"""Deep windows: a few steps under torch's own profiler, handed to a converter process afterwards.

The profiler's state belongs to the thread that started it, so it is started and stopped on the training
thread, between two steps, and each stop is a stall of the training that is recorded as such.

On GPUs this is untested: there was none when it was written. The converter says so in the window's notes
when a trace holds launches but no kernels.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from math import inf
from threading import Event, get_ident
from time import perf_counter_ns
from typing import Any

import numpy as np
import torch

import stepscope.recorder as recorder_module
from stepscope.controlled import Capture
from stepscope.conversions import Conversions
from stepscope.recorder import Recorder
from stepscope.schema import Kind
from stepscope_torch import handover, own_profile
from stepscope_torch.module_scopes import ModuleScopes
from stepscope_torch.schedule import Schedule, steps_that_fit
from stepscope_torch.scopes import close_scopes, scope
from stepscope_torch.sessions import Sessions
from stepscope_torch.upcoming import Upcoming

log = logging.getLogger("stepscope")

#: Tries to capture a window in which no step came to an end (validation did) before giving it up.
_MAX_TRIES = 3
#: An event with shapes takes so many times as long to stop and save, and counts so often.
_SHAPES_COUNT = 2
#: Seconds that another thread, which ends the recording, waits for the training thread to close an open window.
_CLOSE_S = 5.0
#: Without a known duration of a step, a probe is ended after this long.
_PROBE_S = 5.0
#: Bytes of the heap that are held from one window to the next, and never written. Without them what a profiler frees
#: is often the heap's end, which glibc hands back to the system when the next step frees its gradients, and fetches
#: again when that makes new ones: 1 ms of a step of 40.
_HELD_BYTES = 8 << 20


class DeepWindows:
    """Takes the windows of a plan, and those that are asked for.

    All methods but ``ask``, ``closes_late`` and ``finish`` are for the training thread.
    """

    def __init__(
        self,
        recorder: Recorder,
        schedule: Schedule,
        options: dict[str, Any],
        sessions: Sessions,
        modules: ModuleScopes | None = None,
    ) -> None:
        self.recorder = recorder
        self.schedule = schedule
        self.options = options
        self.sessions = sessions
        self.modules = modules
        self.conversions = Conversions(recorder)
        self.is_open = False
        self.taken = 0
        self.stall_ns = 0
        self._next = Upcoming(schedule)
        self._not_before = 0
        self._events_per_step: int | None = None  # None until the probe has counted
        self._probe_due = True
        self._probing = False
        self._on_device = False
        self._tries = 0
        self._profile: Any = None
        self._held: np.ndarray | None = None
        self._thread = 0
        self._first_step = 0
        self._began_ns = 0
        self._steps_at_start = 0
        self._steps_wanted = 0
        self._bound_s = 0.0
        self._marker: AbstractContextManager[Any] | None = None
        self._marked: int | str | None = None  # what the open marker says
        self._markers = 0  # step markers in this window
        self._void: list[int] = []  # those of them that turned out to be no steps
        self._saw_validation = False  # whose events nobody has counted
        self._closed = Event()  # and handed over, since the latest one was opened
        self._is_ending = False  # another thread ends the recording
        self._is_late = False  # and has done so: what is open is thrown away as soon as can be
        #: Called in the training thread once that has closed a window after the end of the recording.
        self.when_late: Callable[[], None] = lambda: None
        sessions.before_start = self._give_way

    @property
    def quiet_until(self) -> float:
        """The step before which nothing will be started."""
        if self._next.is_asked:
            return 0
        step = self._next.step
        if step is None:
            return inf
        # A probe is two steps earlier, so that regions which were entered in it are left before the window begins.
        return step - 2 if self._probe_due and step >= 2 else step

    def ask(self, capture: Capture) -> str | None:
        """Take a window besides the plan, as soon as can be. Returns why there will be none. For any thread."""
        return self._next.ask(capture)

    # -- between steps ---------------------------------------------------------------------------------

    def at_boundary(self, step: int, steps_done: int, step_ns: int | None) -> bool:
        """A segment has ended and step ``step`` may come next. Returns whether the next one begins later than now.

        Args:
            steps_done: complete steps so far.
            step_ns: how long the last one took.
        """
        if not self.is_open and step < self.quiet_until:
            return False
        try:
            return self._at_boundary(step, steps_done, step_ns)
        except Exception as error:
            self._give_up(error)
            return True
        except BaseException as interrupt:  # Ctrl+C: opening and closing a window are the longest that a hook takes
            self._interrupted(interrupt)
            raise
        finally:
            if not self.is_open:
                self._closed.set()

    def _at_boundary(self, step: int, steps_done: int, step_ns: int | None) -> bool:
        stalled = False
        if self.is_open and self._is_late:
            self._close_profile({})
            self.when_late()
            return True
        if self.is_open:
            self._end_marker()
            done = steps_done - self._steps_at_start
            if done >= self._steps_wanted or self._is_over_bounds(step_ns):
                self._stop(step, done)
                stalled = True
        if not self.is_open and self._next.is_asked:
            self._next.put_first(step + 2 if self._probe_due else step)
            self._tries = 0
        if not self.is_open and self._is_due(step):
            self._start(step, steps_done, step_ns)
        if self.is_open:
            # Before the step's own start is read: the window must cover its steps entirely.
            self.enter_step(step)
            stalled = True
        return stalled

    def _is_due(self, step: int) -> bool:
        if self._next.is_off or step < max(self.quiet_until, self._not_before):
            return False
        obstacle = self.sessions.in_the_way()
        if obstacle:
            self.recorder.note("window_postponed", f"A deep window was due at step {self._next.step}, but {obstacle}.")
            self._next.step = step + 10
            return False
        return True

    def _is_over_bounds(self, step_ns: int | None) -> bool:
        elapsed_ns = perf_counter_ns() - self._began_ns
        if self._is_ending or elapsed_ns > self._bound_s * 1e9:
            return True
        if self._events_per_step is None or not step_ns or not self._saw_validation:
            return False  # it ends with the steps that were found to fit
        return elapsed_ns / step_ns * self._events_per_step > self.schedule.max_events

    # -- markers ---------------------------------------------------------------------------------------

    def enter_step(self, step: int) -> None:
        """The open segment is, as far as one can tell, step ``step``."""
        if self._marked is None:
            self._enter_marker(step, f"ProfilerStep#{step}")
            self._markers += 1

    def enter_validation(self) -> None:
        """The open segment is validation."""
        if self._marked != "validation":
            self._saw_validation = True
            self.void_step()
            self._enter_marker("validation", "validation")

    def void_step(self) -> None:
        """The marker of a step was none: the converter takes it out."""
        if isinstance(self._marked, int):
            self._void.append(self._markers - 1)
        self._end_marker()

    def _enter_marker(self, what: int | str, name: str) -> None:
        self._end_marker()
        try:
            marker = scope(name)
            marker.__enter__()
            self._marker, self._marked = marker, what
        except Exception as error:
            self._give_up(error)

    def _end_marker(self) -> None:
        marker, self._marker = self._marker, None
        self._marked = None
        if marker is not None:
            try:
                marker.__exit__(None, None, None)
            except Exception as error:
                self._give_up(error)

    # -- starting and stopping -------------------------------------------------------------------------

    def _start(self, step: int, steps_done: int, step_ns: int | None) -> None:
        began = perf_counter_ns()
        assert self._next.step is not None
        self._probing = self._probe_due and step < self._next.step
        self._probe_due = False
        wanted = self._next.wanted
        plan = self.schedule if wanted is None else replace(self.schedule, active=wanted.steps)
        self._steps_wanted = 1 if self._probing else steps_that_fit(plan, self._events_per_step)
        self._bound_s = self.schedule.max_seconds
        if self._probing:
            # Nobody knows yet how many events a second makes: validation must not run on under the probe.
            self._bound_s = min(self._bound_s, 1 + 4 * step_ns / 1e9 if step_ns else _PROBE_S)
        self._first_step = step
        self._steps_at_start = steps_done
        self._markers = 0
        self._void = []
        self._saw_validation = False
        with self.sessions.own():
            traced = own_profile.activities()
            self._on_device = len(traced) > 1
            config = None if self._probing or self.options.get("with_stack") else own_profile.only_a_trace()
            self._profile = torch.profiler.profile(activities=traced, experimental_config=config, **self.options)
            self._profile.start()
        self._thread = get_ident()
        self._closed.clear()
        self.is_open = True
        recorder_module.mirror = scope
        if self.modules is not None:
            self.modules.enter()
        self._began_ns = perf_counter_ns()
        self._record_stall("start", began, self._began_ns)

    def _stop(self, step: int, done: int) -> None:
        """Stop the profiler before step ``step``, of whose steps ``done`` are complete."""
        began = perf_counter_ns()
        if not self._probing:
            self._held = None  # the next one lies above all that is there now
            self._held = np.empty(_HELD_BYTES, np.uint8)
        with contextlib.nullcontext() if self._probing else self.conversions.ahead():
            profile = self._close_profile({"void_markers": self._void})
            self._keep(profile, step, done)
        own_profile.release(profile)
        self._record_stall("stop", began, perf_counter_ns())

    def _keep(self, profile: Any, step: int, done: int) -> None:
        """Make a window of a stopped profiler before step ``step``, if its ``done`` steps are worth it."""
        self._not_before = step + 1
        keep = done > 0
        if self._probing:
            events = own_profile.count_events(profile) * (_SHAPES_COUNT if self.options.get("record_shapes") else 1)
            self._events_per_step = events // done if done else self._events_per_step
            self._probe_due = not done
            # One step that is over the bound by itself: there will be no smaller window than this.
            keep = done > 0 and events >= self.schedule.max_events
        if keep:
            steps = range(self._first_step, self._first_step + done)
            handover.save(profile, self._next.wanted, steps, self.conversions, self.recorder)
            self.taken += 1
            self._next.taken(self._first_step)
            # The profiler of a GPU is slow in its first step, so each window there has a probe that warms it up.
            self._probe_due = self._on_device or self._events_per_step is None
        elif not done:
            self._tries += 1
            if self._tries >= _MAX_TRIES:
                why = "No deep window: each time validation went on for longer than the window may last."
                self._next.miss(why)
                self.recorder.note("requested_but_absent", why)

    def _close_profile(self, about: dict[str, Any]) -> Any:
        """Stop the profiler, whatever happens, and return it."""
        profile, self._profile = self._profile, None
        self.is_open = False
        recorder_module.mirror = None
        self._end_marker()
        if self.modules is not None:
            self.modules.leave()
        close_scopes()
        try:
            own_profile.stop(profile, self.sessions, about)
        except BaseException:
            self._profile = profile  # it may still run
            raise
        return profile

    def _record_stall(self, part: str, began: int, ended: int) -> None:
        self.stall_ns += ended - began
        self.recorder.span(Kind.OVERHEAD, "profiler_stall", began, ended, args={"part": part})

    # -- giving way and giving up ----------------------------------------------------------------------

    def _give_way(self) -> None:
        """The user's profiler is about to start: two at once would leave both without events."""
        if not self.is_open:
            return
        if get_ident() != self._thread:
            self.recorder.note(
                "window_postponed",
                "Another profiler was started in another thread during a deep window; either may lack events.",
            )
            return
        began = perf_counter_ns()
        own_profile.release(self._close_profile({}))
        self._next.step = self._first_step + 10
        self._probe_due |= self._probing
        self.recorder.note("window_postponed", "A deep window was broken off, since the script's own profiler started.")
        self._record_stall("stop", began, perf_counter_ns())
        self._closed.set()

    def break_off(self) -> None:
        """Take no more windows, and throw an open one away."""
        self._next.end("The recording was switched off.")
        if self.is_open and get_ident() == self._thread:
            try:
                self._close_profile({})
            except Exception as error:
                self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        log.warning("stepscope takes no more deep windows: %s. Training goes on.", error)
        self.recorder.note("hook_failed", f"Deep windows were switched off: {error}")
        self._end_windows(f"Deep windows were switched off: {error}")

    def _interrupted(self, interrupt: BaseException) -> None:
        """An exception that is not of ours, and that goes on to the script, came while a window opened or closed."""
        why = f"{type(interrupt).__name__} came while it was opened or closed."
        self.recorder.note("requested_but_absent", f"A deep window is missing: {why}")
        self._end_windows(why)

    def _end_windows(self, why: str) -> None:
        """From whatever state, with an open window or a half of one: there will be no further window."""
        profile, self._profile = self._profile, None
        self.is_open = False
        self._next.end(why)
        self._marker = self._marked = None
        recorder_module.mirror = None
        if self.modules is not None:
            self.modules.go_away()
        if profile is not None:
            own_profile.stop_rest(profile, self.sessions)

    def closes_late(self) -> bool:
        """Before ``finish``, in another thread than the training's: torch's profiler stops only in that one, so that it
        has to come to the end of its step. Returns whether it has not, and still may: then the hooks have to stay.
        """
        if not self.is_open or get_ident() == self._thread:
            return False
        self._next.is_off = self._is_ending = True
        deadline = time.monotonic() + _CLOSE_S
        while self._thread in sys._current_frames():
            if self._closed.wait(0.02):
                return False
            if time.monotonic() > deadline:
                self._is_late = True
                return True
        return False

    def finish(self, steps_done: int, timeout_s: float) -> None:
        """Close an open window and wait for the converters, ``timeout_s`` at most."""
        self._next.is_off = True
        if self.is_open:
            self._finish_open(steps_done)
        elif self._next.step is not None and not self.taken and self._next.wanted is None:
            self.recorder.note(
                "requested_but_absent",
                f"No deep window: the recording ended before step {self._next.step}, with which it would have begun.",
            )
        self._next.end("The recording ended before the window was complete.")
        self.conversions.finish(timeout_s)

    def _finish_open(self, steps_done: int) -> None:
        if get_ident() != self._thread:
            why = "its step had not ended" if self._is_late else "its thread had ended"
            self.recorder.note(
                "requested_but_absent", f"A deep window is missing: {why} when another thread ended the recording."
            )
            if not self._is_late:
                self._forget()
            return
        try:
            self._probing = False
            self._stop(0, max(1, steps_done - self._steps_at_start))
        except Exception as error:
            self._give_up(error)
        except BaseException as interrupt:
            self._interrupted(interrupt)
            raise

    def _forget(self) -> None:
        """The thread of the open window is gone, and its profiler with it."""
        self.is_open = False
        recorder_module.mirror = None
        if self.modules is not None:
            self.modules.go_away()
        own_profile.say_none_runs()
