"""The one table that every source becomes: event kinds, columns, units, lanes and quality notes.

A hook, a Kineto file, an XPlane and an annotation all end as rows of ``EVENT_SCHEMA``. Times are
int64 Unix nanoseconds, sizes bytes; ``NONE`` (-1) in an id or size column means "the source did not
say", which is never the same as 0.
"""

from __future__ import annotations

import enum
import json
import re
from collections import Counter
from dataclasses import asdict, dataclass, field

import numpy as np
import pyarrow as pa

SCHEMA_VERSION = 1
NONE = -1
#: Sizes in bytes from here on are damage: a PiB, more than any memory has.
MOST_BYTES = 1 << 50


class Kind(enum.IntEnum):
    """What an event is. Values are stored in files: append, never renumber."""

    OTHER = 0  # a category this version does not know: shown and counted, in no class
    STEP = 1  # one training step on the host
    PHASE = 2  # input_wait, h2d, forward, ... of the training loop
    ANNOTATION = 3  # a region that the user or a library named
    OP = 4  # a framework operator on the host
    PYTHON = 5  # a Python frame
    RUNTIME = 6  # a call into the device runtime or driver that is no launch and no sync
    LAUNCH = 7  # a runtime or driver call that puts work on a device queue
    KERNEL = 8  # device: a compute kernel run
    COLLECTIVE = 9  # device: a communication kernel run
    MEMCPY = 10  # device: a copy
    MEMSET = 11  # device: a fill
    SYNC = 12  # waiting for a device: host sync calls, and sync records on device lanes
    MEMORY = 13  # an allocation or a free (an instant)
    DATALOADER = 14  # producing or fetching a batch
    MODULE = 15  # an nn.Module or a Keras layer
    OVERHEAD = 16  # the profiler's own work
    COUNTER = 17  # a sampled value (an instant)
    DEVICE_ANNOTATION = 18  # a host annotation projected on a device lane: drawn, never counted


#: Kinds that run on a device queue and count as device work.
DEVICE_WORK = (Kind.KERNEL, Kind.COLLECTIVE, Kind.MEMCPY, Kind.MEMSET)
#: Host kinds that call the device runtime.
RUNTIME_CALLS = (Kind.RUNTIME, Kind.LAUNCH, Kind.SYNC)

#: Phases of a training loop, in the order in which they are listed and drawn. ``compute`` is forward,
#: backward and optimizer in one call, as Keras runs them. worker.json lists under ``phases`` those that
#: the hook can see; the others were not measured, which is not 0. ``other`` is what remains of a step.
PHASES = ("input_wait", "h2d", "forward", "backward", "optimizer", "compute", "validation", "other")

#: What a region that stands for one request of inference is called: "request", "request 17", "Request#3f-2a", and what
#: model servers write.
REQUEST_NAME = re.compile(r"request(?:[\s_:#/=-]+(?P<id>[\da-f-]*\d[\da-f-]*))?#?|ModelServerRequest_.*", re.IGNORECASE)

#: The category of counters in an export of the timeline: its curves, for other tools. Importers leave them out.
EXPORTED_CURVE = "stepscope_curve"

#: Classes of the exclusive activity partition, in order of priority (docs/metrics.md).
ACTIVITIES = ("kernel", "communication", "memcpy", "memset", "runtime", "dataloader", "cpu", "other")

EVENT_SCHEMA = pa.schema(
    [
        ("ts_ns", pa.int64()),  # start, Unix ns
        ("dur_ns", pa.int64()),  # >= 0; 0 for instants
        ("lane", pa.int32()),  # index into the window's lanes
        ("depth", pa.int16()),  # row inside the lane, 0 is the outermost
        ("name", pa.dictionary(pa.int32(), pa.utf8())),
        ("kind", pa.uint8()),  # Kind
        ("correlation", pa.int64()),  # joins a launch and its runs; on other host events, what consumers refer to
        ("external_id", pa.int64()),  # joins device work to the operator that asked for it, a consumer to its producer
        ("device", pa.int32()),  # device ordinal
        ("stream", pa.int64()),
        ("bytes", pa.int64()),
        ("step", pa.int64()),  # for STEP rows the source's own step number, else the step it fell in if known
        ("args", pa.int32()),  # row of the args table
    ]
)
ARGS_SCHEMA = pa.schema([("args", pa.large_utf8())])  # distinct JSON objects, one a row

#: The programs of a window: what XLA compiled, one a row.
PROGRAM_SCHEMA = pa.schema([("name", pa.utf8()), ("id", pa.int64()), ("proto", pa.large_binary())])

