"""A process of its own for work that would hold the GIL of the server."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

from stepscope.child import Child, lower_priority

# The child imports what this process would, whatever the environment and the working directory are.
_CODE = (
    "import sys, json, importlib; sys.path[:] = json.loads(sys.argv[1]); "
    "importlib.import_module('stepscope.ending').unwind_when_told(); "
    "sys.exit(importlib.import_module(sys.argv[2]).main(sys.argv[3:]))"
)


class PathWork(Child):
    """One run of a module's ``main`` on one path, at low priority."""

    def __init__(self, module: str, path: Path) -> None:
        self._ending = threading.Lock()
        self._is_ended = False
        self._began = time.monotonic()
        super().__init__(
            [sys.executable, "-I", "-c", _CODE, json.dumps(sys.path), module, str(path.absolute())],
            f"{path}: the work on it",
            subprocess.DEVNULL,
        )
        lower_priority(self.pid)

    @property
    def took_s(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._began

    def end(self) -> None:
        """Tell it to end; it removes what it has half written, which a second signal would interrupt."""
        with self._ending:
            if not self._is_ended:
                self._process.terminate()
            self._is_ended = True
