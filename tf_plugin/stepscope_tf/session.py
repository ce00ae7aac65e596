"""One recording of this process: recorder, resource monitor and deep window together.

The Keras callback and the loop helpers share it. A process has one at a time. Between two ``fit`` calls of one
callback it is paused, so that both become one worker with step numbers that go on.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from math import isfinite
from statistics import median
from typing import Any

import stepscope.recorder as recorder_module
from stepscope.attendant import attend
from stepscope.budget import DEFAULT_RATIO, PHASES
from stepscope.controlled import Capture
from stepscope.errors import StepscopeError
from stepscope.flight import FlightPlan
from stepscope.flight import as_plan as as_flight_plan
from stepscope.monitor import INTERVALS_MS, MonitorProcess, start_monitor
from stepscope.notebook import running_cell
from stepscope.recorder import Recorder, Row
from stepscope.schema import NONE, Kind
from stepscope.watch import Activity
from stepscope_tf.environment import Place
from stepscope_tf.fits import Fit
from stepscope_tf.profilers import MakeProfiler
from stepscope_tf.window import DeepWindow, WindowPlan, as_plan

log = logging.getLogger("stepscope")

_STEP = int(Kind.STEP)
_PHASE = int(Kind.PHASE)
#: Seconds that the end of a training waits for the deep window to be converted.
CONVERT_S = 60.0

#: A phase of a step: name, step, start and end as ``perf_counter_ns`` readings.
Phase = tuple[str, int, int, int]
#: A phase and since when it is open; None where none is, and where that is not known.
OpenPhase = tuple[str | None, int | None]


def nothing_open() -> OpenPhase:
    return None, None


#: The session of this process, running or paused.
current: Session | None = None


class Session:
    """Records into ``run`` from ``open`` on.

    Args:
        run: the run folder, e.g. ``runs/exp1``.
        window: (first step, steps) of the deep window, None for none.
        monitor_interval_ms: one of ``stepscope.monitor.INTERVALS_MS``; 0 or None for no monitor.
        batch_size: samples in one batch of this process; None where it is not told.
        metadata: what the user tells of the run.
        flight_recorder: whether windows open by themselves, or how; None: where a window is planned.
        overhead_budget: share of the time that recording may take before phases are given up; None for no bound.

    Raises:
        StepscopeError: an argument is none of these.
    """

    def __init__(
        self,
        run: str | os.PathLike[str],
        window: tuple[int, int] | None,
        monitor_interval_ms: int | None,
        batch_size: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        flight_recorder: FlightPlan | bool | None = None,
        overhead_budget: float | None = DEFAULT_RATIO,
    ) -> None:
        if monitor_interval_ms and monitor_interval_ms not in INTERVALS_MS:
            allowed = ", ".join(map(str, INTERVALS_MS))
            raise StepscopeError(f"monitor_interval_ms={monitor_interval_ms!r}: give one of {allowed}, or 0 for none.")
        self.run = run
        self.plan: WindowPlan | None = as_plan(window)
        self.monitor_interval_ms = monitor_interval_ms or None
        self.batch_size = batch_size if isinstance(batch_size, int) else None
        self.metadata = metadata
        self.flight_plan = as_flight_plan(flight_recorder, self.plan is not None)
        self.overhead_budget = overhead_budget
        self._loss: Callable[[float, int], None] | None = None
        #: The phase that is open and since when (perf_counter ns; None: since a moment), as the hook knows it.
        self.open_phase: Callable[[], OpenPhase] = nothing_open
        self.recorder: Recorder | None = None
        self.window: DeepWindow | None = None
        self.next_step = 0
        self.paused = False
        self._cell: int | None = None  # the notebook's, in which it began or went on
        self.fit: Fit | None = None  # that is recorded; None where a custom loop is
        self.hook_costs: deque[int] = deque(maxlen=1000)  # what our hooks cost in the latest steps
        self._convert_s = CONVERT_S
        self._monitor: MonitorProcess | None = None
        self._monitor_notes: dict[str, int] = {}

    # -- start and end -----------------------------------------------------------------------------

    def open(
        self,
        framework: str,
        place: Place,
        devices: list[dict[str, Any]],
        versions: dict[str, str],
        make_profiler: MakeProfiler | None = None,
    ) -> bool:
        """Begin, or go on after ``pause``. False if nothing can be recorded, which has been said once.

        Args:
            make_profiler: what takes deep windows; None for none.
        """
        global current
        if self.recorder is not None:
            return self._resume()
        if not _is_free(self.run, self.fit):
            log.warning("stepscope: another recording of this process is running; %s is not recorded.", self.run)
            return False
        recorder = Recorder(
            self.run,
            framework=framework,
            rank=place.rank,
            world_size=place.world_size,
            about={
                "devices": devices,
                "batch_size": self.batch_size,
                "phases": [],
                "options": {
                    "window": [self.plan.first, self.plan.steps] if self.plan else None,
                    "monitor_interval_ms": self.monitor_interval_ms,
                },
            },
            metadata=self.metadata,
        )
        recorder.meta["versions"].update(versions)
        recorder.start()
        self.recorder = recorder
        if not recorder.enabled:
            return False
        current = self
        self._cell = running_cell()
        atexit.register(self.close)
        if self.monitor_interval_ms and not place.local_rank:  # one a host is enough; None is the only one known
            self._start_monitor(self.monitor_interval_ms)
        if make_profiler is not None:
            self._make_window(make_profiler)
        self._thread = threading.get_ident()
        self._loss = attend(recorder, self, self.flight_plan, self.overhead_budget).loss
        return True

    # -- for the writer thread (stepscope.attendant.Hook) ----------------------------------------------

    features = (PHASES,)

    def ask(self, capture: Capture) -> str | None:
        if self.window is None:
            return "This backend of Keras takes no deep windows."
        return "The training has ended." if self.paused else self.window.ask(capture)

    def stalls(self) -> tuple[int, int]:
        return (0, 0) if self.window is None else (self.window.stall_ns, self.window.taken)

    def activity(self) -> Activity:
        step = NONE if self.recorder is None else self.recorder.step
        try:
            phase, since_ns = self.open_phase()
        except Exception:  # what it looks at belongs to the training thread, which goes on meanwhile
            phase, since_ns = None, None
        return Activity(None if step == NONE else step, phase, since_ns)

    def thread(self) -> int:
        return self._thread

    def hook_ns(self) -> int | None:
        samples = list(self.hook_costs)
        return int(median(samples)) if samples else None

    def shed(self, feature: str) -> None:
        """The recorder itself throws the phases away."""

    def loss(self, value: object) -> None:
        """The loss of the step that has just ended."""
        if self._loss is not None and isinstance(value, float) and not isfinite(value):
            self._loss(value, self.next_step - 1)

    def set_interval(self, interval_ms: int) -> str | None:
        if self._monitor is None:
            return "This worker samples nothing; the one with local rank 0 does, if any."
        return self._monitor.set_interval(interval_ms)

    def _resume(self) -> bool:
        recorder = self.recorder
        if recorder is None or not recorder.enabled:
            return False
        if self.paused:
            self.paused = False
            self._thread = threading.get_ident()
            self._cell = running_cell()
            recorder_module.active = recorder
            recorder.update_meta(ended_ns=None, exception=None)
            if self._monitor is not None:
                self._monitor.resume()
        return True

    def _start_monitor(self, interval_ms: int) -> None:
        assert self.recorder is not None
        assert self.recorder.folder is not None
        try:
            self._monitor = start_monitor(self.recorder.folder, interval_ms)
        except Exception as error:
            log.warning("stepscope records no resources: %s", error)
            self.recorder.note("requested_but_absent", f"No resource monitor: {error}")

    def _make_window(self, make_profiler: MakeProfiler) -> None:
        assert self.recorder is not None
        try:
            self.window = DeepWindow(make_profiler, self.recorder, self.plan)
        except Exception as error:
            log.warning("stepscope takes no deep window: %s", error)
            self.recorder.note("requested_but_absent", f"No deep window: {error}")

    def pause(self, wait: bool = True) -> None:
        """A training ended: its files are complete, the monitor rests. Raises nothing.

        Args:
            wait: for the deep window to be converted; otherwise that goes on by itself.
        """
        recorder = self.recorder
        if recorder is None or self.paused or not recorder.enabled:
            return
        self._convert_s = CONVERT_S if wait else 0.0
        self.paused = True
        self.open_phase = nothing_open
        recorder.step = NONE
        if recorder_module.active is recorder:
            recorder_module.active = None
        try:
            if self._monitor is not None:
                self._monitor.pause()
            self._finish_parts()
            recorder.update_meta(ended_ns=time.time_ns())
            recorder.flush()
        except Exception as error:
            self.fail("the end of a training", error)

    def close(self) -> None:
        """End for good. Raises nothing; harmless when called twice."""
        global current
        recorder = self.recorder
        if current is self:
            current = None
        atexit.unregister(self.close)
        if recorder is None or not recorder.enabled:  # never began, gave up, or this is a forked child
            return
        try:
            if self._monitor is not None:
                self._monitor.stop()
            self._finish_parts()
        except Exception as error:
            self.fail("the end of the recording", error)
        recorder.stop()

    def _finish_parts(self) -> None:
        """Close the window, wait for its conversion, and write into worker.json what is known only now."""
        assert self.recorder is not None
        answers = self.recorder.flush()
        if self.window is not None:
            self.window.finish(self._convert_s if answers else 0.0)
            self.window.report_missing()
        for note in self._monitor.notes() if self._monitor is not None and answers else ():
            self.note(note.code, note.detail, note.count - self._monitor_notes.get(note.code, 0))
            self._monitor_notes[note.code] = note.count
        overhead = {
            "hook_ns_per_step": self.hook_ns(),
            "stall_ns": self.window.stall_ns if self.window else 0,
        }
        self.recorder.update_meta(overhead=overhead)

    # -- steps ---------------------------------------------------------------------------------------

    @property
    def is_of_earlier_cell(self) -> bool:
        return self._cell != running_cell()

    def is_over(self, fit: Fit | None) -> bool:
        """Whether its ``fit`` has ended, though no callback was told, as another one begins."""
        return self.fit is not None and fit is not None and not self.fit.goes_on(fit)

    def before_step(self, number: int | None = None) -> None:
        """The next step is about to begin: annotations belong to it, and the deep window may open.

        Args:
            number: what the loop calls it; ``next_step`` if None.
        """
        number = self.next_step if number is None else number
        if self.recorder is not None:
            self.recorder.step = number
        if self.window is not None:
            self.window.before_step(self.next_step, number)

    def before_wait(self) -> None:
        """The next step begins with the wait for its batch: the deep window may open."""
        if self.window is not None:
            self.window.open_if_due(self.next_step)

    def end_marker(self) -> None:
        """Of the open step, of whose end one will know only later: its marker must not reach beyond it."""
        if self.window is not None:
            self.window.end_marker()

    def after_step(self) -> None:
        """A step and its rows are done; ``next_step`` is already the one after it."""
        if self.recorder is not None:
            self.recorder.step = NONE
        if self.window is not None:
            self.window.after_step(self.next_step)

    def no_step(self) -> None:
        """What began was no step: the data had come to an end."""
        if self.recorder is not None:
            self.recorder.step = NONE
        if self.window is not None:
            self.window.end_marker(is_step=False)

    @property
    def unix_offset_ns(self) -> int:
        """Unix time less ``perf_counter_ns``."""
        assert self.recorder is not None
        return self.recorder.clock.offset_ns

    def step_row(self, step: int, start_ns: int, end_ns: int, args: dict[str, Any] | None = None) -> None:
        assert self.recorder is not None
        self.recorder.span(_STEP, "step", start_ns, end_ns, step, args)

    def phase_row(self, name: str, step: int, start_ns: int, end_ns: int) -> None:
        """A part of a step; none if it is empty."""
        assert self.recorder is not None
        if end_ns > start_ns:
            self.recorder.span(_PHASE, name, start_ns, end_ns, step)

    def phase_rows(self, make: Callable[..., list[Phase]], *args: Any) -> None:
        """The phases that ``make(*args)`` gives, worked out on the writer thread."""
        assert self.recorder is not None
        if self.recorder.enabled and not self.recorder.is_full:
            self.recorder.fast_lane()((_rows_of, (make, args), threading.get_native_id()))

    def see_phases(self, *names: str) -> None:
        """These phases are measured from now on: where they are absent they are 0, not unknown."""
        assert self.recorder is not None
        seen = self.recorder.meta["phases"]
        new = [n for n in names if n not in seen]
        if new:
            self.recorder.update_meta(phases=[*seen, *new])

    def note(self, code: str, detail: str, count: int = 1) -> None:
        if self.recorder is not None:
            self.recorder.note(code, detail, count)

    def tell_exception(self, error: BaseException) -> None:
        """The training ends with an exception. Raises nothing."""
        try:
            if self.recorder is not None:
                self.recorder.tell_exception(error, self.next_step)
        except Exception:
            log.debug("the exception of the training could not be kept", exc_info=True)

    def fail(self, part: str, error: Exception) -> None:
        """Say once that a part of the hook is off from now on."""
        log.warning("stepscope switched off %s: %r. Training goes on without it.", part, error)
        self.note("hook_failed", f"{part} was switched off: {error!r}")


def _rows_of(make: Callable[..., list[Phase]], args: tuple[Any, ...]) -> list[Row]:
    return [(_PHASE, name, start, end, step, None) for name, step, start, end in make(*args) if end > start]


def _is_free(run: str | os.PathLike[str], fit: Fit | None) -> bool:
    """Whether this process may begin a recording of ``fit`` into ``run``; one that is merely paused is ended for it,
    and so is one whose ``fit`` was interrupted, or that an earlier cell of a notebook did not end.
    """
    if current is not None and current.paused:
        current.close()
    elif current is not None and (current.is_of_earlier_cell or current.is_over(fit)):
        current.note("never_stopped", f"This recording was never stopped; it ended when one into {run} began.")
        current.close()
    active = recorder_module.active
    return (current is None or current.recorder is None or not current.recorder.enabled) and (
        active is None or not active.enabled
    )
