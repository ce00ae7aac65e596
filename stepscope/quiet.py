"""The moment in which a training needs Python's lock no longer for a while: what a write waits for."""

from __future__ import annotations

from threading import Event


class QuietMoment:
    """One thread waits; the training thread tells, for 30 ns where nobody does."""

    def __init__(self) -> None:
        self._waiting: Event | None = None

    def wait(self, timeout_s: float) -> bool:
        """Wait for the next moment; whether it came in this time."""
        self._waiting = Event()
        try:
            return self._waiting.wait(timeout_s)
        finally:
            self._waiting = None

    def begins(self) -> None:
        """It is now."""
        waiting = self._waiting
        if waiting is not None:
            waiting.set()
