"""Runs of collectives by the step in which they began: what can be matched between ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stepscope.analysis.collective_sums import CollectiveRuns
from stepscope.analysis.steps import Steps
from stepscope.schema import NONE, Events

#: What tells collectives apart between ranks: name, process group, its size (None where not told), on a device.
Label = tuple[str, str | None, int | None, bool]


@dataclass(frozen=True, eq=False)
class StepCollectives:
    """One entry a run, in order of step and start; runs outside of steps are not in it.

    ``step`` is the position among the worker's steps, ``label`` that in ``labels``.
    """

    step: np.ndarray
    label: np.ndarray
    dur_ns: np.ndarray
    labels: list[Label]


def step_collectives(events: Events, runs: CollectiveRuns, steps: Steps) -> StepCollectives:
    """The collectives of each step.

    Args:
        events: deep windows.
        runs: the collectives of ``events``.
        steps: the steps of the worker.
    """
    labels: dict[Label, int] = {}
    of_message = np.empty((len(runs.messages), 2), np.int64)
    for i, m in enumerate(runs.messages):
        size = None if math.isnan(m.group_size) else int(m.group_size)
        for on_device in (False, True):
            of_message[i, int(on_device)] = labels.setdefault((m.name, m.group, size, on_device), len(labels))
    label = of_message[runs.message, runs.on_device.astype(np.int64)] if len(runs.rows) else np.empty(0, np.int64)
    start = events.ts_ns[runs.rows]
    step = np.searchsorted(steps.start_ns, start, "right") - 1 if len(steps) else np.full(len(start), NONE, np.int64)
    inside = step != NONE
    inside[inside] = start[inside] < steps.end_ns[step[inside]]
    order = np.flatnonzero(inside)[np.lexsort((start[inside], step[inside]))]
    return StepCollectives(step[order], label[order], events.dur_ns[runs.rows[order]], list(labels))
