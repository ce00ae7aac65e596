"""XPlane files (``*.xplane.pb``) of TensorFlow and JAX -> one ``Window``.

Unix ns = ``profile_start_time`` of the Task Environment + ``line.timestamp_ns`` + ``offset_ps`` / 1000.
Start and end are each cut to whole ns and the duration is their difference, so that slices that touch
or nest in ps still do.

Each line becomes a lane: a stream on a device plane, else a thread. Steps are host events with
``step_num`` and ``_r`` = 1 (``_r`` alone marks every function root). The stats that are not kept as
args are listed in ``xplane_stats.DROPPED``; allocations and the users' own roots keep all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stepscope.errors import StepscopeError
from stepscope.importers.blocks import joined, used_lanes
from stepscope.importers.bytes_source import ByteSource
from stepscope.importers.kineto_header import Origin, add_rank
from stepscope.importers.megascale import add_collectives
from stepscope.importers.trace_names import host_and_pid
from stepscope.importers.xplane_events import PADDING_BYTES, RawEvents, decode_events
from stepscope.importers.xplane_flows import flow_columns, number_flows
from stepscope.importers.xplane_names import (
    ALLOCATION_BYTES,
    CORRELATION,
    COUNTER_VALUE,
    DEVICE_PLANE,
    DROPPED_INSTANTS,
    ENVIRONMENT_PLANE,
    FREE,
    KERNEL_DETAILS,
    MEMCPY_DETAILS,
    MEMSET_DETAILS,
    ROOT,
    STEP_NUMBER,
    USER_ROOT,
    detail_bytes,
    device_kind,
    framework_of,
    host_kind,
)
from stepscope.importers.xplane_programs import programs_of
from stepscope.importers.xplane_stats import StatTable
from stepscope.importers.xplane_wire import Line, Plane, Space, read_space
from stepscope.schema import NONE, Device, Events, Kind, Lane, Notes, Window

#: Events decoded at once: bounds the memory that decoding takes.
_BLOCK_EVENTS = 200_000
#: Times from here on (September 2001) are Unix times.
_EPOCH_NS = 10**18
#: Times behind this (year 2116), and durations above this (26 days), are taken as damage.
_LATEST_NS = 2**62
_LONGEST_PS = 2**61
_DETAILS = (KERNEL_DETAILS, MEMCPY_DETAILS, MEMSET_DETAILS)


def import_xplane(source: ByteSource) -> Window:
    """Read an XSpace.

    Raises:
        StepscopeError: the file holds nothing of one.
    """
    data = b"".join(source.pieces())
    space = read_space(data)
    if not space.planes and not space.hostnames:
        raise StepscopeError(f"{source.path} is no XPlane file, or is damaged from its start on; record it again.")
    notes = Notes()
    reader = _Reader(data, _environment(space, "profile_start_time"), notes)
    for plane in space.planes:
        reader.read(plane)
    events = reader.events()

    origin = Origin()
    add_rank(origin, None, source.path.name, notes)
    if source.damage or space.fault:
        reason = source.damage or "it ends inside a record, or a record is damaged"
        notes.add("truncated", f"The file is incomplete ({reason}); everything that could be read was kept.")
    programs = programs_of(space, events, notes)
    events = add_collectives(events, programs, notes)
    notes.add("unknown_part", "Parts of the file that this version does not know were left out.", space.unknown)
    line_names = [line.name for plane in space.planes for line in plane.lines]
    return Window(
        events=events,
        source=str(source.path),
        framework=framework_of(line_names, events.names),
        rank=origin.rank,
        rank_from=origin.rank_from,
        world_size=origin.world_size,
        host=space.hostnames[0] if space.hostnames else host_and_pid(source.path.name)[0],
        devices=_devices(space),
        notes=notes.list(),
        header=_header(space),
        programs=programs,
    )


class _Reader:
    """Turns planes into the columns of one table."""

    def __init__(self, data: bytes, start_ns: int | None, notes: Notes) -> None:
        self._data = np.zeros(len(data) + PADDING_BYTES, np.uint8)
        self._data[: len(data)] = np.frombuffer(data, np.uint8)
        self._start_ns = start_ns
        self._notes = notes
        self._names: dict[str, int] = {}
        self._args: dict[str, int] = {}
        self._lanes: list[Lane] = []
        self._blocks: list[dict[str, np.ndarray]] = []

    def read(self, plane: Plane) -> None:
        """Append the events of a plane."""
        shared = [stat for stats in (plane.stats, *plane.event_stats.values()) for stat in stats]
        self._note_values(sum(stat.not_finite for stat in shared))
        first_lane = len(self._lanes)
        self._lanes += [_lane(plane, line, first_lane + i) for i, line in enumerate(plane.lines)]
        origins = np.array([self._origin_ns(line) for line in plane.lines], np.int64)
        for line, raw in self._decoded(plane):
            columns = self._columns(plane, line, raw, origins)
            if len(columns["line"]):
                columns["lane"] = columns.pop("line") + first_lane
                self._blocks.append(columns)

    def events(self) -> Events:
        """All events, plane by plane."""
        if not self._blocks:
            self._notes.add("no_events", "The file holds no events: nothing ran while it was recorded.")
            return Events.empty()
        columns = joined(self._blocks)
        number_flows(columns)
        columns["lane"], lanes = used_lanes(columns["lane"], self._lanes)
        return Events.from_columns(columns, list(self._names), lanes, list(self._args))

    def _origin_ns(self, line: Line) -> int:
        """Unix ns at which the offsets of a line begin."""
        if line.timestamp_ns >= _EPOCH_NS:
            return min(line.timestamp_ns, _LATEST_NS)
        if self._start_ns is None:
            self._notes.add(
                "clock_unknown", "The file does not say when recording began; its times are not Unix times."
            )
        return max(0, min((self._start_ns or 0) + line.timestamp_ns, _LATEST_NS))

    def _decoded(self, plane: Plane) -> Iterator[tuple[np.ndarray, RawEvents]]:
        """Blocks of events, with the index of each event's line."""
        counts = [len(line.starts) for line in plane.lines]
        if not sum(counts):
            return
        starts = np.concatenate([np.frombuffer(line.starts, np.int64) for line in plane.lines])
        ends = np.concatenate([np.frombuffer(line.ends, np.int64) for line in plane.lines])
        line_of_event = np.repeat(np.arange(len(counts)), counts)
        for at in range(0, len(starts), _BLOCK_EVENTS):
            part = slice(at, at + _BLOCK_EVENTS)
            yield line_of_event[part], decode_events(self._data, starts[part], ends[part])

    def _columns(self, plane: Plane, line: np.ndarray, raw: RawEvents, origins: np.ndarray) -> dict[str, np.ndarray]:
        stats = StatTable(plane, raw.stats, len(line), self._data)
        name, instant_to_drop, frees = self._name_codes(plane, raw)
        step = stats.number(STEP_NUMBER)
        root = stats.number(ROOT)
        is_step = stats.has(STEP_NUMBER) & (root == 1)
        is_user_root = stats.has(ROOT) & (root == USER_ROOT)
        kind = self._kinds(plane, line, name, stats, is_step, is_user_root)
        kind[stats.has(COUNTER_VALUE)] = Kind.COUNTER
        start_ns = raw.offset_ps // 1000
        ts = origins[line] + start_ns
        memory = kind == Kind.MEMORY

        keep = np.flatnonzero(self._good(raw, ts) & ~instant_to_drop)
        self._notes.add(
            "dropped_instants",
            f"Marks of thread pools ({DROPPED_INSTANTS}...), which take no time, were left out.",
            int(instant_to_drop.sum()),
        )
        device = DEVICE_PLANE.match(plane.name)
        streams = np.array([each.id for each in plane.lines], np.int64)
        columns = {
            "ts_ns": ts,
            "dur_ns": (raw.offset_ps + raw.duration_ps) // 1000 - start_ns,
            "line": line,
            "name": name,
            "kind": kind,
            "correlation": stats.number(CORRELATION),
            "device": np.full(len(line), int(device["ordinal"]) if device else NONE),
            "stream": streams[line] if device else np.full(len(line), NONE),
            "bytes": _bytes(stats, memory, frees, on_device=device is not None),
            "step": np.where(is_step, step, NONE),
            **flow_columns(stats),
        }
        columns = {column: values[keep] for column, values in columns.items()}
        columns["args"] = stats.args(keep, raw.metadata_id, memory | is_user_root, self._args)
        self._note_values(stats.not_finite(keep))
        return columns

    def _note_values(self, count: int) -> None:
        self._notes.add(
            "unusable_value", "Values of events and devices are NaN or infinite; they were left out.", count
        )

    def _good(self, raw: RawEvents, ts: np.ndarray) -> np.ndarray:
        bad_time = ~raw.damaged & (
            raw.aggregated | (np.abs(raw.offset_ps) > _LONGEST_PS) | (ts < 0) | (ts > _LATEST_NS)
        )
        bad_duration = ~raw.damaged & ~bad_time & ((raw.duration_ps < 0) | (raw.duration_ps > _LONGEST_PS))
        self._notes.add("damaged_event", "Event records that cannot be read were left out.", int(raw.damaged.sum()))
        self._notes.add(
            "invalid_timestamp",
            "Events without a time of their own, or out of range, were left out.",
            int(bad_time.sum()),
        )
        self._notes.add(
            "invalid_duration", "Events of negative or absurd duration were left out.", int(bad_duration.sum())
        )
        return ~(raw.damaged | bad_time | bad_duration)

    def _name_codes(self, plane: Plane, raw: RawEvents) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each event its name's number, whether it is an instant to drop, and whether it frees memory."""
        distinct, inverse = np.unique(raw.metadata_id, return_inverse=True)
        texts = [plane.event_names.get(number) or f"(no name, event type {number})" for number in distinct.tolist()]
        lost = np.array([number not in plane.event_names for number in distinct.tolist()], bool)
        self._notes.add(
            "missing_field", "Events whose name is not in the file are shown by number.", int(lost[inverse].sum())
        )
        codes = np.array([self._names.setdefault(text, len(self._names)) for text in texts], np.int32)[inverse]
        marks = np.array([text.startswith(DROPPED_INSTANTS) for text in texts], bool)[inverse]
        frees = np.array([text == FREE for text in texts], bool)[inverse]
        return codes, marks & (raw.duration_ps == 0), frees

    def _kinds(
        self,
        plane: Plane,
        line: np.ndarray,
        name: np.ndarray,
        stats: StatTable,
        is_step: np.ndarray,
        is_user_root: np.ndarray,
    ) -> np.ndarray:
        """The kinds, found once for each distinct combination of what decides them."""
        flags = [stats.has(details) for details in _DETAILS] + [stats.has(CORRELATION), is_step, is_user_root]
        key = line.astype(np.int64) << 40 | name.astype(np.int64) << len(flags)
        for bit, flag in enumerate(flags):
            key |= flag.astype(np.int64) << bit
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        names = list(self._names)
        on_device = DEVICE_PLANE.match(plane.name) is not None
        kinds = []
        for row in first.tolist():
            text = names[name[row]]
            if on_device:
                details = {detail for detail, flag in zip(_DETAILS, flags, strict=False) if flag[row]}
                kinds.append(device_kind(plane.lines[line[row]].name, text, details))
            else:
                told = (bool(flag[row]) for flag in (is_step, flags[3], is_user_root))
                kinds.append(host_kind(plane.name, text, *told))
        return np.array(kinds, np.uint8)[inverse]


