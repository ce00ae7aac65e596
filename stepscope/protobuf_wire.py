"""The protobuf wire format, read without a protobuf runtime: a message is a range of bytes, split into its fields.

Whoever reads a message knows its field numbers, and takes what comes before a fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5


class Field(NamedTuple):
    """One field: ``value`` is the number of a scalar; a length-delimited one lies at [start, end)."""

    number: int
    wire: int
    value: int
    start: int
    end: int


class Fault(Exception):
    """The message ends inside a field, or holds what no message holds."""


def fields(data: bytes, at: int, end: int, clip: bool = False) -> Iterator[Field]:
    """The fields of the message at [at, end).

    Args:
        clip: also yield a last field that runs over the end, with its claimed ``end``.

    Raises:
        Fault: where a field runs over the end, or a tag is none.
    """
    while at < end:
        tag, at = varint(data, at, end)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise Fault
        if wire == LENGTH:
            length, at = varint(data, at, end)
            if at + length > end and not clip:
                raise Fault
            yield Field(number, wire, 0, at, at + length)
            at += length
        elif wire == VARINT:
            value, after = varint(data, at, end)
            yield Field(number, wire, value, at, after)
            at = after
        elif wire in (FIXED64, FIXED32):
            size = 8 if wire == FIXED64 else 4
            if at + size > end:
                raise Fault
            yield Field(number, wire, int.from_bytes(data[at : at + size], "little"), at, at + size)
            at += size
        else:
            raise Fault


def varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The unsigned number at ``at``, and where it ends."""
    value = shift = 0
    while at < end and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), at
        shift += 7
    raise Fault


def signed(value: int) -> int:
    """An unsigned 64-bit number as int64, the same bits."""
    return value - 2**64 if value >= 2**63 else value


def text(data: bytes, start: int, end: int) -> str:
    return data[start:end].decode("utf-8", "replace")


def integers(data: bytes, f: Field) -> list[int]:
    """The numbers of one field that may be repeated: a single one, or several packed into a range.

    Raises:
        Fault: the last one is cut.
    """
    if f.wire != LENGTH:
        return [f.value]
    found = []
    at = f.start
    while at < f.end:
        value, at = varint(data, at, f.end)
        found.append(value)
    return found
