"""The deep windows of one worker on their way from a profiler's file to the run, each converted in another process."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stepscope.convert import Conversion
from stepscope.recorder import Recorder

log = logging.getLogger("stepscope")

#: Seconds of waiting after which the log says what is waited for.
_SAY_AFTER_S = 3.0


class Conversions:
    """What becomes of them is told in the recorder's notes."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._running: list[Conversion] = []
        self._last_number = 0

    def next_window(self) -> Path:
        """The folder of the next window; the profiler's file is to lie in the worker's folder, two above it."""
        folder = self._recorder.folder
        assert folder is not None
        # Conversions may still run: their windows are not there yet, so the number is kept here too.
        self._last_number = max(self._last_number + 1, int(folder.new_window().name))
        return folder.path / "windows" / f"{self._last_number:06d}"

    def start(
        self, trace: Path, window: Path, reason: Mapping[str, Any] | None, void_markers: Sequence[int] = ()
    ) -> Conversion:
        """See ``Conversion``."""
        conversion = Conversion(trace, window, reason, void_markers)
        self._running.append(conversion)
        return conversion

    def collect(self) -> None:
        """Take note of those that have ended."""
        for conversion in [c for c in self._running if not c.running]:
            self._running.remove(conversion)
            error = conversion.error()
            if error is not None:
                log.warning("stepscope could not convert a deep window: %s", error)
                kept = f"The trace is kept as {conversion.trace.name} in the worker's folder."
                self._recorder.note("window_not_converted", f"{error.rstrip('.')}. {kept}")

    def finish(self, timeout_s: float) -> None:
        """Wait for those that still run, ``timeout_s`` at most."""
        deadline = time.monotonic() + timeout_s
        if not self._wait(time.monotonic() + min(_SAY_AFTER_S, timeout_s)):
            log.warning("stepscope waits for the conversion of its deep windows, %.0f s at most.", timeout_s)
            if not self._wait(deadline):
                log.warning("stepscope waits no longer; the windows will be there when the conversion is done.")
        self.collect()

    def _wait(self, deadline: float) -> bool:
        return all(c.wait(max(0.0, deadline - time.monotonic())) for c in self._running)
