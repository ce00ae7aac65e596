"""Imports of trace files in processes of their own: parsing would hold the GIL of the server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO

from stepscope import cache
from stepscope_tensorboard.answers import Pending, Problem

#: Imports that run at once; more wait.
_AT_ONCE = 2
#: How long a request waits before it answers that the import goes on: most files are done by then.
_WAIT_S = 2.0
#: What failed is tried again no sooner than this, nor than a multiple of the time it took.
_REST_S = 10.0
_REST_FACTOR = 20
_LONGEST_REST_S = 600.0

# The child imports what this process would, whatever the environment and the working directory are.
_CHILD = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from stepscope.cache import main; sys.exit(main(sys.argv[2:]))"
)


class Imports:
    """Fills the cache (``stepscope.cache``). Any thread may ask."""

    def __init__(self, wait_s: float = _WAIT_S) -> None:
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._running: dict[tuple[str, int, int], _Child] = {}
        self._failed: dict[tuple[str, int, int], tuple[str, float]] = {}

    def need(self, path: Path) -> None:
        """Return when the file is in the cache.

        Raises:
            Pending: it is being imported.
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
            sentence, due = self._failed.get(key, ("", 0.0))
            if time.monotonic() < due:
                raise Problem(500, sentence)
            if key not in self._running:
                if sum(child.runs for child in self._running.values()) >= _AT_ONCE:
                    raise Pending(f"Waiting to import {path.name}: other files are being imported.")
                self._running[key] = _Child(path)
            child = self._running[key]
        if not child.wait(self._wait_s):
            raise Pending(f"Importing {path.name} ({stat.st_size / 1e6:.1f} MB).")
        with self._lock:
            self._running.pop(key, None)
            if child.error is None:
                self._failed.pop(key, None)
            else:
                rest_s = min(max(_REST_S, _REST_FACTOR * child.took_s), _LONGEST_REST_S)
                self._failed[key] = (child.error, time.monotonic() + rest_s)
        if child.error:
            raise Problem(500 if os.path.exists(path) else 404, child.error)

    def stop(self) -> None:
        """End the imports that run."""
        with self._lock:
            for child in self._running.values():
                child.end()


class _Child:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the child
        self._lock = threading.Lock()
        self._error: str | None = None
        self._began = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _CHILD, json.dumps(sys.path), str(path.absolute())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
        )
        _lower_priority(self._process.pid)

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def wait(self, timeout_s: float) -> bool:
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    @property
    def took_s(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._began

    @property
    def error(self) -> str | None:
        """The sentence the child ended with, None if it did well."""
        if self._process.returncode == 0:
            return None
        with self._lock:
            if self._error is None:
                self._errors.seek(0)
                lines = self._errors.read().decode(errors="replace").strip().splitlines()
                default = f"{self._path}: the import ended with code {self._process.returncode}."
                self._error = lines[-1] if lines else default
        return self._error

    def end(self) -> None:
        self._process.terminate()


def _lower_priority(pid: int) -> None:
    try:
        os.setpriority(os.PRIO_PROCESS, pid, 10)
    except (AttributeError, OSError):  # a system without priorities
        pass
