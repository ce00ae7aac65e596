"""One recording of this process's training: the hooks, the deep windows and the monitor, from its begin to its end.

It does not hold the ``Profiler`` that began it: a recording whose profiler is gone goes on to the end of the process,
since ``Profiler(run).start()`` means that, and gives way to the next one.
"""

from __future__ import annotations

import atexit
import logging
import os
import statistics
import sys
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import stepscope.recorder as recorder_module
from stepscope.attendant import attend
from stepscope.errors import StepscopeError
from stepscope.flight import FlightPlan
from stepscope.notebook import running_cell
from stepscope.recorder import Recorder
from stepscope_torch import environment
from stepscope_torch.attended import Attended
from stepscope_torch.device_phases import DevicePhases
from stepscope_torch.forward import Forward
from stepscope_torch.loop import Loop
from stepscope_torch.loss import LossCheck
from stepscope_torch.memory_history import MemoryHistory
from stepscope_torch.module_scopes import ModuleScopes
from stepscope_torch.modules import EVERY, ModuleTimes
from stepscope_torch.part import Part, take_out_left
from stepscope_torch.phases import Backward, HostToDevice, InputWait, OptimizerStep
from stepscope_torch.schedule import Schedule
from stepscope_torch.sessions import Sessions
from stepscope_torch.window import DeepWindows

log = logging.getLogger("stepscope")

#: Seconds that the end waits for deep windows to be converted, so that a run is whole when its script ends.
CONVERT_TIMEOUT_S = 60.0

#: The recording of this process.
running: Recording | None = None


@dataclass(frozen=True)
class Settings:
    """What ``Profiler`` was given; ``modules_every`` is None for the usual number, 0 for no times of modules."""

    run: Path
    model: torch.nn.Module | None
    optimizers: list[torch.optim.Optimizer] | None
    schedule: Schedule
    monitor_interval_ms: int | None
    batch_size: int | None
    metadata: Mapping[str, Any] | None
    window_options: dict[str, bool]
    modules_every: int | None
    flight_plan: FlightPlan | None
    overhead_budget: float | None

    def told(self) -> dict[str, Any]:
        """For worker.json."""
        plan = self.schedule
        return {
            "schedule": {name: getattr(plan, name) for name in plan.__dataclass_fields__},
            "monitor_interval_ms": self.monitor_interval_ms or None,
            "modules_every": EVERY if self.modules_every is None else self.modules_every or None,
            **self.window_options,
        }


def begin(settings: Settings, owner: object) -> Recording | None:
    """Begin to record for ``owner``. None if that cannot be, which the log says; raises nothing."""
    try:
        if running is not None and (running.is_lost or running.loop.is_broken):
            _end_lost(running, settings.run)
        active = recorder_module.active
        if running is not None or active is not None:
            log.warning("stepscope already records this process; Profiler(%s) stays off.", settings.run)
            if active is not None:
                active.note("second_profiler", f"A second profiler, for {settings.run}, was refused.")
            return None
        return _begin(settings, owner)
    except Exception as error:
        log.warning("stepscope could not start: %s. Training goes on without it.", error)
        return None


def _end_lost(lost: Recording, next_run: Path) -> None:
    log.warning(
        "stepscope ends the recording into %s, which was never stopped: one into %s begins.", lost.run, next_run
    )
    lost.recorder.note("never_stopped", f"This recording was never stopped; it ended when one into {next_run} began.")
    lost.end()


def _begin(settings: Settings, owner: object) -> Recording | None:
    here = environment.place()
    recorder = Recorder(
        settings.run,
        framework="pytorch",
        rank=here.rank,
        world_size=here.world_size,
        about={"options": settings.told(), "batch_size": settings.batch_size, "phases": [], "refused": []},
        metadata=settings.metadata,
    )
    recorder.meta["versions"].update(environment.versions())
    recorder.start()
    if not recorder.enabled:
        return None  # it has said why
    try:
        recording = Recording(settings, recorder, owner)
    except Exception:
        recorder.stop()
        raise
    try:
        recording.begin(samples=here.local_rank in (0, None))  # one monitor a host
    except Exception:
        recording.clean_up()
        raise
    return recording


