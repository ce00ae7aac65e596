"""What the times of answers count from."""

from __future__ import annotations

from stepscope.summary import Analysis
from stepscope.workers import Worker


def origin_ns(worker: Worker, analysis: Analysis | None) -> int:
    """The origin that ``Timeline.origin_ns`` has too: when the recording began, else the first event."""
    started_ns = (worker.meta or {}).get("started_ns")
    if isinstance(started_ns, int):
        return started_ns
    first_ns = analysis.summary["coverage"]["first_ns"] if analysis is not None else None
    return 0 if first_ns is None else first_ns
