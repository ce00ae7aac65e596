"""How many bytes the arrays take that some objects hold: what a bound on memory counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def array_bytes(objects: Iterable[Any], without: Iterable[Any] = ()) -> int:
    """Bytes of the arrays that objects of ours lead to, each once, but for those that ``without`` leads to.

    Texts and numbers of Python are left out: where there are many of them they stand in arrays.
    """
    return _sum([*objects], _seen(without))


def _seen(objects: Iterable[Any]) -> set[int]:
    seen: set[int] = set()
    _sum([*objects], seen)
    return seen


def _sum(stack: list[Any], seen: set[int]) -> int:
    """The bytes of what is new; ``seen`` grows by it."""
    total = 0
    while stack:
        it = stack.pop()
        while isinstance(it, np.ndarray) and isinstance(it.base, np.ndarray):
            it = it.base  # a view holds the whole
        if id(it) in seen:
            continue
        seen.add(id(it))
        if isinstance(it, np.ndarray):
            total += it.nbytes
        elif isinstance(it, dict):
            stack += it.values()
        elif isinstance(it, (list, tuple)):
            stack += it if it and not isinstance(it[0], (str, int, float)) else ()
        elif type(it).__module__.startswith("stepscope") and hasattr(it, "__dict__"):
            stack += vars(it).values()
    return total
