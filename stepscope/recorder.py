"""The always-on recorder of one training process: hooks append spans, a thread writes them each 0.7 s.

A hook costs one tuple and one ``deque.append`` (both atomic under the GIL and without it), or less where it is a
source with a store of its own. Nothing here raises into the caller: a recorder that cannot go on switches itself off,
says so once in the log and leaves the reason in worker.json.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import platform
import socket
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from stepscope.clock import Clock
from stepscope.hot import extension
from stepscope.live_columns import AlikeSteps, Columns, Names, Written, merged, of_regions, of_rows
from stepscope.schema import LIVE_SCHEMA, NONE, SCHEMA_VERSION, Kind
from stepscope.store import RunFolder, StreamWriter, WorkerFolder
from stepscope.told import Told

log = logging.getLogger("stepscope")

#: Seconds between two writes: with the wait below what a SIGKILL can lose, of the one second that is promised.
FLUSH_S = 0.7
#: Seconds that a write waits for a moment in which the training does not need Python's lock.
QUIET_S = 0.1
#: Writes with alike steps after which the observers are told of them: while Python's lock is kept a step waits, and of
#: steps of 7 to 70 ms each write meets one in a hundred.
LOOK_EVERY = 4
#: Spans held in memory while the disk does not answer; about 200 MB. Later ones are dropped and counted.
MAX_PENDING = 1_000_000

#: Seconds that ``stop`` and ``flush`` wait for the writer thread, whose storage may not answer.
STOP_TIMEOUT_S = 10.0
#: A round of the writer thread that takes so long is told: what is recorded meanwhile waits in memory.
STALLED_NS = 5_000_000_000

_SELF_COST_SAMPLES = 200
_PHASE = int(Kind.PHASE)

#: kind, name, start_ns, end_ns, step, args: a span as ``Recorder.defer`` takes it.
Row = tuple[int, str, int, int, int, dict | None]

#: The recorder that annotations go to, or None. Read on every annotation: keep it a plain module variable.
active: Recorder | None = None
#: While a deep window is open: makes the framework's own scope for a name, so that annotations show in it.
mirror: Callable[[str], AbstractContextManager[Any]] | None = None

#: The native id of each thread; asking the kernel for it costs 225 ns, as much as all the rest of a span.
_thread = threading.local()

_fork_guard: weakref.WeakSet[Recorder] = weakref.WeakSet()


class Recorder:
    """Records the spans of this process into a worker folder.

    Args:
        run: the run folder, e.g. ``runs/exp1``; made if missing.
        framework: ``pytorch`` or ``tensorflow``.
        rank, world_size: of this process, None where unknown.
        about: more fields of worker.json (devices, versions, options, phases: those that the hook can see).
        metadata: what the user tells of the run, for run.json; that of the first worker stays.

    After ``start``, ``enabled`` tells whether spans are kept.
    """

    def __init__(
        self,
        run: str | os.PathLike[str],
        *,
        framework: str,
        rank: int | None = None,
        world_size: int | None = None,
        about: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self.run = Path(run)
        self.metadata = metadata
        self.clock = Clock()
        self.folder: WorkerFolder | None = None
        self.enabled = False
        self.step = NONE  # the step that annotations fall in; hooks set it
        #: worker.json as it will be written, and the notes that it will hold.
        self.meta: dict[str, Any] = {
            "schema": SCHEMA_VERSION,
            "framework": framework,
            "rank": rank,
            "world_size": world_size,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "devices": [],
            "versions": {"python": platform.python_version(), "stepscope": _own_version()},
            "options": {},
            "threads": {},
            "started_ns": self.clock.anchors[0].unix_ns,
            "ended_ns": None,
            **(about or {}),
        }
        self._told = Told(self.meta, self.clock)
        self.notes = self._told.notes
        # (kind, name, start_ns, dur_ns, step, tid, args), or what makes such rows: (function, its args, tid)
        self._pending: deque[tuple[Any, ...]] = deque()
        #: Called on the writer thread after each write; one that raises is left out from then on.
        self.each_write: list[Callable[[], None]] = []
        #: Likewise, but only after each ``LOOK_EVERY`` writes where steps are alike.
        self.each_round: list[Callable[[], None]] = []
        #: Called before these with what each write since then held.
        self.observers: list[Callable[[Written], None]] = [self._name_threads]
        #: Called on the writer thread at each write: the steps that they kept since the last one.
        self.sources: list[Callable[[], list[AlikeSteps]]] = []
        #: Where annotations go if the extension is there, which puts them in by itself; else they come as spans.
        self.regions: Any = None if extension is None else extension.Spans()
        if self.regions is not None:
            self.regions.limit = MAX_PENDING
        #: Waits for a moment in which the training runs without Python's lock for a while, so many seconds at most.
        self.quiet_moment: Callable[[float], object] | None = None
        #: Called on the writer thread before ``stop`` closes the files.
        self.at_end: list[Callable[[], None]] = []
        self._unseen: list[Written] = []  # writes of which the observers have not been told
        self._dropped = 0
        self.writer_ns = 0  # CPU time of the writer thread so far
        #: From this step on phases are thrown away: the steps alone are kept.
        self.steps_only_from: int | None = None
        self._writer: StreamWriter | None = None
        self._thread: threading.Thread | None = None
        self._wake = threading.Event()
        self._flushed: deque[threading.Event] = deque()  # who waits for the end of a write
        self._ending = False  # stop() was called
        self._stopping = False  # stop_soon() was called

    # -- called from training code ---------------------------------------------------------------

    def start(self) -> None:
        """Make the worker folder and begin. On failure the recorder stays off and says why."""
        global active
        try:
            rank, host, pid = (self.meta[name] for name in ("rank", "host", "pid"))
            self.folder = RunFolder(self.run).create_worker(rank, host, pid, self.metadata)
            self._told.folder = self.folder
            self._writer = StreamWriter(self.folder.live_path(), LIVE_SCHEMA)
            self._told.set_aside(self.folder)
            self.meta["worker"] = self.folder.id
            self.meta["span_cost_ns"] = _span_cost_ns()
            self._write_meta()
        except Exception as error:
            self._give_up("cannot record", error)
            return
        self.enabled = True
        active = self
        _fork_guard.add(self)
        self._thread = threading.Thread(target=self._flush_loop, name="stepscope-writer", daemon=True)
        self._thread.start()
        atexit.register(self.stop)

    def span(
        self, kind: int, name: str, start_ns: int, end_ns: int, step: int = NONE, args: dict | None = None
    ) -> None:
        """Keep one span. ``start_ns`` and ``end_ns`` are ``time.perf_counter_ns`` readings."""
        if not self.enabled:
            return
        if len(self._pending) >= MAX_PENDING:
            self._dropped += 1
            return
        try:
            tid = _thread.tid
        except AttributeError:
            tid = _thread.tid = threading.get_native_id()
        self._pending.append((kind, name, start_ns, end_ns - start_ns, step, tid, args))

    def phases(self, step: int, phases: Sequence[tuple[str, int, int]]) -> None:
        """Keep the phases of one step, (name, start_ns, end_ns) each: many spans at the price of two."""
        if not self.enabled:
            return
        if len(self._pending) >= MAX_PENDING:
            self._dropped += len(phases)
            return
        try:
            tid = _thread.tid
        except AttributeError:
            tid = _thread.tid = threading.get_native_id()
        self._pending.extend([(_PHASE, name, start, end - start, step, tid, None) for name, start, end in phases])

    def fast_lane(self) -> Callable[[tuple[Callable[..., list[Row]], tuple[Any, ...], int]], None]:
        """What keeps spans that the writer thread makes: called with (rows, args, tid), it keeps ``rows(*args)``.

        The cheapest way, a bare append. The caller looks at ``enabled`` and ``is_full`` now and then.
        """
        return self._pending.append

    @property
    def is_full(self) -> bool:
        """Whether the disk is so far behind that what comes now is dropped; of deferred spans the caller does that."""
        return len(self._pending) >= MAX_PENDING

    def note(self, code: str, detail: str, count: int = 1) -> None:
        """Leave a data quality note in worker.json with the next write."""
        self._told.note(code, detail, count)

    def tell_exception(self, error: BaseException, step: int | None) -> None:
        """The training ends with an exception: keep its type, its message and where it came from."""
        self._told.exception(error, step)

    def update_meta(self, **fields: Any) -> None:
        """Set fields of worker.json with the next write."""
        self._told.update(**fields)

    def flush(self) -> bool:
        """Have what is pending written: for a pause in which the files may be read.

        Returns:
            False if it is not in ``STOP_TIMEOUT_S``: the storage does not answer.
        """
        if self._thread is None or not self._thread.is_alive():
            return True
        flushed = threading.Event()
        self._flushed.append(flushed)
        self._wake.set()
        return flushed.wait(STOP_TIMEOUT_S)

    def stop(self) -> None:
        """Have what is pending written and the files closed; harmless when called twice.

        It waits for that ``STOP_TIMEOUT_S`` at most. Where the storage does not answer in this time the training
        ends all the same: the writer thread closes the files if the process is still there when it answers, else
        ``stepscope.last_words`` leaves the reason there.
        """
        global active
        if active is self:
            active = None
        atexit.unregister(self.stop)
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._ending = True
        self._wake.set()
        thread.join(timeout=STOP_TIMEOUT_S)
        if thread.is_alive():
            log.warning(
                "stepscope: %s did not answer for %.0f s; what was recorded last is lost if the process ends now.",
                *(self.run, STOP_TIMEOUT_S),
            )
            self._told.leave_last_words(
                "The storage did not answer when the recording ended, so what came last is missing."
            )
        elif self._told.is_unsaid:
            self._told.leave_last_words(self._told.reason())

    def _end(self) -> None:
        self.enabled = False
        self._told.free_reserve()
        self.meta["ended_ns"] = self.meta["ended_ns"] or time.time_ns()
        if self._told.is_unsaid:
            self._say_why()
            return
        try:
            self._write_meta()
            if self._writer is not None:
                writer, self._writer = self._writer, None
                writer.close()
        except Exception as error:
            self._give_up("cannot finish its files", error)

    def stop_soon(self, detail: str) -> None:
        """End the recording while the training goes on, for the reason of the note; for the writer thread."""
        self.note("recording_stopped", detail)
        self._stopping = True

    # -- the writer thread -------------------------------------------------------------------------

    def _flush_loop(self) -> None:
        due = time.monotonic() + FLUSH_S
        while True:
            self._wait_until(due)
            self._wake.clear()
            if self._ending:
                break
            due = time.monotonic() + FLUSH_S
            flushed = [self._flushed.popleft() for _ in range(len(self._flushed))]
            began = time.perf_counter_ns()
            self._flush()
            self._call_each(self.each_write)
            if flushed or self._is_look_due():
                if not flushed:
                    self._wait_until(0.0)
                self._look()
            self._tell_stall(time.perf_counter_ns() - began)
            if self._told.is_unsaid:
                self._say_why()
            for waiting in flushed:
                waiting.set()
            if self._stopping:
                self._flush()
                self._look()
                self._end()
                return
        for call in self.at_end:
            try:
                call()
            except Exception as error:
                self.note("hook_failed", f"A part could not end properly: {error!r}")
        self._flush()
        self._observe()
        self._end()

    def _wait_until(self, due: float) -> None:
        """Until then, and for a quiet moment; not for that where something is waited for."""
        if not self._wake.wait(max(0.0, due - time.monotonic())) and self.quiet_moment is not None:
            self.quiet_moment(QUIET_S)

    def _flush(self) -> None:
        if not self.enabled or self._writer is None:
            return
        try:
            if self.clock.check():
                self.note("clock_step", "The wall clock was set during the run; times before and after differ.")
            self._drain(self._writer)
        except Exception as error:
            self._give_up("stopped recording", error)
        self.writer_ns = time.thread_time_ns()

    def _is_look_due(self) -> bool:
        """No alike steps came, or they have waited long enough, or worker.json is to be written."""
        unseen = self._unseen
        return not unseen or not unseen[-1].alike or len(unseen) >= LOOK_EVERY or self._told.is_new

    def _look(self) -> None:
        self._observe()
        self._call_each(self.each_round)
        try:
            if self.enabled and self._told.is_new:
                self._write_meta()
        except Exception as error:
            self._give_up("stopped recording", error)
        self.writer_ns = time.thread_time_ns()

    def _observe(self) -> None:
        unseen, self._unseen = self._unseen, []
        for written in unseen:
            self._call_each(self.observers, written)

    def _name_threads(self, written: Written) -> None:
        self._told.name_threads(written.tids())

    def _tell_stall(self, took_ns: int) -> None:
        if took_ns >= STALLED_NS:
            self.note(
                "storage_stalled",
                f"A write to the run folder took {took_ns / 1e9:.1f} s: its storage did not answer, or the process was "
                "held. What was recorded meanwhile waited in memory.",
            )

    def _call_each(self, calls: list[Callable[..., None]], *args: Any) -> None:
        for call in list(calls):
            try:
                call(*args)
            except Exception as error:
                calls.remove(call)
                self.note("hook_failed", f"A part of the writer was switched off: {error!r}")

    def _drain(self, writer: StreamWriter) -> None:
        names = Names()
        spans = merged(self._pending_spans(names))
        written = Written(spans, [steps for source in self.sources for steps in source()])
        if self.steps_only_from is not None:
            written = written.without_phases_from(self.steps_only_from)
        if written.rows:
            writer.append_block(written.block(names, self.clock.offset_ns))
            self._unseen.append(written)

    def _pending_spans(self, names: Names) -> list[Columns]:
        rows = []
        for _ in range(len(self._pending)):  # spans that arrive meanwhile wait for the next round
            row = self._pending.popleft()
            if len(row) == 3:
                make, args, tid = row
                rows += [(k, n, start, end - start, step, tid, a) for k, n, start, end, step, a in make(*args)]
            else:
                rows.append(row)
        told = [row if row[6] is None else (*row[:6], json.dumps(row[6], default=repr)) for row in rows]
        spans = [of_rows(told, names)] if told else []
        if self.regions is not None and len(self.regions):
            texts, numbers = self.regions.take()
            spans.append(of_regions(texts, numbers, names))
        return spans

    def _write_meta(self) -> None:
        self._count_dropped()
        self._told.write()

    def _count_dropped(self) -> None:
        if self.regions is not None:
            self._dropped += self.regions.dropped
            self.regions.dropped = 0
        if self._dropped:
            self.notes.add(
                "dropped_spans", "Spans of hooks and annotations came faster than they were written.", self._dropped
            )
            self._dropped = 0
        self.meta["flush_cpu_ns"] = self.writer_ns

    def _give_up(self, what: str, error: Exception) -> None:
        self.enabled = False
        self._throw_away()
        log.warning("stepscope %s in %s: %s. Training goes on without it.", what, self.run, error)
        self.notes.add("recording_stopped", f"The recorder {what}: {error}")
        self._told.free_reserve()
        self._say_why()

    def _say_why(self) -> None:
        self._count_dropped()
        self._told.say_why()

    def _throw_away(self) -> None:
        """What was kept and cannot be written."""
        self._pending.clear()
        if self.regions is not None:
            self.regions.take()
        self.sources = []

    def _forget(self) -> None:
        """In a forked child: its copy has no writer thread and must not touch the parent's file."""
        self.enabled = False
        self._pending = deque()
        self.sources = []
        self._thread = None
        atexit.unregister(self.stop)


def _after_fork_in_child() -> None:
    global active, mirror, _thread
    active = mirror = None
    _thread = threading.local()
    if extension is not None:
        extension.forget_threads()
    for recorder in list(_fork_guard):
        recorder._forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def _span_cost_ns() -> int:
    """What one ``span`` costs here, in ns: the median of a short loop, told in worker.json."""
    probe = Recorder.__new__(Recorder)
    probe.enabled = True
    probe._pending = deque()
    costs = []
    for _ in range(_SELF_COST_SAMPLES):
        before = time.perf_counter_ns()
        probe.span(Kind.PHASE, "probe", before, before)
        costs.append(time.perf_counter_ns() - before)
    return sorted(costs)[len(costs) // 2]


def _own_version() -> str:
    return str(getattr(sys.modules.get("stepscope"), "__version__", "unknown"))
