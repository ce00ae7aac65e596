"""Columns of short texts: from JSON texts to Arrow, to numbers without a float on the way, to dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_INT64_MAX = 2**63 - 1
#: By number of decimals, texts that certainly can be cast.
_PLAIN = {0: r"^-?[0-9]{1,18}$", 3: r"^-?(?:[0-9]{1,15}|[1-8][0-9]{15})(?:\.[0-9]{1,3})?$"}


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
    """The decimal numbers of a text column, times 10 ** ``decimals`` (0 or 3), as int64.

    Digits beyond that are rounded half away from zero. Quotes around a number are ignored; exponents
    and hexadecimal integers are read.

    Returns:
        Values of shape (n,), 0 where there is no finite number that fits; and the mask of those that are.
    """
    values = np.zeros(len(column), np.int64)
    valid = pc.greater(pc.binary_length(column), 0).to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(valid)
    if not len(rows):
        return values, valid
    texts = column if len(rows) == len(column) else column.take(pa.array(rows))
    try:
        values[rows] = _cast(texts, decimals)
    except pa.ArrowInvalid:  # something is no plain number: tell which
        is_plain = pc.match_substring_regex(texts, _PLAIN[decimals]).to_numpy(zero_copy_only=False)
        values[rows[is_plain]] = _cast(texts.filter(pa.array(is_plain)), decimals)
        for i in np.flatnonzero(~is_plain).tolist():
            value = _parse_one(texts[i].as_py(), decimals)
            values[rows[i]] = value or 0
            valid[rows[i]] = value is not None
    return values, valid


def _cast(texts: pa.Array, decimals: int) -> np.ndarray:
    """Arrow's own exact parsing of plain numbers.

    Raises:
        pa.ArrowInvalid: a text is none, or does not fit.
    """
    if decimals == 0:
        return texts.cast(pa.string()).cast(pa.int64()).to_numpy()
    numbers = texts.cast(pa.string()).cast(pa.decimal128(38, decimals))
    # A decimal128 is a 16-byte integer, the low half first.
    halves = np.frombuffer(numbers.buffers()[1], np.int64)[: 2 * len(numbers)].reshape(-1, 2)
    if not np.array_equal(halves[:, 1], halves[:, 0] >> 63):
        raise pa.ArrowInvalid("beyond int64")
    return halves[:, 0]


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
    """Remove members with scalar values from JSON objects. A comma may be left over before the closing
    bracket.

    Works on the text: inside a JSON string every quote is escaped, so ``"key"`` followed by a colon is
    a member's name. It is one at any depth, though: for objects that hold objects see ``nests_objects``.
    """
    scalar = r'(?:-?[0-9][0-9.eE+-]*|"[^"\\]*"|null|true|false)'
    return pc.replace_substring_regex(column, rf'"(?:{"|".join(keys)})"\s*:\s*{scalar}\s*(?:,\s*)?', "")


def nests_objects(column: pa.Array) -> np.ndarray:
    """Mask of the JSON objects that hold a further object with members."""
    mask = pc.greater(pc.count_substring(column, "{"), 1).to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(mask)  # most of them only have brackets in strings
    if len(rows):
        inner = pc.match_substring_regex(column.take(pa.array(rows)), r'[:\[,]\s*\{\s*"')
        mask[rows] = inner.to_numpy(zero_copy_only=False)
    return mask
