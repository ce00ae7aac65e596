"""Imports of trace files in processes of their own: parsing would hold the GIL of the server."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from stepscope import cache
from stepscope_tensorboard.answers import Cancelled, Pending, Problem, isolated
from stepscope_tensorboard.child import PathWork

#: Imports that run at once; more wait.
_AT_ONCE = 2
#: How long a request waits before it answers that the import goes on: most files are done by then.
_WAIT_S = 2.0
#: What failed is tried again no sooner than this, nor than a multiple of the time it took.
_REST_S = 10.0
_REST_FACTOR = 20
_LONGEST_REST_S = 600.0
#: The module whose ``main`` imports a file into the cache.
_IMPORT = cache.__name__


class Imports:
    """Fills the cache (``stepscope.cache``). Any thread may ask."""

    def __init__(self, wait_s: float = _WAIT_S) -> None:
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._running: dict[tuple[str, int, int], PathWork] = {}
        self._failed: dict[tuple[str, int, int], tuple[str, float]] = {}
        self._cancelled: set[Path] = set()

    def need(self, path: Path) -> None:
        """Return when the file is in the cache.

        Raises:
            Pending: it is being imported.
            Cancelled: somebody cancelled that.
            Problem: it is missing, or it cannot be imported. What failed is tried again after a while, since the
                reason may have been another than the file: a full disk, no memory, a file put in its place.
        """
        if cache.entry(path) is not None:
            return
        try:
            stat = path.stat()
        except OSError as error:
            raise Problem(404, f"{path}: {error.strerror}.") from error
        key = (str(path), stat.st_size, stat.st_mtime_ns)
        with self._lock:
            self._raise_if_cancelled(path)
            sentence, due = self._failed.get(key, ("", 0.0))
            if time.monotonic() < due:
                raise Problem(422, sentence)
            if key not in self._running:
                if sum(child.running for child in self._running.values()) >= _AT_ONCE:
                    raise Pending(
                        f"Waiting to import {isolated(path.name)}: other files are being imported.", can_cancel=True
                    )
                self._running[key] = PathWork(_IMPORT, path)
            child = self._running[key]
        if not child.wait(self._wait_s):
            raise Pending(f"Importing {isolated(path.name)} ({stat.st_size / 1e6:.1f} MB).", can_cancel=True)
        why = child.error()
        with self._lock:
            self._raise_if_cancelled(path)
            self._running.pop(key, None)
            if why is None:
                self._failed.pop(key, None)
            else:
                rest_s = min(max(_REST_S, _REST_FACTOR * child.took_s), _LONGEST_REST_S)
                self._failed[key] = (why, time.monotonic() + rest_s)
        if why:
            raise Problem(422 if os.path.exists(path) else 404, why)

    def cancel(self, path: Path) -> None:
        """End the import of the file, and begin none until ``resume``. What it wrote goes with it."""
        with self._lock:
            self._cancelled.add(path)
            for key in [key for key in self._running if key[0] == str(path)]:
                self._running.pop(key).end()

    def resume(self, path: Path) -> None:
        """Import the file when it is next needed."""
        with self._lock:
            self._cancelled.discard(path)

    def _raise_if_cancelled(self, path: Path) -> None:
        if path in self._cancelled:
            raise Cancelled(f"The import of {isolated(path.name)} was cancelled.")

    def stop(self) -> None:
        """End the imports that run."""
        with self._lock:
            for child in self._running.values():
                child.end()
