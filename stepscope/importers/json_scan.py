"""Finds the events of a Chrome or Kineto trace in a stream of bytes, in batches.

The fast path cuts the stream between two events and parses megabytes at once, strictly. Only where that
fails are events taken one by one (``json_careful``). A text that begins at an event and is strictly
valid proves that it was cut between events, so a wrong guess at a cut costs time and nothing else.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Generic, TypeVar

from stepscope.importers import bytes_source
from stepscope.importers.blocks import made_ahead
from stepscope.importers.bytes_source import ByteSource
from stepscope.importers.json_careful import PADDING, Damage, RawEvent, decode_events, read_carefully
from stepscope.importers.json_repair import repair_object
from stepscope.schema import Notes

BOM = b"\xef\xbb\xbf"
_EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
_CLOSED_BEFORE = re.compile(rb"\}\s*,\s*\Z")
#: Tries to find the cut between two events from the right before events are taken one by one.
_CUT_TRIES = 8
_TAIL_BYTES = 1 << 20
#: No event is this long: what goes on for longer is garbage, and is not kept for its end to come.
_EVENT_BYTES = 64 << 20
#: No header is this long; a large file of another kind is not read to its end.
_HEADER_BYTES = 128 << 20
#: What is put right of a header that is damaged: its begin.
_HEADER_REPAIR_BYTES = 8 << 20
REPAIRED = "Text that is no valid JSON was put right; names may look odd."

T = TypeVar("T")


class NotATrace(Exception):
    """The bytes are no JSON document with trace events; the message says what is wrong."""


class EventScanner(Generic[T]):
    """Reads one trace. After ``batches`` is exhausted, ``header`` holds the document's other members
    (from before and after the events) and ``notes`` what was repaired, lost or cut.

    Args:
        scan: another way to read a stretch [start, end) of a text, which begins between two events; it returns
            None wherever it is not sure that strict parsing would accept the stretch.
    """

    def __init__(self, source: ByteSource, scan: Callable[[bytes, int, int], T | None] | None = None) -> None:
        self.header: dict[str, Any] = {}
        self.notes = Notes()
        self._source = source
        self._scan = scan
        self._pieces = chain.from_iterable(made_ahead(source.blocks()))
        self._buffer = b""
        self._at_end = False
        self._bare_list = False

    def batches(self) -> Iterator[list[RawEvent] | T]:
        """Lists of events in file order, or what ``scan`` made of them.

        Raises:
            NotATrace: there is no list of events.
        """
        self._find_events()
        closed = another = cut = False
        while not closed and not another:
            if (events := self._fast()) is not None:
                yield events
                self._read()
                continue
            stretch = read_carefully(self._buffer, self._at_end, self._bare_list)
            if not stretch.used and not self._at_end and len(self._buffer) > _EVENT_BYTES:
                stretch = read_carefully(self._buffer[:-_TAIL_BYTES], True, self._bare_list)
                stretch.lost, stretch.cut = stretch.lost + stretch.cut, False
            yield stretch.events
            self._note_damage(stretch.repaired, stretch.lost)
            self._buffer = self._buffer[stretch.used :]
            closed, another, cut = stretch.closed, stretch.another, stretch.cut
            if self._at_end:
                break
            if not closed and not another:
                self._read(at_least=0 if stretch.used else len(self._buffer))
        if closed:
            another = self._read_tail()
        if another:
            self.notes.add(
                "concatenated", "The file holds more than one trace; only the first was read. Split the file."
            )
        damage = self._damage()
        if cut or not closed or damage:
            reason = damage or "it ends inside the list of events"
            self.notes.add("truncated", f"The file is incomplete ({reason}); everything before the fault was kept.")

    # Reading

    def _read(self, at_least: int = 0) -> bool:
        """Append a block, or ``at_least`` bytes if they are more; False at the end of the file."""
        wanted = len(self._buffer) + max(at_least, bytes_source.BLOCK_BYTES)
        pieces, size = [self._buffer], len(self._buffer)
        while size < wanted and not self._at_end:
            piece = next(self._pieces, None)
            if piece is None:
                self._at_end = True
            else:
                pieces.append(piece)
                size += len(piece)
        self._buffer = b"".join(pieces)
        return len(pieces) > 1

    def _find_events(self) -> None:
        while len(self._buffer.strip(PADDING)) < 64 and self._read():
            pass
        self._buffer = self._buffer.removeprefix(BOM).lstrip(PADDING)
        if self._buffer.startswith(b"["):
            first = self._buffer[1:].lstrip(PADDING)
            if first and first[:1] not in b"{]":
                raise NotATrace("it is a JSON list, but not of events")
            self._bare_list = True
            self._buffer = self._buffer[1:]
            return
        if not self._buffer.startswith(b"{"):
            raise NotATrace("it does not begin like one" + self._but())
        searched = 0
        while not (match := _EVENTS_KEY.search(self._buffer, searched)):
            searched = max(0, len(self._buffer) - 64)
            if len(self._buffer) > _HEADER_BYTES:
                raise NotATrace(f"its first {_HEADER_BYTES >> 20} MB hold no traceEvents")
            if not self._read(at_least=len(self._buffer)):
                raise NotATrace("it has no traceEvents" + self._but())
        self._add_members(self._buffer[: match.start()].rstrip(PADDING).removesuffix(b",") + b"}")
        self._buffer = self._buffer[match.end() :]

    def _damage(self) -> str | None:
        """What is wrong with the file as far as it was read here; unpacking, which is ahead, may know more."""
        return self._source.damage if self._at_end else None

    def _but(self) -> str:
        damage = self._damage()
        return f", {damage}" if damage else ""

    def _fast(self) -> list[RawEvent] | T | None:
        """The events up to the last boundary in the buffer; None where that is not plainly right."""
        at = len(self._buffer)
        for _ in range(_CUT_TRIES):
            at = self._boundary(at)
            if at <= 0:
                break
            try:
                events = self._strict(at)
            except Damage as damage:
                if "truncated" in str(damage):
                    continue  # this boundary lies inside an event
                break
            self._buffer = self._buffer[at:]
            return events
        return None

    def _strict(self, end: int) -> list[RawEvent] | T:
        """The events in the buffer up to ``end``.

        Raises:
            Damage: anything is not strictly valid.
        """
        scanned = self._scan(self._buffer, 0, end) if self._scan else None
        return decode_events(self._buffer, 0, end) if scanned is None else scanned

    def _boundary(self, before: int) -> int:
        """Where the last object begins that follows a closed one and a comma, else -1."""
        for _ in range(1000):
            before = self._buffer.rfind(b"{", 0, before)
            if before < 0 or _CLOSED_BEFORE.search(self._buffer, max(0, before - 200), before):
                return before
        return -1

    # The document around the events

    def _read_tail(self) -> bool:
        """Read the members behind the events; True if another document follows."""
        if self._bare_list:
            while not self._buffer.strip(PADDING) and self._read():
                pass
            return self._buffer.lstrip(PADDING)[:1] in (b"{", b"[")
        opening = b'{"":0'
        while not self._at_end and len(self._buffer) < _TAIL_BYTES:
            self._read()
        while (end := self._add_members(opening + self._buffer)) is None and len(self._buffer) <= _HEADER_BYTES:
            if not self._read(len(self._buffer)):
                break
        if end is None:
            self.notes.add("truncated", "The file ends inside its header; all events were kept.")
            return False
        rest = self._buffer[end - len(opening) :]
        return rest.lstrip(PADDING + b"}")[:1] in (b"{", b"[")

    def _add_members(self, text: bytes) -> int | None:
        """Add the members of the object ``text`` begins with to the header.

        Returns:
            Where the object ended; None if the text ended first (its members are added all the same).
        """
        end: int | None
        try:
            decoded = text.decode()
            members, characters = _header_decoder.raw_decode(decoded)
            end = len(decoded[:characters].encode())
        except (ValueError, RecursionError):
            repaired = repair_object(text[:_HEADER_REPAIR_BYTES])
            end = repaired.end if repaired.complete else None
            try:
                members = _header_decoder.decode(repaired.text.decode())
            except (ValueError, RecursionError):
                members = {}
            if repaired.complete and repaired.repairs:
                self._note_damage(repaired=1, lost=0)
        members.pop("", None)
        self.header |= _encodable(members)
        return end

    def _note_damage(self, repaired: int, lost: int) -> None:
        self.notes.add("repaired_text", REPAIRED, repaired)
        self.notes.add("damaged_event", "Event records that cannot be read were left out.", lost)


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _encodable(members: dict[str, Any]) -> dict[str, Any]:
    """The same members; lone surrogates, which no file can hold, replaced."""
    text = json.dumps(members, ensure_ascii=False)
    try:
        text.encode()
        return members
    except UnicodeEncodeError:
        return json.loads(text.encode("utf-8", "replace"))


_header_decoder = json.JSONDecoder(parse_constant=lambda _: None, parse_float=_finite)
