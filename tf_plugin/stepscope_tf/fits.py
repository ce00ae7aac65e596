"""Whether a ``fit`` still runs: an interrupt may end one without any callback hearing of it."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from threading import get_ident
from types import FrameType


class Fit:
    """The ``fit`` that calls our callback right now. It is known by its list of callbacks, which is its own, and by how
    often its code is on the stack: to keep its frame would keep its data."""

    def __init__(self) -> None:
        outward = _frames(sys._getframe())
        own = next((frame for frame in outward if frame.f_code.co_name == "fit"), None)
        self._thread = get_ident()
        self._around = [frame.f_code for frame in outward]
        self._code = None if own is None else own.f_code
        try:
            self._callbacks = None if own is None else weakref.ref(own.f_locals["callbacks"])
        except (KeyError, TypeError):  # not as Keras has it
            self._callbacks = None

    def goes_on(self, another: Fit) -> bool:
        """Whether it has not ended though ``another`` begins, in which this thread is now: that may be the same one, or
        lie in a callback of it, or in another thread. True where it cannot be told."""
        mine, others = (fit._callbacks and fit._callbacks() for fit in (self, another))
        if others is None or others is mine or self._callbacks is None:
            return True
        codes = another._around
        if self._thread != another._thread:
            codes = [frame.f_code for frame in _frames(sys._current_frames().get(self._thread))]
        return self._code is None or codes.count(self._code) > self._around.count(self._code)


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and those that called it, the innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back
