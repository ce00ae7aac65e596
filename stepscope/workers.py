"""Workers of a run, whether stepscope recorded them or not.

A *recorded* worker is a folder of the store; a *file* worker is one trace file that another profiler
wrote. Both answer the same questions, so that everything above sees one kind of worker.
"""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from stepscope import cache, importers
from stepscope.errors import StepscopeError
from stepscope.schema import LIVE_SCHEMA, MONITOR_SCHEMA, NONE, Events, Lane, Note, Program, Window
from stepscope.store import StreamReader, WorkerFolder, layout_rows, read_programs, read_window
from stepscope.store.worker_meta import monitor_notes, usable_meta

#: A worker that has not said that it ended counts as running while data is younger than this.
LIVE_WITHIN_NS = 10_000_000_000

_UNFINISHED = Note(
    "unfinished_recording",
    1,
    f"The process never said that it ended, and wrote nothing for {LIVE_WITHIN_NS // 10**9} s: it was killed, hangs, "
    "or its disk is full. What it wrote until then is here.",
)


class Worker(Protocol):
    """One process of a run."""

    id: str

    @property
    def rank(self) -> int | None: ...
    @property
    def world_size(self) -> int | None: ...
    @property
    def host(self) -> str | None: ...
    @property
    def pid(self) -> int | None: ...
    @property
    def framework(self) -> str: ...
    @property
    def meta(self) -> dict | None:
        """worker.json, or None for a file worker."""
        ...

    @property
    def notes(self) -> list[Note]:
        """What is known to be missing, besides the notes of the windows."""
        ...

    @property
    def updated_ns(self) -> int: ...
    @property
    def is_live(self) -> bool: ...
    @property
    def recorded_ns(self) -> tuple[int, int] | None:
        """Begin and end of the recording in Unix ns; None where that is not told."""
        ...

    def live(self) -> Events:
        """The always-on rows: STEP, PHASE and ANNOTATION, lanes are threads."""
        ...

    def live_reader(self) -> StreamReader | None:
        """Reads the always-on rows (LIVE_SCHEMA) as they come in, or None where nothing is always on."""
        ...

    def window_ids(self) -> list[str]:
        """The finished deep windows, in order; the ids of old ones stay while new ones come."""
        ...

    def window(self, window_id: str) -> Window: ...
    def windows(self) -> Iterator[Window]: ...
    def programs(self, window_id: str) -> list[Program]:
        """What XLA compiled of what ran in a window; none where nothing did or the profiler did not tell.

        Raises:
            StepscopeError: they are damaged.
        """
        ...

    def monitor(self) -> pa.Table | None:
        """Resource samples (MONITOR_SCHEMA), or None where there was no monitor."""
        ...

    def monitor_reader(self) -> StreamReader | None:
        """Reads the resource samples as they come in."""
        ...


class RecordedWorker:
    """A worker that stepscope itself recorded."""

    def __init__(self, folder: WorkerFolder) -> None:
        self.folder = folder
        self.id = folder.id
        self.meta, damage = usable_meta(folder)
        self.rank: int | None = self.meta.get("rank")
        self.world_size: int | None = self.meta.get("world_size")
        self.host: str | None = self.meta.get("host")
        self.pid: int | None = self.meta.get("pid")
        self.framework: str = self.meta.get("framework") or "unknown"
        self._damage: dict[str, Note] = {} if damage is None else {"worker.json": damage}

    @property
    def notes(self) -> list[Note]:
        """The recorder's notes, and what proved damaged in the files read so far."""
        told = [Note(n["code"], n["count"], n["detail"]) for n in self.meta.get("notes", [])]
        if self.meta.get("ended_ns") is None:
            told += monitor_notes(self.folder)
        if self.meta.get("ended_ns") is None and not self.is_live and "worker.json" not in self._damage:
            told.append(_UNFINISHED)
        return told + self.damage

    @property
    def damage(self) -> list[Note]:
        """What proved damaged in the files read so far."""
        return list(self._damage.values())

    @property
    def updated_ns(self) -> int:
        folder = self.folder
        paths = (folder.live_path(), folder.monitor_path(), folder.path / "worker.json", folder.path / "windows")
        return max((t for t in map(_modified_ns, paths) if t is not None), default=0)

    @property
    def is_live(self) -> bool:
        return self.meta.get("ended_ns") is None and time.time_ns() - self.updated_ns < LIVE_WITHIN_NS

    @property
    def recorded_ns(self) -> tuple[int, int] | None:
        begin_ns, end_ns = self.meta.get("started_ns"), self.meta.get("ended_ns")
        if end_ns is None:  # it goes on, or was killed: the monitor outlives it by a little, the stream does not
            end_ns = _modified_ns(self.folder.live_path())
        return None if begin_ns is None or end_ns is None else (begin_ns, max(begin_ns, end_ns))

    def live(self) -> Events:
        path = self.folder.live_path()
        if not path.exists():
            return Events.empty()
        return live_events(self._stream(path, LIVE_SCHEMA), self.meta)

    def live_reader(self) -> StreamReader | None:
        path = self.folder.live_path()
        return StreamReader(path, LIVE_SCHEMA) if path.exists() else None

    def window_ids(self) -> list[str]:
        return [path.name for path in self.folder.windows()]

    def window(self, window_id: str) -> Window:
        """One deep window.

        Raises:
            StepscopeError: it is damaged.
        """
        return read_window(self.folder.path / "windows" / window_id)

    def programs(self, window_id: str) -> list[Program]:
        return read_programs(self.folder.path / "windows" / window_id)

    def windows(self) -> Iterator[Window]:
        """The readable windows; one that is damaged leaves a note."""
        for window_id in self.window_ids():
            try:
                window = self.window(window_id)
            except StepscopeError as error:
                self._damage[window_id] = Note("unreadable_window", 1, str(error))
            else:
                yield window

    def monitor(self) -> pa.Table | None:
        path = self.folder.monitor_path()
        return self._stream(path, MONITOR_SCHEMA) if path.exists() else None

    def monitor_reader(self) -> StreamReader | None:
        path = self.folder.monitor_path()
        return StreamReader(path, MONITOR_SCHEMA) if path.exists() else None

    def _stream(self, path: Path, schema: pa.Schema) -> pa.Table:
        reader = StreamReader(path, schema)
        try:
            table = reader.read()
        except StepscopeError as error:
            self._damage[path.name] = Note("damaged_stream", 1, str(error))
            return schema.empty_table()
        if reader.damaged:
            detail = f"{path.name}: batches could not be decoded and are left out; the others are shown."
            self._damage[path.name] = Note("damaged_stream", reader.damaged, detail)
        return table