#: The always-on stream of one worker: steps, phases, annotations. Read back as ``Events``.
LIVE_SCHEMA = pa.schema(
    [
        ("kind", pa.uint8()),
        ("name", pa.utf8()),
        ("ts_ns", pa.int64()),
        ("dur_ns", pa.int64()),
        ("step", pa.int64()),  # global step number, NONE outside steps
        ("tid", pa.int64()),  # native thread id
        ("args", pa.utf8()),  # JSON object or null
    ]
)

#: The resource monitor's stream. ``metric`` is one of docs/metrics.md (cpu, memory_used, gpu, ...);
#: ``index`` is the core, GPU or interface, NONE for the total. Ratios are 0..1, sizes bytes, rates bytes/s.
MONITOR_SCHEMA = pa.schema(
    [
        ("ts_ns", pa.int64()),
        ("metric", pa.utf8()),
        ("index", pa.int32()),
        ("value", pa.float64()),
    ]
)

#: numpy dtypes of the columns of ``Events``, in the order of ``EVENT_SCHEMA``.
COLUMN_DTYPES: dict[str, type] = {
    "ts_ns": np.int64,
    "dur_ns": np.int64,
    "lane": np.int32,
    "depth": np.int16,
    "name": np.int32,
    "kind": np.uint8,
    "correlation": np.int64,
    "external_id": np.int64,
    "device": np.int32,
    "stream": np.int64,
    "bytes": np.int64,
    "step": np.int64,
    "args": np.int32,
}


@dataclass
class Lane:
    """One row group of the timeline: a CPU thread, a device stream, or a process-wide track.

    ``type`` is ``thread``, ``stream`` or ``track``. ``pid`` and ``tid`` are the source's own words
    (old traces use text). ``device`` and ``stream`` are ``NONE`` on the host.
    """

    type: str
    name: str
    pid: str = ""
    tid: str = ""
    process: str = ""
    device: int = NONE
    stream: int = NONE
    sort: int = 0


@dataclass
class Device:
    """One accelerator, as the source describes it; null where it does not tell.

    Metrics:
        id: its ordinal
        name: its model
        sm_count: streaming multiprocessors, or compute units
        memory_bytes: its memory
    """

    id: int
    name: str | None = None
    sm_count: int | None = None
    memory_bytes: int | None = None
    properties: dict = field(default_factory=dict)

    @property
    def is_amd(self) -> bool:
        """By its model: what others call multiprocessors and Tensor Cores are compute units and Matrix Cores there."""
        return re.search(r"\b(AMD|Radeon|Instinct|gfx\d+)", self.name or "") is not None


@dataclass
class Note:
    """A data quality note: what was dropped, repaired, guessed or absent, and how often.

    ``code`` is one of ``docs/metrics.md`` (quality codes); ``detail`` is one sentence that a user
    can act on.
    """

    code: str
    count: int
    detail: str