def _bytes(stats: StatTable, memory: np.ndarray, frees: np.ndarray, on_device: bool) -> np.ndarray:
    """Sizes of copies and fills on a device, and of allocations (negative for a free)."""
    sizes = np.full(len(memory), NONE, np.int64)
    if on_device:
        for details in (MEMCPY_DETAILS, MEMSET_DETAILS):
            found = stats.by_text(details, detail_bytes)
            sizes = np.where(found != NONE, found, sizes)
    if memory.any():
        for stat in reversed(ALLOCATION_BYTES):
            found = stats.number(stat)
            sizes = np.where(memory & (found != NONE), found, sizes)
        sizes = np.where(memory & frees & (sizes > 0), -sizes, sizes)
    return sizes


def _lane(plane: Plane, line: Line, sort: int) -> Lane:
    device = DEVICE_PLANE.match(plane.name)
    if device:
        return Lane(
            type="stream",
            name=line.name or f"stream {line.id}",
            pid=plane.name,
            tid=str(line.id),
            process=f"{device['type']} {int(device['ordinal'])}",
            device=int(device["ordinal"]),
            stream=line.id,
            sort=sort,
        )
    name = line.name or f"thread {line.id}"
    return Lane(type="thread", name=name, pid=plane.name, tid=str(line.id), process=plane.name.strip("/"), sort=sort)


