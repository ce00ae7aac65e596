"""The args of Kineto events: ids become columns, the rest a dictionary of distinct JSON texts.

Left out of the rest, besides what has a column: counters of the recorder that would make each text its
own (``Ev Idx``, ``Profiler Event Index``, ``Record function id``, ``Python id``, ``Python parent id``,
``external ts``; Python frames nest by time) and the bandwidth of a copy, which is bytes over duration.
``Sequence number`` and ``Fwd thread id`` stay: they join a backward operator to its forward one. Memory
events and counters keep all their args.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw

from stepscope.importers.json_repair import repair_object
from stepscope.importers.text_columns import Coded, Interner, nests_objects, parse_scaled, strip_members, text_column
from stepscope.schema import NONE, Kind

_COUNTERS = (
    "Ev Idx", "Profiler Event Index", "Record function id", "Python id", "Python parent id", "external ts"
)  # fmt: skip
_HOST_MEMBERS = ("correlation", "[Ee]xternal id", *_COUNTERS)
_DEVICE_MEMBERS = (*_HOST_MEMBERS, "device", "stream", "bytes", r"memory bandwidth \(GB/s\)")
_WHOLE_MEMBERS = ("Ev Idx",)
_WHOLE_KINDS = (Kind.MEMORY, Kind.COUNTER)

#: What tells that a kernel runs for a collective.
COLLECTIVE_NAME = '"Collective name"'
#: CUPTI's "no stream" in synchronisation records.
_NO_STREAM = 2**32 - 1
#: An object whose last members were taken out.
_LEFT_COMMA = re.compile(rb",\s*\}\s*$")


class _RawArgs(msgspec.Struct, gc=False):
    """The args that have columns, as JSON texts."""

    correlation: Raw = Raw(b"")
    external_id: Raw = msgspec.field(name="External id", default=Raw(b""))
    old_external_id: Raw = msgspec.field(name="external id", default=Raw(b""))
    device: Raw = Raw(b"")
    stream: Raw = Raw(b"")
    bytes: Raw = Raw(b"")
    memory_bytes: Raw = msgspec.field(name="Bytes", default=Raw(b""))
    memory_device: Raw = msgspec.field(name="Device Id", default=Raw(b""))
    memory_device_type: Raw = msgspec.field(name="Device Type", default=Raw(b""))


_decode_list = msgspec.json.Decoder(list[_RawArgs | None]).decode
_decode_one = msgspec.json.Decoder(_RawArgs).decode
_NO_ARGS = _RawArgs()


class Args(Protocol):
    """The args of some events."""

    def take(self, rows: np.ndarray) -> Args: ...

    def mention_collective(self) -> np.ndarray:
        """Mask of those that hold the string ``Collective name``."""
        ...

    def integers(self, member: str, rows: np.ndarray | None = None) -> np.ndarray:
        """A member (of ``_RawArgs``) of these rows, or of all, int64, ``NONE`` where it is no integer.

        ``external_id`` is ``old_external_id`` where the args have only that.
        """
        ...

    def codes(self, table: ArgsTable, kind: np.ndarray, on_device: np.ndarray) -> np.ndarray:
        """The index in ``table.values`` of what has no column, ``NONE`` where nothing is left, int32."""
        ...


class ArgsTable:
    """Distinct args across batches; ``on_repair`` is called for each text that was no valid JSON."""

    def __init__(self, on_repair: Callable[[], None]) -> None:
        self._on_repair = on_repair
        self._texts = Interner(self._compact)
        self._texts.add("")  # number 0: no args

    def values(self) -> list[str]:
        """The JSON texts that the codes stand for."""
        return self._texts.values[1:]

    def codes(self, rests: Coded) -> np.ndarray:
        """The codes of args from which the members with columns were taken out."""
        return self._texts.codes(rests) - 1

    def code(self, rest: bytes) -> int:
        return self._texts.add(self._compact(rest)) - 1

    def _compact(self, raw: bytes) -> str:
        """Compact JSON of an object of args, always valid; an empty text for an empty object."""
        raw = _LEFT_COMMA.sub(b"}", raw)
        try:
            text = msgspec.json.format(raw, indent=-1).decode()
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            text = repair_object(raw).text.decode("utf-8", "replace")
            self._on_repair()
        if text in ("{}", "null"):
            return ""
        return text if text.startswith("{") else f'{{"args":{text}}}'


class TextArgs:
    """Args as JSON texts."""

    def __init__(self, texts: Sequence[Raw | bytes]) -> None:
        self._texts = texts
        self._decoded: list[_RawArgs] | None = None

    def take(self, rows: np.ndarray) -> TextArgs:
        return TextArgs([self._texts[row] for row in rows.tolist()])

    def mention_collective(self) -> np.ndarray:
        return pc.match_substring(text_column(self._texts), COLLECTIVE_NAME).to_numpy(zero_copy_only=False)

    def integers(self, member: str, rows: np.ndarray | None = None) -> np.ndarray:
        if self._decoded is None:
            self._decoded = _decoded(self._texts)
        wanted = self._decoded if rows is None else [self._decoded[row] for row in rows.tolist()]
        values = _integers([getattr(each, member) for each in wanted])
        if member == "external_id":
            old = _integers([each.old_external_id for each in wanted])
            values = np.where(values != NONE, values, old)
        return values

    def codes(self, table: ArgsTable, kind: np.ndarray, on_device: np.ndarray) -> np.ndarray:
        args = text_column(self._texts)
        whole = keeps_ids(kind)
        nested = nests_objects(args) & ~whole
        codes = np.zeros(len(args), np.int32)
        for mask, members in (
            (on_device & ~nested, _DEVICE_MEMBERS),
            (~on_device & ~nested & ~whole, _HOST_MEMBERS),
            (whole, _WHOLE_MEMBERS),
        ):
            rows = np.flatnonzero(mask)
            if len(rows):
                codes[rows] = table.codes(Coded.of(strip_members(args.take(pa.array(rows)), members)))
        for row in np.flatnonzero(nested).tolist():
            members = _DEVICE_MEMBERS if on_device[row] else _HOST_MEMBERS
            codes[row] = table.code(_without(args[row].as_py(), members))
        return codes


def keeps_ids(kind: np.ndarray) -> np.ndarray:
    """Mask of the kinds whose args are kept whole."""
    return np.isin(kind, _WHOLE_KINDS)


def id_columns(
    args: Args, kind: np.ndarray, on_device: np.ndarray, lane_device: np.ndarray, lane_stream: np.ndarray
) -> dict[str, np.ndarray]:
    """Correlation, external id, device, stream and bytes of each event, int64, ``NONE`` where not said.

    Args:
        lane_device, lane_stream: what pid and tid of each event stand for, if it lies on a device lane; taken
            where the args do not say.
    """
    columns = {
        "correlation": args.integers("correlation"),
        "external_id": args.integers("external_id"),
        **{name: np.full(len(kind), NONE, np.int64) for name in ("device", "stream", "bytes")},
    }
    rows = np.flatnonzero(on_device)
    device, stream = args.integers("device", rows), args.integers("stream", rows)
    device = np.where(device != NONE, device, lane_device[rows])
    stream = np.where(stream != NONE, stream, lane_stream[rows])
    columns["device"][rows] = np.where(np.abs(device) < 2**31, device, NONE)
    columns["stream"][rows] = np.where(stream != _NO_STREAM, stream, NONE)
    columns["bytes"][rows] = args.integers("bytes", rows)

    rows = np.flatnonzero(kind == Kind.MEMORY)
    device = args.integers("memory_device", rows)
    on_host = args.integers("memory_device_type", rows) == 0
    columns["device"][rows] = np.where(on_host | (np.abs(device) >= 2**31), NONE, device)
    columns["bytes"][rows] = args.integers("memory_bytes", rows)
    return columns


def _decoded(texts: Sequence[Raw | bytes]) -> list[_RawArgs]:
    found: list[_RawArgs | None]
    try:
        found = _decode_list(b"[" + b",".join(texts) + b"]")
    except (msgspec.DecodeError, RecursionError):
        found = [_one(text) for text in texts]
    return [each or _NO_ARGS for each in found]


def _integers(texts: list[Raw]) -> np.ndarray:
    values, valid = parse_scaled(text_column(texts), 0)
    return np.where(valid, values, NONE)


def _one(text: Raw | bytes) -> _RawArgs | None:
    try:
        return _decode_one(text)
    except (msgspec.DecodeError, RecursionError):
        return None


def _without(args: bytes, members: Sequence[str]) -> bytes:
    """The object without its own members of these names (patterns), whatever it nests."""
    try:
        found = json.loads(args)
    except (ValueError, RecursionError):
        return args
    if not isinstance(found, dict):
        return args
    wanted = re.compile("|".join(members))
    return json.dumps({name: value for name, value in found.items() if not wanted.fullmatch(name)}).encode()
