"""A process that does work of ours beside this one, and ends with a sentence on standard error where it could not."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from typing import IO, Any

_NICENESS = 10


class Child:
    """One that runs ``command``. Any thread may ask it.

    Args:
        work: what it does, as the begin of a sentence on how it ended.

    Raises:
        OSError: it could not be started.
    """

    def __init__(self, command: Sequence[str], work: str, stdin: int, **options: Any) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the child
        self._reading = threading.Lock()
        self._work = work
        self._process: subprocess.Popen[bytes] = subprocess.Popen(
            command, stdin=stdin, stdout=subprocess.DEVNULL, stderr=self._errors, **options
        )
        self.pid = self._process.pid

    def lower_priority(self) -> None:
        with contextlib.suppress(OSError, AttributeError):  # a system without priorities
            niceness = os.getpriority(os.PRIO_PROCESS, self.pid)
            os.setpriority(os.PRIO_PROCESS, self.pid, min(19, niceness + _NICENESS))

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def wait(self, timeout_s: float) -> bool:
        """Wait for its end; False if it still runs after ``timeout_s``."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def error(self) -> str | None:
        """Why it failed: its last line on standard error. None while it runs or went well."""
        if self._process.poll() in (None, 0):
            return None
        with self._reading:
            self._errors.seek(0)
            lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"{self._work} ended with code {self._process.returncode}"
