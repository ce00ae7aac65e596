"""Writes small XSpace files for tests: the wire format of tsl/profiler/protobuf/xplane.proto, by hand."""

from __future__ import annotations

import struct

Value = int | float | str | bytes


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def member(number: int, value: Value) -> bytes:
    """One field; zeros and empty texts are left out, as every protobuf writer does."""
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value) if value else b""
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data if data else b""


class Ref(str):
    """A text that is written once and referred to by id, as the profiler does with most texts."""


class PlaneBuilder:
    """One plane; lines are added with ``line``, events to the last line with ``event``."""

    def __init__(self, name: str, /, **stats: Value) -> None:
        self.name = name
        self._events: dict[str, int] = {}
        self._stats: dict[str, int] = {}
        self._lines: list[tuple[bytes, list[bytes]]] = []
        self._about: dict[str, bytes] = {}
        self._programs = b""
        self._own = b"".join(member(6, self._stat(k, v)) for k, v in stats.items())

    def line(self, number: int, name: str, timestamp_ns: int = 0) -> PlaneBuilder:
        self._lines.append((member(1, number) + member(2, name) + member(3, timestamp_ns), []))
        return self

    def event(self, name: str, offset_ps: int, duration_ps: int, /, **stats: Value) -> PlaneBuilder:
        """An event; unsigned numbers beyond int64 are written as uint64."""
        number = self._events.setdefault(name, len(self._events) + 1)
        fields = member(1, number) + member(2, offset_ps) + member(3, duration_ps)
        return self.raw_event(fields + b"".join(member(4, self._stat(k, v)) for k, v in stats.items()))

    def about(self, name: str, /, **stats: Value) -> PlaneBuilder:
        """Stats that all events of this name share."""
        self._about[name] = b"".join(member(5, self._stat(k, v)) for k, v in stats.items())
        return self

    def raw_event(self, message: bytes) -> PlaneBuilder:
        self._lines[-1][1].append(message)
        return self

    def program(self, number: int, name: str, proto: bytes) -> PlaneBuilder:
        """What XLA compiled, as the plane ``/host:metadata`` carries it: an event's metadata that no event has."""
        stat = member(5, self._stat("Hlo Proto", proto))
        self._programs += member(4, member(1, number) + member(2, member(1, number) + member(2, name) + stat))
        return self

    def bytes(self) -> bytes:
        out = member(2, self.name)
        for head, events in self._lines:
            out += member(3, head + b"".join(varint(4 << 3 | 2) + varint(len(e)) + e for e in events))
        for name, number in self._events.items():
            about = member(1, number) + member(2, name) + self._about.get(name, b"")
            out += member(4, member(1, number) + member(2, about))
        for name, number in self._stats.items():
            out += member(5, member(1, number) + member(2, member(1, number) + member(2, name)))
        return out + self._programs + self._own

    def _stat(self, name: str, value: Value) -> bytes:
        number = self._stats.setdefault(name, len(self._stats) + 1)
        if isinstance(value, Ref):
            field, value = 7, self._stats.setdefault(str(value), len(self._stats) + 1)
        elif isinstance(value, int):
            field = 4 if value < 2**63 else 3
        else:
            field = {float: 2, str: 5, bytes: 6}[type(value)]
        if value == 0 and not isinstance(value, float):  # a member of a oneof is written even if 0
            return member(1, number) + varint(field << 3) + b"\0"
        return member(1, number) + member(field, value)


def xspace(*planes: PlaneBuilder, hostname: str = "") -> bytes:
    return b"".join(member(1, plane.bytes()) for plane in planes) + member(4, hostname)
