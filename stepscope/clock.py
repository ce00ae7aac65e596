"""From the monotonic clock that hooks read to Unix nanoseconds, the one clock of every file.

Hooks read ``time.perf_counter_ns`` (40 ns, never steps). An *anchor* is a pair of readings of both
clocks; its ``width_ns`` bounds the error of the pair. NTP slews both clocks alike on Linux, so the
offset stays put until the wall clock is stepped: ``Clock`` keeps its offset and moves only when a new
anchor disagrees by more than ``STEP_NS``, so that neighbouring spans stay exact to the nanosecond.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

#: A new anchor that differs by more than this is taken as a step of the wall clock.
STEP_NS = 1_000_000


@dataclass(frozen=True)
class Anchor:
    """``perf_ns`` and ``unix_ns`` were the same moment, to within ``width_ns``."""

    perf_ns: int
    unix_ns: int
    width_ns: int

    @property
    def offset_ns(self) -> int:
        return self.unix_ns - self.perf_ns


def take_anchor(tries: int = 20) -> Anchor:
    """The tightest of ``tries`` bracketed readings (about 0.1 us wide on an idle machine)."""
    best: Anchor | None = None
    for _ in range(tries):
        before = time.perf_counter_ns()
        unix = time.time_ns()
        after = time.perf_counter_ns()
        if best is None or after - before < best.width_ns:
            best = Anchor((before + after) // 2, unix, after - before)
    assert best is not None
    return best


class Clock:
    """Converts perf_counter readings of this process to Unix ns."""

    def __init__(self) -> None:
        self.anchors = [take_anchor()]
        self.offset_ns = self.anchors[0].offset_ns

    def check(self) -> bool:
        """Compare with the wall clock; True if it was stepped and the offset has moved."""
        anchor = take_anchor(5)
        if abs(anchor.offset_ns - self.offset_ns) <= STEP_NS + anchor.width_ns:
            return False
        self.anchors.append(anchor)
        self.offset_ns = anchor.offset_ns
        return True

    def to_unix(self, perf_ns: int) -> int:
        return perf_ns + self.offset_ns
