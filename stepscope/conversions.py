"""The deep windows of one worker on their way from a profiler's file to the run, each converted in another process."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from stepscope.converter import Conversion, Converter
from stepscope.recorder import Recorder

log = logging.getLogger("stepscope")

#: Conversions that run at once. Windows may end sooner one after the other than a conversion takes, and each one needs
#: a core and some hundred megabytes of memory.
AT_ONCE = 2
#: Seconds that a conversion gives way to a training that leaves no core idle, before it takes its share: of a window
#: that somebody waits for, and of others. To take it lengthens every step of some seconds, up to several times.
PATIENCE_S, PATIENCE_UNASKED_S = 20.0, 600.0
#: The same once the recording ends.
_LAST_PATIENCE_S = 0.5
#: Seconds between two looks whose turn it is, while the end waits for all.
_TURN_S = 0.1
#: Seconds of waiting after which the log says what is waited for.
_SAY_AFTER_S = 3.0


class Conversions:
    """What becomes of them is told in the recorder's notes."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._running: list[Conversion] = []  # and those that wait for their turn
        self._ahead: Converter | None = None
        self._unused: list[Converter] = []
        self._last_number = 0
        self._lock = threading.Lock()  # whose holder may take from the list, or have one of it hurry
        recorder.each_round.append(self._look)

    def next_window(self) -> Path:
        """The folder of the next window; the profiler's file is to lie in the worker's folder, two above it."""
        folder = self._recorder.folder
        assert folder is not None
        # Conversions may still run: their windows are not there yet, so the number is kept here too.
        self._last_number = max(self._last_number + 1, int(folder.new_window().name))
        return folder.path / "windows" / f"{self._last_number:06d}"

    @contextlib.contextmanager
    def ahead(self) -> Iterator[None]:
        """While a profiler stops: the process for its window starts already, and is ended if there is none."""
        folder = self._recorder.folder
        if folder is not None and self._has_turn():
            with contextlib.suppress(OSError):  # ``begin`` tries again, and tells
                self._ahead = Converter(folder.path)
        try:
            yield
        finally:
            unused, self._ahead = self._ahead, None
            if unused is not None:
                unused.end()
                self._unused.append(unused)

    def start(
        self, trace: Path, window: Path, reason: Mapping[str, Any] | None, void_markers: Sequence[int] = ()
    ) -> Conversion:
        """See ``Conversion``."""
        conversion = Conversion(trace, window, reason, void_markers)
        converter, self._ahead = self._ahead, None
        if converter is not None or conversion.is_asked or self._has_turn():
            conversion.begin(converter)
        else:
            conversion.wait_for_turn()
        self._running.append(conversion)
        return conversion

    def finish(self, timeout_s: float) -> None:
        """Wait for those that still run, ``timeout_s`` at most. Who waits for its turn then is taken over by others."""
        deadline = time.monotonic() + timeout_s
        with self._lock:
            for conversion in self._running:
                conversion.rest_no_more()
            if timeout_s and not self._wait(time.monotonic() + min(_LAST_PATIENCE_S, timeout_s)):
                self._hurry(0.0, 0.0)
            if not self._wait(time.monotonic() + min(_SAY_AFTER_S, timeout_s)):
                log.warning("stepscope waits for the conversion of its deep windows, %.0f s at most.", timeout_s)
                if not self._wait(deadline):
                    log.warning("stepscope waits no longer; the windows will be there when the conversion is done.")

    def _wait(self, deadline: float) -> bool:
        while True:
            self._collect()
            if not self._running:
                return True
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return False
            for conversion in [c for c in self._running if not c.waits][:1]:
                conversion.wait(min(left_s, _TURN_S))

    def _has_turn(self) -> bool:
        begun = sum(conversion.running and not conversion.waits for conversion in self._running)
        return begun + (self._ahead is not None) < AT_ONCE

    def _look(self) -> None:
        """For the writer thread."""
        if self._lock.acquire(blocking=False):
            try:
                self._hurry(PATIENCE_S, PATIENCE_UNASKED_S)
                self._collect()
            finally:
                self._lock.release()

    def _collect(self) -> None:
        """Take note of those that have ended, and begin those whose turn it is."""
        self._unused = [converter for converter in self._unused if converter.running]
        for conversion in [c for c in self._running if not c.running]:
            self._running.remove(conversion)
            error = conversion.error()
            if error is not None:
                log.warning("stepscope could not convert a deep window: %s", error)
                kept = f"The trace is kept as {conversion.trace.name} in the worker's folder."
                self._recorder.note("window_not_converted", f"{error.rstrip('.')}. {kept}")
        for conversion in [c for c in self._running if c.waits]:
            if self._has_turn():
                conversion.begin()

    def _hurry(self, asked_s: float, unasked_s: float) -> None:
        for conversion in self._running[:]:
            waited_s = time.monotonic() - conversion.came
            patience_s = asked_s if conversion.is_asked else unasked_s
            if conversion.gives_way and conversion.running and waited_s >= patience_s:
                with contextlib.suppress(OSError):
                    conversion.hurry()
