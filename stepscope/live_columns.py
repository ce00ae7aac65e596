"""What one write of the recorder holds: the spans that were told, as columns in one order, and steps that are alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stepscope.schema import Kind
from stepscope.store import blocks
from stepscope.store.blocks import AlikeSteps


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


@dataclass
class Written:
    """What one write holds; for whoever looks on, too."""

    spans: Columns | None
    alike: Sequence[AlikeSteps] = ()

    @property
    def rows(self) -> int:
        return (0 if self.spans is None else len(self.spans)) + sum(steps.rows for steps in self.alike)

    def count(self, kind: Kind) -> int:
        """How many spans are of a kind that is neither steps nor phases."""
        return 0 if self.spans is None else int(np.count_nonzero(self.spans.of_kind(kind)))

    @cached_property
    def steps(self) -> tuple[np.ndarray, np.ndarray]:
        """Number and duration (ns) of each step of which all was seen."""
        parts = [(s.numbers, s.dur_ns) for s in self.alike]
        if self.spans is not None:
            spans, is_whole = self.spans, self.spans.of_kind(Kind.STEP)
            if spans.args is not None:  # they tell that a step is not complete
                is_whole &= spans.args == None  # noqa: E711  element by element
            parts.insert(0, (spans.step[is_whole], spans.dur_ns[is_whole]))
        if len(parts) == 1:
            return parts[0]
        number, dur_ns = zip(*parts, strict=True)
        return np.concatenate(number), np.concatenate(dur_ns)

    def tids(self) -> set[int]:
        """The threads that any of it ran on."""
        found = {steps.tid for steps in self.alike}
        if self.spans is not None:
            tid = self.spans.tid
            found.update(tid[:1].tolist(), tid[1:][tid[1:] != tid[:-1]].tolist())
        return found

    def without_phases_from(self, step: int) -> Written:
        """Without the phases of this step and the later ones."""
        spans = self.spans
        if spans is not None:
            spans = spans.take(~spans.of_kind(Kind.PHASE) | (spans.step < step))
        return Written(spans, [part for steps in self.alike for part in _phases_until(steps, step)])

    def block(self, names: Names, offset_ns: int) -> bytes:
        """As it is stored, with ``offset_ns`` from the clock of the hooks to Unix."""
        spans = self.spans
        if spans is None:
            return blocks.encode(None, [], None, self.alike, offset_ns)
        columns = {"kind": spans.kind, "name": spans.name, "ts_ns": spans.start_ns, "dur_ns": spans.dur_ns}
        columns |= {"step": spans.step, "tid": spans.tid}
        args = None if spans.args is None else spans.args.tolist()
        return blocks.encode(columns, names.texts(), args, self.alike, offset_ns)


def _phases_until(steps: AlikeSteps, end: int) -> Iterator[AlikeSteps]:
    is_before = steps.numbers < end
    for phases, which, marks in ((steps.phases, is_before, slice(None)), ((), ~is_before, [0, -1])):
        times = steps.times[which][:, marks]
        if len(times):
            yield AlikeSteps(steps.tid, phases, _runs(steps.numbers[which]), times.shape[1], times.tobytes())


def _runs(numbers: np.ndarray) -> list[tuple[int, int]]:
    """First and count of those that follow one another."""
    begins = np.flatnonzero(np.diff(numbers, prepend=numbers[:1] - 2) != 1)
    counts = np.diff(begins, append=len(numbers))
    return list(zip(numbers[begins].tolist(), counts.tolist(), strict=True))
