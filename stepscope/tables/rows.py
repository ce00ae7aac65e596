"""Tables whose rows are events of the deep windows, each an occurrence."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from stepscope.tables.frame import Occurrences
from stepscope.tables.source import Source


class EventRows:
    """What such tables share: why they are empty, and what their rows stand for."""

    #: The word for a capture without such events.
    empty = ""

    def __init__(self, source: Source, rows: np.ndarray) -> None:
        self._source = source
        self._rows = rows

    def why_empty(self) -> str | None:
        if len(self._source.events) == 0:
            return "no_window"
        return None if len(self._rows) else self.empty

    @cached_property
    def occurrences(self) -> Occurrences:
        events = self._source.events
        return Occurrences(self._rows, events.ts_ns[self._rows], events.dur_ns[self._rows])
