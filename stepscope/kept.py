"""Small files of what was computed of a worker, kept to be read again instead of computed again.

A recorded worker's lie in its folder, or in the user's cache folder where that cannot be written; those of a trace
file lie in the file's cache entry. Nothing is kept of files that are read without the cache. Each names the state of
the files that it was made of: the sizes of the streams, which only grow, the ids of the windows, which are never
changed, worker.json, and the code that computes. Copying a run keeps what is kept of it valid.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

from stepscope import __version__, cache
from stepscope.workers import FileWorker, RecordedWorker, Worker

#: The packages whose code decides on what is computed, besides the version.
_CODE = ("analysis", "report", "rules", "summary")
_STATE_BYTES = 24


def is_kept(worker: Worker) -> bool:
    """Whether there is a place for such files of this worker."""
    return isinstance(worker, RecordedWorker) or (isinstance(worker, FileWorker) and worker.use_cache)


def state_of(worker: Worker, version: int) -> str | None:
    """The state of the worker's files in a few letters; None where nothing is kept.

    Args:
        worker: whose files.
        version: of the format of what is kept.
    """
    made_by = f"{version} {__version__} {_code_digest()}"
    if isinstance(worker, FileWorker):
        entry = cache.entry(worker.path) if worker.use_cache else None
        return None if entry is None else _digest(f"{made_by} {entry.name}")
    if not isinstance(worker, RecordedWorker):
        return None
    folder = worker.folder
    sizes = [_size(folder.live_path()), _size(folder.monitor_path())]
    with contextlib.suppress(OSError):
        about = (folder.path / "worker.json").read_bytes()
        return _digest(f"{made_by} {sizes} {worker.window_ids()} {worker.is_live} {_digest(about)}")
    return None


def read(worker: Worker, name: str) -> Iterator[bytes]:
    """The files of this name that are kept of the worker, the best place first."""
    for folder in _places(worker):
        with contextlib.suppress(OSError):
            yield (folder / name).read_bytes()


def write(worker: Worker, name: str, data: bytes) -> bool:
    """Keep a file of the worker, whole or not at all; False where there is no place that can be written."""
    for folder in _places(worker):
        beside = folder / f".{name}.{uuid.uuid4().hex[:8]}.tmp"
        try:
            if not isinstance(worker, RecordedWorker) or folder != worker.folder.path:
                folder.mkdir(parents=True, exist_ok=True)
            with open(beside, "xb") as file:
                file.write(data)
            os.replace(beside, folder / name)
        except OSError:
            with contextlib.suppress(OSError):
                beside.unlink(missing_ok=True)
        else:
            return True
    return False


def _places(worker: Worker) -> list[Path]:
    if isinstance(worker, FileWorker):
        entry = cache.entry(worker.path)
        return [] if entry is None else [entry]
    if not isinstance(worker, RecordedWorker):
        return []
    return [worker.folder.path, *cache.user_places(_digest(str(worker.folder.path.resolve())))]


@functools.cache
def _code_digest() -> str:
    """Of the code that computes: whoever changes it must not be shown what it computed before."""
    package = Path(__file__).parent
    sources = sorted(path for name in _CODE for path in (package / name).rglob("*.py"))
    return _digest(b"".join(path.read_bytes() for path in sources))


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _digest(text: str | bytes) -> str:
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    return hashlib.blake2b(data, digest_size=_STATE_BYTES // 2).hexdigest()
