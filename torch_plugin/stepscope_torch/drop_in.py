"""The hook that ``stepscope.smprof`` starts in a PyTorch script."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stepscope_torch.profiler import Profiler


class Hook:
    """``stepscope.smprof.Hook`` for PyTorch: a step ends with its region, and begins with the wait before it."""

    #: The hook sees forward, backward and optimizer itself; the loss is part of the phase ``forward``.
    phases: Mapping[str, str] = {"loss": "forward"}

    def __init__(self, run: Path, deep: bool) -> None:
        self._profiler = Profiler(run, schedule=deep)

    def start(self) -> None:
        self._profiler.start()

    def stop(self) -> None:
        self._profiler.stop()

    def begin_step(self) -> None:
        pass

    def end_step(self, complete: bool) -> None:
        if complete:  # else an exception leaves the loop, or it goes on with the next batch of the same step
            self._profiler.step()
