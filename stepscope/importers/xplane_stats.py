"""The stats of a block of XEvents: picked out as columns, and gathered as distinct JSON objects."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np

from stepscope.importers.megascale_info import COLLECTIVE_INFO, group_size
from stepscope.importers.xplane_events import RawStats
from stepscope.importers.xplane_wire import Plane, Stat
from stepscope.protobuf_wire import signed
from stepscope.schema import NONE

_DOUBLE, _UINT64, _INT64, _TEXT, _BYTES, _REF = range(2, 8)

#: Stats that have a column, or that differ in every event (ids of iterators).
DROPPED = frozenset({"correlation_id", "step_num", "_r", "_pt", "_p", "_ct", "_c", "id", "parent_id", "iter_num",
                     "element_id"})  # fmt: skip


class StatTable:
    """Stats of ``events`` events of one plane, in the order of the events."""

    def __init__(self, plane: Plane, stats: RawStats, events: int, data: np.ndarray) -> None:
        self._plane = plane
        self._events = events
        self._event = stats.event
        self._id = stats.metadata_id
        self._kind = stats.kind
        self._value = stats.value.copy()
        self._texts: list[bytes] = []
        self._intern_texts(stats, data)
        self._ids_of_name: dict[str, list[int]] = {}
        for number, name in plane.stat_names.items():
            self._ids_of_name.setdefault(name, []).append(number)

    def has(self, name: str) -> np.ndarray:
        """Mask of the events with this stat, shape (events,)."""
        mask = np.zeros(self._events, bool)
        mask[self._event[self._rows(name)]] = True
        return mask

    def number(self, name: str) -> np.ndarray:
        """The integer value of a stat, int64 of shape (events,); ``NONE`` without one. Unsigned values
        beyond int64 keep their bits."""
        out = np.full(self._events, NONE, np.int64)
        rows = self._rows(name)
        rows = rows[np.isin(self._kind[rows], (_UINT64, _INT64))]
        out[self._event[rows]] = self._value[rows].view(np.int64)
        return out

    def by_text(self, name: str, convert: Callable[[str], int]) -> np.ndarray:
        """``convert`` of the text of a stat, int64 of shape (events,); ``NONE`` without the stat."""
        out = np.full(self._events, NONE, np.int64)
        rows = self._rows(name)
        code, first = self._distinct(rows)
        if len(first):
            table = np.array([convert(str(self._plain(int(row)))) for row in first], np.int64)
            out[self._event[rows]] = table[code]
        return out

    def not_finite(self, rows: np.ndarray) -> int:
        """How many stats of these events are NaN or infinite."""
        wanted = np.zeros(self._events, bool)
        wanted[rows] = True
        numbers = np.flatnonzero((self._kind == _DOUBLE) & wanted[self._event])
        return int(np.count_nonzero(~np.isfinite(self._value[numbers].view(np.float64))))

    def args(self, rows: np.ndarray, metadata_id: np.ndarray, whole: np.ndarray, known: dict[str, int]) -> np.ndarray:
        """Index of each event's JSON object in ``known`` (extended here), ``NONE`` without any, int32.

        Args:
            rows: the events to answer for.
            metadata_id: of every event; the stats of its metadata come first in the object.
            whole: events that keep the ``DROPPED`` stats too.
        """
        dropped_ids = [number for name in DROPPED for number in self._ids_of_name.get(name, ())]
        wanted = np.zeros(self._events, bool)
        wanted[rows] = True
        kept = np.flatnonzero((~np.isin(self._id, dropped_ids) | whole[self._event]) & wanted[self._event])
        code, _ = self._distinct(kept)
        signature = self._signatures(kept, code, metadata_id)

        distinct, first, inverse = np.unique(signature[rows], return_index=True, return_inverse=True)
        begin = np.searchsorted(self._event[kept], np.arange(self._events + 1))
        out = np.empty(len(distinct), np.int32)
        for i, row in enumerate(rows[first].tolist()):
            text = self._json(metadata_id[row], kept[begin[row] : begin[row + 1]])
            out[i] = known.setdefault(text, len(known)) if text else NONE
        return out[inverse] if len(distinct) else np.zeros(0, np.int32)

    def _signatures(self, kept: np.ndarray, code: np.ndarray, metadata_id: np.ndarray) -> np.ndarray:
        """A number for each event that is equal for events with equal stats."""
        described = np.isin(metadata_id, list(self._plane.event_stats))
        _, signature = np.unique(np.where(described, metadata_id, NONE), return_inverse=True)
        signature = signature.astype(np.int64)
        event = self._event[kept]
        place = np.arange(len(event)) - np.searchsorted(event, event)
        codes = int(code.max(initial=0)) + 1
        for nth in range(int(place.max(initial=-1)) + 1):
            at = np.flatnonzero(place == nth)
            _, combined = np.unique(signature[event[at]] * codes + code[at], return_inverse=True)
            signature[event[at]] = combined + signature.max() + 1
        return signature

    def _json(self, metadata_id: int, stats: np.ndarray) -> str:
        args = {}
        for stat in self._plane.event_stats.get(int(metadata_id), ()):
            name = self._stat_name(stat.metadata_id)
            args[name] = group_size(stat.value) if name == COLLECTIVE_INFO else self._plane.value(stat)
        for row in stats.tolist():
            args[self._stat_name(int(self._id[row]))] = self._plain(row)
        told = {k: v for k, v in args.items() if v is not None}
        return json.dumps(told, separators=(",", ":"), ensure_ascii=False) if told else ""

    def _stat_name(self, number: int) -> str:
        return self._plane.stat_names.get(number) or f"stat {number}"

    def _plain(self, row: int) -> int | float | str | None:
        kind, bits = int(self._kind[row]), int(self._value[row])
        value: int | float | bytes = bits
        if kind == _DOUBLE:
            value = float(self._value[row : row + 1].view(np.float64)[0])
        elif kind == _INT64:
            value = signed(bits)
        elif kind in (_TEXT, _BYTES):
            value = self._texts[bits] if kind == _TEXT else b""
        return self._plane.value(Stat(int(self._id[row]), kind, value))

    def _rows(self, name: str) -> np.ndarray:
        return np.flatnonzero(np.isin(self._id, self._ids_of_name.get(name, [])))

    def _distinct(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A number for each stat that is equal for equal stats, and a row for each number."""
        _, number = np.unique(self._id[rows], return_inverse=True)
        values, value = np.unique(self._value[rows], return_inverse=True)
        key = (number * 8 + self._kind[rows]) * (len(values) + 1) + value
        _, first, code = np.unique(key, return_index=True, return_inverse=True)
        return code, rows[first]

    def _intern_texts(self, stats: RawStats, data: np.ndarray) -> None:
        """Replace the places of texts by numbers of distinct texts."""
        index: dict[bytes, int] = {}
        for row in np.flatnonzero(self._kind == _TEXT).tolist():
            at = int(stats.value[row])
            text = data[at : at + int(stats.length[row])].tobytes()
            self._value[row] = index.setdefault(text, len(index))
        self._texts = list(index)
        self._value[self._kind == _BYTES] = 0
