"""The state of a run's workers: which run, finished, hang or were killed, and what of their data is missing."""

from __future__ import annotations

import os
import socket
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import psutil

from stepscope.running_job import latest_steps
from stepscope.runs import Run
from stepscope.schema import Note
from stepscope.workers import LIVE_WITHIN_NS, RecordedWorker

#: A process that shows signs of life and ends no step for so long hangs: this many usual steps, and seconds.
HANGS_AFTER_STEPS = 10
HANGS_AFTER_S = 60.0
#: Of its limit, the memory that a killed process last used, for memory to be the likely reason.
FULL_RATIO = 0.95

FINISHED, RUNNING, FAILED, STOPPED, HUNG, KILLED, LOST = (
    "finished",
    "running",
    "failed",
    "stopped",
    "hung",
    "killed",
    "lost",
)
#: States in which nothing is wrong.
WELL = (FINISHED, RUNNING)


@dataclass
class Diagnosis:
    """One worker. Times are Unix ns, None where unknown.

    Attributes:
        state: ``finished``; ``running``; ``failed``: an exception ended the training; ``stopped``: the recording
            ended before the training, as after a disk error; ``hung``: the process lives and ends no step;
            ``killed``: the process is gone without a word; ``lost``: there is no sign of life from another host.
        detail: the state in a sentence.
        data_until_ns: when the last files changed.
        last_step: number of the last step that ended, ``last_step_end_ns`` when.
        open: step, phase, since_ns and stack of what was open at the end, where that was for a second or longer.
        windows: finished deep windows; ``unfinished`` are files of those that were recorded and not converted.
        damage: what could not be read; all else was.
    """

    worker: str
    rank: int | None
    host: str | None
    pid: int | None
    state: str
    detail: str
    started_ns: int | None
    ended_ns: int | None
    data_until_ns: int
    last_step: int | None
    last_step_end_ns: int | None
    open: dict[str, Any] | None
    windows: int
    unfinished: list[str]
    damage: list[Note]
    notes: list[Note]

    @property
    def is_well(self) -> bool:
        return self.state in WELL and not self.damage and not (self.unfinished and self.state == FINISHED)


@dataclass
class Examination:
    """A whole run: its workers, the ranks of the job that left nothing or came twice, and what cannot be opened."""

    workers: list[Diagnosis]
    world_size: int | None
    missing_ranks: list[int]
    repeated_ranks: list[int]
    problems: list[str] = field(default_factory=list)

    @property
    def is_well(self) -> bool:
        return not self.missing_ranks and not self.problems and all(worker.is_well for worker in self.workers)


def examine(run: Run, now_ns: int | None = None) -> Examination:
    """Examine every recorded worker of a run; their files are read in full, to find damage."""
    now_ns = time.time_ns() if now_ns is None else now_ns
    recorded = [worker for worker in run.workers if isinstance(worker, RecordedWorker)]
    # One worker a host samples it, and tells of all of them.
    out_of_memory = {w.host for w in recorded if any(note.code == "out_of_memory" for note in w.notes)}
    workers = [_diagnose(worker, now_ns, worker.host in out_of_memory) for worker in recorded]
    sizes = [worker.world_size for worker in run.workers if worker.world_size is not None]
    world_size = max(sizes, default=None)
    seen = Counter(worker.rank for worker in workers if worker.rank is not None)
    missing = [rank for rank in range(world_size or 0) if rank not in seen]
    repeated = sorted(rank for rank, count in seen.items() if count > 1)
    return Examination(workers, world_size, missing, repeated, run.problems)


def _diagnose(worker: RecordedWorker, now_ns: int, out_of_memory: bool) -> Diagnosis:
    meta = worker.meta
    number, start, dur = latest_steps(worker)
    last_step, last_end = (int(number[-1]), int(start[-1] + dur[-1])) if len(number) else (None, None)
    opened = _still_open(meta.get("open"), last_end)
    usual_ns = float(np.median(dur)) if len(dur) else 0.0
    state, detail = _state(worker, now_ns, last_end, usual_ns)
    if state in (KILLED, LOST):
        detail += _memory(worker, out_of_memory)
    damage = _damage(worker)
    return Diagnosis(
        worker=worker.id,
        rank=worker.rank,
        host=worker.host,
        pid=worker.pid,
        state=state,
        detail=detail,
        started_ns=meta.get("started_ns"),
        ended_ns=meta.get("ended_ns"),
        data_until_ns=worker.updated_ns,
        last_step=last_step,
        last_step_end_ns=last_end,
        open=opened if state != FINISHED else None,
        windows=len(worker.window_ids()),
        unfinished=unconverted_windows(worker),
        damage=damage,
        notes=[note for note in worker.notes if note.code != "unfinished_recording" and note not in damage],
    )


