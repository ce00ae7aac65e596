"""The rollups of the runs that are looked at as a whole; missing ones are made in a process of its own."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

from stepscope.analysis.ranks import Measures
from stepscope.errors import StepscopeError
from stepscope.rollup import build, files
from stepscope.runs import Run
from stepscope.summary.across import side_by_side
from stepscope.summary.rollup import Rollup, empty_rollup
from stepscope.summary.unreadable import unreadable_worker
from stepscope.workers import Worker
from stepscope_tensorboard.answers import Cancelled, Pending, Problem, isolated
from stepscope_tensorboard.child import PathWork

#: How long a request waits for rollups before it answers that they are being made.
_WAIT_S = 2.0
#: Rollups of a run that changes are made again no sooner than this, nor than a multiple of the time they took.
_REST_S = 10.0
_REST_FACTOR = 10
#: Runs that are kept in memory.
_KEPT = 2


@dataclass(frozen=True, eq=False)
class WholeRun:
    """All workers of a run in order of their rank, as their rollups tell; ``stale`` of them are of a former state of
    the files, or were made by another version of stepscope. ``ids`` are those of the workers."""

    ids: list[str]
    rollups: list[Rollup]
    measures: Measures
    stale: int
    version: str


class RunRollups:
    """Any thread may ask."""

    def __init__(self, wait_s: float = _WAIT_S) -> None:
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._loaded: OrderedDict[str, dict[str, tuple[str | None, Rollup]]] = OrderedDict()
        self._whole: dict[str, WholeRun] = {}
        self._running: dict[str, PathWork] = {}
        self._due: dict[str, float] = {}
        self._cancelled: set[str] = set()

    def of(self, run: Run) -> WholeRun:
        """The run as a whole. Workers that changed since their rollup was made are shown as they were then.

        Raises:
            Pending: rollups are being made that no former state can stand for.
            Cancelled: they would be, had nobody cancelled that.
            Problem: they cannot be made.
        """
        states = [files.state_of(worker) for worker in run.workers]
        found = self._found(run, states)
        current = [state is not None and state == has[0] for state, has in zip(states, found, strict=True)]
        if not all(current):
            ended = self._make(run, must_wait=any(rollup is None for _, rollup in found))
            if ended:
                found = self._found(run, states)
                current = [state is not None and state == has[0] for state, has in zip(states, found, strict=True)]
        missing = sum(rollup is None for _, rollup in found)
        done = f"{len(found) - missing} of {len(found)} are done"
        if missing and run.id in self._cancelled:
            raise Cancelled(f"Summing up the workers of {isolated(run.name)} was cancelled: {done}.")
        if missing and run.id in self._running:
            raise Pending(f"Summing up the workers of {isolated(run.name)}: {done}.", can_cancel=True)
        rollups = [r if r is not None else _unknown(w) for w, (_, r) in zip(run.workers, found, strict=True)]
        return self._as_whole(run, rollups, [state for state, _ in found], len(found) - sum(current))

    def cancel(self, run: Run) -> None:
        """End the work on the run, and begin none until ``resume``; workers that are done stay so."""
        with self._lock:
            self._cancelled.add(run.id)
            if (child := self._running.pop(run.id, None)) is not None:
                child.end()

    def resume(self, run: Run) -> None:
        """Sum up the run when it is next asked for."""
        with self._lock:
            self._cancelled.discard(run.id)
            self._due.pop(run.id, None)

    def stop(self) -> None:
        """End the work that goes on."""
        with self._lock:
            for child in self._running.values():
                child.end()

    def _found(self, run: Run, states: list[str | None]) -> list[tuple[str | None, Rollup | None]]:
        """What there is of each worker, and the state that it stands for."""
        with self._lock:
            loaded = self._loaded.setdefault(run.id, {})
            self._loaded.move_to_end(run.id)
            while len(self._loaded) > _KEPT:
                gone, _ = self._loaded.popitem(last=False)
                self._whole.pop(gone, None)
        out: list[tuple[str | None, Rollup | None]] = []
        for worker, state in zip(run.workers, states, strict=True):
            has = loaded.get(worker.id)
            if has is None or has[0] != state:
                kept = files.read_any(worker, state)
                if kept is not None:
                    has = loaded[worker.id] = kept
            out.append(has if has is not None else (None, None))
        return out

    def _make(self, run: Run, must_wait: bool) -> bool:
        """Have rollups made, unless that was done just now; whether a process that made them has ended."""
        with self._lock:
            child = self._running.get(run.id)
            if child is None:
                if run.id in self._cancelled:
                    return False
                if time.monotonic() < self._due.get(run.id, 0.0):
                    return False
                child = self._running[run.id] = PathWork(build.__name__, run.path)
        if not child.wait(self._wait_s if must_wait else 0.0):
            return False
        with self._lock:
            if run.id in self._cancelled:
                return False
            self._running.pop(run.id, None)
            self._due[run.id] = time.monotonic() + max(_REST_S, _REST_FACTOR * child.took_s)
        error = child.error()
        if error and must_wait:
            raise Problem(422, error)
        return True

    def _as_whole(self, run: Run, rollups: list[Rollup], states: list[str | None], stale: int) -> WholeRun:
        said = repr([(w.id, state) for w, state in zip(run.workers, states, strict=True)])
        version = f"{hashlib.blake2b(said.encode('utf-8', 'backslashreplace'), digest_size=8).hexdigest()}-{stale}"
        with self._lock:
            whole = self._whole.get(run.id)
        if whole is None or whole.version != version:
            order = sorted(range(len(rollups)), key=lambda i: (_rank(rollups[i]), run.workers[i].id))
            ids, rollups = [run.workers[i].id for i in order], [rollups[i] for i in order]
            whole = WholeRun(ids, rollups, side_by_side(rollups), stale, version)
            with self._lock:
                self._whole[run.id] = whole
        return whole


def _rank(rollup: Rollup) -> float:
    rank = rollup.about["rank"]
    return float("inf") if rank is None else rank


def _unknown(worker: Worker) -> Rollup:
    """A worker of which there is no rollup though they were made."""
    error = StepscopeError(f"{worker.id}: cannot be read, or its rollup cannot be kept. Choose this worker to see why.")
    return empty_rollup(unreadable_worker(worker, error))
