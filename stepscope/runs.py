"""Finds runs in a log directory and opens them, whether stepscope recorded them or another profiler did."""

from __future__ import annotations

import contextlib
import errno
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stepscope import importers, remote
from stepscope.errors import StepscopeError
from stepscope.store import RunFolder
from stepscope.store.layout import PLUGIN_DIR
from stepscope.workers import FileWorker, RecordedWorker, Worker


@dataclass
class Run:
    """A run: ``id`` is its path below the log directory, ``problems`` what could not be opened, and why."""

    id: str
    name: str
    path: Path
    workers: list[Worker]
    problems: list[str] = field(default_factory=list)

    def metadata(self) -> dict[str, Any]:
        """What the script told about a recorded run; empty where it told nothing."""
        with contextlib.suppress(StepscopeError):
            told = RunFolder(self.path).read_run().get("metadata")
            return told if isinstance(told, dict) else {}
        return {}


def open_run(path: str | os.PathLike[str], use_cache: bool = False) -> Run:
    """Open a run folder, a folder of trace files, or one trace file; URLs are copied here first (``remote``).

    Raises:
        StepscopeError: the path is missing, or holds nothing that can be opened.
    """
    if not remote.is_local(path):
        copy = remote.local_copy(os.fspath(path))
        copied = open_run(copy.path, use_cache)
        copied.problems += copy.problems
        return copied
    path = remote.local_path(path)
    _check_can_be_opened(path)
    resolved = path.resolve()
    if path.is_file():
        name = _as_text(resolved.name)
        return Run(name, name, path, [FileWorker(path, _as_text(path.name), use_cache)])
    run = _run_in(path, _as_text(resolved.name), use_cache, lenient=True)
    if run is not None:
        return run
    below = find_runs(path, use_cache)
    if len(below) == 1:
        return below[0]
    if below:
        names = ", ".join(r.id for r in below[:8]) + (", ..." if len(below) > 8 else "")
        raise StepscopeError(f"{path}: holds {len(below)} runs ({names}). Give the path of one of them.")
    raise StepscopeError(
        f"{path}: no run and no trace files here (*.pt.trace.json[.gz], *.json[.gz], *.xplane.pb, "
        "or a run folder that stepscope wrote)."
    )


def _check_can_be_opened(path: Path) -> None:
    is_folder = os.path.isdir(path)
    try:
        path.stat()
        reason = os.strerror(errno.EACCES) if is_folder and not os.access(path, os.R_OK | os.X_OK) else None
    except (FileNotFoundError, NotADirectoryError):
        raise StepscopeError(
            f"{path}: no such file or folder. Give a run folder, a folder of traces or a trace file."
        ) from None
    except OSError as error:
        reason = error.strerror
    if reason is not None:
        raise StepscopeError(f"{path}: cannot be opened ({reason}). Check the path and its permissions.")
    if not is_folder and not path.is_file():
        raise StepscopeError(f"{path}: is neither a file nor a folder. Give a run folder or a trace file.")


def find_runs(logdir: str | os.PathLike[str], use_cache: bool = True) -> list[Run]:
    """Every run below a log directory, latest data first; empty if there is none."""
    logdir = Path(logdir)
    runs = []
    seen: set[str] = set()  # links are followed, but not round in circles
    for folder, subfolders, _ in os.walk(logdir, followlinks=True):
        here = Path(folder)
        real = os.path.realpath(folder)
        if real in seen:
            subfolders.clear()
            continue
        seen.add(real)
        run = _run_in(here, _run_id(here, logdir), use_cache, lenient=False)
        if run is not None:
            runs.append(run)
        subfolders[:] = sorted(d for d in subfolders if d != "plugins" and not d.startswith("."))
    return sorted(runs, key=lambda run: max((w.updated_ns for w in run.workers), default=0), reverse=True)


def _run_id(folder: Path, logdir: Path) -> str:
    return _as_text(folder.relative_to(logdir).as_posix())  # "." for the log directory itself


def _as_text(name: str) -> str:
    """File names may be no Unicode, and then there is no JSON of them."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _run_in(folder: Path, run_id: str, use_cache: bool, lenient: bool) -> Run | None:
    """The run that this very folder holds. ``lenient`` also takes plain ``*.json`` names for traces."""
    name = _as_text(folder.resolve().name)
    recorded = RunFolder(folder)
    if recorded.exists():
        run = Run(run_id, name, folder, [])
        for worker in recorded.workers():
            try:
                run.workers.append(RecordedWorker(worker))
            except StepscopeError as error:
                run.problems.append(str(error))
        return run
    files = _trace_files(folder, lenient)
    if not files:
        return None
    ids = _unique_ids(files, folder)
    return Run(run_id, name, folder, [FileWorker(f, i, use_cache) for f, i in zip(files, ids, strict=True)])


def _trace_files(folder: Path, lenient: bool) -> list[Path]:
    try:
        here = sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    except OSError:
        return []
    found = [p for p in here if p.name.endswith((".pt.trace.json", ".pt.trace.json.gz", ".xplane.pb"))]
    found += sorted((folder / PLUGIN_DIR.parent / "profile").glob("*/*.xplane.pb"))
    if not found and lenient:
        found = [p for p in here if importers.is_trace_name(p)]
    return found


def _unique_ids(files: list[Path], folder: Path) -> list[str]:
    """File names, or paths below the folder where names repeat."""
    count = Counter(p.name for p in files)
    return [_as_text(p.name if count[p.name] == 1 else p.relative_to(folder).as_posix()) for p in files]
