"""The profiler measures what it costs the training, and gives up features, one at a time, while that is too much."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from stepscope.live_columns import Written
from stepscope.recorder import Recorder
from stepscope.schema import Kind

log = logging.getLogger("stepscope")

#: Share of the training's time that is allowed where the user does not say.
DEFAULT_RATIO = 0.01
#: Nanoseconds that each judgement rests on.
PERIOD_NS = 10_000_000_000
#: The last feature to give up, that of every hook: the steps stay, and are no longer divided into phases.
PHASES = "phases"


class OverheadBudget:
    """Judges every ``PERIOD_NS``: cost = hooks of a step * steps + CPU time of the writer thread, over the time.

    The writer counts since Python lets one thread run at a time, but for the share of its rows that are the user's
    annotations: giving up something else would not make those cheaper. Deep windows do not count: their number is
    bounded by their plan, and their stalls are told apart. Steps are never given up.

    Args:
        ratio: the budget; None for no bound.
        features: what can be given up, the first first. ``PHASES``, if among them, is given up here.
        hook_ns: what the hooks cost in a step, as far as it has been sampled.
        shed: gives a feature up; called on the writer thread.
    """

    def __init__(
        self,
        recorder: Recorder,
        ratio: float | None,
        features: Sequence[str],
        hook_ns: Callable[[], int | None],
        shed: Callable[[str], None],
        now_ns: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._recorder = recorder
        self._ratio = ratio
        self._features = list(features)
        self._hook_ns = hook_ns
        self._shed = shed
        self._now_ns = now_ns
        self._began: tuple[int, int] | None = None  # with the first rows: what is loaded for them is no running cost
        self._steps = self._rows = self._annotations = 0
        self._latest_step = 0
        self._given_up: list[dict[str, Any]] = []

    def observe(self, written: Written) -> None:
        """What the recorder writes."""
        self._rows += written.rows
        self._annotations += written.count(Kind.ANNOTATION)
        numbers, _ = written.steps
        if len(numbers):
            self._steps += len(numbers)
            self._latest_step = int(numbers[-1])

    def look(self) -> None:
        """To be called on the writer thread now and then."""
        now_ns, writer_ns = self._now_ns(), self._recorder.writer_ns
        if self._began is None:
            if self._rows:
                self._began = (now_ns, writer_ns)
                self._steps = self._rows = self._annotations = 0
            return
        elapsed_ns = now_ns - self._began[0]
        if elapsed_ns < PERIOD_NS:
            return
        hook_ns = self._hook_ns()
        writer_ratio = (writer_ns - self._began[1]) / elapsed_ns
        hook_ratio = None if hook_ns is None else hook_ns * self._steps / elapsed_ns
        ours = 1 - self._annotations / self._rows if self._rows else 1.0
        ratio = writer_ratio * ours + (hook_ratio or 0)
        self._began = (now_ns, writer_ns)
        self._steps = self._rows = self._annotations = 0
        if self._ratio is not None and ratio > self._ratio and self._features:
            self._give_up(self._features.pop(0), ratio)
        told = {"limit": self._ratio, "hook_ratio": hook_ratio, "writer_ratio": writer_ratio, "shed": self._given_up}
        self._recorder.update_meta(budget=told)

    def _give_up(self, feature: str, ratio: float) -> None:
        assert self._ratio is not None
        first = self._latest_step + 1
        self._shed(feature)
        if feature == PHASES:
            self._recorder.steps_only_from = first
        self._given_up.append({"feature": feature, "from_step": first, "ratio": ratio})
        if len(self._given_up) == 1:
            log.warning("stepscope cost %.1f %% of the time, and measures less from now on.", 100 * ratio)
        self._recorder.note(
            "overhead_shed",
            f"Recording cost {ratio:.1%} of the time, above the budget of {self._ratio:.1%}: "
            f"{feature} are not measured from step {first} on.",
        )
