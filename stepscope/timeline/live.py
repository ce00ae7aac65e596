"""The always-on stream as it grows: rows in the order in which they came, so that their numbers stay."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stepscope.schema import NONE, Events, Kind

#: The lanes that the rows of one thread are divided into, from the top. Steps and phases have lanes of their
#: own because a region that spans several steps would push them off their row.
TRACKS = ("Steps", "Phases", "Annotations")
_TRACK_OF_KIND = np.full(256, 2, np.int64)
_TRACK_OF_KIND[[Kind.STEP, Kind.OVERHEAD]] = 0
_TRACK_OF_KIND[Kind.PHASE] = 1


class LiveRows:
    """Grows by tables of LIVE_SCHEMA."""

    def __init__(self) -> None:
        self._columns: dict[str, list[np.ndarray]] = {c: [] for c in ("ts_ns", "dur_ns", "kind", "step", "tid", "args")}
        self._names: list[np.ndarray] = []
        self.args_values: list[str] = []

    def append(self, table: pa.Table, names: Names) -> None:
        for column in ("ts_ns", "dur_ns", "kind", "step", "tid"):
            self._columns[column].append(table.column(column).to_numpy())
        texts = table.column("name").combine_chunks().dictionary_encode()
        self._names.append(names.ids(texts.dictionary.to_pylist())[texts.indices.to_numpy(zero_copy_only=False)])
        args = table.column("args").combine_chunks().dictionary_encode()
        index = args.indices.cast(pa.int64()).fill_null(NONE).to_numpy(zero_copy_only=False)
        self._columns["args"].append(np.where(index == NONE, NONE, index + len(self.args_values)))
        self.args_values += args.dictionary.to_pylist()

    def events(self, names: Names) -> tuple[Events, np.ndarray, np.ndarray]:
        """All rows as events without lanes, and of each row the thread and the track (index into ``TRACKS``)."""
        for column, parts in self._columns.items():
            self._columns[column] = [np.concatenate(parts)]
        self._names = [np.concatenate(self._names)]
        columns = {c: parts[0] for c, parts in self._columns.items()}
        tid = columns.pop("tid")
        events = Events.from_columns({**columns, "name": self._names[0]}, names.texts, [], self.args_values)
        return events, tid, _TRACK_OF_KIND[events.kind]


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
