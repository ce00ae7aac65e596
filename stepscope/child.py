"""A process that does work of ours beside this one, and ends with a sentence on standard error where it could not."""

from __future__ import annotations

import contextlib
import os
import site
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

#: In a group of its own, Ctrl+C ends the training and not what is done beside it. In a session of its own it would
#: have as much of the CPU as the training, whatever its priority: Linux shares that between sessions first
#: (``sched_autogroup``).
OUT_OF_REACH: dict[str, Any] = {"process_group": 0} if sys.version_info >= (3, 11) else {}
#: Variables that are meant for the training process and would act on the child too.
_NOT_FOR_CHILD = ("PYTHONSTARTUP", "PYTHONINSPECT", "PYTHONPROFILEIMPORTTIME", "CUDA_INJECTION64_PATH")


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


def keep_out_of_reach() -> None:
    """For the child itself: ``OUT_OF_REACH`` where the parent's Python could not ask for it."""
    if not OUT_OF_REACH and hasattr(os, "setpgrp"):
        os.setpgrp()


def lower_priority(pid: int, niceness: int = 10) -> None:
    """Of a process, from this one's."""
    with contextlib.suppress(OSError, AttributeError):  # a system without priorities
        os.setpriority(os.PRIO_PROCESS, pid, min(19, os.getpriority(os.PRIO_PROCESS, 0) + niceness))


def child_environment() -> dict[str, str]:
    """This process's environment, for one in another folder: able to import this very stepscope, without thread pools
    and free of what is meant for training.
    """
    env = {k: v for k, v in os.environ.items() if k not in _NOT_FOR_CHILD}
    env |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    paths = [os.path.abspath(p) for p in env.get("PYTHONPATH", "").split(os.pathsep) if p]
    root = str(Path(__file__).resolve().parent.parent)
    installed = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), site.getusersitepackages()]
    if root not in (str(Path(p).resolve()) for p in installed):  # there it would hide the standard library
        paths.append(root)
    if paths:
        env["PYTHONPATH"] = os.pathsep.join(paths)
    return env