class Recording:
    """From ``begin`` to ``end``; nothing but these and ``memory_snapshot`` raises."""

    def __init__(self, settings: Settings, recorder: Recorder, owner: object) -> None:
        self.run = settings.run
        self.recorder = recorder
        self.is_in_with = False  # a ``with`` statement ends it
        self.sessions = Sessions()
        scopes = None  # with_stack shows modules by itself
        if settings.modules_every != 0 and not settings.window_options["with_stack"]:
            scopes = ModuleScopes(self._modules, lambda: self._forward.stand_outside())
        self.windows = DeepWindows(recorder, settings.schedule, settings.window_options, self.sessions, scopes)
        self.loop = Loop(recorder, self.windows)
        self.loop.after_segment = [self._after_first_step]
        self.loop.checks = [self._check]
        self.attended: Attended | None = None
        self._settings = settings
        self._owner = weakref.ref(owner)
        self._cell = running_cell()
        self._input = InputWait(self.loop, self._part_failed)
        self._forward = Forward(self.loop, self._part_failed, settings.model, self._no_forward_found)
        self._parts: list[Part] = []
        self._losses: LossCheck | None = None
        self._memory = MemoryHistory()
        self._monitor: Any = None
        self._closes_late = False  # an open window, and with it the hooks, outlive the end
        self._phases: list[str] = []  # as worker.json has them
        self._samples_told = 0

    # -- the user's side -------------------------------------------------------------------------------

    @property
    def is_lost(self) -> bool:
        """Whether nothing is left that could be meant to stop it: its profiler is gone, or of an earlier cell."""
        return self._owner() is None or (not self.is_in_with and self._cell != running_cell())

    @property
    def fetch(self) -> Callable[[Any], Any] | None:
        """Gets the next item of an iterator and counts that as a wait; None where nothing is recorded."""
        return self._input.fetch if self is running else None

    def step(self) -> None:
        if self._records:
            try:
                self.loop.step()
            except Exception as error:
                self._part_failed("step", error)

    def loss(self, value: Any) -> None:
        if self._losses is not None and self._records:
            try:
                self._losses.check(value, self.loop.tracker.number)
            except Exception as error:
                self._losses = None
                self._part_failed("loss", error)

    def memory_snapshot(self) -> Path:
        """Raises ``StepscopeError`` where there is nothing to save."""
        folder = self.recorder.folder
        if folder is None or not self._records:
            raise StepscopeError("memory_snapshot: the profiler does not record.")
        return self._memory.snapshot(folder.path)

    def tell_exception(self, error: BaseException) -> None:
        if self is running:
            try:
                self.recorder.tell_exception(error, self.loop.tracker.number)
            except Exception:
                log.debug("the exception of the training could not be kept", exc_info=True)

    @property
    def _records(self) -> bool:
        return self is running and self.recorder.enabled

    # -- starting --------------------------------------------------------------------------------------

    def begin(self, samples: bool) -> None:
        """``samples``: whether the machine's load is sampled by this process."""
        global running
        running = self
        settings, loop = self._settings, self.loop
        self._parts = [
            self._input,
            self._forward,
            Backward(loop, self._part_failed),
            OptimizerStep(loop, self._part_failed, settings.optimizers),
        ]
        if settings.modules_every != 0:
            self._parts.append(ModuleTimes(loop, self._part_failed, self._modules, settings.modules_every))
        if torch.cuda.is_available():
            self._parts.append(DevicePhases(loop, self._part_failed, self._modules))
        device_types = self._accelerators()
        if device_types:
            self._parts.append(HostToDevice(loop, self._part_failed, device_types))
        take_out_left()
        self.sessions.install()
        for part in self._parts:
            try:
                part.install()
            except Exception as error:
                part.fail(error)
        if samples:
            self._start_monitor()
        self.attended = Attended(loop, self._parts, self._monitor)
        attendant = attend(self.recorder, self.attended, settings.flight_plan, settings.overhead_budget)
        self._losses = LossCheck(attendant.loss)
        atexit.register(self.at_exit)
        self.windows.at_boundary(0, 0, None)  # a plan may begin with the very first step

    def _accelerators(self) -> frozenset[str]:
        try:
            return environment.accelerators()
        except Exception as error:
            self._part_failed("h2d", error)
            return frozenset()

    def _modules(self) -> list[torch.nn.Module]:
        return self._forward.modules

    def _start_monitor(self) -> None:
        recorder, interval_ms = self.recorder, self._settings.monitor_interval_ms
        if not interval_ms or recorder.folder is None:
            return
        try:
            from stepscope.monitor import start_monitor

            self._monitor = start_monitor(recorder.folder, interval_ms)
        except Exception as error:
            log.warning("stepscope does not sample the machine: %s", error)
            recorder.note("requested_but_absent", f"No resource samples: {error}")

    # -- while it runs ---------------------------------------------------------------------------------

    def _after_first_step(self) -> bool:
        """What is known only once the training runs: the process group and the devices."""
        if not self.loop.tracker.steps:
            return True
        try:
            here = environment.place()
            self.recorder.update_meta(
                rank=here.rank, world_size=here.world_size, devices=environment.devices(), loader=self._input.loader
            )
            self._say_phases()
        except Exception as error:
            log.debug("stepscope could not ask for the devices: %s", error)
        return False

    def _check(self) -> None:
        self._say_phases()
        samples = len(self.loop.hook_ns)
        if samples & (samples - 1) == 0 and samples != self._samples_told:  # after 1, 2, 4, ... samples
            self._samples_told = samples
            self._say_overhead()
        if not self.recorder.enabled:  # the disk is full, say
            self._switch_off()

    def _say_overhead(self) -> None:
        hook_ns = self.loop.hook_ns
        overhead = {
            # without what torch spends on calling a hook
            "hook_ns_per_step": int(statistics.median(hook_ns)) if hook_ns else None,
            "stall_ns": self.windows.stall_ns,
            "flush_cpu_ns": self.recorder.meta.get("flush_cpu_ns"),
        }
        self.recorder.update_meta(overhead=overhead)

    def _say_phases(self) -> None:
        """worker.json lists the phases that were seen: the others were not measured."""
        seen = self.loop.tracker.phases_seen
        if len(seen) != len(self._phases):
            self._phases = sorted(seen)
            self.recorder.update_meta(phases=self._phases)

    def _part_failed(self, name: str, error: Exception) -> None:
        log.warning("stepscope switched its %s hook off: %r. Training goes on.", name, error)
        self.recorder.note("hook_failed", f"The {name} hook was switched off: {error!r}")
        if self.loop.is_broken:
            self._switch_off()

    def _switch_off(self) -> None:
        """Nothing can be recorded any more: the hooks have nothing to do."""
        self._silence()
        self.windows.break_off()
        if self._closes_late:
            self.sessions.remove()

    def _silence(self) -> None:
        for part in self._parts:
            part.silence()

    def _no_forward_found(self) -> None:
        self.recorder.note(
            "requested_but_absent",
            "No forward phase: no module was called from outside compiled code. Give Profiler the model "
            "that the loop calls.",
        )

    def at_exit(self) -> None:
        """The script has ended without ``stop``, be it with an exception, which Python keeps here for debuggers."""
        error = getattr(sys, "last_value", None)
        if isinstance(error, BaseException) and not hasattr(sys, "ps1"):
            self.tell_exception(error)
        self.end()

    def forget(self) -> None:
        """In a forked child, a DataLoader's worker say: it has our hooks in its memory and nothing to record."""
        self._silence()
        self.sessions.before_start = None
        atexit.unregister(self.at_exit)

    # -- the end ---------------------------------------------------------------------------------------

    def end(self) -> None:
        """Wait for deep windows to be converted, a minute at most. Harmless when repeated."""
        if self is not running:
            return
        try:
            self._end()
        except Exception as error:
            log.warning("stepscope could not end its recording properly: %s", error)
        finally:
            self.clean_up()

    def _end(self) -> None:
        recorder, loop, windows = self.recorder, self.loop, self.windows
        self._closes_late = windows.closes_late()
        if self._closes_late:
            windows.when_late = self._switch_off
        else:
            for part in self._parts:
                part.remove()
        try:
            loop.finish()
        except Exception as error:
            self._part_failed("step", error)
        if self._monitor is not None:
            self._monitor.stop()
        answers = recorder.flush()
        if self._monitor is not None and answers:
            for note in self._monitor.notes():
                recorder.note(note.code, note.detail, note.count)
        windows.finish(loop.tracker.steps, CONVERT_TIMEOUT_S if answers else 0.0)
        self._say_phases()
        self._say_overhead()
        self._leave_notes()

    def _leave_notes(self) -> None:
        recorder, loop = self.recorder, self.loop
        if loop.unclosed and recorder.enabled:  # else hooks were switched off in the middle of a step
            recorder.note("unclosed_phase", "Exceptions passed the end of phases by; they are missing.", loop.unclosed)
        if loop.other_threads:
            recorder.note(
                "other_threads", "Forwards, backwards and optimizer steps of other threads.", loop.other_threads
            )
        asked = [name for name, value in self._settings.window_options.items() if value]
        if asked and not self.windows.taken:
            recorder.note("requested_but_absent", f"{', '.join(asked)} only act in deep windows, and there was none.")

    def clean_up(self) -> None:
        global running
        if running is self:
            running = None
        atexit.unregister(self.at_exit)
        if not self._closes_late:
            for part in self._parts:
                part.remove()
            self.sessions.remove()
        try:
            self._memory.stop()
        except Exception as error:
            log.warning("stepscope could not end the history of the CUDA allocator: %s", error)
        self.recorder.stop()


def _after_fork_in_child() -> None:
    global running
    if running is not None:
        running.forget()
        running = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
