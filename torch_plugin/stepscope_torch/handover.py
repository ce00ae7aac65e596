"""From a stopped profiler to a window of the run: its trace is saved here and converted in another process."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from stepscope.controlled import Capture
from stepscope.conversions import Conversions
from stepscope.recorder import Recorder

log = logging.getLogger("stepscope")

_NOT_WRITTEN = (
    "torch could not write the trace of a deep window: the disk is full, or the folder has a name that torch "
    "cannot write to."
)


def save(profile: Any, capture: Capture | None, steps: range, conversions: Conversions, recorder: Recorder) -> None:
    """Write the trace of a stopped profiler into the worker's folder and start its conversion.

    Args:
        capture: what the window was asked for by; None if it was planned.
        steps: those in the window.
    """
    window = conversions.next_window()
    trace = window.parent.parent / f".{window.name}.pt.trace.json"
    try:
        profile.export_chrome_trace(str(trace))
    except BaseException:  # Ctrl+C
        _remove(trace)
        raise
    if not trace.exists():  # torch tells of it on standard error only, and leaves what it could write
        _remove(trace)
        log.warning("stepscope: %s", _NOT_WRITTEN)
        recorder.note("window_not_converted", _NOT_WRITTEN)
        if capture is not None:
            capture.failure = _NOT_WRITTEN
        return
    conversion = conversions.start(trace, window, None if capture is None else capture.reason)
    if capture is not None:
        capture.recorded(steps, conversion)


def _remove(trace: Path) -> None:
    for path in (trace, trace.with_name(trace.name + ".tmp")):
        path.unlink(missing_ok=True)
