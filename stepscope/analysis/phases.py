"""What the training loop did in each step: an exclusive partition by phase; and the micro batches of a step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from stepscope.analysis import intervals
from stepscope.analysis.select import host_rows
from stepscope.analysis.steps import Steps
from stepscope.schema import NONE, PHASES, Events, Kind


@dataclass(frozen=True, eq=False)
class PhaseRows:
    """Stretches of time in which a thread was in a phase; ``phase`` points into ``PHASES``.

    ``visible`` are the phases that would be here if they had occurred.
    """

    lane: np.ndarray
    start_ns: np.ndarray
    end_ns: np.ndarray
    phase: np.ndarray
    visible: frozenset[str]

    def of(self, phase: str, lane: int) -> tuple[np.ndarray, np.ndarray]:
        """Starts and ends of one phase on one lane, in order."""
        rows = np.flatnonzero((self.phase == PHASES.index(phase)) & (self.lane == lane))
        rows = rows[np.lexsort((self.end_ns[rows], self.start_ns[rows]))]
        return self.start_ns[rows], self.end_ns[rows]


@dataclass(frozen=True, eq=False)
class Phases:
    """Time of each phase in each step, shape (steps,) int64 ns; the phases of a step sum to its ``host_ns``.

    A moment belongs to the innermost phase around it, on the thread of the step's marker. ``ns`` lacks the
    phases that cannot be seen. ``measured`` is a mask: steps without a single phase row were not measured.

    The hooks record phases. In a trace of another tool they are read off what marks them, where that is reliable:
    the fetches of the DataLoader; the operators from the first to the last one that a backward pass goes back to,
    and calls of modules and of DDP or FSDP; the nodes of a backward pass, from the first to the last; the
    optimizer's own region; the operators that launch copies to a device.

    Metrics:
        input_wait: the loop waits for its next batch
        h2d: the batch is moved to the device
        forward: the model and, where it can be seen, the loss are computed
        backward: gradients are computed
        optimizer: weights are updated
        compute: forward, backward and optimizer in one call, where the framework runs them so
        validation: an evaluation runs inside the step
        other: the rest of the marker: loss, logging, callbacks, user code
    """

    ns: dict[str, np.ndarray]
    measured: np.ndarray


@dataclass(frozen=True, eq=False)
class MicroSteps:
    """Micro batches: ``count`` of each step, ``NONE`` where it is not known.

    The other arrays have one entry a micro batch, in order of steps and time: the ``step`` it is part of, its
    start and its duration. Those of one step sum to its ``host_ns``.
    """

    count: np.ndarray
    step: np.ndarray
    start_ns: np.ndarray
    duration_ns: np.ndarray


def recorded_phases(events: Events, visible: Iterable[str] | None = None) -> PhaseRows:
    """The PHASE rows of a table. ``visible`` as the hook tells it; what occurs is visible in any case."""
    rows = host_rows(events, Kind.PHASE)
    code = np.array([PHASES.index(n) if n in PHASES else len(PHASES) - 1 for n in events.names], dtype=np.int64)
    phase = code[events.name[rows]] if len(rows) else np.empty(0, np.int64)
    seen = {PHASES[i] for i in np.unique(phase).tolist()} | set(visible or ())
    start = events.ts_ns[rows]
    return PhaseRows(events.lane[rows].astype(np.int64), start, start + events.dur_ns[rows], phase, frozenset(seen))


def partition(rows: PhaseRows, steps: Steps) -> Phases:
    """The phases of each step. ``rows`` are of the table that the steps' markers come from."""
    totals = {name: np.zeros(len(steps), np.int64) for name in PHASES}
    measured = np.zeros(len(steps), bool)
    start, end = steps.host_start_ns, steps.host_end_ns
    for lane in np.unique(steps.lane).tolist():
        here = steps.lane == lane
        mine = rows.lane == lane
        ts, stop = rows.start_ns[mine], rows.end_ns[mine]
        for name, own in _exclusive(ts, stop, rows.phase[mine]):
            totals[name][here] += intervals.length_within(own, start[here], end[here])
        begun = np.searchsorted(np.sort(ts, kind="stable"), end[here], "left")
        ended = np.searchsorted(np.sort(stop, kind="stable"), start[here], "right")
        measured[here] = begun > ended
    rest = steps.host_ns.copy()
    for name in PHASES[:-1]:
        rest -= totals[name]
    totals["other"] = rest
    return Phases({name: totals[name] for name in PHASES if name in rows.visible or name == "other"}, measured)


def micro_steps(rows: PhaseRows, steps: Steps) -> MicroSteps:
    """The micro batches of each step (gradient accumulation).

    A micro batch begins where the loop waits for it; in a step without such a wait, where the first micro batch
    begins, and behind each backward pass but the last. The first one begins with the step, the last one ends
    with it.
    """
    count = np.full(len(steps), NONE, np.int64)
    starts = [steps.host_start_ns]
    step_of = [np.arange(len(steps))]
    for lane in np.unique(steps.lane).tolist():
        here = np.flatnonzero(steps.lane == lane)
        start, end = steps.host_start_ns[here], steps.host_end_ns[here]
        waits, _ = rows.of("input_wait", lane)
        _, passes = rows.of("backward", lane)
        wait_step, pass_step = _step_at(waits, start, end), _step_at(np.sort(passes) - 1, start, end)
        batches = np.bincount(wait_step[wait_step != NONE], minlength=len(here))
        without = batches == 0
        passed = np.bincount(pass_step[pass_step != NONE], minlength=len(here))
        number = np.where(without, passed, batches)
        count[here] = np.where(number > 0, number, NONE)
        later = (wait_step != NONE) & (np.diff(wait_step, prepend=NONE - 1) == 0)
        inner = (pass_step != NONE) & (np.diff(pass_step, append=NONE - 1) == 0)
        inner[inner] = without[pass_step[inner]]
        starts += [waits[later], np.sort(passes)[inner]]
        step_of += [here[wait_step[later]], here[pass_step[inner]]]
    step, start = np.concatenate(step_of), np.concatenate(starts)
    order = np.lexsort((start, step))
    step, start = step[order], start[order]
    last = np.diff(step, append=NONE) != 0
    end = np.append(start[1:], 0)
    end[last] = steps.host_end_ns[step[last]]
    known = count[step] != NONE
    return MicroSteps(count, step[known], start[known], (end - start)[known])


def _step_at(at_ns: np.ndarray, start_ns: np.ndarray, end_ns: np.ndarray) -> np.ndarray:
    """The number of the interval (sorted, disjoint) that holds each moment, ``NONE`` for none."""
    found = np.searchsorted(start_ns, at_ns, "right") - 1
    inside = found >= 0
    inside[inside] = at_ns[inside] < end_ns[found[inside]]
    return np.where(inside, found, NONE)


def _exclusive(ts: np.ndarray, stop: np.ndarray, phase: np.ndarray) -> list[tuple[str, np.ndarray]]:
    """Disjoint sets in which each moment belongs to the phase that started last around it."""
    order = np.lexsort((phase, -stop, ts))
    ts, stop, phase = ts[order], stop[order], phase[order]
    depth = np.arange(len(ts)) - np.searchsorted(np.sort(stop, kind="stable"), ts, "right")
    key = -depth * len(PHASES) + phase  # the deepest level first; a level holds few phases
    keys = np.unique(key).tolist()
    sets = [intervals.union(ts[key == k], stop[key == k]) for k in keys]
    return [(PHASES[k % len(PHASES)], own) for k, own in zip(keys, intervals.exclusive(sets), strict=True)]
