"""The spans of one write of the recorder, as columns: what a source makes of what it kept, put in one order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from stepscope.schema import Kind


class Names:
    """Numbers the distinct names of one write."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def codes(self, names: Sequence[object]) -> np.ndarray:
        """The number of each name; what is no text is taken by its text."""
        texts: Sequence[Any] = names if set(map(type, names)) <= {str} else [str(name) for name in names]
        for text in dict.fromkeys(texts):
            self._codes.setdefault(text, len(self._codes))
        return np.fromiter(map(self._codes.__getitem__, texts), np.int64, len(texts))

    def texts(self) -> list[str]:
        """The names by their numbers, as a file can hold them: those of files may hold surrogates."""
        return [text if text.isascii() else text.encode("utf-8", "replace").decode() for text in self._codes]


@dataclass
class Columns:
    """Spans as columns of equal length. ``name`` holds numbers of ``Names``, ``args`` JSON; None where no span has any.

    ``told_ns`` says when each was told, and ascends: a step and its phases are told when the step ends.
    """

    kind: np.ndarray
    name: np.ndarray
    start_ns: np.ndarray
    dur_ns: np.ndarray
    step: np.ndarray
    tid: np.ndarray
    told_ns: np.ndarray
    args: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.kind)

    def of_kind(self, kind: Kind) -> np.ndarray:
        return self.kind == int(kind)

    def take(self, which: np.ndarray) -> Columns:
        """The spans at these places, or where a mask is set."""
        args = None if self.args is None else self.args[which]
        return Columns(**{name: getattr(self, name)[which] for name in _NUMBERS}, args=args)


_NUMBERS = ("kind", "name", "start_ns", "dur_ns", "step", "tid", "told_ns")


def merged(parts: Iterable[Columns]) -> Columns | None:
    """All spans in the order in which they were told; None if there are none."""
    parts = [part for part in parts if len(part)]
    if len(parts) < 2:
        return parts[0] if parts else None
    args = None
    if any(part.args is not None for part in parts):
        args = np.concatenate([np.full(len(part), None) if part.args is None else part.args for part in parts])
    whole = Columns(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in _NUMBERS}, args=args)
    if np.all(whole.told_ns[1:] >= whole.told_ns[:-1]):
        return whole
    return whole.take(np.argsort(whole.told_ns, kind="stable"))


def of_rows(rows: Sequence[tuple[Any, ...]], names: Names) -> Columns:
    """Rows of (kind, name, start_ns, dur_ns, step, tid, JSON or None), told in this order."""
    kinds, texts, starts, durs, steps, tids, args = zip(*rows, strict=True)
    start, dur = np.array(starts, np.int64), np.array(durs, np.int64)
    return Columns(
        *(np.array(kinds, np.uint8), names.codes(texts), start, dur, np.array(steps, np.int64)),
        tid=np.array(tids, np.int64),
        told_ns=np.maximum.accumulate(start + dur),
        args=None if not any(args) else np.array(args, object),
    )


def of_regions(texts: Sequence[object], numbers: bytes, names: Names) -> Columns:
    """Annotations: their names, and all starts, then all durations, steps and threads as int64."""
    start, dur, step, tid = np.frombuffer(numbers, np.int64).reshape(4, -1)
    kinds = np.full(len(start), int(Kind.ANNOTATION), np.uint8)
    return Columns(kinds, names.codes(texts), start, dur, step, tid, np.maximum.accumulate(start + dur))


def live_table(columns: Columns, names: Names, offset_ns: int) -> dict[str, pa.Array]:
    """As LIVE_SCHEMA has them, with ``offset_ns`` from the clock of the hooks to Unix; names as a dictionary."""
    args = pa.nulls(len(columns), pa.utf8()) if columns.args is None else pa.array(columns.args.tolist(), pa.utf8())
    return {
        "kind": pa.array(columns.kind),
        "name": pa.DictionaryArray.from_arrays(pa.array(columns.name), pa.array(names.texts(), pa.utf8())),
        "ts_ns": pa.array(columns.start_ns + offset_ns),
        "dur_ns": pa.array(columns.dur_ns),
        "step": pa.array(columns.step),
        "tid": pa.array(columns.tid),
        "args": args,
    }
