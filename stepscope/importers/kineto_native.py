"""The C++ scanner of Kineto traces, where it was built: the same batches as ``kineto_rows``, made without the GIL.

It reads strictly valid stretches only and returns None for all others, which Python then reads; single args
and numbers that are valid but odd it leaves to Python too. Results do not depend on whether it is there.
``STEPSCOPE_PURE_PYTHON=1`` in the environment switches it off.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from stepscope.importers.kineto_args import ArgsTable, TextArgs, keeps_ids
from stepscope.importers.kineto_rows import OTHER, PHASES, Metadata, Rows
from stepscope.importers.text_columns import Coded, parse_one
from stepscope.schema import NONE

SWITCH_VARIABLE = "STEPSCOPE_PURE_PYTHON"

# As in native/kineto_events.h.
_HAS_TS, _HAS_DUR, _COLLECTIVE, _ODD_ARGS = 1, 2, 4, 8
_DROP_HOST, _DROP_DEVICE, _DROP_WHOLE = 1, 2, 4
#: The phase of each ASCII letter.
_PHASES = bytes(PHASES.get(chr(code), OTHER) for code in range(128))
#: Beyond this the scanner's positions would not fit.
_MOST_BYTES = 2**31 - 1

_extension: Any
try:
    _extension = importlib.import_module("stepscope.importers._kineto_scan")
except ImportError:
    _extension = None


def is_built() -> bool:
    """Whether the extension is there; else traces are read by Python alone, several times slower."""
    return _extension is not None


def native_scan() -> Callable[[bytes, int, int], Rows | None] | None:
    """The scanner, unless it was not built or is switched off."""
    return None if _extension is None or os.environ.get(SWITCH_VARIABLE) == "1" else _scan


def _scan(text: bytes, start: int, end: int) -> Rows | None:
    found = _extension.scan(text, start, end, _PHASES) if len(text) <= _MOST_BYTES else None
    if found is None:
        return None
    (seen, missing, other, metadata, odd_numbers, phase, flags, ts, dur, *texts,
     correlation, external_id, device, stream, sizes, memory, args) = found  # fmt: skip
    category, name, pid, tid = (
        Coded(np.frombuffer(codes, np.int32), distinct) for codes, distinct in zip(texts[::2], texts[1::2], strict=True)
    )
    flag = np.frombuffer(flags, np.uint8)
    columns = {"ts": np.frombuffer(ts, np.int64), "dur": np.frombuffer(dur, np.int64)}
    valid = {"ts": flag & _HAS_TS != 0, "dur": flag & _HAS_DUR != 0}
    if odd_numbers:
        columns = {column: values.copy() for column, values in columns.items()}
    for row, is_dur, number in odd_numbers:
        column = "dur" if is_dur else "ts"
        value = parse_one(number, 3)
        valid[column][row] = value is not None
        columns[column][row] = value or 0
    ids = {
        member: np.frombuffer(values, np.int64)
        for member, values in (
            ("correlation", correlation),
            ("external_id", external_id),
            ("device", device),
            ("stream", stream),
            ("bytes", sizes),
        )
    }
    return Rows(
        phase=np.frombuffer(phase, np.int8),
        category=category,
        name=name,
        pid=pid,
        tid=tid,
        ts=columns["ts"],
        ts_valid=valid["ts"],
        dur=columns["dur"],
        dur_valid=valid["dur"],
        args=_ScannedArgs(_Block(text, args, flag, ids, np.frombuffer(memory, np.int64).reshape(-1, 4))),
        seen=seen,
        missing=missing,
        other=other,
        metadata=[Metadata(name, pid, tid, args or b"null") for name, pid, tid, args in metadata],
    )


class _Block:
    """The args of a scanned stretch. ``members`` are columns of integers, ``args`` what the extension wants back."""

    def __init__(
        self,
        text: bytes,
        args: tuple[bytes, ...],
        flags: np.ndarray,
        members: dict[str, np.ndarray],
        memory: np.ndarray,
    ) -> None:
        self.text = text
        self.args = args
        self.flags = flags
        self.members = members
        self._memory = memory
        self.odd = np.flatnonzero(flags & _ODD_ARGS)
        if len(self.odd):
            texts = self.texts(self.odd)
            self.members = {member: values.copy() for member, values in members.items()}
            for member, values in self.members.items():
                values[self.odd] = texts.integers(member)

    def integers(self, member: str) -> np.ndarray:
        if member not in self.members:
            self.members[member] = self._sparse(member)
        return self.members[member]

    def texts(self, rows: np.ndarray) -> TextArgs:
        begins, sizes = (np.frombuffer(column, np.int32) for column in self.args[:2])
        spans = zip(begins[rows].tolist(), sizes[rows].tolist(), strict=True)
        return TextArgs([self.text[begin : begin + size] or b"null" for begin, size in spans])

    def _sparse(self, member: str) -> np.ndarray:
        """A column of the args of memory events."""
        values = np.full(len(self.flags), NONE, np.int64)
        place = {"memory_bytes": 1, "memory_device": 2, "memory_device_type": 3}.get(member)
        if place is not None:
            values[self._memory[:, 0]] = self._memory[:, place]
            if len(self.odd):
                values[self.odd] = self.texts(self.odd).integers(member)
        return values


class _ScannedArgs:
    """The args of some events of a block."""

    def __init__(self, block: _Block, rows: np.ndarray | None = None) -> None:
        self._block = block
        self._rows = np.arange(len(block.flags), dtype=np.int32) if rows is None else rows

    def take(self, rows: np.ndarray) -> _ScannedArgs:
        return _ScannedArgs(self._block, self._rows[rows])

    def mention_collective(self) -> np.ndarray:
        return self._block.flags[self._rows] & _COLLECTIVE != 0

    def integers(self, member: str, rows: np.ndarray | None = None) -> np.ndarray:
        return self._block.integers(member)[self._rows if rows is None else self._rows[rows]]

    def codes(self, table: ArgsTable, kind: np.ndarray, on_device: np.ndarray) -> np.ndarray:
        whole = keeps_ids(kind)
        odd = self._block.flags[self._rows] & _ODD_ARGS != 0
        drop = np.where(on_device, _DROP_HOST | _DROP_DEVICE, np.where(whole, _DROP_WHOLE, _DROP_HOST)).astype(np.uint8)
        # In the order in which TextArgs takes them, so that the codes are the same.
        groups = (on_device & ~odd, ~on_device & ~whole & ~odd, whole & ~odd)
        order = np.concatenate([np.flatnonzero(group) for group in groups])
        block = self._block
        rests, distinct = _extension.drop_members(
            block.text, block.args, self._rows[order].tobytes(), drop[order].tobytes()
        )
        codes = np.empty(len(self._rows), np.int32)
        codes[order] = table.codes(Coded(np.frombuffer(rests, np.int32), distinct))
        rows = np.flatnonzero(odd)
        if len(rows):
            codes[rows] = block.texts(self._rows[rows]).codes(table, kind[rows], on_device[rows])
        return codes
