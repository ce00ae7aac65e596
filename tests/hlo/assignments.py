"""Builds buffer assignments for tests: the wire format of BufferAssignmentProto, by hand."""

from __future__ import annotations

from collections.abc import Sequence

from tests.hlo.programs import message, packed
from tests.importers.xspace import member

ALLOC, FREE, SHARE = 0, 1, 2


def buffer(id: int, size: int, instruction: int, index: Sequence[int] = ()) -> bytes:
    """A value of ``size`` bytes that an instruction defines."""
    return message(1, member(1, id) + member(2, size) + message(3, packed(3, index) + member(4, instruction)))


def allocation(index: int, size: int, *assigned: tuple[int, int, int], **flags: int) -> bytes:
    """``assigned`` has (buffer, offset, size); flags are parameter=its number, output, constant, thread_local."""
    body = member(1, index) + member(2, size)
    for flag, number in (("thread_local", 3), ("parameter", 5), ("output", 7), ("constant", 12)):
        body += member(number, int(flag in flags))
    body += member(6, flags.get("parameter", 0))
    for id, offset, length in assigned:
        body += message(9, member(1, id) + member(2, offset) + member(3, length))
    return message(3, body)


def heap_trace(allocation: int, *events: tuple[int, ...]) -> bytes:
    """``events`` are (kind, buffer) or (SHARE, buffer, the buffer shared with)."""
    body = b"".join(
        message(1, member(1, event[0]) + member(2, event[1]) + member(5, event[2] if len(event) > 2 else 0))
        for event in events
    )
    return message(4, body + member(3, allocation))


def with_assignment(program: bytes, *parts: bytes) -> bytes:
    """An HloProto with this buffer assignment."""
    return program + message(3, b"".join(parts))
