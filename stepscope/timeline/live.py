"""The always-on stream as it grows, in segments that follow one another in time: what came long ago is not laid out
again. Its rows are numbered in the order in which they came, so that their numbers stay."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from stepscope.schema import COLUMN_DTYPES, NONE, Events
from stepscope.timeline.lanes import Lanes
from stepscope.timeline.segment import Segment

#: Rows of the always-on stream are numbered from here, rows of deep windows from 0: both grow at their end.
LIVE_BASE = 1 << 30
#: So many rows are laid out anew whenever some are added; of more, those are closed that no later one can reach.
_OPEN_ROWS = 1 << 16
#: No larger segments are put together: laying one out takes half a second, should a late row reach into it.
_LARGEST_ROWS = 2_000_000


class _Part(NamedTuple):
    events: Events
    lane: np.ndarray
    end_ns: int  # when the last of its slices is over

    @classmethod
    def of(cls, events: Events, lane: np.ndarray) -> _Part:
        return cls(events, lane, int((events.ts_ns + np.maximum(events.dur_ns, 1)).max()))


class LiveStream:
    """Grows by tables of LIVE_SCHEMA. ``segments`` is replaced, never changed: others may be walking it."""

    def __init__(self, names: Names, lanes: Lanes) -> None:
        self.segments: list[Segment] = []
        self._parts: list[_Part] = []  # of the segments; the last one is open
        self._names = names
        self._lanes = lanes
        self._args_values: list[str] = []

    def append(self, table: pa.Table) -> None:
        """Add at least one row."""
        events, tid = self._events(table)
        added = _Part.of(events, self._lanes.of_live(events, tid))
        begin_ns = int(events.ts_ns.min())
        kept = max(len(self._parts) - 1, 0)
        while kept and self._parts[kept - 1].end_ns > begin_ns:
            kept -= 1
        parts, changed = self._parts[:kept], self._joined([*self._parts[kept:], added])
        cut = _last_cut(changed.events) if len(changed.events) > _OPEN_ROWS else 0
        if cut:
            closed = self._piece(changed, slice(0, cut))
            # As digits of a binary number carry: so there are few segments, and a row is moved few times.
            while parts and _may_join(parts[-1], closed):
                closed = self._joined([parts.pop(), closed])
            parts = [*parts, closed]
            changed = self._piece(changed, slice(cut, None))
        self._parts = [*parts, changed]
        self._lay_out()

    def _lay_out(self) -> None:
        had = {segment.base: segment for segment in self.segments}
        segments = []
        base = LIVE_BASE
        name = np.arange(len(self._names.texts), dtype=np.int32)
        for part in self._parts:
            known = had.get(base)
            same = known is not None and known.events is part.events
            segments.append(known if same and known else Segment(part.events, part.lane, name, base))
            base += len(part.events)
        self.segments = segments

    def _events(self, table: pa.Table) -> tuple[Events, np.ndarray]:
        """The rows as events without lanes, and the thread of each."""
        columns = {c: table.column(c).to_numpy() for c in ("ts_ns", "dur_ns", "kind", "step")}
        texts = table.column("name").combine_chunks().dictionary_encode()
        name = self._names.ids(texts.dictionary.to_pylist())[texts.indices.to_numpy(zero_copy_only=False)]
        args = table.column("args").combine_chunks().dictionary_encode()
        index = args.indices.cast(pa.int64()).fill_null(NONE).to_numpy(zero_copy_only=False)
        columns |= {"name": name, "args": np.where(index == NONE, NONE, index + len(self._args_values))}
        self._args_values += args.dictionary.to_pylist()
        return self._of_columns(columns), table.column("tid").to_numpy()

    def _of_columns(self, columns: dict[str, np.ndarray]) -> Events:
        return Events.from_columns(columns, self._names.texts, [], self._args_values)

    def _joined(self, parts: list[_Part]) -> _Part:
        if len(parts) == 1:
            return parts[0]
        columns = {c: np.concatenate([getattr(part.events, c) for part in parts]) for c in COLUMN_DTYPES}
        return _Part(
            self._of_columns(columns),
            np.concatenate([part.lane for part in parts]),
            max(part.end_ns for part in parts),
        )

    def _piece(self, part: _Part, rows: slice) -> _Part:
        columns = {c: getattr(part.events, c)[rows].copy() for c in COLUMN_DTYPES}
        return _Part.of(self._of_columns(columns), part.lane[rows].copy())


def _may_join(before: _Part, closed: _Part) -> bool:
    sizes = len(before.events), len(closed.events)
    return sizes[0] < 2 * sizes[1] and sum(sizes) <= _LARGEST_ROWS


def _last_cut(events: Events) -> int:
    """The last row (in the order in which they came) that no slice before it reaches, nor one from it on reaches back;
    0 without one. Both sides are laid out as the whole would be."""
    over = np.maximum.accumulate(events.ts_ns + np.maximum(events.dur_ns, 1))
    begins = np.minimum.accumulate(events.ts_ns[::-1])[::-1]
    cuts = np.flatnonzero(over[:-1] <= begins[1:])
    return int(cuts[-1]) + 1 if len(cuts) else 0


class Names:
    """The texts of a timeline, each once; ids stay while texts are added."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._id: dict[str, int] = {}

    def ids(self, texts: list[str]) -> np.ndarray:
        """The ids of texts, new ones added."""
        for text in texts:
            if text not in self._id:
                self._id[text] = len(self.texts)
                self.texts.append(text)
        return np.array([self._id[t] for t in texts], dtype=np.int32)

    def find(self, text: str) -> int | None:
        return self._id.get(text)
