"""Why devices and streams were idle between their first and last work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.capture import Capture
from stepscope.analysis.groups import Groups, apart
from stepscope.analysis.launches import Links
from stepscope.analysis.order import by_first
from stepscope.analysis.queues import reach
from stepscope.analysis.select import device_of, queue_of
from stepscope.schema import NONE

#: What HolisticTraceAnalysis uses in effect: its default is 30, said to be ns but compared with microseconds.
KERNEL_WAIT_THRESHOLD_NS = 30_000


@dataclass(frozen=True)
class Idle:
    """Gaps without work on one device, or on one of its streams, by what the work that ended each gap waited for.

    Gaps lie between the first and the last work of a deep window; several windows add up. The definition is
    that of HolisticTraceAnalysis, except that a gap begins where *all* earlier work has ended. The threshold is
    ``kernel_wait_threshold_ns``, 30 µs. At most 200 streams are listed; ``stream_count`` tells how many there are.

    Metrics:
        device: ordinal of the device
        stream: number of the stream; null for the device as a whole, and where the source names no stream
        events: device work: kernels, collectives, copies, fills
        span_ns: first start to last end
        busy_ns: covered by work
        idle_ns: the gaps; with busy_ns it sums to span_ns
        host_wait_ns: gaps that were ended by work whose launch call began after the gap did: the host was late
        kernel_wait_ns: other gaps below the threshold: the usual delay between two kernels in a queue
        other_ns: all other gaps: waiting for another stream or device, or the launch is not in the trace
        unlaunched_ns: of other_ns, what was ended by work whose launch call is not in the trace: why is not known
    """

    device: int
    stream: int | None
    events: int
    span_ns: int
    busy_ns: int
    idle_ns: int
    host_wait_ns: int
    kernel_wait_ns: int
    other_ns: int
    unlaunched_ns: int


def idle_by_device(
    capture: Capture, links: Links, kernel_wait_threshold_ns: int = KERNEL_WAIT_THRESHOLD_NS
) -> list[Idle]:
    """One entry a device that ran anything, in order of the ordinal: gaps in which none of its streams works.

    Args:
        capture: the deep windows.
        links: launches and runs of ``capture.events``.
        kernel_wait_threshold_ns: gaps as long as this or longer are not kernel wait.
    """
    device = device_of(capture.events, links.run)
    return _idle(capture, links, device, device, None, kernel_wait_threshold_ns)


def idle_by_stream(
    capture: Capture, links: Links, kernel_wait_threshold_ns: int = KERNEL_WAIT_THRESHOLD_NS
) -> list[Idle]:
    """One entry a stream that ran anything, in order of device and stream."""
    events = capture.events
    queue = np.unique(queue_of(events, links.run), return_inverse=True)[1]
    found = _idle(
        capture, links, queue, device_of(events, links.run), events.stream[links.run], kernel_wait_threshold_ns
    )
    return sorted(found, key=lambda i: (i.device, -1 if i.stream is None else i.stream, -i.span_ns, -i.busy_ns))


def _idle(
    capture: Capture,
    links: Links,
    group: np.ndarray,
    device: np.ndarray,
    stream: np.ndarray | None,
    threshold_ns: int,
) -> list[Idle]:
    """One entry a ``group`` (a number >= 0 a run), which has one device and stream."""
    if len(links.run) == 0:
        return []
    events = capture.events
    start = events.ts_ns[links.run]
    end = start + events.dur_ns[links.run]
    hit = links.call_of_run != NONE
    called = np.full(len(start), np.iinfo(np.int64).max)  # a launch that is not known tells nothing beside another
    called[hit] = events.ts_ns[links.call[links.call_of_run[hit]]]
    windowed = group * len(capture) + capture.window_of(links.run)
    order = by_first(apart(windowed, start, start)[0], called)
    windowed, start, end, called = windowed[order], start[order], end[order], called[order]
    first = np.ones(len(start), bool)
    first[1:] = windowed[1:] != windowed[:-1]
    since = reach(start, end, first)
    gap = np.maximum(start - since, 0)
    told = called != np.iinfo(np.int64).max
    late = (called > since) & told
    short = ~late & (gap < threshold_ns)

    windows = Groups(windowed)
    by_group = Groups(windows.keys // len(capture))
    last_end, first_start = windows.max(end), windows.min(start)
    other = ~late & ~short
    parts = [windows.sum(np.where(mask, gap, 0)) for mask in (late, short, other, other & ~told)]
    span, count, *gaps = (by_group.sum(c).tolist() for c in (last_end - first_start, windows.count, *parts))
    one = np.full(int(group.max()) + 1, NONE, np.int64)
    one[group] = np.arange(len(group))
    member = one[by_group.keys]
    devices = device[member].tolist()
    streams = [None] * len(devices) if stream is None else [s if s != NONE else None for s in stream[member].tolist()]
    return [
        Idle(d, s, n, whole, whole - sum(causes[:3]), sum(causes[:3]), *causes)
        for d, s, n, whole, *causes in zip(devices, streams, count, span, *gaps, strict=True)
    ]
