"""Reads the protobuf wire format of an XSpace (xplane.pb) without a protobuf runtime.

Field numbers are those of tsl/profiler/protobuf/xplane.proto. Messages are byte ranges of one buffer;
a range that is cut or damaged gives the fields before the fault. Reading by hand keeps what a cut file
holds, which a generated parser refuses, and is no slower: events, the bulk, are only split here and
decoded in numpy (``xplane_events``).
"""

from __future__ import annotations

import math
import struct
from array import array
from dataclasses import dataclass, field
from itertools import islice

from stepscope.protobuf_wire import LENGTH, VARINT, Fault, Field, fields, signed, text

#: Fields of a line: id, name, timestamp_ns, events, duration_ps, display_id, display_name.
_LINE_WIRES = {1: VARINT, 2: LENGTH, 3: VARINT, 4: LENGTH, 9: VARINT, 10: VARINT, 11: LENGTH}


@dataclass
class Line:
    """One line (a thread, a stream). Events are the ranges ``[starts[i], ends[i])``."""

    id: int = 0
    name: str = ""
    timestamp_ns: int = 0
    starts: array = field(default_factory=lambda: array("q"))
    ends: array = field(default_factory=lambda: array("q"))


@dataclass
class Stat:
    """One named value. ``kind`` is the field number in XStat: 2 double, 3 uint64, 4 int64, 5 text, 6 bytes, 7 ref."""

    metadata_id: int = 0
    kind: int = 0
    value: int | float | bytes = 0

    @property
    def not_finite(self) -> bool:
        """Whether it is NaN or infinite."""
        return isinstance(self.value, float) and not math.isfinite(self.value)


@dataclass
class Plane:
    """One plane (a device, the host) with the names that its events and stats refer to by id."""

    name: str = ""
    lines: list[Line] = field(default_factory=list)
    event_names: dict[int, str] = field(default_factory=dict)
    event_stats: dict[int, list[Stat]] = field(default_factory=dict)
    stat_names: dict[int, str] = field(default_factory=dict)
    stats: list[Stat] = field(default_factory=list)

    def stat(self, name: str) -> int | float | str | None:
        """The value of one of the plane's own stats."""
        for stat in self.stats:
            if self.stat_names.get(stat.metadata_id) == name:
                return self.value(stat)
        return None

    def value(self, stat: Stat) -> int | float | str | None:
        """A stat's value as plain data; bytes (serialised programs), NaN and infinity are None."""
        if stat.kind == 7:
            return self.stat_names.get(int(stat.value), "")
        if stat.kind == 5:
            return stat.value.decode("utf-8", "replace") if isinstance(stat.value, bytes) else None
        return None if stat.kind == 6 or isinstance(stat.value, bytes) or stat.not_finite else stat.value


@dataclass
class Space:
    """A whole file. ``fault`` tells that some message was cut or damaged.

    ``unknown`` counts fields that no version known here writes: a damaged tag turns a field into such a one.
    """

    planes: list[Plane] = field(default_factory=list)
    hostnames: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    fault: bool = False
    unknown: int = 0


def looks_like_xspace(head: bytes) -> bool:
    """Whether the file begins like an XSpace: a plane, text of an error or warning, or a host name.

    ``head`` is the first 4 KiB or the whole file.
    """
    try:
        first = next(fields(head, 0, len(head), clip=True))
    except (Fault, StopIteration):
        return False
    if first.wire != LENGTH or not 1 <= first.number <= 4:
        return False
    if first.number != 1:
        return first.end <= len(head) and head[first.start : first.end].decode("utf-8", "replace").isprintable()
    inner: list[Field] = []
    try:
        inner.extend(islice(fields(head, first.start, min(first.end, len(head)), clip=True), 3))
    except Fault:
        pass  # the head may end inside a field
    plane = ((f.number == 1 and f.wire == VARINT) or (2 <= f.number <= 6 and f.wire == LENGTH) for f in inner)
    return bool(inner) and all(plane)


def read_space(data: bytes) -> Space:
    """Split a file into planes, lines and event ranges."""
    space = Space()
    try:
        for f in fields(data, 0, len(data), clip=True):
            space.fault |= f.end > len(data)
            end = min(f.end, len(data))
            if f.wire != LENGTH or f.number > 4:
                space.unknown += 1
            elif f.number == 1:
                space.planes.append(_plane(data, f.start, end, space))
            elif f.number == 2:
                space.errors.append(text(data, f.start, end))
            elif f.number == 4:
                space.hostnames.append(text(data, f.start, end))
    except Fault:
        space.fault = True
    return space


