"""The workers of a run that are alive, and what to ask of them together (``control`` has the files)."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from stepscope.control import CAPTURE, EXPIRES_S, INTERVAL, LEAD_S, Request
from stepscope.errors import StepscopeError
from stepscope.runs import Run
from stepscope.schema import LIVE_SCHEMA, Kind
from stepscope.store import read_tail
from stepscope.workers import RecordedWorker

#: Seconds in which the first steps of a job are told: the writer threads of its workers write each second at least.
PACE_WITHIN_S = 2.0
_STEPS_OF_A_PACE = 10
_PACE_OF_LAST = 100
_LOOK_S = 0.1


def live_workers(run: Run, ranks: Sequence[int] | None = None) -> list[RecordedWorker]:
    """The workers that still record, of all ranks or of some.

    Raises:
        StepscopeError: there is none, or one of the ranks has none.
    """
    recorded = [worker for worker in run.workers if isinstance(worker, RecordedWorker)]
    live = [worker for worker in recorded if worker.is_live]
    if not recorded:
        raise StepscopeError(f"{run.path}: was not recorded by stepscope. Give the run folder of a running training.")
    if not live:
        age_s = (time.time_ns() - max(worker.updated_ns for worker in recorded)) / 1e9
        raise StepscopeError(
            f"{run.path}: no worker of this run is running (the last data is {age_s:.0f} s old). "
            "Ask while the training runs; stepscope doctor tells how it ended."
        )
    if ranks is None:
        return live
    missing = sorted(set(ranks) - {worker.rank for worker in live})
    if missing:
        listed = ", ".join(map(str, missing))
        known = ", ".join(str(worker.rank) for worker in live)
        raise StepscopeError(f"{run.path}: no running worker has rank {listed}; running are {known}.")
    return [worker for worker in live if worker.rank in ranks]


def capture_request(workers: Sequence[RecordedWorker], steps: int) -> Request:
    """A capture of the same steps in all the workers: from a step on that none of them has reached when it asks.

    Where several workers have only begun, it waits until their pace is known, ``PACE_WITHIN_S`` at most.
    """
    at_step = 0
    if len(workers) > 1:
        deadline = time.monotonic() + PACE_WITHIN_S
        at_step = max(_step_after(worker, LEAD_S, deadline) for worker in workers)
    return Request(CAPTURE, [worker.id for worker in workers], expires_ns(), steps=steps, at_step=at_step)


def interval_request(workers: Sequence[RecordedWorker], interval_ms: int) -> Request:
    """Another sampling interval of the monitors beside the workers."""
    return Request(INTERVAL, [worker.id for worker in workers], expires_ns(), interval_ms=interval_ms)


def expires_ns() -> int:
    return time.time_ns() + int(EXPIRES_S * 1e9)


def latest_steps(worker: RecordedWorker) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number, start and length (ns) of the steps in the last part of the always-on stream, in order of time."""
    try:
        rows = read_tail(worker.folder.live_path(), LIVE_SCHEMA)
    except (StepscopeError, OSError):
        rows = LIVE_SCHEMA.empty_table()
    steps = rows.filter(pc.equal(rows.column("kind"), int(Kind.STEP))).sort_by("ts_ns")
    number, start, dur = (steps.column(name).to_numpy() for name in ("step", "ts_ns", "dur_ns"))
    return number, start, dur


def _step_after(worker: RecordedWorker, lead_s: float, deadline: float) -> int:
    """A step that the worker will not have begun in ``lead_s`` seconds: its quicker steps tell how far it may come.

    Args:
        deadline: until when (``time.monotonic``) to wait for as many steps as tell a pace; the first is a slow one.
    """
    number, start, dur = latest_steps(worker)
    while len(number) < _STEPS_OF_A_PACE and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
        number, start, dur = latest_steps(worker)
    if not len(number):
        return 0
    since_ns = max(0, time.time_ns() - int(start[-1] + dur[-1]))
    pace_ns = max(1.0, float(np.percentile(dur[-_PACE_OF_LAST:], 25)))
    return int(number[-1]) + 1 + math.ceil((since_ns + lead_s * 1e9) / pace_ns)