class FileWorker:
    """A trace file that another profiler wrote; read when first asked for."""

    meta: dict | None = None
    is_live = False

    def __init__(self, path: Path, id: str, use_cache: bool = False) -> None:
        self.path = path
        self.id = id
        self.use_cache = use_cache
        self._window: weakref.ref[Window] | None = None
        self._about: Window | None = None

    def load(self) -> Window:
        """The file as a window.

        Raises:
            StepscopeError: the file is missing or is no trace.
        """
        window = self._window() if self._window else None
        if window is None:
            window = cache.load(self.path) if self.use_cache else importers.import_file(self.path)
            self._window = weakref.ref(window)
            self._about = Window.from_meta(window.meta(), Events.empty())
        return window

    @property
    def is_ready(self) -> bool:
        """Whether the file can be had at once, without an import."""
        return self._about is not None or cache.entry(self.path) is not None

    def _known(self) -> Window:
        if self._about is None and self.use_cache:
            self._about = cache.about(self.path)
        if self._about is None:
            self.load()
        assert self._about is not None
        return self._about

    @property
    def rank(self) -> int | None:
        return self._known().rank

    @property
    def world_size(self) -> int | None:
        return self._known().world_size

    @property
    def host(self) -> str | None:
        return self._known().host

    @property
    def pid(self) -> int | None:
        return self._known().pid

    @property
    def framework(self) -> str:
        return self._known().framework

    @property
    def notes(self) -> list[Note]:
        return []

    @property
    def updated_ns(self) -> int:
        return _modified_ns(self.path) or 0

    @property
    def recorded_ns(self) -> None:
        return None

    def live(self) -> Events:
        return Events.empty()

    def live_reader(self) -> StreamReader | None:
        return None

    def window_ids(self) -> list[str]:
        return [self.id]

    def window(self, window_id: str) -> Window:
        return self.load()

    def programs(self, window_id: str) -> list[Program]:
        kept = cache.programs(self.path) if self.use_cache else None
        return self.load().programs if kept is None else kept

    def windows(self) -> Iterator[Window]:
        yield self.load()

    def monitor(self) -> pa.Table | None:
        return None

    def monitor_reader(self) -> StreamReader | None:
        return None


def programs_of(worker: Worker) -> list[Program]:
    """What XLA compiled of what ran in any window, each once; a window whose programs are damaged tells none."""
    found: dict[int, Program] = {}
    for window_id in worker.window_ids():
        with contextlib.suppress(StepscopeError):
            for program in worker.programs(window_id):
                found.setdefault(program.id, program)
    return list(found.values())


def live_events(table: pa.Table, meta: dict) -> Events:
    """A live stream (LIVE_SCHEMA) as events; one lane a thread, named as worker.json names it."""
    if table.num_rows == 0:
        return Events.empty()
    names = table.column("name").combine_chunks().dictionary_encode()
    tids, lane = np.unique(table.column("tid").to_numpy(), return_inverse=True)
    thread_names = meta.get("threads", {})
    pid = str(meta.get("pid", ""))
    lanes = [
        Lane("thread", thread_names.get(str(tid), f"thread {tid}"), pid=pid, tid=str(tid), process=f"process {pid}")
        for tid in tids.tolist()
    ]
    texts = table.column("args").combine_chunks().dictionary_encode()
    columns = {c: table.column(c).to_numpy() for c in ("ts_ns", "dur_ns", "kind", "step")}
    columns["lane"] = lane
    columns["name"] = names.indices.to_numpy(zero_copy_only=False)
    columns["args"] = texts.indices.fill_null(NONE).to_numpy(zero_copy_only=False)
    return layout_rows(Events.from_columns(columns, names.dictionary.to_pylist(), lanes, texts.dictionary.to_pylist()))


def _modified_ns(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None
