"""The PyTorch hook as the recorder's writer thread sees it."""

from __future__ import annotations

import statistics
from typing import Any

from stepscope.budget import PHASES
from stepscope.controlled import Capture
from stepscope.watch import Activity
from stepscope_torch.codes import BACKWARD, H2D, OPTIMIZER
from stepscope_torch.loop import Loop
from stepscope_torch.part import Part
from stepscope_torch.steps import INPUT_WAIT

#: Parts that may be given up without the phases of steps being others than before.
_APART = ("modules", "device phases")
#: Parts that only make phases, where the phase beside it has been seen: else steps are found by them too.
_ONLY_PHASES = {BACKWARD: OPTIMIZER, H2D: INPUT_WAIT}


class Attended:
    """A ``stepscope.attendant.Hook``. Parts are given up on the training thread, between two steps."""

    def __init__(self, loop: Loop, parts: list[Part], monitor: Any) -> None:
        self._loop = loop
        self._parts = parts
        self._monitor = monitor
        self._due: list[str] = []
        self.features = [*(name for name in _APART if any(part.name == name for part in parts)), PHASES]
        loop.checks.append(self._shed_due)

    def ask(self, capture: Capture) -> str | None:
        refusal = self._loop.windows.ask(capture)
        self._loop.look_soon()
        return refusal

    def stalls(self) -> tuple[int, int]:
        return self._loop.windows.stall_ns, self._loop.windows.taken

    def set_interval(self, interval_ms: int) -> str | None:
        if self._monitor is None:
            return "This worker samples nothing; the one with local rank 0 does, if any."
        refusal: str | None = self._monitor.set_interval(interval_ms)
        return refusal

    def activity(self) -> Activity:
        return self._loop.activity()

    def thread(self) -> int:
        return self._loop.thread

    def hook_ns(self) -> int | None:
        samples = list(self._loop.hook_ns)
        return int(statistics.median(samples)) if samples else None

    def shed(self, feature: str) -> None:
        self._due.append(feature)

    def _shed_due(self) -> None:
        while self._due:
            feature = self._due.pop(0)
            seen = self._loop.tracker.phases_seen
            only_phases = [name for name, beside in _ONLY_PHASES.items() if beside in seen]
            names = only_phases if feature == PHASES else [feature]
            for part in [part for part in self._parts if part.name in names]:
                part.shed()
