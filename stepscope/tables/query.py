"""Which rows of a table are shown, and in which order."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stepscope.errors import StepscopeError
from stepscope.schema import NONE
from stepscope.tables.frame import Frame
from stepscope.tables.ordered import Ordered
from stepscope.timeline.search import Rule

_MOST_S = 5.0


class BadQuery(StepscopeError):
    """A query that names what the table does not have."""


@dataclass(frozen=True)
class Bound:
    """Rows whose value in a column is known and lies between both ends, which belong to it."""

    column: str
    least: float | None
    most: float | None


@dataclass(frozen=True)
class Query:
    """Rows that hold ``text`` in any column of text and meet all bounds, by ``sort`` (None: as the table says).

    Rows without a value come last whichever way the others are sorted.
    """

    sort: str | None = None
    descending: bool = True
    text: str = ""
    regex: bool = False
    bounds: tuple[Bound, ...] = ()


@dataclass(frozen=True, eq=False)
class Tree:
    """Rows of a tree in order of depth first, and of each its depth and whether it has rows below it."""

    rows: np.ndarray
    depth: np.ndarray
    has_children: np.ndarray


def select(frame: Frame, query: Query, among: np.ndarray | None = None) -> Ordered:
    """Positions of the rows in their order.

    Args:
        among: positions that may be shown; all by default.

    Raises:
        BadQuery: the table has no such column.
        BadPattern: the text is no regular expression.
    """
    keep = matches(frame, query)
    if among is not None:
        allowed = np.zeros(len(frame), bool)
        allowed[among] = True
        keep &= allowed
    found = np.flatnonzero(keep)
    return Ordered(found, _keys(frame, query)[found])


def select_tree(frame: Frame, query: Query, levels: int, toggled: frozenset[int]) -> Tree:
    """The rows of a tree that are open, siblings in the order of the query.

    Rows of the first ``levels`` levels show what is below them, but for those ``toggled``, which do if they otherwise
    would not. Where the query leaves rows out, the ones above those that are left stay, and are open.
    """
    assert frame.parent is not None
    parent = frame.parent
    keep = matches(frame, query)
    everything = bool(keep.all())
    for row in np.flatnonzero(keep).tolist() if not everything else ():
        above = int(parent[row])
        while above != NONE and not keep[above]:
            keep[above] = True
            above = int(parent[above])
    keys = _keys(frame, query)
    below: dict[int, list[int]] = {}
    kept = np.flatnonzero(keep)
    for row in Ordered(kept, keys[kept]).all().tolist():
        below.setdefault(int(parent[row]), []).append(row)
    rows: list[int] = []
    depths: list[int] = []
    stack = [(row, 0) for row in reversed(below.get(NONE, []))]
    while stack:
        row, depth = stack.pop()
        rows.append(row)
        depths.append(depth)
        if not everything or (depth < levels) != (row in toggled):
            stack += [(child, depth + 1) for child in reversed(below.get(row, []))]
    shown = np.array(rows, np.int64)
    return Tree(shown, np.array(depths, np.int64), np.array([row in below for row in rows], bool))


def matches(frame: Frame, query: Query) -> np.ndarray:
    """Mask of the rows that the query keeps."""
    keep = np.ones(len(frame), bool)
    for bound in query.bounds:
        column = frame.column(bound.column)
        if column is None or column.is_text:
            raise BadQuery(f"This table has no column of numbers {bound.column!r}.")
        values = numbers(frame, bound.column)
        with np.errstate(invalid="ignore"):
            keep &= values >= (-np.inf if bound.least is None else bound.least)
            keep &= values <= (np.inf if bound.most is None else bound.most)
    if query.text:
        rule = Rule(query.text, query.regex, False, False, time.monotonic() + _MOST_S)
        found = np.zeros(len(frame), bool)
        for column in frame.columns:
            if column.is_text:
                data = frame.data.column(column.key).combine_chunks()
                if pa.types.is_dictionary(data.type):
                    hit = np.append(rule.matches(data.dictionary.to_pylist()), False)
                    found |= hit[data.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
                else:
                    found |= rule.matches([text or "" for text in data.to_pylist()])
        keep &= found
    return keep


def numbers(frame: Frame, key: str) -> np.ndarray:
    """A column of numbers as floats, NaN where a value is not known."""
    data = frame.data.column(key)
    if pa.types.is_boolean(data.type):
        data = pc.cast(data, pa.int8())
    return pc.cast(data, pa.float64(), safe=False).to_numpy()


def _keys(frame: Frame, query: Query) -> np.ndarray:
    """Numbers by which rows sort, the smallest first, NaN for rows that come last."""
    keys = _values(frame, query)
    return -keys if query.descending else keys


def _values(frame: Frame, query: Query) -> np.ndarray:
    """What rows have in the column by which they sort, as numbers of the same order."""
    key = frame.sort if query.sort is None else query.sort
    column = frame.column(key)
    if column is None:
        raise BadQuery(f"This table has no column {key!r} to sort by.")
    if not column.is_text:
        return numbers(frame, key)
    data = frame.data.column(key).combine_chunks()
    if not pa.types.is_dictionary(data.type):
        data = data.dictionary_encode()
    texts = data.dictionary.to_pylist()
    rank = np.full(len(texts) + 1, np.nan)
    rank[sorted(range(len(texts)), key=lambda i: (texts[i].casefold(), texts[i]))] = np.arange(len(texts))
    return rank[data.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
