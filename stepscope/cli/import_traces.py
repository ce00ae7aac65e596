"""Turn traces of other profilers into run folders, so that they open at once and stay together."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stepscope.errors import StepscopeError
from stepscope.report.format import printable

if TYPE_CHECKING:
    from stepscope.runs import Run

NAME = "import"
HELP = "turn traces of other profilers into run folders"

_SUFFIXES = (".gz", ".json", ".trace", ".pt", ".pb", ".xplane")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", nargs="+", help="a trace file, a folder of trace files, or a folder of such folders")
    parser.add_argument("--out", required=True, metavar="LOGDIR", help="the log directory to put the run folders in")
    parser.add_argument("--name", help="name of the run (default: that of the file or folder); for a single PATH")


def run(args: argparse.Namespace) -> int:
    """Status 0 if every trace was imported, 1 if some were, 2 if none was."""
    runs: list[Run] = []
    problems: list[str] = []
    for path in args.path:
        try:
            runs += _runs_of(path)
        except StepscopeError as error:
            problems.append(str(error))
    several = max(len(args.path), len(runs))
    if args.name is not None and several > 1:
        raise StepscopeError(f"--name names one run, but there are {several} to import; leave it out.")
    names = [_name_of(one) if args.name is None else args.name for one in runs]
    for name in names:
        if names.count(name) > 1:
            raise StepscopeError(
                f"two of the paths would both become the run {name}; import them one by one with --name."
            )
        _check_name(name)
    logdir = Path(args.out)
    imported = 0
    for one, name in zip(runs, names, strict=True):
        try:
            workers, skipped = import_run(one, logdir, name)
        except StepscopeError as error:
            problems.append(str(error))
            continue
        problems += skipped
        imported += 1
        print(f"{printable(str(logdir / name))}: {workers} worker{'' if workers == 1 else 's'}", flush=True)
    if not imported and len(problems) == 1:
        raise StepscopeError(problems[0])
    for problem in problems:
        print(f"stepscope: skipped {printable(' '.join(problem.split()))}", file=sys.stderr)
    return (1 if imported else 2) if problems else 0


def import_run(source: Run, logdir: Path, name: str) -> tuple[int, list[str]]:
    """Write one run folder ``logdir/name``; it appears whole or not at all.

    Returns:
        The number of workers written, and a sentence for each one that could not be read.

    Raises:
        StepscopeError: the run exists already, nothing could be read, or the folder cannot be written.
    """
    target = logdir / name
    if os.path.lexists(target):
        raise StepscopeError(f"{target}: exists already and is not overwritten; choose another --name or remove it.")
    beside = logdir / f".{uuid.uuid4().hex}.importing"
    try:
        try:
            beside.mkdir(parents=True)
        except OSError as error:
            raise StepscopeError(
                f"{logdir}: cannot be written ({error.strerror or error}). Choose a folder that you may write to."
            ) from error
        workers, problems = _write_workers(source, beside)
        if workers == 0:
            raise StepscopeError(problems[0] if problems else f"{source.path}: holds no trace to import.")
        try:
            os.rename(beside, target)
        except OSError as error:
            raise StepscopeError(
                f"{target}: cannot be written ({error.strerror or error}). Choose another --name or folder."
            ) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return workers, problems


def _write_workers(source: Run, folder: Path) -> tuple[int, list[str]]:
    from stepscope.parallel import file_executor, ordered
    from stepscope.schema import SCHEMA_VERSION
    from stepscope.store import RunFolder
    from stepscope.workers import FileWorker

    workers = [worker for worker in source.workers if isinstance(worker, FileWorker)]
    if len(workers) < len(source.workers):
        raise StepscopeError(f"{source.path}: was recorded by stepscope; show it with: stepscope view {source.path}")
    written, problems = 0, list(source.problems)
    jobs = [(worker.path, folder / f".window-{i}") for i, worker in enumerate(workers)]
    with file_executor([worker.path for worker in workers]) as executor:
        for worker, (_, beside), found in zip(workers, jobs, ordered(executor, _write_window, jobs), strict=True):
            if isinstance(found, StepscopeError):
                problems.append(str(found))
                continue
            host = found["host"] or Path(worker.id).name
            made = RunFolder(folder).create_worker(found["rank"], host, found["pid"] or 0)
            made.write_meta({"schema": SCHEMA_VERSION, **found, "source": worker.id, "ended_ns": time.time_ns()})
            window = made.new_window()
            window.parent.mkdir(parents=True, exist_ok=True)
            os.rename(beside, window)
            written += 1
    return written, problems


def _write_window(job: tuple[Path, Path]) -> dict[str, Any] | StepscopeError:
    """Import a trace as a window folder, mostly in a process of its own.

    Returns:
        What is known about its process; or why it cannot be read.
    """
    from stepscope.importers import import_file
    from stepscope.store import write_window

    path, folder = job
    try:
        window = import_file(path)
    except StepscopeError as error:
        return error
    shutil.rmtree(folder, ignore_errors=True)  # of a process that died
    write_window(folder, window)
    meta = window.meta()
    return {key: meta[key] for key in ("framework", "rank", "world_size", "host", "pid", "devices")}


def _runs_of(path: str) -> list[Run]:
    from stepscope.runs import find_runs, open_run

    try:
        return [open_run(path)]
    except StepscopeError:
        found = find_runs(path, use_cache=False) if os.path.isdir(path) else []
        if not found:
            raise
        return found


def _name_of(run: Run) -> str:
    """The folder's name, or the file's without what only says that it is a trace."""
    name = run.name
    if run.path.is_file():
        while name.endswith(_SUFFIXES):
            name = name[: name.rindex(".")]
    return name or run.name


def _check_name(name: str) -> None:
    if name in ("", ".", "..") or name.startswith(".") or "/" in name or "\\" in name or "\0" in name:
        raise StepscopeError(f"{name!r} cannot be the name of a run: it must not hold slashes or begin with a dot.")
