"""The PyTorch hook: ``with Profiler("runs/exp1", model):`` around a training loop."""

from __future__ import annotations

import atexit
import logging
import os
import statistics
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

import stepscope.recorder as recorder_module
from stepscope.attendant import attend
from stepscope.budget import DEFAULT_RATIO
from stepscope.errors import StepscopeError
from stepscope.flight import FlightPlan
from stepscope.flight import as_plan as as_flight_plan
from stepscope.recorder import Recorder
from stepscope_torch import environment
from stepscope_torch.attended import Attended
from stepscope_torch.device_phases import DevicePhases
from stepscope_torch.forward import Forward
from stepscope_torch.loader import WaitedFor
from stepscope_torch.loop import Loop
from stepscope_torch.loss import LossCheck
from stepscope_torch.memory_history import MemoryHistory
from stepscope_torch.module_scopes import ModuleScopes
from stepscope_torch.modules import EVERY, ModuleTimes
from stepscope_torch.part import Part
from stepscope_torch.phases import Backward, HostToDevice, InputWait, OptimizerStep
from stepscope_torch.schedule import ScheduleLike, as_schedule
from stepscope_torch.sessions import Sessions
from stepscope_torch.window import DeepWindows

log = logging.getLogger("stepscope")

#: Seconds that ``stop`` waits for deep windows to be converted, so that a run is whole when its script ends.
CONVERT_TIMEOUT_S = 60.0

_running: Profiler | None = None


