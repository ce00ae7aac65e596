"""Trace files of other tools -> ``Window``: Kineto and Chrome JSON, TensorFlow and JAX XPlane."""

from __future__ import annotations

from pathlib import Path

from stepscope.importers.bytes_source import ByteSource
from stepscope.importers.trace_names import may_be_trace
from stepscope.schema import Window

__all__ = ["import_file", "is_trace_name"]

_HEAD_BYTES = 4096


def is_trace_name(path: str | Path) -> bool:
    """Whether a file of this name may be a trace: ``*.json``, ``*.json.gz``, ``*.xplane.pb``."""
    return may_be_trace(Path(path).name)


def import_file(path: str | Path) -> Window:
    """Read one trace file. What it is, is told by its bytes, not by its name.

    Returns:
        The window: events in file order with Unix ns, and notes about everything dropped, repaired or
        guessed. A trace without events is a window with the note ``no_events``.

    Raises:
        StepscopeError: the path is missing, a folder, unreadable, of zero bytes, or holds no trace.
    """
    # Here, so that naming files costs a training process no parser.
    from stepscope.importers.kineto import import_kineto
    from stepscope.importers.xplane import import_xplane
    from stepscope.importers.xplane_wire import looks_like_xspace

    source = ByteSource(Path(path))
    head = source.head(_HEAD_BYTES)
    return import_xplane(source) if looks_like_xspace(head) else import_kineto(source)
