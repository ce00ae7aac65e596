"""The PyTorch hook: ``with Profiler("runs/exp1", model):`` around a training loop."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from stepscope.budget import DEFAULT_RATIO
from stepscope.errors import StepscopeError
from stepscope.flight import FlightPlan
from stepscope.flight import as_plan as as_flight_plan
from stepscope.recorder import Recorder
from stepscope_torch import recording
from stepscope_torch.loader import WaitedFor
from stepscope_torch.recording import Recording, Settings
from stepscope_torch.schedule import ScheduleLike, as_schedule

log = logging.getLogger("stepscope")


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
    One at a time: a second one in the same process stays off, but for one that was never stopped: that nothing in the
    script holds any more, or that an earlier cell of a notebook started (not by ``with``). That one is ended by it.

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
        self._settings = Settings(
            run=self.run,
            model=self.model,
            optimizers=_as_list(optimizer),
            schedule=(plan := as_schedule(schedule)),
            monitor_interval_ms=monitor_interval_ms,
            batch_size=batch_size if isinstance(batch_size, int) else None,
            metadata=metadata,
            window_options={
                "record_shapes": record_shapes,
                "with_stack": with_stack,
                "profile_memory": profile_memory,
            },
            modules_every=None if modules is True else int(modules),
            flight_plan=as_flight_plan(flight_recorder, plan.windows > 0),
            overhead_budget=overhead_budget,
        )
        self._recording: Recording | None = None  # from ``start`` to ``stop``
        self._recorder: Recorder | None = None  # of the latest one

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
        if self._recording is not None:
            self._recording.is_in_with = True
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and self._recording is not None:
            self._recording.tell_exception(error)
        self.stop()

    def start(self) -> None:
        """Begin to record. On failure the training goes on unrecorded, and the log says why."""
        begun = recording.begin(self._settings, self)
        if begun is not None:
            self._recording, self._recorder = begun, begun.recorder

    def step(self) -> None:
        """End a step here: for loops whose steps cannot be seen. From the first call on only these calls count."""
        if self._recording is not None:
            self._recording.step()

    def wrap_loader(self, loader: Any) -> Any:
        """``loader``, any iterable, such that waits for its batches count as input wait.

        For what is no torch DataLoader, whose waits are seen anyway. Length and attributes are the loader's own;
        may be called before ``start``, and costs next to nothing while nothing records.
        """
        return WaitedFor(loader, lambda: None if self._recording is None else self._recording.fetch)

    def loss(self, value: Any) -> None:
        """Tell the loss of a step, a number or a tensor: one that is no number is noted and opens a deep window.

        Never waits for a GPU: its losses are looked at some steps later. Returns nothing and raises nothing.
        """
        if self._recording is not None:
            self._recording.loss(value)

    def memory_snapshot(self) -> Path | None:
        """Save what the CUDA allocator holds into this process's folder, for pytorch.org/memory_viz.

        From the first call on the allocator also keeps a history with stacks (about 1 us an allocation), which later
        snapshots contain. Returns the file; None, and a line in the log, where it could not be saved.
        """
        try:
            if self._recording is None:
                raise StepscopeError("memory_snapshot: the profiler does not record.")
            return self._recording.memory_snapshot()
        except Exception as error:
            log.warning("stepscope saved no memory snapshot: %s", error)
            return None

    def stop(self) -> None:
        """End the recording; waits for deep windows to be converted, a minute at most. Harmless when repeated.

        In another thread than the training's it first waits for the step to end, 5 s at most, if a deep window is open.
        """
        if self._recording is not None:
            self._recording.end()
            self._recording = None  # it holds the model and the optimizers


def _as_list(optimizer: Any) -> list[torch.optim.Optimizer] | None:
    if optimizer is None:
        return None
    return [optimizer] if isinstance(optimizer, torch.optim.Optimizer) else list(optimizer)