def _devices(space: Space) -> list[Device]:
    devices: dict[int, Device] = {}
    for plane in space.planes:
        match = DEVICE_PLANE.match(plane.name)
        if not match:
            continue
        found = {plane.stat_names.get(stat.metadata_id, ""): plane.value(stat) for stat in plane.stats}
        properties = {name: value for name, value in found.items() if name and value is not None}
        name = properties.pop("device_type_string", None) or properties.get("device_vendor")
        sm_count, memory = properties.pop("core_count", None), properties.pop("memory_size", None)
        number = int(match["ordinal"])
        devices.setdefault(
            number,
            Device(
                id=number,
                name=str(name) if name else None,
                sm_count=sm_count if isinstance(sm_count, int) else None,
                memory_bytes=memory if isinstance(memory, int) else None,
                properties=properties,
            ),
        )
    return [devices[number] for number in sorted(devices)]


def _environment(space: Space, name: str) -> int | None:
    for plane in space.planes:
        value = plane.stat(name) if plane.name == ENVIRONMENT_PLANE else None
        if isinstance(value, int) and 0 < value < _LATEST_NS:
            return value
    return None


def _header(space: Space) -> dict[str, Any]:
    header: dict[str, Any] = {
        name: value for name in ("profile_start_time", "profile_stop_time") if (value := _environment(space, name))
    }
    if space.errors:
        header["errors"] = space.errors
    return header