class Profiler:
    """Records the training loop of this process into a run folder.

    Always on: the steps and their phases (input wait, copies to the device, forward, backward, optimizer),
    the script's annotations and the machine's load. On top of that a deep window of a few steps, with
    every operator and kernel, as ``schedule`` plans it.

    Args:
        run: the run folder, e.g. ``runs/exp1``; made if missing. All ranks of a job give the same one.
        model: the module that the loop calls. Without it, or where the loop calls something else (or several),
            the outermost modules with parameters are found during the first step.
        optimizer: one or several; only their steps end a step of the loop. Default: any optimizer's.
        schedule: when deep windows are taken; None for one of 3 steps after 10, False for none.
        monitor_interval_ms: how often the machine's load is sampled: 100, 200, 500, 1000, 5000 or 60000;
            None or 0 for not at all. One process a host samples, that of local rank 0.
        batch_size: samples in one batch of this process, for the throughput; default: what its DataLoader says.
        metadata: anything worth knowing about the run, such as hyperparameters; shown with it. Of all ranks and
            all recordings into the same folder the first one's stays.
        record_shapes, with_stack, profile_memory: what deep windows hold besides, as torch.profiler has them.
        modules: times of the model's modules: host times of two steps in 50, in 500 where a step is so short that the
            sample would make it longer by 1 % (in N steps, for a number N of at least 16; fewer of steps below
            40 ms), and with their operators and kernels in deep windows. False for neither.
        flight_recorder: whether deep windows open by themselves after slow steps and losses that are no numbers; a
            ``stepscope.flight.FlightPlan`` says how many. Default: where ``schedule`` has windows at all.
        overhead_budget: share of the training's time that recording may take; above it, judged every 10 s, it gives
            up times of modules, then device times of phases, then phases, never steps. None for no bound.

    Nothing here raises into the training: what fails is switched off, says so once in the log and leaves a
    note in worker.json. The rank is that of torch.distributed, or the launcher's, or else 0 of 1.
    One at a time: a second one in the same process stays off.

    ``torch.jit.script`` refuses a module with hooks: script it before ``start``.
    """

    def __init__(
        self,
        run: str | os.PathLike[str],
        model: torch.nn.Module | None = None,
        *,
        optimizer: torch.optim.Optimizer | Iterable[torch.optim.Optimizer] | None = None,
        schedule: ScheduleLike = None,
        monitor_interval_ms: int | None = 500,
        batch_size: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        record_shapes: bool = False,
        with_stack: bool = False,
        profile_memory: bool = False,
        modules: bool | int = True,
        flight_recorder: FlightPlan | bool | None = None,
        overhead_budget: float | None = DEFAULT_RATIO,
    ) -> None:
        self.run = Path(run)
        self.model = model if isinstance(model, torch.nn.Module) else None
        self.optimizers = _as_list(optimizer)
        self.schedule = as_schedule(schedule)
        self.monitor_interval_ms = monitor_interval_ms
        self.batch_size = batch_size if isinstance(batch_size, int) else None
        self.metadata = metadata
        self.window_options = {
            "record_shapes": record_shapes,
            "with_stack": with_stack,
            "profile_memory": profile_memory,
        }
        self.modules_every = None if modules is True else int(modules)
        self.flight_plan = as_flight_plan(flight_recorder, self.schedule.windows > 0)
        self.overhead_budget = overhead_budget
        self._attended: Attended | None = None
        self._losses: LossCheck | None = None
        self._recorder: Recorder | None = None
        self._loop: Loop | None = None
        self._windows: DeepWindows | None = None
        self._sessions: Sessions | None = None
        self._parts: list[Part] = []
        self._input: InputWait | None = None
        self._memory = MemoryHistory()
        self._monitor: Any = None
        self._phases: list[str] = []  # as worker.json has them
        self._samples_told = 0

    # -- the user's side -------------------------------------------------------------------------------

    @property
    def enabled(self) -> bool:
        """Whether it records."""
        return self._recorder is not None and self._recorder.enabled

    @property
    def folder(self) -> Path | None:
        """The folder of this process in the run, once started."""
        folder = None if self._recorder is None else self._recorder.folder
        return None if folder is None else folder.path

    def __enter__(self) -> Profiler:
        self.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self._tell_exception(error)
        self.stop()

    def start(self) -> None:
        """Begin to record. On failure the training goes on unrecorded, and the log says why."""
        global _running
        if _running is not None or recorder_module.active is not None:
            log.warning("stepscope already records this process; Profiler(%s) stays off.", self.run)
            if recorder_module.active is not None:
                recorder_module.active.note("second_profiler", f"A second profiler, for {self.run}, was refused.")
            return
        try:
            self._start()
        except Exception as error:
            log.warning("stepscope could not start: %s. Training goes on without it.", error)
            self._clean_up()

    def step(self) -> None:
        """End a step here: for loops whose steps cannot be seen. From the first call on only these calls count."""
        if self._loop is not None and self.enabled:
            try:
                self._loop.step()
            except Exception as error:
                self._part_failed("step", error)

    def wrap_loader(self, loader: Any) -> Any:
        """``loader``, any iterable, such that waits for its batches count as input wait.

        For what is no torch DataLoader, whose waits are seen anyway. Length and attributes are the loader's own;
        may be called before ``start``, and costs next to nothing while nothing records.
        """
        return WaitedFor(loader, lambda: None if self._input is None else self._input.fetch)

    def loss(self, value: Any) -> None:
        """Tell the loss of a step, a number or a tensor: one that is no number is noted and opens a deep window.

        Never waits for a GPU: its losses are looked at some steps later. Returns nothing and raises nothing.
        """
        if self._losses is not None and self._loop is not None and self.enabled:
            try:
                self._losses.check(value, self._loop.tracker.number)
            except Exception as error:
                self._losses = None
                self._part_failed("loss", error)

    def memory_snapshot(self) -> Path | None:
        """Save what the CUDA allocator holds into this process's folder, for pytorch.org/memory_viz.

        From the first call on the allocator also keeps a history with stacks (about 1 us an allocation), which later
        snapshots contain. Returns the file; None, and a line in the log, where it could not be saved.
        """
        try:
            if self.folder is None or not self.enabled:
                raise StepscopeError("memory_snapshot: the profiler does not record.")
            return self._memory.snapshot(self.folder)
        except Exception as error:
            log.warning("stepscope saved no memory snapshot: %s", error)
            return None

    def stop(self) -> None:
        """End the recording; waits for deep windows to be converted, a minute at most. Harmless when repeated."""
        if _running is not self:
            return
        try:
            self._stop()
        except Exception as error:
            log.warning("stepscope could not end its recording properly: %s", error)
        finally:
            self._clean_up()

    # -- starting --------------------------------------------------------------------------------------

    def _start(self) -> None:
        global _running
        here = environment.place()
        recorder = Recorder(
            self.run,
            framework="pytorch",
            rank=here.rank,
            world_size=here.world_size,
            about={"options": self._options(), "batch_size": self.batch_size, "phases": [], "refused": []},
            metadata=self.metadata,
        )
        recorder.meta["versions"].update(environment.versions())
        recorder.start()
        if not recorder.enabled:
            return  # it has said why
        _running = self
        self._phases = []
        self._samples_told = 0
        self._recorder = recorder
        self._sessions = Sessions()
        scopes = None  # with_stack shows modules by itself
        if self.modules_every != 0 and not self.window_options["with_stack"]:
            scopes = ModuleScopes(lambda: forward.modules)
        self._windows = DeepWindows(recorder, self.schedule, self.window_options, self._sessions, scopes)
        self._loop = loop = Loop(recorder, self._windows)
        loop.after_segment = [self._after_first_step]
        loop.checks = [self._check]
        self._input = InputWait(loop, self._part_failed)
        forward = Forward(loop, self._part_failed, self.model, self._no_forward_found)
        self._parts = [
            self._input,
            forward,
            Backward(loop, self._part_failed),
            OptimizerStep(loop, self._part_failed, self.optimizers),
        ]
        if self.modules_every != 0:
            self._parts.append(ModuleTimes(loop, self._part_failed, lambda: forward.modules, self.modules_every))
        if torch.cuda.is_available():
            self._parts.append(DevicePhases(loop, self._part_failed, lambda: forward.modules))
        device_types = self._accelerators()
        if device_types:
            self._parts.append(HostToDevice(loop, self._part_failed, device_types))
        self._sessions.install()
        for part in self._parts:
            try:
                part.install()
            except Exception as error:
                part.fail(error)
        if here.local_rank in (0, None):
            self._start_monitor()
        self._attended = Attended(loop, self._parts, self._monitor)
        self._losses = LossCheck(attend(recorder, self._attended, self.flight_plan, self.overhead_budget).loss)
        atexit.register(self._at_exit)
        self._windows.at_boundary(0, 0, None)  # a plan may begin with the very first step

    def _accelerators(self) -> frozenset[str]:
        try:
            return environment.accelerators()
        except Exception as error:
            self._part_failed("h2d", error)
            return frozenset()

    def _options(self) -> dict[str, Any]:
        plan = self.schedule
        return {
            "schedule": {name: getattr(plan, name) for name in plan.__dataclass_fields__},
            "monitor_interval_ms": self.monitor_interval_ms or None,
            "modules_every": EVERY if self.modules_every is None else self.modules_every or None,
            **self.window_options,
        }

    def _start_monitor(self) -> None:
        recorder = self._recorder
        if not self.monitor_interval_ms or recorder is None or recorder.folder is None:
            return
        try:
            from stepscope.monitor import start_monitor

            self._monitor = start_monitor(recorder.folder, self.monitor_interval_ms)
        except Exception as error:
            log.warning("stepscope does not sample the machine: %s", error)
            recorder.note("requested_but_absent", f"No resource samples: {error}")

    # -- while it runs ---------------------------------------------------------------------------------

    def _after_first_step(self) -> bool:
        """What is known only once the training runs: the process group and the devices."""
        recorder, loop = self._recorder, self._loop
        if recorder is None or loop is None:
            return False
        if not loop.tracker.steps:
            return True
        try:
            here = environment.place()
            loader = None if self._input is None else self._input.loader
            recorder.update_meta(
                rank=here.rank, world_size=here.world_size, devices=environment.devices(), loader=loader
            )
            self._say_phases(recorder, loop)
        except Exception as error:
            log.debug("stepscope could not ask for the devices: %s", error)
        return False

    def _check(self) -> None:
        recorder, loop = self._recorder, self._loop
        if recorder is None or loop is None:
            return
        self._say_phases(recorder, loop)
        if self._windows is not None:
            self._windows.handover.collect()
        samples = len(loop.hook_ns)
        if samples & (samples - 1) == 0 and samples != self._samples_told:  # after 1, 2, 4, ... samples
            self._samples_told = samples
            recorder.update_meta(overhead=self._overhead(recorder, loop))
        if not recorder.enabled:  # the disk is full, say
            self._switch_off()

    def _overhead(self, recorder: Recorder, loop: Loop) -> dict[str, int | None]:
        return {
            # without what torch spends on calling a hook
            "hook_ns_per_step": int(statistics.median(loop.hook_ns)) if loop.hook_ns else None,
            "stall_ns": self._windows.stall_ns if self._windows is not None else 0,
            "flush_cpu_ns": recorder.meta.get("flush_cpu_ns"),
        }

    def _say_phases(self, recorder: Recorder, loop: Loop) -> None:
        """worker.json lists the phases that were seen: the others were not measured."""
        if len(loop.tracker.phases_seen) != len(self._phases):
            self._phases = sorted(loop.tracker.phases_seen)
            recorder.update_meta(phases=self._phases)

    def _part_failed(self, name: str, error: Exception) -> None:
        log.warning("stepscope switched its %s hook off: %r. Training goes on.", name, error)
        if self._recorder is not None:
            self._recorder.note("hook_failed", f"The {name} hook was switched off: {error!r}")
        if self._loop is not None and self._loop.is_broken:
            self._switch_off()

    def _switch_off(self) -> None:
        """Nothing can be recorded any more: the hooks have nothing to do."""
        for part in self._parts:
            part.live = False
        if self._loop is not None:
            self._loop.lose_hook()
        if self._windows is not None:
            self._windows.break_off()

    def _no_forward_found(self) -> None:
        if self._recorder is not None:
            self._recorder.note(
                "requested_but_absent",
                "No forward phase: no module was called from outside compiled code. Give Profiler the model "
                "that the loop calls.",
            )

    def _tell_exception(self, error: BaseException) -> None:
        if _running is self and self._recorder is not None and self._loop is not None:
            try:
                self._recorder.tell_exception(error, self._loop.tracker.number)
            except Exception:
                log.debug("the exception of the training could not be kept", exc_info=True)

    def _at_exit(self) -> None:
        """The script has ended without ``stop``, be it with an exception, which Python keeps here for debuggers."""
        error = getattr(sys, "last_value", None)
        if isinstance(error, BaseException) and not hasattr(sys, "ps1"):
            self._tell_exception(error)
        self.stop()

    # -- stopping --------------------------------------------------------------------------------------

    def _stop(self) -> None:
        recorder, loop, windows = self._recorder, self._loop, self._windows
        if recorder is None or loop is None or windows is None:
            return
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
        self._say_phases(recorder, loop)
        recorder.update_meta(overhead=self._overhead(recorder, loop))
        self._leave_notes(recorder, loop, windows)

    def _leave_notes(self, recorder: Recorder, loop: Loop, windows: DeepWindows) -> None:
        if loop.unclosed and recorder.enabled:  # else hooks were switched off in the middle of a step
            recorder.note("unclosed_phase", "Exceptions passed the end of phases by; they are missing.", loop.unclosed)
        if loop.other_threads:
            recorder.note(
                "other_threads", "Forwards, backwards and optimizer steps of other threads.", loop.other_threads
            )
        asked = [name for name, value in self.window_options.items() if value]
        if asked and not windows.taken:
            recorder.note("requested_but_absent", f"{', '.join(asked)} only act in deep windows, and there was none.")

    def _clean_up(self) -> None:
        global _running
        if _running is self:
            _running = None
        atexit.unregister(self._at_exit)
        for part in self._parts:
            part.remove()
        try:
            self._memory.stop()
        except Exception as error:
            log.warning("stepscope could not end the history of the CUDA allocator: %s", error)
        if self._sessions is not None:
            self._sessions.remove()
        if self._recorder is not None:
            self._recorder.stop()
        self._loop = self._windows = self._sessions = self._monitor = self._input = None
        self._attended = self._losses = None
        self._parts = []


def _as_list(optimizer: Any) -> list[torch.optim.Optimizer] | None:
    if optimizer is None:
        return None
    return [optimizer] if isinstance(optimizer, torch.optim.Optimizer) else list(optimizer)


def _after_fork_in_child() -> None:
    """A DataLoader's worker has our hooks in its memory; there they have nothing to record."""
    global _running
    if _running is not None:
        for part in _running._parts:
            part.live = False
        if _running._loop is not None:
            _running._loop.lose_hook()
        if _running._sessions is not None:
            _running._sessions.before_start = None
        atexit.unregister(_running._at_exit)
        _running = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
