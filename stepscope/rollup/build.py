"""The rollups of a run: those that are kept, and the others made now."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path

from stepscope.errors import StepscopeError
from stepscope.parallel import file_executor, ordered
from stepscope.rollup import files
from stepscope.runs import open_run
from stepscope.summary import analyse_worker, note_damage, run_resources
from stepscope.summary.rollup import Rollup, empty_rollup, rollup_of
from stepscope.summary.unreadable import unreadable_worker
from stepscope.workers import FileWorker, RecordedWorker, Worker


def make(worker: Worker) -> Rollup:
    """Analyse the worker, and keep the rollup of it where there is a place; one that cannot be read has no steps."""
    state = files.state_of(worker)  # before reading: what comes in meanwhile makes the rollup an old one
    try:
        analysis = analyse_worker(worker)
    except StepscopeError as error:
        return empty_rollup(unreadable_worker(worker, error))
    resources = run_resources([worker])
    note_damage(worker, analysis.summary)
    rollup = rollup_of(analysis, resources)
    state = state or files.state_of(worker)  # a file that was imported just now
    if state is not None:
        files.write(worker, rollup, state)
    return rollup


def rollups(workers: Sequence[Worker], executor: Executor | None = None) -> list[Rollup]:
    """One rollup a worker, in their order; those that are not kept yet are made, several at once if it can."""
    kept = [files.read(worker) for worker in workers]
    missing = [worker for worker, rollup in zip(workers, kept, strict=True) if rollup is None]
    made = ordered(executor, make, missing)
    return [next(made) if rollup is None else rollup for rollup in kept]


def main(argv: Sequence[str] | None = None) -> int:
    """Make what is missing of one run: ``python -m stepscope.rollup.build RUN``."""
    path = (sys.argv[1:] if argv is None else argv)[0]
    try:
        workers = open_run(path, use_cache=True).workers
        with file_executor([_source(worker) for worker in workers]) as executor:
            rollups(workers, executor)
    except (StepscopeError, MemoryError) as error:
        print(str(error) or f"{path}: needs more memory than there is.", file=sys.stderr)
        return 2
    return 0


def _source(worker: Worker) -> Path:
    """The file of the worker that takes most of the work."""
    if isinstance(worker, FileWorker):
        return worker.path
    assert isinstance(worker, RecordedWorker)
    windows = worker.folder.windows()
    return windows[-1] / "events.parquet" if windows else worker.folder.live_path()


if __name__ == "__main__":
    sys.exit(main())
