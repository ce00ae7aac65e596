"""How a converter works beside a training: a little at a time, until it is told that it may go on at full speed.

The idle scheduling class keeps it off a core that is busy. A training whose threads sleep and wake with each operation
leaves cores idle for parts of a step; a process that fills these parts delays the threads that wake (steps of 8 ms in
Keras became 1.2 to 1.3 times as long, 2 threads on 2 cores; a process of that class that only counted did the same).
Where threads keep all cores busy, each of its ticks makes a step 4 ms longer, so it does nothing then for a while.

As a script this file starts ``convert``: it is there before the libraries, whose import takes longest.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from types import FrameType
from typing import IO

#: CPU seconds after which it rests, which the kernel rounds up to its tick, and for how long.
_WORK_S, _REST_S = 0.002, 0.06
#: Seconds that it rests at most from when the work has come, as long as all cores are busy; and the number of rests in
#: a row, after each of which a core was idle, that end this.
_PATIENCE_S, _CALM = 120.0, 5
_UNKNOWN = 1 << 30
#: What a line of work holds that is not to rest.
AT_ONCE = b'"at_once": true'


class Pace:
    """Reads the work to do from ``orders``, an unbuffered pipe; any further byte, or its end, ends the rests.

    Until the work has come it goes at full speed: the training stands still meanwhile, and may go on when the file
    descriptor ``resting`` is closed.
    """

    def __init__(self, orders: IO[bytes], resting: int | None = None) -> None:
        self._orders = orders
        self._resting = resting
        self._line: bytes | None = None
        self._patient_until = 0.0
        self._is_in = False  # ``line`` or ``_look``, in which a tick does nothing: two would read the line, and close
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGPROF, self._look)
            signal.siginterrupt(signal.SIGPROF, False)
            signal.setitimer(signal.ITIMER_PROF, _WORK_S, _WORK_S)

    def line(self) -> bytes:
        """The work to do; empty if there is none."""
        self._is_in = True
        if self._line is None:
            self._line = self._orders.readline()
            self._rest()
        self._is_in = False
        return self._line

    def end_rests(self) -> None:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, 0)

    def _look(self, number: int, frame: FrameType | None) -> None:
        if self._is_in:
            return
        self._is_in = True
        try:
            if self._line is None and self._is_told(0.0):
                self._line = self._orders.readline()
            if self._line is not None:
                self._rest()
        finally:
            self._is_in = False

    def _rest(self) -> None:
        """First of all once the work has come: the training is about to go on."""
        if self._resting is not None:
            os.close(self._resting)
            self._resting = None
        if not self._line or AT_ONCE in self._line:
            return
        if not self._patient_until:
            self._patient_until = time.monotonic() + _PATIENCE_S
        cores, calm, needed = os.cpu_count() or 1, 0, 1
        while calm < needed and 2 * _running() >= cores:
            if self._is_told(_REST_S):
                self.end_rests()
                return
            if cores <= _running() < _UNKNOWN and time.monotonic() < self._patient_until:
                calm, needed = 0, _CALM
            else:
                calm += 1

    def _is_told(self, within_s: float) -> bool:
        return bool(select.select([self._orders], [], [], within_s)[0])


def _running() -> int:
    """How many threads else run or want to, ``_UNKNOWN`` where that cannot be known.

    It imports nothing, not even a codec: in the middle of an import Python would stumble over that.
    """
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/loadavg", "rb") as file:
        return int(file.read().split()[3].split(b"/")[0]) - 1
    return _UNKNOWN


def _convert() -> int:
    del sys.path[0]  # the folder of this file, whose other files are no modules of their own
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as orders:
        pace = Pace(orders, int(sys.argv[1]))
        try:
            import site

            site.main()
            from stepscope.convert import convert_as_told

            return convert_as_told(pace)
        finally:
            pace.end_rests()  # Python takes its handlers away before it ends


if __name__ == "__main__":
    sys.exit(_convert())
