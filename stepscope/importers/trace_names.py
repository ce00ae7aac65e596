"""What the name of a trace file says: that it may be one, whose rank, host and process it shows."""

from __future__ import annotations

import re
from typing import NamedTuple

_TRACE = re.compile(r".*\.(?:json|xplane\.pb)(?:\.gz)?$", re.IGNORECASE | re.DOTALL)
#: ``rank3``, ``rank_3``, ``rank.0``, ``rank0of8``: not part of a longer word, and no time stamp behind it.
_RANK = re.compile(r"(?<![A-Za-z])rank[._-]?(\d{1,6})(?:of(\d{1,6}))?(?![0-9A-Za-z])", re.IGNORECASE)
#: The name torch's own handler gives: ``<host>_<pid>.<time>.pt.trace.json``.
_TORCH_HANDLER = re.compile(r"(?P<host>.+)_(?P<pid>\d{1,10})\.\d{10,}\.pt\.trace\.json(?:\.gz)?$", re.DOTALL)
_XPLANE = re.compile(r"(?P<host>.+)\.xplane\.pb(?:\.gz)?$", re.DOTALL)


class NamedRank(NamedTuple):
    rank: int
    world_size: int | None


def may_be_trace(name: str) -> bool:
    return bool(_TRACE.match(name))


def rank_in_name(name: str) -> NamedRank | None:
    """The rank that a file name spells out; host names and time stamps are no ranks."""
    match = _RANK.search(name)
    return NamedRank(int(match[1]), int(match[2]) if match[2] else None) if match else None


def host_and_pid(name: str) -> tuple[str | None, int | None]:
    """Host and process of a name that torch's trace handler or TensorFlow's profiler gave."""
    if match := _TORCH_HANDLER.match(name):
        return match["host"], int(match["pid"])
    if match := _XPLANE.match(name):
        return match["host"], None
    return None, None
