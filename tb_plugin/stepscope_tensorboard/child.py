"""A process of its own for work that would hold the GIL of the server."""

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

# The child imports what this process would, whatever the environment and the working directory are.
_CODE = (
    "import sys, json, importlib; sys.path[:] = json.loads(sys.argv[1]); "
    "importlib.import_module('stepscope.ending').unwind_when_told(); "
    "sys.exit(importlib.import_module(sys.argv[2]).main(sys.argv[3:]))"
)


class Child:
    """One run of a module's ``main`` on one path, at low priority."""

    def __init__(self, module: str, path: Path) -> None:
        self._path = path
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the child
        self._lock = threading.Lock()
        self._error: str | None = None
        self._began = time.monotonic()
        self._is_ended = False
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _CODE, json.dumps(sys.path), module, str(path.absolute())],
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
                default = f"{self._path}: the work on it ended with code {self._process.returncode}."
                self._error = lines[-1] if lines else default
        return self._error

    def end(self) -> None:
        """Tell it to end; it removes what it has half written, which a second signal would interrupt."""
        with self._lock:
            if not self._is_ended:
                self._process.terminate()
            self._is_ended = True


def _lower_priority(pid: int) -> None:
    try:
        os.setpriority(os.PRIO_PROCESS, pid, 10)
    except (AttributeError, OSError):  # a system without priorities
        pass
