"""How wide a report may be: as wide as the terminal that it is printed on, and any width in a file or a pipe."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: No line is folded to less: a narrower terminal breaks the lines itself.
LEAST = 60

#: Letters in a line of the report that is being made; None: as many as it needs.
_columns: ContextVar[int | None] = ContextVar("columns", default=None)


def columns() -> int | None:
    return _columns.get()


@contextmanager
def fitted(to: int | None) -> Iterator[None]:
    """Reports that are made inside have lines of this width at most; None does not bound them."""
    token = _columns.set(None if to is None else max(LEAST, to))
    try:
        yield
    finally:
        _columns.reset(token)


def of_terminal() -> int | None:
    """The width of the terminal that standard output is, or the one that COLUMNS demands; None for a file or a pipe."""
    if os.environ.get("COLUMNS") or sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    return None


def fold(lines: Iterable[str]) -> list[str]:
    """The lines, those that are too long in several, which are indented further than the first."""
    width = _columns.get()
    folded: list[str] = []
    for line in lines:
        if width is None or len(line) <= width:
            folded.append(line)
            continue
        indent = line[: len(line) - len(line.lstrip())]
        folded += textwrap.wrap(
            line, width, subsequent_indent=indent + "    ", break_on_hyphens=False, drop_whitespace=True
        )
    return folded
