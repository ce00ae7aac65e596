"""The steps of a loop that fetches a batch, then trains on it, seen from the host: a state machine without Keras.

A step begins where its batch is fetched, or with the call that trains where nothing is fetched. It ends where the
next batch is fetched; the last one of an epoch, and one without a fetch after it, ends with its call.
"""

from __future__ import annotations

from typing import Protocol

Part = tuple[str, int, int]  # phase, start_ns, end_ns


class Sink(Protocol):
    """Where steps go."""

    def begin(self, now: int) -> int:
        """A step begins now, or at the later time that is returned: what came between belongs to none."""

    def computed(self) -> None:
        """The call has returned in which the open step computes. The step ends now, or with the next fetch."""

    def end(self, start_ns: int, end_ns: int, parts: list[Part], complete: bool) -> None:
        """The step that began last has ended."""

    def cancel(self) -> None:
        """What began last was no step."""


class HostSteps:
    """Puts fetches and calls together. All times are ``perf_counter_ns`` readings."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._start_ns = 0  # of the open step; 0 if none is open
        self._parts: list[Part] = []
        self._computes_since = 0  # since when the call computes on the open step's batch; 0 if it does not
        self._computed_ns = 0  # when it has done so; 0 if it has not
        self._in_call = False

    def fetch_begin(self, now: int) -> None:
        self._end_compute(now)
        if self._computed_ns:
            self._end(now)
        elif self._start_ns:  # fetched and never trained on
            self._cancel()
        self._begin(now)

    def fetch_end(self, now: int, got_batch: bool) -> None:
        if not got_batch:
            self._cancel()
            return
        self._parts.append(("input_wait", self._start_ns, now))
        if self._in_call:
            self._computes_since = now

    def call_begin(self, now: int, fetches_inside: bool) -> None:
        """The train function is called; with ``fetches_inside`` it fetches its batches itself."""
        self._in_call = True
        if fetches_inside:
            return
        if self._computed_ns:
            self._end(self._computed_ns)
        if not self._start_ns:
            self._begin(now)
        self._computes_since = max(now, self._start_ns)

    def call_end(self, now: int, complete: bool) -> None:
        """It has returned, or with ``complete`` false an exception has left it, of which a step is open or none."""
        self._in_call = False
        self._end_compute(now)
        if self._start_ns:
            self._sink.computed()
        if not complete and self._start_ns:
            self._end(now, complete=False)

    def opened(self) -> tuple[str | None, int | None]:
        """The phase that is open, and since when. For any thread."""
        since = self._computes_since
        if since:
            return "compute", since
        if self._start_ns and not self._parts and not self._computed_ns:
            return "input_wait", self._start_ns
        return None, None

    def finish(self) -> None:
        """No step follows for now."""
        if self._computed_ns:
            self._end(self._computed_ns)
        elif self._start_ns:
            self._cancel()

    def _begin(self, now: int) -> None:
        self._start_ns = self._sink.begin(now)
        self._parts = []

    def _end_compute(self, now: int) -> None:
        if self._computes_since:
            self._parts.append(("compute", self._computes_since, now))
            self._computed_ns = now
            self._computes_since = 0

    def _end(self, now: int, complete: bool = True) -> None:
        start_ns, parts = self._start_ns, self._parts
        self._forget()
        self._sink.end(start_ns, now, parts, complete)

    def _cancel(self) -> None:
        self._forget()
        self._sink.cancel()

    def _forget(self) -> None:
        self._start_ns = self._computed_ns = self._computes_since = 0
        self._parts = []
