"""What the analyses found on one worker: its part of the contract, and its steps in columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stepscope.analysis.device_phases import DevicePhases
from stepscope.analysis.phases import MicroSteps, Phases
from stepscope.analysis.step_collectives import StepCollectives
from stepscope.analysis.steps import Steps
from stepscope.schema import ACTIVITIES, NONE, PHASES


@dataclass(frozen=True, eq=False)
class Analysis:
    """All analyses of one worker.

    ``summary`` is the worker's part of the contract without ``steps``, which stay in columns here: there may
    be millions. ``steps`` is None if that analysis failed. ``activity`` and ``phases`` have one entry a step;
    ``steps.deep`` and ``phases.measured`` tell where they hold. ``micro`` are the micro batches of the steps,
    ``collectives`` the runs of collectives in them,
    ``device_phases`` what a device did in them.
    """

    summary: dict[str, Any]
    steps: Steps | None
    activity: dict[str, np.ndarray] | None
    phases: Phases | None
    micro: MicroSteps | None
    collectives: StepCollectives | None
    device_phases: DevicePhases | None = None

    def step_rows(self) -> list[dict[str, Any]] | None:
        """The steps of the contract, one dictionary each."""
        if self.steps is None:
            return None
        s = self.steps
        micro = [NONE] * len(s) if self.micro is None else self.micro.count.tolist()
        columns = (s.id, s.start_ns, s.host_ns, s.duration_ns, s.complete, s.inferred, s.averaged)
        activity = _dictionaries(self.activity, ACTIVITIES, s.deep, len(s))
        phases = self.phases
        phase = _dictionaries(phases.ns, PHASES, phases.measured, len(s)) if phases else [None] * len(s)
        rows = zip(s.label, *(c.tolist() for c in columns), micro, activity, phase, strict=True)
        return [
            {
                "id": number if number >= 0 else None,
                "label": label,
                "start_ns": start,
                "host_ns": host,
                "duration_ns": duration,
                "complete": complete,
                "inferred": inferred,
                "averaged": averaged if averaged > 1 else None,
                "micro_steps": micro_count if micro_count != NONE else None,
                "activity_ns": activity_ns,
                "phase_ns": phase_ns,
            }
            for (
                label, number, start, host, duration, complete, inferred, averaged, micro_count, activity_ns, phase_ns
            ) in rows
        ]  # fmt: skip

    def micro_rows(self) -> list[list[dict[str, int]] | None] | None:
        """The micro batches of each step, None for a step where they are not known; in the order of ``step_rows``."""
        if self.steps is None or self.micro is None:
            return None
        out: list[list[dict[str, int]] | None] = [[] if n != NONE else None for n in self.micro.count.tolist()]
        micro = self.micro
        for step, start, length in zip(
            micro.step.tolist(), micro.start_ns.tolist(), micro.duration_ns.tolist(), strict=True
        ):
            own = out[step]
            assert own is not None
            own.append({"start_ns": start, "host_ns": length})
        return out

    def to_dict(self, micro: bool = False) -> dict[str, Any]:
        """The worker's part of the contract, steps included, on request with their micro batches."""
        steps = self.step_rows()
        if micro and steps is not None:
            for step, batches in zip(steps, self.micro_rows() or [None] * len(steps), strict=True):
                step["micro"] = batches
        return {**self.summary, "steps": steps}


def _dictionaries(
    columns: dict[str, np.ndarray] | None, names: tuple[str, ...], holds: np.ndarray, count: int
) -> list[dict[str, int | None] | None]:
    """One dictionary a step, with None for columns that are absent; None for steps where nothing holds."""
    if columns is None:
        return [None] * count
    lists = [columns[n].tolist() if n in columns else [None] * count for n in names]
    rows = (dict(zip(names, values, strict=True)) for values in zip(*lists, strict=True))
    return [row if ok else None for row, ok in zip(rows, holds.tolist(), strict=True)]
