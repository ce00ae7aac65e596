"""Trace files of other tools -> ``Window``: Kineto and Chrome JSON, TensorFlow and JAX XPlane."""

from __future__ import annotations

import re
from pathlib import Path

from stepscope.importers.bytes_source import ByteSource
from stepscope.schema import Window

__all__ = ["import_file", "is_trace_name"]

_TRACE_NAME = re.compile(r".*(?:\.json(?:\.gz)?|\.xplane\.pb(?:\.gz)?)$", re.IGNORECASE | re.DOTALL)


def is_trace_name(path: str | Path) -> bool:
    """Whether a file of this name may be a trace: ``*.json``, ``*.json.gz``, ``*.xplane.pb``."""
    return bool(_TRACE_NAME.match(Path(path).name))


def import_file(path: str | Path) -> Window:
    """Read one trace file. What it is, is told by its bytes, not by its name.

    Returns:
        The window: events in file order with Unix ns, and notes about everything dropped, repaired or
        guessed. A trace without events is a window with the note ``no_events``.

    Raises:
        StepscopeError: the path is missing, a folder, unreadable, of zero bytes, or holds no trace.
    """
    source = ByteSource(Path(path))
    from stepscope.importers.kineto import import_kineto

    return import_kineto(source)
