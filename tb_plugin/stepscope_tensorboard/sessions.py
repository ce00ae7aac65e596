"""What is kept in memory of the workers that are looked at: their analysis, timeline and resource history."""

from __future__ import annotations

import importlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, TimeoutError
from typing import Generic, TypeVar

from stepscope.breakdown import Work
from stepscope.resources import ResourceHistory
from stepscope.summary import Analysis, analyse_worker, keeping, note_damage, run_resources
from stepscope.summary.parts import devices_of
from stepscope.tables import TABLES, Frame, Tables
from stepscope.timeline import LIVE_BASE, Timeline
from stepscope.timeline.grouping import make_groups
from stepscope.workers import FileWorker, Worker, programs_of
from stepscope_tensorboard.answers import Pending
from stepscope_tensorboard.imports import Imports

#: How long a request waits for work that goes on in the background before it answers 202.
_WAIT_S = 2.0
#: Memory that an analysis takes for each step, roughly, and besides.
_STEP_BYTES = 500
_ANALYSIS_BYTES = 2_000_000

#: A module that numpy loads when it first looks for distinct values: at the start of the server nobody waits for it.
_NEEDED_LATER = "numpy.ma"

#: The tables that are made before anybody asks: the first one, and those that take longest besides.
_MADE_AHEAD = ("kernels", "operators", "launches")

T = TypeVar("T")


class Summarised:
    """The analysis of a worker, and the state of its files that it stands for."""

    def __init__(self, worker: Worker) -> None:
        self.updated_ns = worker.updated_ns  # taken before reading: what comes in meanwhile is not missed later
        self.was_live = worker.is_live
        state = keeping.state_of(worker)
        found = keeping.read(worker)
        if found is None:
            analysis = analyse_worker(worker)
            note_damage(worker, analysis.summary)
            found = keeping.Kept(state or "", analysis, run_resources([worker]))
            if state is not None:
                keeping.write(worker, found)
        self.analysis: Analysis = found.analysis
        self.resources = found.resources
        self.nbytes = _ANALYSIS_BYTES + _STEP_BYTES * (0 if self.analysis.steps is None else len(self.analysis.steps))


