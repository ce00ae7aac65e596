"""Kineto and Chrome JSON traces -> one ``Window``.

Times: ``ts`` and ``dur`` are decimal microseconds, read as text to int64 ns (digits beyond the nanosecond
are rounded half away from zero). Unix ns = ``baseTimeNanoseconds`` + ``ts``; without that header ``ts``
is Unix time itself, and so it is where it lies beyond the year 2001 although a base is given (a base
counts from at most three months before the trace).

Dropped without a note, because no data: metadata (it names lanes), flow arrows (ids say the same), and
the recorder's own spans and iteration markers. What is kept of the args: ``kineto_args``.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np

from stepscope.errors import StepscopeError
from stepscope.importers.blocks import joined, made_ahead, used_lanes
from stepscope.importers.bytes_source import ByteSource
from stepscope.importers.json_repair import decode_text
from stepscope.importers.json_scan import REPAIRED, EventScanner, NotATrace
from stepscope.importers.kineto_args import ArgsTable, id_columns
from stepscope.importers.kineto_header import read_origin
from stepscope.importers.kineto_lanes import LaneTable, device_ordinal, stream_number
from stepscope.importers.kineto_names import (
    LEGACY_PIDS,
    RECORDER_CATEGORIES,
    RECORDER_MARKERS,
    RECORDER_PIDS,
    classify,
    step_number,
)
from stepscope.importers.kineto_native import native_scan
from stepscope.importers.kineto_rows import BEGIN, COUNTER, END, INSTANT, SLICE, Metadata, Rows, plain_text, rows_of
from stepscope.importers.text_columns import Interner, distinct
from stepscope.schema import COLUMN_DTYPES, EXPORTED_CURVE, NONE, Events, Kind, Notes, Window

#: Times from here on (September 2001) are Unix times, whatever base the header gives.
_EPOCH_NS = 10**18
#: Times behind this (year 2116) are taken as damage; it leaves room for adding a duration.
_LATEST_NS = 2**62
#: A time of 0 this long before everything else was never filled in.
_FAR_NS = 3600 * 10**9
#: After this many records without an event among them a file is given up.
_FOREIGN_RECORDS = 1000

_INVALID_TS = "Events whose time is unreadable, or 0 beside real times, were left out."
_EXPORTED = "Points of the curves that an export of stepscope holds for other tools were left out."
_INVALID_DUR = "Events whose duration is negative, missing or no number were left out."


def import_kineto(source: ByteSource) -> Window:
    """Read a Chrome or Kineto JSON trace.

    Raises:
        StepscopeError: the file is no trace.
    """
    scanner = EventScanner(source, native_scan())
    notes = Notes()  # apart from the scanner's, which works in a thread of its own
    table = _Table(notes)
    try:
        for batch in made_ahead(scanner.batches()):
            table.add(rows_of(batch) if isinstance(batch, list) else batch)
            if table.is_foreign(of_at_least=_FOREIGN_RECORDS):
                break
        if table.is_foreign():
            raise NotATrace("its list holds no events")
    except NotATrace as error:
        raise StepscopeError(
            f"{source.path} is not a profiler trace: {error}; expected a Chrome/Kineto trace with traceEvents"
            " or an .xplane.pb."
        ) from None
    origin = read_origin(scanner.header, source.path.name, notes)
    events = table.finish(origin.base_ns)
    notes.extend(scanner.notes.list())
    header = {k: v for k, v in scanner.header.items() if k != "deviceProperties"}
    return Window(
        events=events,
        source=str(source.path),
        framework=origin.framework or ("pytorch" if origin.is_torch or table.is_torch else "unknown"),
        rank=origin.rank,
        rank_from=origin.rank_from,
        world_size=origin.world_size,
        host=origin.host,
        pid=origin.pid if origin.pid is not None else _main_pid(events),
        devices=origin.devices,
        notes=notes.list(),
        header=header,
    )


class _Table:
    """Collects batches of raw events as numpy columns and joins them at the end."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._lanes = LaneTable()
        self._names = Interner(self._text)
        self._categories = Interner(self._text)
        self._pids = Interner(plain_text)
        self._tids = Interner(plain_text)
        self._args = ArgsTable(on_repair=lambda: notes.add("repaired_text", REPAIRED))
        self._classes: dict[tuple[int, int, bool], tuple[int, bool, int]] = {}
        self._blocks: list[dict[str, np.ndarray]] = []
        self._seen = self._foreign = 0
        self.is_torch = False

    def is_foreign(self, of_at_least: int = 1) -> bool:
        """Objects were there, but none of them was an event."""
        return self._seen >= of_at_least and self._foreign == self._seen

    # One batch

    def add(self, rows: Rows) -> None:
        self._seen += rows.seen
        self._foreign += rows.missing
        self._notes.add("missing_field", "Records without a phase (ph) are no events and were left out.", rows.missing)
        self._notes.add(
            "unsupported_phase",
            "Events of a phase that is not read (asynchronous, object, mark) were left out.",
            rows.other,
        )
        for event in rows.metadata:
            self._describe(event)
        if len(rows.phase):
            self._add_data(rows)

    def _describe(self, event: Metadata) -> None:
        try:
            args = json.loads(event.args)
        except (ValueError, RecursionError):
            return
        if isinstance(args, dict):
            self._lanes.describe(plain_text(event.name), plain_text(event.pid), plain_text(event.tid), args)

    def _add_data(self, rows: Rows) -> None:
        category = self._categories.codes(rows.category)
        pid = self._pids.codes(rows.pid)
        name = self._names.codes(rows.name)
        phase, dur = rows.phase, rows.dur

        recorder = np.isin(category, [self._categories.find(text) for text in RECORDER_CATEGORIES])
        recorder |= (phase == INSTANT) & np.isin(pid, [self._pids.find(text) for text in RECORDER_PIDS])
        recorder |= (phase == INSTANT) & np.isin(name, [self._names.find(text) for text in RECORDER_MARKERS])
        exported = (phase == COUNTER) & (category == self._categories.find(EXPORTED_CURVE))
        self._notes.add("exported_curves", _EXPORTED, int(exported.sum()))
        recorder |= exported
        bad_ts = ~rows.ts_valid & ~recorder
        good_dur = rows.dur_valid & (dur >= 0) & (dur <= _LATEST_NS)
        bad_dur = (phase == SLICE) & ~good_dur & rows.ts_valid & ~recorder
        self._notes.add("invalid_timestamp", _INVALID_TS, int(bad_ts.sum()))
        self._notes.add("invalid_duration", _INVALID_DUR, int(bad_dur.sum()))
        keep = np.flatnonzero(~(recorder | bad_ts | bad_dur))
        if not len(keep):
            return
        if len(keep) < len(phase):
            rows = rows.take(keep)
            category, pid, name = category[keep], pid[keep], name[keep]
        block = self._columns(rows, category, pid, name)
        block["ts_ns"] = rows.ts
        block["dur_ns"] = np.where(rows.phase == SLICE, rows.dur, 0)
        self._blocks.append(block)

    def _columns(self, rows: Rows, category: np.ndarray, pid: np.ndarray, name: np.ndarray) -> dict[str, np.ndarray]:
        phase = rows.phase
        tid = self._tids.codes(rows.tid)
        nameless = (phase != END) & (name == self._names.find(""))
        if nameless.any():
            name[nameless] = self._names.add("(no name)")
            self._notes.add("missing_field", "Events without a name were kept as (no name).", int(nameless.sum()))
        for legacy_pid, meant in LEGACY_PIDS.items():
            legacy = (pid == self._pids.find(legacy_pid)) & (category == self._categories.find(""))
            if legacy.any():
                category[legacy] = self._categories.add(meant)

        kind, on_device, step = self._classify(category, name, phase)
        kernel = kind == Kind.KERNEL
        if kernel.any():
            kind[kernel & rows.args.mention_collective()] = Kind.COLLECTIVE
        lane_device = _per_text(pid, self._pids, device_ordinal)
        lane_stream = _per_text(tid, self._tids, stream_number)
        return id_columns(rows.args, kind, on_device, lane_device, lane_stream) | {
            "phase": phase,
            "name": name,
            "kind": kind,
            "step": step,
            "pid": pid,
            "tid": tid,
            "lane": self._lane(pid, tid, on_device, phase == COUNTER),
            "args": rows.args.codes(self._args, kind, on_device),
        }

    def _classify(
        self, category: np.ndarray, name: np.ndarray, phase: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Kind, side and step number, found once for each distinct (category, name, instant or not)."""
        names = len(self._names.values)
        keys, inverse = distinct((category.astype(np.int64) * names + name) * 2 + (phase == INSTANT))
        found = [self._class((key >> 1) // names, (key >> 1) % names, bool(key & 1)) for key in keys.tolist()]
        kind = np.array([f[0] for f in found], np.uint8)[inverse]
        on_device = np.array([f[1] for f in found], bool)[inverse]
        step = np.array([f[2] for f in found], np.int64)[inverse]
        counter = phase == COUNTER
        kind[counter] = Kind.COUNTER
        on_device[counter] = False
        return kind, on_device, step

    def _class(self, category: int, name: int, instant: bool) -> tuple[int, bool, int]:
        key = (category, name, instant)
        if key not in self._classes:
            text = self._names.values[name]
            kind, on_device = classify(self._categories.values[category], text, instant)
            self.is_torch |= kind not in (Kind.OTHER, Kind.ANNOTATION)
            self._classes[key] = (int(kind), on_device, step_number(text) if kind is Kind.STEP else NONE)
        return self._classes[key]

    def _lane(self, pid: np.ndarray, tid: np.ndarray, on_device: np.ndarray, track: np.ndarray) -> np.ndarray:
        tids = len(self._tids.values)
        keys, inverse = distinct(((pid.astype(np.int64) * tids + tid) * 2 + on_device) * 2 + track)
        lanes = []
        for key in keys.tolist():
            process, thread = divmod(key >> 2, tids)
            names = self._pids.values[process], self._tids.values[thread]
            lanes.append(self._lanes.index(*names, bool(key & 2), bool(key & 1)))
        return np.array(lanes, np.int32)[inverse]

    def _text(self, raw: bytes) -> str:
        text, repaired = decode_text(raw)
        self._notes.add("repaired_text", REPAIRED, int(repaired))
        return text

    # Everything

    def finish(self, base_ns: int) -> Events:
        """Join the batches. ``base_ns`` is added to the times unless they are Unix times already."""
        if not self._blocks:
            self._notes.add("no_events", "The trace holds no events: nothing ran while it was recorded.")
            return Events.empty()
        columns = joined(self._blocks)
        keep = self._pair(columns)

        ts = columns["ts_ns"]
        positive = ts[ts > 0]
        first = int(positive.min()) if len(positive) else 0
        base = base_ns if 0 < base_ns < _LATEST_NS and first < _EPOCH_NS else 0
        bad = keep & (ts > _LATEST_NS - base)
        if first > _FAR_NS:
            bad |= keep & (ts <= 0)
        self._notes.add("invalid_timestamp", _INVALID_TS, int(bad.sum()))
        keep &= ~bad
        if not keep.all():
            columns = {name: values[keep] for name, values in columns.items()}
        columns["ts_ns"] += base
        lanes = self._lanes.lanes(columns["lane"], columns["device"], columns["stream"])
        columns["lane"], lanes = used_lanes(columns["lane"], lanes)
        if not len(columns["ts_ns"]):
            self._notes.add("no_events", "None of the records of the trace could be used; see the other notes.")
        columns = {name: values for name, values in columns.items() if name in COLUMN_DTYPES}
        return Events.from_columns(columns, self._names.values, lanes, self._args.values())

    def _pair(self, columns: dict[str, np.ndarray]) -> np.ndarray:
        """Give each begin its end's time, by a stack for each thread; the mask of events that remain."""
        phase, ts = columns["phase"], columns["ts_ns"]
        keep = phase != END
        rows = np.flatnonzero((phase == BEGIN) | ~keep)
        if not len(rows):
            return keep
        thread = (columns["pid"].astype(np.int64) << 32) | columns["tid"]
        rows = rows[np.lexsort((ts[rows], thread[rows]))]
        unpaired = 0
        open_rows: list[int] = []
        last_thread = None
        for row in rows.tolist():
            if thread[row] != last_thread:
                keep[open_rows] = False
                unpaired += len(open_rows)
                open_rows, last_thread = [], thread[row]
            if phase[row] == BEGIN:
                open_rows.append(row)
            elif open_rows:
                begin = open_rows.pop()
                columns["dur_ns"][begin] = ts[row] - ts[begin]
                if columns["args"][begin] == NONE:
                    columns["args"][begin] = columns["args"][row]
            else:
                unpaired += 1
        keep[open_rows] = False
        unpaired += len(open_rows)
        self._notes.add("unpaired_event", "Begin or end events without a partner were left out.", unpaired)
        return keep


def _per_text(codes: np.ndarray, texts: Interner, number: Callable[[str], int]) -> np.ndarray:
    return np.array([number(text) for text in texts.values], np.int64)[codes]


def _main_pid(events: Events) -> int | None:
    """The process with the most host events, if its pid is a number."""
    pids: dict[str, int] = {}
    for lane, count in zip(events.lanes, np.bincount(events.lane, minlength=len(events.lanes)).tolist(), strict=True):
        if lane.type == "thread" and lane.pid.isdecimal():
            pids[lane.pid] = pids.get(lane.pid, 0) + count
    return int(max(pids, key=lambda pid: pids[pid])) if pids else None