def standing(worker: RecordedWorker) -> tuple[str, str]:
    """The state in a word and a sentence without a look at the steps: a process that lives and ends none counts as
    running while it writes."""
    now_ns = time.time_ns()
    return _state(worker, now_ns, now_ns, 0.0)


def _state(worker: RecordedWorker, now_ns: int, last_end: int | None, usual_ns: float) -> tuple[str, str]:
    meta = worker.meta
    exception = meta.get("exception")
    stopped = next((note.detail for note in worker.notes if note.code == "recording_stopped"), None)
    if isinstance(exception, dict):
        where = "" if exception.get("step") is None else f" in step {exception['step']}"
        message = exception.get("message")  # KeyboardInterrupt has none
        return FAILED, f"The training ended with {exception.get('type')}{where}{f': {message}' if message else '.'}"
    if stopped is not None:
        return STOPPED, f"{stopped.rstrip('.')}. The training went on unrecorded, or ended."
    if meta.get("ended_ns") is not None:
        return FINISHED, "The recording ended in order."
    age_ns = now_ns - worker.updated_ns
    alive = _is_alive(worker)
    if alive is False:
        return KILLED, f"Process {worker.pid} is gone without having ended its recording."
    since_ns = last_end if last_end is not None else meta.get("started_ns") or now_ns
    if age_ns < LIVE_WITHIN_NS:
        idle_s = (now_ns - since_ns) / 1e9
        if idle_s > max(HANGS_AFTER_S, HANGS_AFTER_STEPS * usual_ns / 1e9):
            return HUNG, f"The process lives, and has ended no step for {idle_s:.0f} s."
        return RUNNING, f"The last data is {age_ns / 1e9:.0f} s old."
    if alive:
        return HUNG, f"Process {worker.pid} exists, and even its writer has been silent for {age_ns / 1e9:.0f} s."
    return LOST, (
        f"No sign of life for {age_ns / 1e9:.0f} s: it was killed, hangs, or cannot reach this folder. "
        f"Look for process {worker.pid} on {worker.host}."
    )


def _is_alive(worker: RecordedWorker) -> bool | None:
    """Whether the very process is there; None where it belongs to another host."""
    if worker.pid is None or worker.host != socket.gethostname():
        return None
    try:
        process = psutil.Process(worker.pid)
        # Another process may have got the number since; clocks of the two differ by a tick.
        started_ns = worker.meta.get("started_ns")
        reused = started_ns is not None and process.create_time() * 1e9 > started_ns + 1e9
        return not reused and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return None


def _memory(worker: RecordedWorker, out_of_memory: bool) -> str:
    """A sentence where the kernel ended processes for want of memory, or memory was nearly used up at the end."""
    if out_of_memory:
        return " The kernel ended processes of this training for want of memory, this one most likely."
    table = worker.monitor()
    if table is None or not table.num_rows:
        return ""
    latest: dict[str, float] = {}
    for metric, value in zip(table.column("metric").to_pylist(), table.column("value").to_pylist(), strict=True):
        latest[metric] = value
    for used, limit, name in (
        ("cgroup_memory_used", "cgroup_memory_limit", "the container's limit"),
        ("memory_used", "memory_total", "the host's memory"),
    ):
        if latest.get(limit) and latest.get(used, 0) >= FULL_RATIO * latest[limit]:
            return f" Memory was at {latest[used] / latest[limit]:.0%} of {name}: it was probably killed for that."
    return ""


def _still_open(told: object, last_end: int | None) -> dict[str, Any] | None:
    """What worker.json says is open, unless a step has ended since."""
    if not isinstance(told, dict) or not isinstance(told.get("since_ns"), int):
        return None
    if last_end is not None and told["since_ns"] < last_end:
        return None
    return {name: told.get(name) for name in ("step", "phase", "since_ns", "stack")}


def unconverted_windows(worker: RecordedWorker) -> list[str]:
    """Files of deep windows that are not converted, or not yet: their process waits for an idle core."""
    try:
        names = sorted(os.listdir(worker.folder.path))
    except OSError:
        return []
    return [name for name in names if name.endswith((".pt.trace.json", ".xplane.pb", ".profile"))]


def _damage(worker: RecordedWorker) -> list[Note]:
    """Read everything once; what was damaged is a note then."""
    worker.live()
    worker.monitor()
    for _ in worker.windows():
        pass
    return worker.damage
