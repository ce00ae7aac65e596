"""Trace files of other tools -> ``Window``: Kineto and Chrome JSON, TensorFlow and JAX XPlane."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from stepscope.importers.bytes_source import ByteSource
from stepscope.importers.trace_names import may_be_trace
from stepscope.schema import MOST_BYTES, NONE, Notes, Window

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
    window = import_xplane(source) if looks_like_xspace(head) else import_kineto(source)
    return _without_absurd_sizes(window)


def _without_absurd_sizes(window: Window) -> Window:
    """Sizes that no memory has are damage; sums of what is left stay far from the bounds of int64."""
    size = window.events.bytes
    absurd = np.flatnonzero((size >= MOST_BYTES) | (size <= -MOST_BYTES))
    if len(absurd) == 0:
        return window
    sizes = size.copy()
    sizes[absurd] = NONE
    notes = Notes()
    notes.extend(window.notes)
    notes.add("unusable_value", "Sizes of copies, fills or allocations that no memory has were left out.", len(absurd))
    return replace(window, events=replace(window.events, bytes=sizes), notes=notes.list())