def _plane(data: bytes, at: int, end: int, space: Space) -> Plane:
    plane = Plane()
    try:
        for f in fields(data, at, end, clip=True):
            space.fault |= f.end > end
            if f.wire != (VARINT if f.number == 1 else LENGTH) or f.number > 6:
                space.unknown += 1
            elif f.number > 1:
                _plane_part(data, f, min(f.end, end), plane, space)
    except Fault:
        space.fault = True
    return plane


def _plane_part(data: bytes, f: Field, stop: int, plane: Plane, space: Space) -> None:
    """Take in one field of a plane; a fault inside it costs only itself, since its length is known."""
    try:
        if f.number == 2:
            plane.name = text(data, f.start, stop)
        elif f.number == 3:
            plane.lines.append(_line(data, f.start, stop, space))
        elif f.number == 4:
            _event_metadata(data, f.start, stop, plane)
        elif f.number == 5:
            _stat_metadata(data, f.start, stop, plane)
        elif f.number == 6:
            plane.stats.append(_stat(data, f.start, stop))
    except Fault:
        space.fault = True


def _line(data: bytes, at: int, end: int, space: Space) -> Line:
    line = Line()
    starts, ends = line.starts, line.ends
    display_name = ""
    try:
        while at < end:
            # Events inline: a generator per event would double the time of the whole import.
            if data[at] == 0x22 and at + 1 < end and data[at + 1] < 0x80:
                start = at + 2
                at = start + data[at + 1]
            else:
                f = next(fields(data, at, end))
                at = f.end
                if f.number == 4 and f.wire == LENGTH:
                    start = f.start
                else:
                    if f.number == 1:
                        line.id = signed(f.value)
                    elif f.number == 2 and f.wire == LENGTH:
                        line.name = text(data, f.start, f.end)
                    elif f.number == 3:
                        line.timestamp_ns = signed(f.value)
                    elif f.number == 11 and f.wire == LENGTH:
                        display_name = text(data, f.start, f.end)
                    if _LINE_WIRES.get(f.number) != f.wire:
                        space.unknown += 1
                    continue
            if at > end:
                raise Fault
            starts.append(start)
            ends.append(at)
    except Fault:
        space.fault = True
    line.name = display_name or line.name
    return line


def _event_metadata(data: bytes, at: int, end: int, plane: Plane) -> None:
    key, start, stop = _map_entry(data, at, end)
    name = ""
    stats: list[Stat] = []
    for f in fields(data, start, stop):
        if f.number == 1 and f.wire == VARINT:
            key = f.value
        elif f.number == 2 and f.wire == LENGTH:
            name = text(data, f.start, f.end)
        elif f.number == 5 and f.wire == LENGTH:
            stats.append(_stat(data, f.start, f.end))
    plane.event_names[signed(key)] = name
    if stats:
        plane.event_stats[signed(key)] = stats


def _stat_metadata(data: bytes, at: int, end: int, plane: Plane) -> None:
    key, start, stop = _map_entry(data, at, end)
    name = ""
    for f in fields(data, start, stop):
        if f.number == 1 and f.wire == VARINT:
            key = f.value
        elif f.number == 2 and f.wire == LENGTH:
            name = text(data, f.start, f.end)
    plane.stat_names[signed(key)] = name


def _map_entry(data: bytes, at: int, end: int) -> tuple[int, int, int]:
    key, start, stop = 0, end, end
    for f in fields(data, at, end):
        if f.number == 1:
            key = f.value
        elif f.number == 2 and f.wire == LENGTH:
            start, stop = f.start, f.end
    return key, start, stop


def _stat(data: bytes, at: int, end: int) -> Stat:
    stat = Stat()
    for f in fields(data, at, end):
        if f.number == 1:
            stat.metadata_id = signed(f.value)
        elif 2 <= f.number <= 7:
            stat.kind = f.number
            if f.wire == LENGTH:
                stat.value = data[f.start : f.end]
            elif f.number == 2:
                stat.value = struct.unpack("<d", f.value.to_bytes(8, "little"))[0]
            else:
                stat.value = signed(f.value) if f.number == 4 else f.value
    return stat
