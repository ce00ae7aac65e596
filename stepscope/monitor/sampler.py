"""The sampling loop: sources are read on absolute deadlines, and batches reach the file within a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

from stepscope.clock import Clock
from stepscope.schema import MONITOR_SCHEMA, NONE, Notes
from stepscope.store import StreamWriter
from stepscope.store.layout import write_json

#: ``index`` of a metric that is not of one core or GPU.
TOTAL = NONE
#: Samples wait in memory for at most this long; also how soon the end of the training process is seen.
FLUSH_NS = 1_000_000_000
#: No sample follows another sooner at the end: the kernel counts CPU time in ticks of 10 ms, so the rates of a
#: shorter time are noise.
LAST_GAP_NS = 100_000_000

#: metric, index, value
Value = tuple[str, int, float]


class Source(Protocol):
    """One kind of counters. ``now_ns`` is a ``time.perf_counter_ns`` reading."""

    def sample(self, now_ns: int) -> list[Value]: ...


class Control:
    """What the training process asks of the loop; set by the thread that reads its pipe."""

    def __init__(self, interval_ns: int) -> None:
        self.interval_ns = interval_ns
        self.ended = threading.Event()
        self.paused = False


def next_deadline(start_ns: int, interval_ns: int, now_ns: int) -> int:
    """The first of start, start + interval, start + 2 * interval, ... that is half an interval or more ahead.

    Missed deadlines are skipped, and so is one that a late sample has all but reached: the rates of so short a
    time would be noise.
    """
    half_ns = interval_ns // 2
    return start_ns + -(-(now_ns + half_ns - start_ns) // interval_ns) * interval_ns


class Sampler:
    """Reads ``sources`` and writes what they give to ``path``; notes go to ``notes_path``.

    A source that fails is left out from then on, with a note.
    """

    def __init__(self, sources: Sequence[Source], path: Path, notes_path: Path, notes: Notes) -> None:
        self._sources = list(sources)
        self._writer = StreamWriter(path, MONITOR_SCHEMA)
        self._notes_path = notes_path
        self._notes = notes
        self._notes_written = 0
        self._clock = Clock()
        self._rows: list[tuple[int, str, int, float]] = []
        self._oldest_ns = 0  # of the rows that wait
        self._latest_ns = 0

    def run(self, control: Control, orphaned: Callable[[], bool], at_end: Callable[[], None] = lambda: None) -> None:
        """Sample until ``control.ended`` or ``orphaned()``; then call ``at_end`` and write what is left."""
        start_ns = due_ns = time.perf_counter_ns()
        interval_ns = control.interval_ns
        try:
            while not orphaned():
                if control.interval_ns != interval_ns:
                    interval_ns = control.interval_ns
                    due_ns = min(due_ns, time.perf_counter_ns() + interval_ns)
                if time.perf_counter_ns() >= due_ns:
                    if not control.paused:
                        self.sample()
                    due_ns = next_deadline(start_ns, interval_ns, time.perf_counter_ns())
                if self._rows and (control.paused or due_ns - self._oldest_ns >= FLUSH_NS):
                    self.flush()
                if control.ended.wait(max(0, min(due_ns - time.perf_counter_ns(), FLUSH_NS)) / 1e9):
                    break
            if not control.paused and time.perf_counter_ns() - self._latest_ns >= LAST_GAP_NS:
                self.sample()  # the last moments before a crash are the ones one looks for
            at_end()
        finally:
            self.flush()
            self._writer.close()

    def sample(self) -> None:
        """Read every source once; all values bear the time at which the reading began."""
        self._latest_ns = time.perf_counter_ns()
        if not self._rows:
            self._oldest_ns = self._latest_ns
        ts_ns = self._clock.to_unix(self._latest_ns)
        for source in list(self._sources):
            try:
                self._rows += [(ts_ns, *value) for value in source.sample(time.perf_counter_ns())]
            except Exception as error:
                self._sources.remove(source)
                name = type(source).__name__
                self._notes.add("monitor_source_failed", f"{name} gave an error and was left out: {error!r}")

    def flush(self) -> None:
        """Write what was sampled, and the notes if there are new ones."""
        self._clock.check()
        rows, self._rows = self._rows, []
        if rows:
            columns = zip(*rows, strict=True)
            self._writer.append(dict(zip(MONITOR_SCHEMA.names, columns, strict=True)))
        notes = self._notes.list()
        if len(notes) > self._notes_written:
            write_json(self._notes_path, {"notes": [asdict(n) for n in notes]})
            self._notes_written = len(notes)