class Session:
    """One worker. Any thread may ask; the methods raise ``Pending`` while the work goes on."""

    def __init__(self, pool: ThreadPoolExecutor, wait_s: float) -> None:
        self._opened = _Background[Timeline](pool, wait_s)
        self._summarised = _Background[Summarised](pool, wait_s)
        self._timeline: Timeline | None = None
        self._timeline_ns = -1  # the state of the files that the timeline has read
        self._summary: Summarised | None = None
        self._tables: dict[bool, tuple[str, Tables]] = {}
        self._framing: dict[tuple[Tables, str, str], _Background[Frame]] = {}
        self._work: tuple[Tables, Analysis, Work] | None = None
        self._pool, self._wait_s = pool, wait_s
        self.resources = ResourceHistory()

    def timeline(self, worker: Worker) -> Timeline:
        """The timeline with all that the worker's files hold now."""
        updated_ns = worker.updated_ns
        if self._timeline is None:
            self._timeline = self._opened.result(
                lambda: Timeline(worker, self.resources), f"Opening the timeline of {worker.id}."
            )
        elif updated_ns != self._timeline_ns:
            self._timeline.refresh(worker)
        self._timeline_ns = updated_ns
        return self._timeline

    def summary(self, worker: Worker) -> Summarised:
        """The analysis of what the worker's files hold now; of a running job a slightly older one if it is slow."""
        updated_ns = worker.updated_ns
        summary = self._summary
        # A job that falls silent writes nothing more, and its summary must say that it broke off.
        while summary is None or summary.updated_ns < updated_ns or (summary.was_live and not worker.is_live):
            try:  # more than once where the result is of work that began before the latest change
                summary = self._summarised.result(lambda: Summarised(worker), f"Analysing {worker.id}.")
            except Pending:
                if summary is None or not worker.is_live:
                    raise
                break
        self._summary = summary
        return summary

    def tables(self, worker: Worker, name: str) -> tuple[str, Tables]:
        """The tables with what one of them needs, and a version of it: most need the deep windows only, which change
        rarely while a job runs."""
        timeline = self.timeline(worker)
        lives = name in ("annotations", "requests")
        version = str(timeline.version) if lives else f"w{sum(s.base < LIVE_BASE for s in timeline.segments())}"
        known = self._tables.get(lives)
        if known is None or known[0] != version:
            known = self._tables[lives] = (
                version,
                Tables(timeline, devices_of([], worker.meta or {}), lambda: programs_of(worker)),
            )
            self._framing = {key: work for key, work in self._framing.items() if key[0] is known[1]}
        return known

    def frame(self, tables: Tables, name: str, by: str) -> Frame:
        """The rows of a table."""
        ready = tables.ready(name, by)
        if ready is not None:
            return ready
        work = self._framing.setdefault((tables, name, by), _Background[Frame](self._pool, self._wait_s))
        return work.result(lambda: tables.frame(name, by), "Making the table.")

    def work(self, worker: Worker, analysis: Analysis) -> Work:
        """The work of the deep windows by step, kept while tables and analysis stay the same."""
        assert analysis.steps is not None
        tables = self.tables(worker, "kernels")[1]
        if self._work is None or self._work[0] is not tables or self._work[1] is not analysis:
            self._work = tables, analysis, Work(tables.source, analysis.steps)
        return self._work[2]

    def make_ahead(self, worker: Worker) -> None:
        """Make what the first look into other tabs asks for, while nobody waits for it."""
        for name in _MADE_AHEAD:
            self.frame(self.tables(worker, name)[1], name, next(iter(TABLES[name].groupings)))
        source = self.tables(worker, "launches")[1].source
        _ = source.launched, source.launch_times, source.queue_depths  # what the charts above that table show
        analysis = self.summary(worker).analysis
        if analysis.steps is not None and analysis.steps.deep.any():
            self.work(worker, analysis).make()
        make_groups(self.timeline(worker))

    @property
    def nbytes(self) -> int:
        parts = (self._timeline, self._summary, self.resources, *(tables for _, tables in self._tables.values()))
        return sum(part.nbytes for part in parts if part is not None)


class Sessions:
    """The sessions in use; those unused longest are dropped when all together hold more than ``memory_bytes``."""

    def __init__(self, imports: Imports, memory_bytes: int, wait_s: float = _WAIT_S) -> None:
        self._imports = imports
        self._memory_bytes = memory_bytes
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._sessions: OrderedDict[tuple, Session] = OrderedDict()
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="stepscope")
        self._pool.submit(importlib.import_module, _NEEDED_LATER)

    def of(self, run_id: str, worker: Worker) -> Session:
        """The session of a worker; a trace file is imported first.

        Raises:
            Pending: the file is being imported.
            Problem: it cannot be.
        """
        key: tuple = (run_id, worker.id)
        if isinstance(worker, FileWorker):
            self._imports.need(worker.path)
            key = (*key, worker.updated_ns)  # a file that was replaced is another one
        with self._lock:
            session = self._sessions.get(key)
            if session is None:
                session = self._sessions[key] = Session(self._pool, self._wait_s)
            self._sessions.move_to_end(key)
            self._drop_old()
        return session

    def _drop_old(self) -> None:
        held = {key: session.nbytes for key, session in self._sessions.items()}
        total = sum(held.values())
        for key in list(self._sessions)[:-1]:
            if total <= self._memory_bytes:
                break
            total -= held[key]
            del self._sessions[key]


class _Background(Generic[T]):
    """One piece of work at a time, on a pool's thread."""

    def __init__(self, pool: ThreadPoolExecutor, wait_s: float) -> None:
        self._pool = pool
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._future: Future[T] | None = None

    def result(self, work: Callable[[], T], detail: str) -> T:
        """The result of ``work``, or of the work that goes on already.

        Raises:
            Pending: it takes longer than a request waits.
        """
        with self._lock:
            if self._future is None:
                self._future = self._pool.submit(work)
            future = self._future
        try:
            result = future.result(self._wait_s)
        except TimeoutError:
            if not future.done():
                raise Pending(detail) from None
            raise
        finally:
            with self._lock:
                if future.done() and self._future is future:
                    self._future = None
        return result
