"""The hook that ``stepscope.smprof`` starts in a TensorFlow script."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stepscope_tf.loop import Profiler, step


class Hook:
    """``stepscope.smprof.Hook`` for TensorFlow: regions of steps are the steps."""

    phases: Mapping[str, str] = {
        "forward": "forward",
        "loss": "forward",
        "backward": "backward",
        "optimizer": "optimizer",
    }

    def __init__(self, run: Path, deep: bool) -> None:
        self._profiler = Profiler(run, window=(10, 3) if deep else None)
        self._steps: list[step] = []

    def start(self) -> None:
        self._profiler.start()

    def stop(self) -> None:
        self._profiler.stop()

    def begin_step(self) -> None:
        opened = step()
        opened.__enter__()
        self._steps.append(opened)

    def end_step(self, complete: bool) -> None:
        if self._steps:
            self._steps.pop().__exit__(None if complete else Exception)
