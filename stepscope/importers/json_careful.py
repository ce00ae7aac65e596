"""Takes the events of a damaged stretch of a trace one by one, so that a bad event costs only itself.

The text is split where an event seems to begin. Runs of such segments are parsed strictly, up to the
fault where that fails; a segment that fails alone is joined with the next ones (an argument may look like
an event), else repaired, else counted as lost.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

import msgspec
from msgspec import Raw

from stepscope.importers.json_repair import repair_object, repair_scalars


class RawEvent(msgspec.Struct, gc=False):
    """The members of one event as JSON texts; an absent member is an empty text (``args``: null)."""

    ph: Raw = Raw(b"")
    cat: Raw = Raw(b"")
    name: Raw = Raw(b"")
    pid: Raw = Raw(b"")
    tid: Raw = Raw(b"")
    ts: Raw = Raw(b"")
    dur: Raw = Raw(b"")
    args: Raw = Raw(b"null")


#: What strict parsing raises; nesting deeper than the parser's stack counts as damage.
Damage = (msgspec.DecodeError, RecursionError)
PADDING = b" \t\r\n\x00"
#: Text behind a bracket that must hold no event, for it to be the one that closes the list of events.
_LOOK_AHEAD_BYTES = 64 << 10
_PADDING_BLOCK = 64 << 10
#: Segments that one event may span before it is taken as damaged.
_MERGE_SEGMENTS = 64
#: A damaged event that is longer than this is no event with a fault but garbage, and is not put right.
_REPAIR_BYTES = 8 << 20

_decode_list = msgspec.json.Decoder(list[RawEvent]).decode
_decode_one = msgspec.json.Decoder(RawEvent).decode

#: How an event of any known writer begins; whether one does, what stands before it must tell ...
_START = re.compile(
    rb'\{\s*"(?:ph|cat|name|pid|tid|ts|dur|tts|tdur|id|id2|args|s|bp|sf|cname|scope|bind_id)"\s*:'
    # ... unless it tells its phase at once: in a valid string the quotes were escaped.
    rb'(?P<sure>(?<="ph":)\s*"[A-Za-z]"|\s*"[^"]*"\s*,\s*"ph"\s*:)?'
)
_BEFORE_EVENT = b",[}"
_PHASE = re.compile(rb'"ph"\s*:')
_FAULT_AT = re.compile(r"\(byte (\d+)\)")
_MEMBER = re.compile(rb',\s*["}]')
_DOCUMENT = re.compile(rb'\{\s*"(?:schemaVersion|deviceProperties|traceEvents|displayTimeUnit)"\s*:')


def decode_events(text: bytes, start: int, end: int) -> list[RawEvent]:
    """The events in [start, end), a stretch of a list of them; a comma may follow the last.

    Raises:
        Damage: anything is not strictly valid.
    """
    end = _without_padding(text, start, end)
    if end > start and text[end - 1] == ord(","):
        end -= 1
    return _decode_list(b"".join((b"[", memoryview(text)[start:end], b"]")))


def _without_padding(text: bytes, start: int, end: int) -> int:
    """The end of [start, end) without the padding at its end, which may be megabytes of zeros."""
    while end > start:
        tail = text[max(start, end - _PADDING_BLOCK) : end]
        kept = len(tail.rstrip(PADDING))
        end -= len(tail) - kept
        if kept:
            break
    return end


@dataclass
class Stretch:
    """What a stretch of text held. ``used`` is the index of the first byte not taken."""

    events: list[RawEvent] = field(default_factory=list)
    used: int = 0
    closed: bool = False  # the list of events ended; ``used`` is behind its bracket
    another: bool = False  # another document begins at ``used``, inside this one
    repaired: int = 0
    lost: int = 0
    cut: bool = False  # the text ended inside an event


def read_carefully(text: bytes, final: bool, bare_list: bool) -> Stretch:
    """Take the events of ``text``, which begins between two events of a list.

    Args:
        final: no text follows; else the last event, which may be incomplete, is left.
        bare_list: the document is the list itself, so that another document may follow its bracket.
    """
    return _Careful(text, final, bare_list).read()


class _Careful:
    def __init__(self, text: bytes, final: bool, bare_list: bool) -> None:
        self.text = text
        self.bare_list = bare_list
        self.out = Stretch()
        another = _DOCUMENT.search(text)
        self.out.another = another is not None
        self.final = final or another is not None
        self.limit = another.start() if another else len(text)
        self.starts = [match.start() for match in _START.finditer(text, 0, self.limit) if self._begins(match)]
        head = len(text) - len(text.lstrip(PADDING + b","))
        if text[head : head + 1] == b"{" and (not self.starts or self.starts[0] > head):
            self.starts.insert(0, head)
        self.stop = self.limit if self.final else self._last_event()

    def read(self) -> Stretch:
        out = self.out
        first = self.starts[0] if self.starts else self.limit
        if self._closes(0, first):
            return out
        out.used = min(first, self.stop)
        size = len(self.starts)
        while out.used < self.stop and not out.closed:
            run_end = self._after(out.used, size)
            try:
                out.events += decode_events(self.text, out.used, run_end)
            except Damage as damage:
                if size > 1:
                    size = min(self._segments_before(damage, out.used), size - 1) or size // 2
                elif not self._single(out.used):
                    break
            else:
                out.used = run_end
                size *= 2
        return out

    def _begins(self, match: re.Match[bytes]) -> bool:
        """Whether an event seems to begin at the match: it follows a separator, or there is no doubt."""
        if match["sure"]:
            return True
        before = match.start() - 1
        while before >= 0 and self.text[before] in PADDING:
            before -= 1
        return before < 0 or self.text[before] in _BEFORE_EVENT

    def _segments_before(self, damage: Exception, at: int) -> int:
        """How many segments from ``at`` on lie before the byte that a parser complains of, 0 if it names none."""
        fault = _FAULT_AT.search(str(damage))
        if not fault:
            return 0
        return bisect_right(self.starts, at + int(fault[1]) - 1) - bisect_right(self.starts, at)

    def _last_event(self) -> int:
        """Where the last event begins, which may go on in the text to come."""
        last = len(self.starts) - 1
        while last > 0 and not _PHASE.search(self.text, self.starts[last]):
            last -= 1
        return self.starts[last] if self.starts else 0

    def _after(self, at: int, segments: int) -> int:
        """Where the segment begins that lies ``segments`` after the one at ``at``."""
        index = bisect_right(self.starts, at) + segments - 1
        return min(self.starts[index], self.stop) if index < len(self.starts) else self.stop

    def _single(self, at: int) -> bool:
        """Take the event at ``at``, which is not strictly valid alone; False to wait for more text."""
        out, text = self.out, self.text
        end = self._after(at, 1)
        if self._merged(at) or self._with_scalars_repaired(at, end):
            return True
        while end < self.stop and not _PHASE.search(text, end, after := self._after(end, 1)):
            end = after  # every event tells its phase: what does not is a part of this one
        repaired = repair_object(text[at : min(end, at + _REPAIR_BYTES)])
        if not repaired.complete:
            at_end = self.final and end == self.limit
            out.cut |= at_end and not out.another
            out.lost += not at_end
            out.used = end
            return True
        after = at + repaired.end
        closes = self._closes(after, end)
        if closes is None:
            return False
        try:
            out.events.append(_decode_one(repaired.text))
            out.repaired += repaired.repairs > 0
        except Damage:
            out.lost += 1
        if closes:
            return True
        following = _START.search(text, after, end)
        out.used = following.start() if following else end
        out.lost += bool(text[after : out.used].strip(PADDING + b","))
        return True

    def _with_scalars_repaired(self, at: int, end: int) -> bool:
        """Try the event with its strings and numbers put right, which is nearly always enough."""
        if end - at > _REPAIR_BYTES:
            return False
        text, count = repair_scalars(self.text[at:end])
        if not count:
            return False
        try:
            self.out.events += decode_events(text, 0, len(text))
        except Damage:
            return False
        self.out.repaired += 1
        self.out.used = end
        return True

    def _merged(self, at: int) -> bool:
        """Try the event together with the segments behind it, as long as it only seems to be cut."""
        for segments in range(1, _MERGE_SEGMENTS):
            end = self._after(at, segments)
            try:
                self.out.events.append(_decode_one(self.text[at:end].rstrip(PADDING).removesuffix(b",")))
            except Damage as damage:
                if "truncated" not in str(damage) or end == self.stop:
                    return False
            else:
                self.out.used = end
                return True
        return False

    def _closes(self, at: int, stop: int) -> bool | None:
        """Whether the bracket that closes the list of events stands in [at, stop) behind separators only.

        If so, reading ends behind it. None if only more text can tell: such a bracket may as well close
        a list inside a damaged event, and then more events follow.
        """
        rest = self.text[at:stop].lstrip(PADDING + b",")
        if not rest.startswith(b"]"):
            return False
        end = stop - len(rest) + 1
        after = self.text[end : self.limit].lstrip(PADDING)
        if not self.bare_list and after.startswith(b"}"):
            after = after[1:].lstrip(PADDING)
            closes = not after or after[:1] in b"{["
        elif self.bare_list or not after:
            closes = not after or after[:1] in b"{["
        else:
            closes = _MEMBER.match(after) is not None and not _PHASE.search(after)
        if closes and not self.final and len(after) < _LOOK_AHEAD_BYTES:
            return None
        if closes:
            self.out.closed = True
            self.out.another = False
            self.out.used = end
        return closes
