"""What a device did in each step, by phase of the training loop, as a pair of events around each phase tells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.arguments import QueueArgs, decode, integers
from stepscope.analysis.percentiles import nearest_rank
from stepscope.analysis.steps import Steps
from stepscope.schema import PHASES, Events, Kind


@dataclass(frozen=True, eq=False)
class DevicePhases:
    """Columns with one entry a step; those of ``ns`` sum to ``whole_ns`` and hold where ``measured``.

    ``queue_p50_ns`` is None where no phase tells its lag.
    """

    ns: dict[str, np.ndarray]
    whole_ns: np.ndarray
    measured: np.ndarray
    queue_p50_ns: int | None


def device_phases(live: Events, steps: Steps) -> DevicePhases | None:
    """Time of each phase on a device in each step, in ns; the phases of a step sum to its time there.

    The hook records CUDA events around forward, backward and optimizer on the current stream, without waiting for
    one. A step lasts there from where the device reached its first phase to where it reached the first one of the
    next step; where that was not timed, to the end of its own last one. Work of other streams shows as part of the
    phase that waits for it. Not verified on a GPU.

    Metrics:
        steps: steps with such times; the phases are summed over them
        forward: from the moment the device reached the forward pass until it had passed it
        backward: the same of the backward pass
        optimizer: the same of the weights' update
        other: the rest: copies, the loss, and waits for the host
        queue_p50_ns: median over the phases of how long after the host the device reached them; near 0 the device
            waits for the host

    Returns:
        None where none were recorded, or where step numbers repeat.
    """
    rows = np.flatnonzero(live.of_kind(Kind.DEVICE_ANNOTATION))
    known = steps.id[steps.from_live]
    if len(rows) == 0 or len(np.unique(known)) < len(known):
        return None
    position = np.flatnonzero(steps.from_live)[np.argsort(known, kind="stable")]
    known = np.sort(known)
    at = np.minimum(np.searchsorted(known, live.step[rows]), max(len(known) - 1, 0))
    hit = known[at] == live.step[rows] if len(known) else np.zeros(len(rows), bool)
    rows, step = rows[hit], position[at[hit]]
    names = np.array([PHASES.index(n) if n in PHASES else len(PHASES) - 1 for n in live.names], np.int64)
    phase = names[live.name[rows]]
    start, end = live.ts_ns[rows], live.ts_ns[rows] + live.dur_ns[rows]
    n = len(steps)
    first, last = np.full(n, np.iinfo(np.int64).max), np.zeros(n, np.int64)
    np.minimum.at(first, step, start)
    np.maximum.at(last, step, end)
    measured = last > 0
    if not measured.any():
        return None
    told = [i for i, name in enumerate(PHASES[:-1]) if (phase == i).any()]
    ns = {PHASES[i]: np.bincount(step[phase == i], (end - start)[phase == i], n).astype(np.int64) for i in told}
    until = last.copy()
    follows = np.flatnonzero(measured[:-1] & measured[1:])
    until[follows] = np.maximum(first[follows + 1], last[follows])
    summed = np.sum(list(ns.values()), axis=0, dtype=np.int64) if ns else np.zeros(n, np.int64)
    whole = np.where(measured, np.maximum(until - np.where(measured, first, 0), summed), 0)
    args, code = decode(live, rows, QueueArgs)
    queued = integers([one.queue_ns for one in args])[code]
    queued = queued[queued >= 0]
    return DevicePhases(
        {**ns, "other": whole - summed}, whole, measured, nearest_rank(queued, 50)[0] if len(queued) else None
    )
