"""How a converter works beside a training: a little at a time, until it is told that it may go on at full speed.

The idle scheduling class keeps it off a core that is busy. A training whose threads sleep and wake with each operation
leaves cores idle for parts of a step; a process that fills these parts delays the threads that wake (steps of 8 ms in
Keras became 1.2 to 1.3 times as long, 2 threads on 2 cores; a process of that class that only counted did the same).

As a script this file starts ``convert``: it is there before the libraries, whose import takes longest.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from types import FrameType
from typing import IO

#: CPU seconds after which it rests, which the kernel rounds up to its tick, and for how long.
_WORK_S, _REST_S = 0.002, 0.06


class Pace:
    """Reads the work to do from ``orders``, an unbuffered pipe; any further byte, or its end, ends the rests.

    Until the work has come it goes at full speed: the training stands still meanwhile.
    """

    def __init__(self, orders: IO[bytes]) -> None:
        self._orders = orders
        self._line: bytes | None = None
        self._waits = False  # for the line, and who waits reads it
        if hasattr(signal, "setitimer"):
            signal.signal(signal.SIGPROF, self._look)
            signal.siginterrupt(signal.SIGPROF, False)
            signal.setitimer(signal.ITIMER_PROF, _WORK_S, _WORK_S)

    def line(self) -> bytes:
        """The work to do; empty if there is none."""
        self._waits = True
        if self._line is None:
            self._line = self._orders.readline()
        self._waits = False
        return self._line

    def end_rests(self) -> None:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, 0)

    def _look(self, number: int, frame: FrameType | None) -> None:
        if self._waits:
            return
        if self._line is None:
            if self._is_told(0.0):
                self._line = self._orders.readline()
        elif _is_machine_busy() and self._is_told(_REST_S):
            self.end_rests()

    def _is_told(self, within_s: float) -> bool:
        return bool(select.select([self._orders], [], [], within_s)[0])


def _is_machine_busy() -> bool:
    """Whether half of the cores or more have something else to run; where that cannot be known, they have.

    It imports nothing, not even a codec: in the middle of an import Python would stumble over that.
    """
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/loadavg", "rb") as file:
        running = int(file.read().split()[3].split(b"/")[0])
        return 2 * (running - 1) >= (os.cpu_count() or 1)
    return True


def _convert() -> int:
    del sys.path[0]  # the folder of this file, whose other files are no modules of their own
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as orders:
        pace = Pace(orders)
        try:
            from stepscope.convert import convert_as_told

            return convert_as_told(pace)
        finally:
            pace.end_rests()  # Python takes its handlers away before it ends


if __name__ == "__main__":
    sys.exit(_convert())
