"""Decodes many XEvent messages at once: one numpy pass a field, all events in step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

#: Zero bytes behind the data, so that reading a number near the end stays inside the array.
PADDING_BYTES = 16
_MAX_VARINT = 10


#: Rows, field number, values, starts, and ends (None for numbers).
_Fields = tuple[np.ndarray, int, np.ndarray, np.ndarray, "np.ndarray | None"]


@dataclass
class RawStats:
    """Stats of many events: shape (m,) each. ``kind`` is the field number in XStat (0: no value);
    ``value`` holds a number's bits, or where a text begins; ``length`` is that of a text."""

    event: np.ndarray
    metadata_id: np.ndarray
    kind: np.ndarray
    value: np.ndarray
    length: np.ndarray


@dataclass
class RawEvents:
    """Events: shape (n,) each, int64; times in ps. ``aggregated`` events have no time of their own."""

    metadata_id: np.ndarray
    offset_ps: np.ndarray
    duration_ps: np.ndarray
    aggregated: np.ndarray
    damaged: np.ndarray
    stats: RawStats


def decode_events(data: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> RawEvents:
    """Decode the messages ``data[starts[i]:ends[i]]``.

    Args:
        data: uint8, with ``PADDING_BYTES`` zeros behind the last message.
    """
    n = len(starts)
    numbers = {field: np.zeros(n, np.int64) for field in (1, 2, 3, 5)}
    aggregated = np.zeros(n, bool)
    damaged = np.zeros(n, bool)
    found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    for rows, field, value, at, stop in _walk(data, starts, ends, damaged):
        if stop is not None:
            if field == 4:
                found.append((rows, at, stop))
        elif field in numbers:
            numbers[field][rows] = value.view(np.int64)
            if field == 5:
                aggregated[rows] = True
    stats = _decode_stats(data, found)
    return RawEvents(numbers[1], numbers[2], numbers[3], aggregated, damaged, stats)


def _decode_stats(data: np.ndarray, found: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> RawStats:
    if not found:
        empty = np.zeros(0, np.int64)
        return RawStats(empty, empty, empty.astype(np.uint8), empty.astype(np.uint64), empty)
    event, starts, ends = (np.concatenate([part[i] for part in found]) for i in range(3))
    # In the order of the file: the passes above found first the first stat of every event.
    order = np.argsort(starts, kind="stable")
    event, starts, ends = event[order], starts[order], ends[order]
    m = len(event)
    metadata_id = np.zeros(m, np.int64)
    kind = np.zeros(m, np.uint8)
    values = np.zeros(m, np.uint64)
    length = np.zeros(m, np.int64)
    for rows, field, value, at, stop in _walk(data, starts, ends, np.zeros(m, bool)):
        if field == 1 and stop is None:
            metadata_id[rows] = value.view(np.int64)
        elif 2 <= field <= 7:
            kind[rows] = field
            if stop is None:
                values[rows] = value
            else:
                values[rows] = at.view(np.uint64)
                length[rows] = stop - at
    return RawStats(event, metadata_id, kind, values, length)


def _walk(data: np.ndarray, starts: np.ndarray, ends: np.ndarray, damaged: np.ndarray) -> Iterator[_Fields]:
    """Go through the fields of all messages in step.

    Yields:
        (rows, field number, values uint64, start, None) for numbers and
        (rows, field number, values, start, end) for length-delimited fields. Messages with a field that
        runs over their end, or of an unknown wire type, are marked in ``damaged`` and left there.
    """
    rows = np.flatnonzero(starts < ends)
    at, end = starts[rows].copy(), ends[rows]
    while rows.size:
        tag, at = _varints(data, at)
        after = at.copy()
        bad = tag > 2**32
        for distinct in np.unique(tag[~bad]).tolist():
            field, wire = distinct >> 3, distinct & 7
            pick = np.flatnonzero(tag == distinct)
            if wire == 0:
                value, after[pick] = _varints(data, at[pick])
                good = after[pick] <= end[pick]
                yield rows[pick][good], field, value[good], at[pick][good], None
            elif wire == 2:
                size, begin = _varints(data, at[pick])
                room = np.maximum(end[pick] - begin, -1)
                good = size <= np.maximum(room, 0).astype(np.uint64)
                good &= room >= 0
                after[pick] = np.where(good, begin + np.where(good, size, 0).astype(np.int64), end[pick] + 1)
                yield rows[pick][good], field, size[good], begin[good], after[pick][good]
            elif wire == 1:
                after[pick] = at[pick] + 8
                good = after[pick] <= end[pick]
                raw = data[at[pick][good][:, None] + np.arange(8)]
                yield rows[pick][good], field, np.ascontiguousarray(raw).view("<u8")[:, 0], at[pick][good], None
            elif wire == 5:
                after[pick] = at[pick] + 4
            else:
                bad[pick] = True
        bad |= after > end
        damaged[rows[bad]] = True
        go_on = ~bad & (after < end)
        rows, at, end = rows[go_on], after[go_on], end[go_on]


def _varints(data: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The unsigned number at each place, and where each ends; one that never ends is cut at 64 bits."""
    byte = data[at]
    value = (byte & 0x7F).astype(np.uint64)
    at = at + 1
    going = np.flatnonzero(byte & 0x80)
    shift = 7
    while going.size and shift < 7 * _MAX_VARINT:
        byte = data[at[going]]
        value[going] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        at[going] += 1
        going = going[(byte & 0x80) != 0]
        shift += 7
    return value, at
