"""Takes the events of a damaged stretch of a trace one by one, so that a bad event costs only itself.

The text is split where an event seems to begin. Runs of such segments are parsed strictly, halved on
failure; a segment that fails alone is joined with the next ones (an argument may look like an event),
else repaired, else counted as lost.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

import msgspec
from msgspec import Raw

from stepscope.importers.json_repair import repair_object


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
#: Segments that one event may span before it is taken as damaged.
MERGE_SEGMENTS = 64

_decode_list = msgspec.json.Decoder(list[RawEvent]).decode
_decode_one = msgspec.json.Decoder(RawEvent).decode

_FIRST_MEMBER = rb'\{\s*"(?:ph|cat|name|pid|tid|ts|dur|tts|tdur|id|id2|args|s|bp|sf|cname|scope|bind_id)"\s*:'
#: Where an event begins: behind another one, or unmistakably (in a valid string the quotes are escaped).
_START = re.compile(
    rb"(?<=[,\[}])\s*(?=" + _FIRST_MEMBER + rb")"
    rb'|(?=\{\s*(?:"name"\s*:\s*"[^"]*"\s*,\s*)?"ph"\s*:\s*"[A-Za-z]")'
)
_ANYWHERE = re.compile(_FIRST_MEMBER)
_PHASE = re.compile(rb'"ph"\s*:')
_MEMBER = re.compile(rb',\s*["}]')
_DOCUMENT = re.compile(rb'\{\s*"(?:schemaVersion|deviceProperties|traceEvents|displayTimeUnit)"\s*:')


def decode_events(text: bytes, start: int, end: int) -> list[RawEvent]:
    """The events in [start, end), a stretch of a list of them; a comma may follow the last.

    Raises:
        Damage: anything is not strictly valid.
    """
    while end > start and text[end - 1] in PADDING:
        end -= 1
    if end > start and text[end - 1] == ord(","):
        end -= 1
    return _decode_list(b"".join((b"[", memoryview(text)[start:end], b"]")))


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
        self.starts = [match.end() for match in _START.finditer(text, 0, self.limit)]
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
            except Damage:
                if size > 1:
                    size //= 2
                elif not self._single(out.used):
                    break
            else:
                out.used = run_end
                size *= 2
        return out

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
        if self._merged(at):
            return True
        out, text = self.out, self.text
        end = self._after(at, 1)
        while end < self.stop and not _PHASE.search(text, end, after := self._after(end, 1)):
            end = after  # every event tells its phase: what does not is a part of this one
        repaired = repair_object(text[:end], at)
        if not repaired.complete:
            at_end = self.final and end == self.limit
            out.cut |= at_end and not out.another
            out.lost += not at_end
            out.used = end
            return True
        closes = self._closes(repaired.end, end)
        if closes is None:
            return False
        try:
            out.events.append(_decode_one(repaired.text))
            out.repaired += repaired.repairs > 0
        except Damage:
            out.lost += 1
        if closes:
            return True
        following = _ANYWHERE.search(text, repaired.end, end)
        out.used = following.start() if following else end
        out.lost += bool(text[repaired.end : out.used].strip(PADDING + b","))
        return True

    def _merged(self, at: int) -> bool:
        """Try the event together with the segments behind it, as long as it only seems to be cut."""
        for segments in range(1, MERGE_SEGMENTS):
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
