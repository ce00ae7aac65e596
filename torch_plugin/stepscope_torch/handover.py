"""From a stopped profiler to a window of the run: its trace is saved here and converted in another process."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

from stepscope.control import Capture
from stepscope.convert import Conversion
from stepscope.recorder import Recorder

log = logging.getLogger("stepscope")

#: Seconds of waiting after which the log says what is waited for.
_SAY_AFTER_S = 3.0

_NOT_WRITTEN = (
    "torch could not write the trace of a deep window: the disk is full, or the folder has a name that torch "
    "cannot write to."
)


class Handover:
    """The conversions of one worker."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._running: list[Conversion] = []
        self._last_number = 0

    def save(self, profile: Any, capture: Capture | None, first_step: int) -> None:
        """Write the trace of a stopped profiler into the worker's folder and start its conversion.

        Args:
            capture: what the window was asked for by; None if it was planned.
        """
        folder = self.recorder.folder
        assert folder is not None
        # Conversions may still run: their windows are not there yet, so the number is kept here too.
        self._last_number = max(self._last_number + 1, int(folder.new_window().name))
        window = folder.path / "windows" / f"{self._last_number:06d}"
        trace = folder.path / f".{window.name}.pt.trace.json"
        try:
            profile.export_chrome_trace(str(trace))
        except BaseException:  # Ctrl+C
            _remove(trace)
            raise
        if not trace.exists():  # torch tells of it on standard error only, and leaves what it could write
            _remove(trace)
            log.warning("stepscope: %s", _NOT_WRITTEN)
            self.recorder.note("window_not_converted", _NOT_WRITTEN)
            if capture is not None:
                capture.failure = _NOT_WRITTEN
            return
        conversion = Conversion(trace, window, None if capture is None else capture.reason)
        self._running.append(conversion)
        if capture is not None:
            capture.first_step, capture.conversion = first_step, conversion

    def collect(self) -> None:
        """Take note of the conversions that have ended."""
        for conversion in [c for c in self._running if not c.running]:
            self._running.remove(conversion)
            error = conversion.error()
            if error is not None:
                log.warning("stepscope could not convert a deep window: %s", error)
                kept = f"The trace is kept as {conversion.trace.name} in the worker's folder."
                self.recorder.note("window_not_converted", f"{error.rstrip('.')}. {kept}")

    def finish(self, timeout_s: float) -> None:
        """Wait for the conversions that still run, ``timeout_s`` at most."""
        deadline = time.monotonic() + timeout_s
        if not self._wait(time.monotonic() + min(_SAY_AFTER_S, timeout_s)):
            log.warning("stepscope waits for the conversion of its deep windows, %.0f s at most.", timeout_s)
            if not self._wait(deadline):
                log.warning("stepscope waits no longer; the windows will be there when the conversion is done.")
        self.collect()

    def _wait(self, deadline: float) -> bool:
        return all(c.wait(max(0.0, deadline - time.monotonic())) for c in self._running)


def _remove(trace: Path) -> None:
    for path in (trace, trace.with_name(trace.name + ".tmp")):
        path.unlink(missing_ok=True)
