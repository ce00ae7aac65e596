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
#: Segments that one event may span before it is taken as damaged.
MERGE_SEGMENTS = 64

_decode_list = msgspec.json.Decoder(list[RawEvent]).decode
_decode_one = msgspec.json.Decoder(RawEvent).decode

_FIRST_MEMBER = rb'\{\s*"(?:ph|cat|name|pid|tid|ts|dur|tts|tdur|id|id2|args|s|bp|sf|cname|scope|bind_id)"\s*:'
_AFTER_EVENT = re.compile(rb"(?<=[,\[}])\s*(?=" + _FIRST_MEMBER + rb")")
_ANYWHERE = re.compile(_FIRST_MEMBER)
_DOCUMENT = re.compile(rb'\{\s*"(?:schemaVersion|deviceProperties|traceEvents|displayTimeUnit)"\s*:')


def decode_events(text: bytes) -> list[RawEvent]:
    """The events of a text that is a list of them without its brackets; a comma may follow the last.

    Raises:
        Damage: anything is not strictly valid.
    """
    return _decode_list(b"[" + text.rstrip(PADDING).removesuffix(b",") + b"]")


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


def list_end(text: bytes, at: int, stop: int, bare_list: bool) -> int | None:
    """The index behind the bracket that closes the list, if only separators stand before it."""
    rest = text[at:stop].lstrip(PADDING + b",")
    if not rest.startswith(b"]"):
        return None
    after = rest[1:].lstrip(PADDING)
    if not after or after[:1] == b"}" or re.match(rb",\s*[\"}]", after) or (bare_list and after[:1] in b"{["):
        return stop - len(rest) + 1
    return None


class _Careful:
    def __init__(self, text: bytes, final: bool, bare_list: bool) -> None:
        self.text = text
        self.bare_list = bare_list
        self.out = Stretch()
        another = _DOCUMENT.search(text)
        self.out.another = another is not None
        self.final = final or another is not None
        self.limit = another.start() if another else len(text)
        self.starts = [match.end() for match in _AFTER_EVENT.finditer(text, 0, self.limit)]
        head = len(text) - len(text.lstrip(PADDING + b","))
        if text[head : head + 1] == b"{" and (not self.starts or self.starts[0] > head):
            self.starts.insert(0, head)
        # Without more text the last event runs to the limit; with more, it may go on there.
        self.stop = self.limit if self.final else (self.starts[-1] if self.starts else 0)

    def read(self) -> Stretch:
        out, text = self.out, self.text
        at = self.starts[0] if self.starts else self.limit
        end = list_end(text, 0, at, self.bare_list)
        if end is None and not self.starts:
            end = list_end(text, 0, self.limit, self.bare_list)
        if end is not None:
            self._close(end)
            return out
        out.used = at if self.final else min(at, self.stop)
        size = len(self.starts)
        while out.used < self.stop and not out.closed:
            run_end = self._after(out.used, size)
            try:
                out.events += decode_events(text[out.used : run_end])
            except Damage:
                if size > 1:
                    size //= 2
                elif not self._single(out.used):
                    break
            else:
                out.used = run_end
                size *= 2
        return out

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
        repaired = repair_object(text[:end], at)
        if not repaired.complete:
            at_end = self.final and end == self.limit
            out.cut |= at_end and not out.another
            out.lost += not at_end
            out.used = end
            return True
        try:
            out.events.append(_decode_one(repaired.text))
            out.repaired += repaired.repairs > 0
        except Damage:
            out.lost += 1
        closed = list_end(text, repaired.end, self.limit, self.bare_list)
        if closed is not None:
            self._close(closed)
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

    def _close(self, end: int) -> None:
        self.out.closed = True
        self.out.another = False
        self.out.used = end
