"""Slices by text: a substring or a regular expression over names and arguments."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stepscope.errors import StepscopeError
from stepscope.schema import NONE
from stepscope.timeline import Timeline
from stepscope.timeline.segment import Segment

#: The most hits that one answer lists; the others are counted, and asked for by ``offset``.
MAX_HITS = 10_000
#: The most names that are listed.
MAX_NAMES = 200
MAX_PATTERN = 500
#: Only distinct texts are looked at, with an engine whose time is linear in their length (RE2): this is a bound
#: for millions of long ones.
_MOST_S = 10.0
_CHUNK = 20_000


class BadPattern(StepscopeError):
    """A search text that is too long, no regular expression, or takes too long."""


def search(
    timeline: Timeline,
    text: str,
    *,
    regex: bool = False,
    match_case: bool = False,
    in_names: bool = True,
    in_args: bool = False,
    exact: bool = False,
    offset: int = 0,
    limit: int = MAX_HITS,
    buckets: int = 0,
) -> dict[str, Any]:
    """The slices whose name, or whose arguments as JSON text, hold ``text``.

    Args:
        regex: ``text`` is a regular expression of RE2: no look-around, no back references.
        exact: the name is ``text`` and nothing more.
        offset, limit: which of the hits, in order of start, are listed.
        buckets: parts of the whole extent for which hits are counted in ``marks``.

    Returns:
        ``count``; the hits of the page as columns ``row``, ``lane``, ``depth``, ``start``, ``dur``; ``marks``, counts
        of hit starts along the extent; ``names`` with ``counts``, the names hit most often; ``name_count``.

    Raises:
        BadPattern: the pattern is at fault.
    """
    if not text or len(text) > MAX_PATTERN:
        raise BadPattern(f"A search text has 1 to {MAX_PATTERN} characters.")
    deadline = time.monotonic() + _MOST_S
    rule = Rule(text, regex, match_case, exact, deadline)
    named = rule.matches(timeline.names.texts) if in_names or exact else np.zeros(len(timeline.names.texts), bool)
    found: list[tuple[Segment, np.ndarray]] = []
    for segment in sorted(timeline.segments(), key=lambda s: s.base):
        events = segment.events
        hit = named[segment.name][events.name] if len(segment.name) else np.zeros(len(events), bool)
        if in_args and not exact and events.args_values:
            wanted = np.append(rule.matches(events.args_values), False)  # the last stands for NONE
            hit |= wanted[np.where(events.args == NONE, -1, events.args)]
        found.append((segment, np.flatnonzero(hit)))
    # Rows of hits lie in order of their start, which a stable sort makes use of.
    starts = np.concatenate([np.empty(0, np.int64), *(s.events.ts_ns[at] for s, at in found)])
    order = np.argsort(starts, kind="stable")
    counts = np.zeros(len(timeline.names.texts), np.int64)
    for segment, at in found:
        of_name = np.bincount(segment.events.name[at], minlength=len(segment.name))
        np.add.at(counts, segment.name, of_name)
    names = np.flatnonzero(counts)
    most = names[np.lexsort((names, -counts[names]))][:MAX_NAMES]
    page = _page(found, order[offset : offset + min(limit, MAX_HITS)])
    return {
        "origin_ns": str(timeline.origin_ns),
        "count": len(starts),
        "offset": offset,
        "row": page[0].tolist(),
        "lane": page[1].tolist(),
        "depth": page[2].tolist(),
        "start": (page[3] - timeline.origin_ns).tolist(),
        "dur": page[4].tolist(),
        "marks": _marks(timeline, starts, buckets),
        "names": [timeline.names.texts[i] for i in most.tolist()],
        "counts": counts[most].tolist(),
        "name_count": len(names),
    }


def _page(found: list[tuple[Segment, np.ndarray]], wanted: np.ndarray) -> np.ndarray:
    """Row, lane, depth, start and duration of some hits, given by their places among all."""
    begins = np.cumsum([0, *(len(at) for _, at in found)])
    page = np.zeros((5, len(wanted)), np.int64)
    for (segment, at), first in zip(found, begins.tolist(), strict=False):
        mine = np.flatnonzero((wanted >= first) & (wanted < first + len(at)))
        event = at[wanted[mine] - first]
        events = segment.events
        columns = (event + segment.base, segment.lane[event], segment.depth[event], events.ts_ns[event])
        page[:, mine] = np.stack([*columns, events.dur_ns[event]])
    return page


def _marks(timeline: Timeline, starts: np.ndarray, buckets: int) -> list[int]:
    begin, end = timeline.extent_ns()
    if buckets < 1 or end <= begin:
        return []
    # Divided first: a long extent times the buckets does not fit into 64 bits.
    at = ((starts - begin) / (end - begin) * buckets).astype(np.int64)
    return np.bincount(np.clip(at, 0, buckets - 1), minlength=buckets).tolist()


class Rule:
    """Tells which of some texts match."""

    def __init__(self, text: str, regex: bool, match_case: bool, exact: bool, deadline: float) -> None:
        if re.search("[\ud800-\udfff]", text):
            raise BadPattern("The search text holds half a character, which no name does; type it anew.")
        self._text = text
        self._exact = exact
        self._deadline = deadline
        self._options = {"pattern": text, "ignore_case": not match_case}
        self._match = pc.match_substring_regex if regex else pc.match_substring

    def matches(self, texts: list[str]) -> np.ndarray:
        """Mask of the texts that match.

        Raises:
            BadPattern: it is no regular expression, or the time is up.
        """
        if self._exact:
            return np.array([t == self._text for t in texts], dtype=bool)
        return np.concatenate([np.zeros(0, bool), *self._parts(texts)])

    def _parts(self, texts: list[str]) -> Iterator[np.ndarray]:
        for at in range(0, len(texts), _CHUNK):
            if time.monotonic() > self._deadline:
                raise BadPattern(
                    f"The search took more than {_MOST_S:.0f} s; search the names only, or for a longer text."
                )
            part = pa.array(texts[at : at + _CHUNK], pa.large_utf8())
            try:
                yield self._match(part, **self._options).to_numpy(zero_copy_only=False)
            except pa.ArrowInvalid as error:
                reason = str(error).removeprefix("Invalid regular expression: ")
                raise BadPattern(f"This is no regular expression (as RE2 has them): {reason}.") from error
