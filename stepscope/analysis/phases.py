"""What the training loop did in each step: an exclusive partition by phase."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from stepscope.analysis import intervals
from stepscope.analysis.select import host_rows
from stepscope.analysis.steps import Steps
from stepscope.schema import PHASES, Events, Kind


@dataclass(frozen=True, eq=False)
class Phases:
    """Time of each phase in each step, shape (steps,) int64 ns; the phases of a step sum to its ``host_ns``.

    A moment belongs to the innermost phase around it, on the thread of the step's marker. ``ns`` lacks the
    phases that the hook cannot see. ``measured`` is a mask: steps without a single phase row were not measured.

    Metrics:
        input_wait: the loop waits for its next batch
        h2d: the batch is moved to the device
        forward: the model and, where the hook sees it, the loss are computed
        backward: gradients are computed
        optimizer: weights are updated
        compute: forward, backward and optimizer in one call, where the framework runs them so
        validation: an evaluation runs inside the step
        other: the rest of the marker: loss, logging, callbacks, user code
    """

    ns: dict[str, np.ndarray]
    measured: np.ndarray


def phases_by_step(events: Events, steps: Steps, visible: Iterable[str] | None = None) -> Phases:
    """The phases of each step.

    Args:
        events: the table that the steps' markers come from (``steps.lane`` are its lanes), for its PHASE rows.
        steps: steps of one worker.
        visible: phases that the hook can see; those that occur in ``events`` if None.
    """
    rows = host_rows(events, Kind.PHASE)
    code = np.array([PHASES.index(n) if n in PHASES else len(PHASES) - 1 for n in events.names], dtype=np.int64)
    phase = code[events.name[rows]] if len(rows) else np.empty(0, np.int64)
    seen = {PHASES[i] for i in np.unique(phase).tolist()} | set(visible or ())
    totals = {name: np.zeros(len(steps), np.int64) for name in PHASES}
    measured = np.zeros(len(steps), bool)
    start, end = steps.host_start_ns, steps.host_end_ns
    for lane in np.unique(steps.lane).tolist():
        here = steps.lane == lane
        mine = events.lane[rows] == lane
        ts = events.ts_ns[rows[mine]]
        stop = ts + events.dur_ns[rows[mine]]
        for name, own in _exclusive(ts, stop, phase[mine]):
            totals[name][here] += intervals.length_within(own, start[here], end[here])
        begun = np.searchsorted(np.sort(ts), end[here], "left")
        ended = np.searchsorted(np.sort(stop), start[here], "right")
        measured[here] = begun > ended
    rest = steps.host_ns.copy()
    for name in PHASES[:-1]:
        rest -= totals[name]
    totals["other"] = rest
    return Phases({name: totals[name] for name in PHASES if name in seen or name == "other"}, measured)


def _exclusive(ts: np.ndarray, stop: np.ndarray, phase: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Disjoint sets in which each moment belongs to the phase that started last around it."""
    order = np.lexsort((phase, -stop, ts))
    ts, stop, phase = ts[order], stop[order], phase[order]
    depth = np.arange(len(ts)) - np.searchsorted(np.sort(stop), ts, "right")
    key = -depth * len(PHASES) + phase  # the deepest level first; a level holds few phases
    keys = np.unique(key).tolist()
    sets = [intervals.union(ts[key == k], stop[key == k]) for k in keys]
    return [(PHASES[k % len(PHASES)], own) for k, own in zip(keys, intervals.exclusive(sets), strict=True)]
