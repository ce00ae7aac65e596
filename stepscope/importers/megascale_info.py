"""What the profiler of TPUs attaches to a transfer between slices: who takes part in it."""

from __future__ import annotations

from stepscope.protobuf_wire import LENGTH, Fault, fields

#: The stat of an operation's metadata that holds a serialised DcnCollectiveInfoProto.
COLLECTIVE_INFO = "dcn_collective_info"


def group_size(message: object) -> int | None:
    """Endpoints of the first group of a DcnCollectiveInfoProto, 2 of a transfer from one to one; None if not told."""
    if not isinstance(message, bytes):
        return None
    try:
        for f in fields(message, 0, len(message)):
            if f.number == 2 and f.wire == LENGTH:  # endpoint_groups
                return sum(each.number == 1 for each in fields(message, f.start, f.end)) or None
            if f.number == 3 and f.wire == LENGTH:  # one_to_one_groups
                return 2
    except Fault:
        return None
    return None
