"""Marks of a training thread: what begins or ends there, and when; and the steps that look like the one before.

Most steps of a training make the same marks in the same order. Once one of them has been made sense of, the next
ones are told by comparing their marks with its own, and all that is kept of them are the times.
"""

from __future__ import annotations

from array import array
from collections import deque
from threading import get_ident
from time import perf_counter_ns
from typing import Any, NamedTuple

from stepscope.hot import extension
from stepscope.quiet import QuietMoment

#: Modes. In SLOW the hooks have to ask; else ``begin`` and ``end`` mark by themselves, and in SAMPLED time themselves.
SLOW, FAST, SAMPLED = 0, 1, 2

#: A mark's code, and what the end of the phase is known by.
Key = tuple[int, object]


class Alike(NamedTuple):
    """Steps that made the marks of one pattern: ``count * len(pattern.keys)`` times as int64, step by step."""

    pattern: Any
    first: int  # number of the first step; the others follow without a gap
    times: bytes


class PythonMarks:
    """Each method is one indivisible step for other threads, but for ``put``, ``begin`` and ``end`` of two threads.

    Attributes:
        mode: one of the above.
        calm_mode: the mode that a step begins with which ``next_step`` told.
        at_once: an optimizer has stepped since the step began.
        thread: ident of the thread whose marks count in the fast modes.
        sample_ns: self time in SAMPLED, summed up.
        until: ``next_step`` ends no step of this number or above.
        limit: steps that are kept at most until they are taken.
        most: marks after which ``end`` refuses.
        awaited: the key, this very object, that ``wait`` waits for.
    """

    def __init__(self) -> None:
        self.mode = self.calm_mode = SLOW
        self.at_once = False
        self.thread = 0
        self.sample_ns = 0
        self.until = 0
        self.limit = 200_000
        self.awaited: Key | None = None
        self._quiet = QuietMoment()
        self._most = 256
        self._entries: list[Any] = []  # keys and times in turn
        self._pattern: Any = None
        self._expected: list[Key] = []
        self._number = 0
        self._kept: deque[tuple[Any, int, list[int]]] = deque()

    def put(self, key: Key, at_ns: int) -> None:
        """Mark in any mode, for any thread."""
        self._entries += (key, at_ns)
        self._tell(key)

    def begin(self, key: Key) -> bool:
        """Mark the begin of something now. False, and no mark, where the mode or the thread do not fit."""
        if not self.mode or self.thread != get_ident():
            return False
        return self._mark(key)

    def end(self, key: Key) -> bool:
        """Mark an end now; the caller's begin was marked on this thread. False, and no mark, in SLOW or where full."""
        if not self.mode or len(self._entries) >= 2 * self._most:
            return False
        return self._mark(key)

    def end_step(self, key: Key) -> bool:
        """Mark the end of an optimizer's step now: the step may end here, so the mode is SLOW from now on."""
        if not self.mode or self.thread != get_ident():
            return False
        self._mark(key)
        self.at_once = True
        self.mode = SLOW
        return True

    def next_step(self, now: int | None = None) -> int:
        """The next step begins, if all marks of the open one are as expected: keeps its times.

        Returns:
            the number of the step that begins; 0, and nothing has changed, if the marks must be looked at.
        """
        keys, times = self._entries[0::2], self._entries[1::2]
        if self._pattern is None or self.thread != get_ident() or self._number >= self.until:
            return 0
        if keys != self._expected[:-1] or len(self._kept) >= self.limit:
            return 0
        now = perf_counter_ns() if now is None else now
        times.append(now)
        self._kept.append((self._pattern, self._number, times))
        # the mark that a step begins with is the one that the step before it ended with
        self._entries[:] = (self._entries[0], now)
        self.at_once = False
        self.mode = self.calm_mode
        self._number += 1
        if self.mode == SAMPLED:
            self.sample_ns += perf_counter_ns() - now
        return self._number

    def expect(self, pattern: Any, keys: list[Key], number: int) -> None:
        """Steps that make the marks ``keys``, from the first mark of one to that of the next, are of this pattern.

        ``number`` is that of the step that is open. No pattern that does not end with the mark that it begins with.
        """
        self._pattern = None
        if len(keys) > 1 and keys[0] == keys[-1]:
            self._pattern, self._expected, self._number = pattern, list(keys), number

    def forget(self) -> None:
        """Expect nothing."""
        self._pattern = None

    def clear(self) -> None:
        """Forget all marks of the open step."""
        self._entries.clear()

    def entries(self) -> list[Any]:
        """Keys and times in turn. For any thread."""
        return self._entries[:]

    def take(self) -> list[tuple[Any, int, bytes]]:
        """The steps that were kept since the last call, as ``Alike`` has them. For any thread."""
        taken: list[tuple[Any, int, array[int]]] = []
        following = 0
        for _ in range(len(self._kept)):
            pattern, number, times = self._kept.popleft()
            if not taken or taken[-1][0] is not pattern or number != following:
                taken.append((pattern, number, array("q")))
            taken[-1][2].extend(times)
            following = number + 1
        return [(pattern, first, times.tobytes()) for pattern, first, times in taken]

    def __len__(self) -> int:
        return len(self._entries)

    def wait(self, timeout_s: float) -> bool:
        """Wait for the next mark ``awaited``; whether it came in this time. For one thread, without the GIL."""
        return self._quiet.wait(timeout_s)

    def _tell(self, key: Key) -> None:
        if key is self.awaited:
            self._quiet.begins()

    def _mark(self, key: Key) -> bool:
        now = perf_counter_ns()
        self._entries += (key, now)
        self._tell(key)
        if self.mode == SAMPLED:
            self.sample_ns += perf_counter_ns() - now
        return True


#: The same in C++, where that was built.
Marks: Any = PythonMarks if extension is None else extension.Marks
