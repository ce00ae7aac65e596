"""The runs below the log directories, looked up by id. Ids come from this listing and are never joined to a path."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from stepscope.doctor import standing
from stepscope.errors import StepscopeError
from stepscope.runs import Run, find_runs
from stepscope.workers import FileWorker, RecordedWorker, Worker
from stepscope_tensorboard.answers import Problem
from stepscope_tensorboard.logdirs import Root

#: The log directories are walked again no sooner than this, nor than a multiple of what the last walk took.
_REST_S = 1.0
_REST_FACTOR = 20


class Listing:
    """Any thread may ask; one walks the folders at a time, the others take what there is."""

    def __init__(self, roots: Sequence[Root]) -> None:
        self._roots = roots
        self._lock = threading.Lock()
        self._runs: dict[str, Run] = {}
        self._due = 0.0
        self._due_for_unknown = 0.0  # who asks for a run that is not known may know of a new one

    def runs(self) -> dict[str, Run]:
        """Every run by its id, the latest data first."""
        self._walk_if_due()
        return self._runs

    def run(self, run_id: str) -> Run:
        """A run as it was when the folders were last walked.

        Raises:
            Problem: 404, there is no such run.
        """
        run = self.runs().get(run_id) or self._newest(run_id)
        if run is None:
            raise Problem(404, f"There is no run {run_id!r} in {self.text}.")
        return run

    def worker(self, run_id: str, worker_id: str) -> tuple[Run, Worker]:
        """A worker as it is now.

        Raises:
            Problem: 404, there is no such run or worker.
        """
        run = self._runs.get(run_id) or self.runs().get(run_id) or self._newest(run_id)
        if run is None:
            raise Problem(404, f"There is no run {run_id!r} in {self.text}.")
        worker = _worker(run, worker_id)
        if worker is None:  # it may be new
            run = self.runs().get(run_id, run)
            worker = _worker(run, worker_id)
        if worker is None:
            raise Problem(404, f"The run {run_id!r} has no worker {worker_id!r}.")
        return run, _renewed(worker)

    @property
    def text(self) -> str:
        """The log directories in words."""
        return ", ".join(root.text for root in self._roots)

    def _newest(self, run_id: str) -> Run | None:
        """A run that is not known, after another look as soon as the folders may be walked at all."""
        if time.monotonic() >= self._due_for_unknown:
            self._due = min(self._due, self._due_for_unknown)
        return self.runs().get(run_id)

    def _walk_if_due(self) -> None:
        first = not self._due
        if time.monotonic() < self._due or not self._lock.acquire(blocking=first):
            return
        try:
            began = time.monotonic()
            if began >= self._due:
                self._runs = self._walk()
                took = time.monotonic() - began
                self._due_for_unknown = time.monotonic() + _REST_FACTOR * took
                self._due = time.monotonic() + max(_REST_S, _REST_FACTOR * took)
        finally:
            self._lock.release()

    def _walk(self) -> dict[str, Run]:
        named: list[Run] = []
        for root in self._roots:
            if root.path is None or not root.path.is_dir():
                continue
            for run in find_runs(root.path):
                run.id = _printable("/".join(filter(None, (root.name, run.id))))
                run.name = _printable(run.name if run.id == "." else run.id)
                named.append(run)
        runs: dict[str, Run] = {}
        for run in sorted(named, key=_updated_ns, reverse=True):
            base, n = run.id, 2
            while run.id in runs:
                run.id, n = f"{base} ({n})", n + 1
            runs[run.id] = run
        return runs


def describe(run: Run) -> dict[str, Any]:
    """A run as the route ``runs`` tells it. Nothing is imported for it: what a new file holds is not known yet."""
    workers = [_describe_worker(w) for w in run.workers]
    return {
        "id": run.id,
        "name": run.name,
        "live": any(w["live"] for w in workers),
        "updated_ns": str(_updated_ns(run)),
        "error": " ".join(run.problems) or None,
        "workers": workers,
    }


def _describe_worker(worker: Worker) -> dict[str, Any]:
    known = {name: _known(worker, name) for name in ("rank", "world_size", "host", "pid", "framework")}
    source = source_of(worker)
    state, detail = standing(worker) if isinstance(worker, RecordedWorker) and source == "recording" else (None, None)
    return {"id": worker.id, "source": source, "live": worker.is_live, "state": state, "detail": detail, **known}


def source_of(worker: Worker) -> str:
    """Where the data come from: "file", a trace as it lies; "import", a trace made a run folder; "recording"."""
    if isinstance(worker, FileWorker):
        return "file"
    return "import" if (worker.meta or {}).get("source") else "recording"


def known_rank(worker: Worker) -> int | None:
    """The rank, None where a file would have to be imported to know it."""
    return _known(worker, "rank")


def _known(worker: Worker, name: str) -> Any:
    if isinstance(worker, FileWorker) and not worker.is_ready:
        return None
    try:
        return getattr(worker, name)
    except StepscopeError:
        return None


def _worker(run: Run, worker_id: str) -> Worker | None:
    return next((w for w in run.workers if w.id == worker_id), None)


def _renewed(worker: Worker) -> Worker:
    """A recorded worker read anew: worker.json changes while it runs."""
    if not isinstance(worker, RecordedWorker):
        return worker
    try:
        return RecordedWorker(worker.folder)
    except StepscopeError as error:
        raise Problem(404, str(error)) from error


def _updated_ns(run: Run) -> int:
    return max((w.updated_ns for w in run.workers), default=0)


def _printable(name: str) -> str:
    """File names that are no Unicode have no JSON either."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")
