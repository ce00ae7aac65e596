"""Columns of short texts: from JSON texts to Arrow, to numbers without a float on the way, to dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_INT64_MAX = 2**63 - 1
#: Longer numbers, and those with an exponent, are parsed one by one.
_WIDE = 26


def text_column(texts: Iterable) -> pa.Array:
    """A binary column of bytes-like texts, none of which holds a NUL."""
    joined = b"\0".join(texts)
    marks = np.flatnonzero(np.frombuffer(joined, np.uint8) == 0)
    ends = np.append(marks, len(joined))
    lengths = np.diff(ends, prepend=-1) - 1
    offsets = np.zeros(len(ends) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    data = joined.replace(b"\0", b"")
    return pa.Array.from_buffers(pa.binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def parse_scaled(column: pa.Array, decimals: int) -> tuple[np.ndarray, np.ndarray]:
    """The decimal numbers of a text column, times 10 ** ``decimals``, as int64.

    Digits beyond that are rounded half away from zero. Quotes around a number are ignored; exponents
    and hexadecimal integers are read.

    Returns:
        Values of shape (n,), 0 where there is no finite number that fits; and the mask of those that are.
    """
    n = len(column)
    if n == 0:
        return np.zeros(0, np.int64), np.zeros(0, bool)
    _, offset_buffer, data_buffer = column.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[column.offset : column.offset + n + 1].astype(np.int64)
    data = (
        np.frombuffer(data_buffer, np.uint8) if data_buffer is not None and data_buffer.size else np.zeros(1, np.uint8)
    )
    start, end = offsets[:-1].copy(), offsets[1:].copy()

    first = data[np.minimum(start, len(data) - 1)]
    quoted = (end - start >= 2) & (first == ord('"'))
    start += quoted
    end -= quoted
    negative = (end > start) & (data[np.minimum(start, len(data) - 1)] == ord("-"))
    start += negative

    width = int(min((end - start).max(initial=0), _WIDE))
    at = start[:, None] + np.arange(max(width, 1))
    inside = at < end[:, None]
    digit = data[np.minimum(at, len(data) - 1)] - np.uint8(ord("0"))
    is_dot = inside & (digit == (ord(".") - ord("0")) % 256)
    is_digit = inside & (digit < 10)
    dots = is_dot.sum(axis=1)
    digits = is_digit.sum(axis=1)
    plain = (digits + dots == end - start) & (dots <= 1) & (digits >= 1)

    whole = np.where(dots == 1, is_dot.argmax(axis=1), end - start)
    plain &= whole + decimals <= 19  # below 10**19, which fits uint64
    position = np.arange(max(width, 1)) - whole[:, None] - 1  # of a digit behind the dot, negative before it
    size = np.zeros(n, np.uint64)
    used = np.zeros(n, np.int64)
    for j in range(width):
        take = plain & is_digit[:, j] & (position[:, j] < decimals)
        size = np.where(take, size * np.uint64(10) + digit[:, j], size)
        used += take & (position[:, j] >= 0)
    size *= (10 ** np.maximum(decimals - used, 0)).astype(np.uint64)
    size += (plain[:, None] & is_digit & (position == decimals) & (digit >= 5)).any(axis=1)
    plain &= size <= _INT64_MAX
    values = np.where(plain, size, 0).astype(np.int64)
    values = np.where(negative, -values, values)

    valid = plain
    for i in np.flatnonzero(~plain & (end > start)).tolist():
        value = _parse_one(column[i].as_py(), decimals)
        if value is not None:
            values[i] = value
            valid[i] = True
    return values, valid


def _parse_one(raw: bytes, decimals: int) -> int | None:
    text = raw.decode("utf-8", "replace").strip('" \t')
    try:
        number = Decimal(int(text, 16)) if text[:2].lower() == "0x" else Decimal(text)
    except (InvalidOperation, ValueError):
        return None
    if not number.is_finite() or number.adjusted() > 20:
        return None
    if number.adjusted() < -30:
        return 0
    value = int(number.scaleb(decimals).to_integral_value(ROUND_HALF_UP))
    if decimals == 0 and _INT64_MAX < value < 2**64:
        return value - 2**64  # an unsigned id: the same bits
    return value if abs(value) <= _INT64_MAX else None


class Interner:
    """Numbers distinct texts across batches. ``convert`` turns a raw text into the value to keep."""

    def __init__(self, convert: Callable[[bytes], str]) -> None:
        self.values: list[str] = []
        self._convert = convert
        self._index: dict[bytes, int] = {}
        self._index_of_value: dict[str, int] = {}

    def codes(self, column: pa.Array) -> np.ndarray:
        """For each text the index of its value in ``values``, int32 of shape (n,)."""
        encoded = column.dictionary_encode()
        index = self._index
        local = np.empty(len(encoded.dictionary), np.int32)
        for i, raw in enumerate(encoded.dictionary.to_pylist()):
            code = index.get(raw)
            if code is None:
                code = index[raw] = self.add(self._convert(raw))
            local[i] = code
        return local[encoded.indices.to_numpy()] if len(local) else np.zeros(0, np.int32)

    def find(self, value: str) -> int:
        """The index of a value, -1 if it has not occurred."""
        return self._index_of_value.get(value, -1)

    def add(self, value: str) -> int:
        code = self._index_of_value.setdefault(value, len(self.values))
        if code == len(self.values):
            self.values.append(value)
        return code


def strip_members(column: pa.Array, keys: Iterable[str]) -> pa.Array:
    """Remove members with scalar values from flat JSON objects; an object left empty becomes an empty text.

    Works on the text: inside a JSON string every quote is escaped, so ``"key"`` followed by a colon is
    a member's name. The caller keeps objects that nest further objects away.
    """
    names = "|".join(keys)
    scalar = r'(?:-?[0-9][0-9.eE+-]*|"[^"\\]*"|null|true|false)'
    column = pc.replace_substring_regex(column, rf'"(?:{names})"\s*:\s*{scalar}\s*(?:,\s*)?', "")
    column = pc.replace_substring_regex(column, r",\s*\}\s*$", "}")
    return pc.replace_substring_regex(column, r"^(?:\{\s*\}|null)$", "")
