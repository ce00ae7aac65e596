"""A table as the viewer shows it: columns with their definitions, and one row an occurrence or a group of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from stepscope.schema import NONE

#: How values of a column read: text; word (a short text); flag (true or false); id (a number that is no quantity);
#: count; number; ns; moment (ns after the timeline's origin); bytes; bytes_per_s; flop; flop_per_s; ratio (0..1);
#: share (a ratio of which the column's rows make up the whole).
Unit = Literal[
    "text", "word", "flag", "id", "count", "number", "ns", "moment", "bytes", "bytes_per_s", "flop", "flop_per_s",
    "ratio", "share",
]  # fmt: skip


@dataclass(frozen=True)
class Column:
    """One column: ``about`` is its definition with unit and denominator; ``shown`` whether it is by default.

    Where a page has no room for all of these, it leaves out those with the largest ``spare`` first, never one with 0.
    """

    key: str
    label: str
    unit: Unit
    about: str
    shown: bool = True
    spare: int = 0

    @property
    def is_text(self) -> bool:
        return self.unit in ("text", "word")


@dataclass(frozen=True, eq=False)
class Occurrences:
    """What the rows of a table stand for, once each: rows of the timeline, when they start and how long they take."""

    rows: np.ndarray
    ts_ns: np.ndarray
    dur_ns: np.ndarray

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class Frame:
    """Rows of a table. ``data`` has the columns in their order; a null is a value that was not measured.

    ``id`` names each row by a row of the timeline: that of the occurrence, or the smallest of a group's. ``of`` is the
    row of each occurrence (``NONE`` for none); it is None where each row is one occurrence. ``sort`` is the column by
    which rows are sorted if nothing else is asked for, the largest first, and ``name`` the column that names rows.
    Of a tree ``parent`` tells the row above each row, ``NONE`` at the top.
    """

    columns: tuple[Column, ...]
    data: pa.Table
    id: np.ndarray
    of: np.ndarray | None
    sort: str
    name: str = "name"
    parent: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.id)

    @property
    def nbytes(self) -> int:
        return self.data.nbytes + self.id.nbytes + (0 if self.of is None else self.of.nbytes)

    def column(self, key: str) -> Column | None:
        return next((column for column in self.columns if column.key == key), None)

    def occurrences_of(self, row: int) -> np.ndarray:
        """Positions of the occurrences that a row stands for."""
        return np.array([row]) if self.of is None else np.flatnonzero(self.of == row)


def frame(
    columns: Sequence[tuple[Column, Any]],
    id: np.ndarray,
    sort: str,
    of: np.ndarray | None = None,
    name: str = "name",
    parent: np.ndarray | None = None,
) -> Frame:
    """Build from columns and their values: lists or arrays, where None, NaN or null is "not measured".

    Columns in which nothing was measured are not shown by default.
    """
    data = pa.table([_array(values) for _, values in columns], names=[column.key for column, _ in columns])
    described = tuple(
        replace(column, shown=column.shown and (values.null_count < len(values) or len(values) == 0))
        for (column, _), values in zip(columns, data.columns, strict=True)
    )
    return Frame(described, data, id.astype(np.int64), of, sort, name, parent)


def texts(code: np.ndarray, values: Sequence[str | None]) -> pa.DictionaryArray:
    """Texts by their position in ``values``, ``NONE`` for none. Only those that occur are kept, each once."""
    seen = np.zeros(len(values) + 1, bool)  # the last stands for NONE
    seen[code] = True
    used = np.flatnonzero(seen[:-1]).tolist()
    distinct: dict[str, int] = {}
    number = np.full(len(values) + 1, NONE, np.int32)
    for i in used:
        value = values[i]
        if value is not None:
            number[i] = distinct.setdefault(value, len(distinct))
    codes = number[code]
    known_codes = _told(codes, codes != NONE)
    # Not safe: no second look whether each code is in range.
    return pa.DictionaryArray.from_arrays(known_codes, pa.array(list(distinct), pa.utf8()), safe=False)


def known(values: np.ndarray, told: np.ndarray | None = None) -> pa.Array:
    """Integers where ``NONE``, or what is not ``told``, is null."""
    return _told(values, values != NONE if told is None else told)


def first_rows(rows: np.ndarray, of: np.ndarray, count: int) -> np.ndarray:
    """The smallest row of the occurrences of each group."""
    out = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(out, of, rows)
    return out


def _told(values: np.ndarray, told: np.ndarray) -> pa.Array:
    """Integers, null where they are not told. pa.array with a mask takes ten times as long."""
    values = np.ascontiguousarray(values)
    bits = pa.py_buffer(np.packbits(told, bitorder="little"))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [bits, pa.py_buffer(values)])


def _array(values: Any) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    array = pa.array(values, from_pandas=True)
    return pa.nulls(len(array), pa.int64()) if pa.types.is_null(array.type) else array
