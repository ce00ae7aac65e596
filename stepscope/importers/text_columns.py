"""Columns of short texts: from JSON texts to Arrow, to numbers without a float on the way, to dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_INT64_MAX = 2**63 - 1
#: By number of decimals, texts that certainly can be cast.
_PLAIN = {0: r"^-?[0-9]{1,18}$", 3: r"^-?(?:[0-9]{1,15}|[1-8][0-9]{15})(?:\.[0-9]{1,3})?$"}


def text_column(texts: Sequence) -> pa.Array:
    """A binary column of bytes-like texts, none of which holds a NUL."""
    if not texts:
        return pa.array([], pa.binary())
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
            value = parse_one(texts[i].as_py(), decimals)
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


def parse_one(raw: bytes, decimals: int) -> int | None:
    """The same for one text; None where there is no finite number that fits."""
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


class Coded(NamedTuple):
    """A column of texts as codes, int32 of shape (n,), of distinct texts in the order of their first use."""

    codes: np.ndarray
    distinct: list[bytes]

    @classmethod
    def of(cls, column: pa.Array) -> Coded:
        encoded = column.dictionary_encode()
        return cls(encoded.indices.to_numpy().astype(np.int32, copy=False), encoded.dictionary.to_pylist())

    def take(self, rows: np.ndarray) -> Coded:
        used, first, inverse = np.unique(self.codes[rows], return_index=True, return_inverse=True)
        order = np.argsort(first)
        code = np.empty(len(used), np.int32)
        code[order] = np.arange(len(used), dtype=np.int32)
        return Coded(code[inverse], [self.distinct[i] for i in used[order].tolist()])


class Interner:
    """Numbers distinct texts across batches. ``convert`` turns a raw text into the value to keep."""

    def __init__(self, convert: Callable[[bytes], str]) -> None:
        self.values: list[str] = []
        self._convert = convert
        self._index: dict[bytes, int] = {}
        self._index_of_value: dict[str, int] = {}

    def codes(self, column: Coded) -> np.ndarray:
        """For each text the index of its value in ``values``, int32 of shape (n,)."""
        index = self._index
        local = np.empty(len(column.distinct), np.int32)
        for i, raw in enumerate(column.distinct):
            code = index.get(raw)
            if code is None:
                code = index[raw] = self.add(self._convert(raw))
            local[i] = code
        return local[column.codes] if len(local) else np.zeros(0, np.int32)

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


def distinct(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``np.unique`` with ``return_inverse`` of integers >= 0; without sorting where they are small."""
    limit = int(keys.max(initial=0)) + 1
    if limit > 4 * len(keys) + (1 << 20):
        return np.unique(keys, return_inverse=True)
    used = np.zeros(limit, bool)
    used[keys] = True
    found = np.flatnonzero(used)
    place = np.empty(limit, np.intp)
    place[found] = np.arange(len(found))
    return found, place[keys]