class Notes:
    """Collects notes by code: counts add up, the first detail of a code is kept."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._detail: dict[str, str] = {}

    def add(self, code: str, detail: str, count: int = 1) -> None:
        if count > 0:
            self._count[code] += count
            self._detail.setdefault(code, detail)

    def extend(self, notes: list[Note]) -> None:
        for note in notes:
            self.add(note.code, note.detail, note.count)

    def list(self) -> list[Note]:
        return [Note(code, n, self._detail[code]) for code, n in self._count.items()]


@dataclass
class Events:
    """Rows of ``EVENT_SCHEMA`` as numpy columns (each of shape (n,)), with their dictionaries.

    ``name`` and ``args`` hold indices into ``names`` and ``args_values`` (JSON texts; ``NONE`` for no
    args); ``lane`` holds indices into ``lanes``. ``depth`` is filled by ``store.layout_rows``.
    """

    ts_ns: np.ndarray
    dur_ns: np.ndarray
    lane: np.ndarray
    depth: np.ndarray
    name: np.ndarray
    kind: np.ndarray
    correlation: np.ndarray
    external_id: np.ndarray
    device: np.ndarray
    stream: np.ndarray
    bytes: np.ndarray
    step: np.ndarray
    args: np.ndarray
    names: list[str]
    lanes: list[Lane]
    args_values: list[str]

    @classmethod
    def from_columns(
        cls,
        columns: dict[str, np.ndarray],
        names: list[str],
        lanes: list[Lane],
        args_values: list[str] | None = None,
    ) -> Events:
        """Build from some columns; those left out are ``NONE`` (``depth`` 0)."""
        n = len(columns["ts_ns"])
        full: dict[str, np.ndarray] = {}
        for column, dtype in COLUMN_DTYPES.items():
            if column in columns:
                full[column] = np.asarray(columns[column], dtype=dtype)
            else:
                full[column] = np.full(n, 0 if column in ("depth", "kind", "dur_ns", "lane") else NONE, dtype)
        return cls(**full, names=names, lanes=lanes, args_values=args_values or [])

    @classmethod
    def empty(cls) -> Events:
        return cls.from_columns({"ts_ns": np.empty(0, np.int64)}, [], [])

    def __len__(self) -> int:
        return len(self.ts_ns)

    @property
    def end_ns(self) -> np.ndarray:
        return self.ts_ns + self.dur_ns

    def ends_ns(self, rows: np.ndarray | int) -> np.ndarray:
        """``end_ns[rows]``, without those of all others."""
        return self.ts_ns[rows] + self.dur_ns[rows]

    def take(self, rows: np.ndarray) -> Events:
        """The given rows (a mask or indices), sharing the dictionaries."""
        return Events(
            **{c: getattr(self, c)[rows] for c in COLUMN_DTYPES},
            names=self.names,
            lanes=self.lanes,
            args_values=self.args_values,
        )

    def of_kind(self, *kinds: Kind) -> np.ndarray:
        """Mask of the rows of these kinds."""
        mask = np.zeros(len(self), bool)
        for kind in kinds:  # one takes a twentieth of the time of a table of kinds to look up in
            mask |= self.kind == int(kind)
        return mask

    def text(self, row: int) -> str:
        return self.names[self.name[row]]

    def args_of(self, row: int) -> dict:
        """The args of one row as a dictionary; empty where it has none."""
        index = int(self.args[row])
        return {} if index == NONE else json.loads(self.args_values[index])

    def to_table(self) -> pa.Table:
        arrays = []
        for column in EVENT_SCHEMA.names:
            values = getattr(self, column)
            if column == "name":
                arrays.append(pa.DictionaryArray.from_arrays(pa.array(values), pa.array(self.names, pa.utf8())))
            else:
                arrays.append(pa.array(values))
        return pa.table(arrays, schema=EVENT_SCHEMA)

    @classmethod
    def from_table(cls, table: pa.Table, lanes: list[Lane], args_values: list[str]) -> Events:
        columns: dict[str, np.ndarray] = {}
        names: list[str] = []
        for column, dtype in COLUMN_DTYPES.items():
            data = table.column(column)
            if column == "name":
                merged = pa.chunked_array(data.chunks, data.type).unify_dictionaries().combine_chunks()
                names = merged.dictionary.to_pylist()
                columns[column] = merged.indices.to_numpy(zero_copy_only=False).astype(dtype, copy=False)
            else:
                columns[column] = data.to_numpy().astype(dtype, copy=False)
        return cls.from_columns(columns, names, lanes, args_values)


@dataclass(frozen=True)
class Program:
    """What XLA compiled: ``proto`` is a serialised HloProto, ``id`` what events call ``program_id`` (as int64)."""

    name: str
    id: int
    proto: bytes = field(repr=False)


@dataclass
class Window:
    """A deep window, or a whole imported file: its events and what is known about them.

    ``header`` keeps the source's own header fields that no other field holds. ``source`` names the
    file that was read, for messages. ``programs`` are there after an import; those of a kept window are read
    apart, by ``store.read_programs``, since few ask for them.
    """

    events: Events
    source: str = ""
    framework: str = "unknown"
    rank: int | None = None
    rank_from: str | None = None  # "metadata" or "name"
    world_size: int | None = None
    host: str | None = None
    pid: int | None = None
    devices: list[Device] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    header: dict = field(default_factory=dict)
    programs: list[Program] = field(default_factory=list)

    def meta(self) -> dict:
        """Everything but the events and the programs, as plain data for JSON."""
        return {
            "schema": SCHEMA_VERSION,
            "source": self.source,
            "framework": self.framework,
            "rank": self.rank,
            "rank_from": self.rank_from,
            "world_size": self.world_size,
            "host": self.host,
            "pid": self.pid,
            "devices": [asdict(d) for d in self.devices],
            "notes": [asdict(n) for n in self.notes],
            "header": self.header,
            "lanes": [asdict(lane) for lane in self.events.lanes],
        }

    @classmethod
    def from_meta(cls, meta: dict, events: Events) -> Window:
        return cls(
            events=events,
            devices=[Device(**d) for d in meta["devices"]],
            notes=[Note(**n) for n in meta["notes"]],
            **{k: meta[k] for k in ("source", "framework", "rank", "rank_from", "world_size", "host", "pid", "header")},
        )
