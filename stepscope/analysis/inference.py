"""Requests of inference and the batches that they went through: how many, how fast, and what they waited for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepscope.analysis.launches import Links
from stepscope.analysis.percentiles import nearest_rank
from stepscope.analysis.request_parts import PARTS, RequestParts, request_parts
from stepscope.analysis.requests import Requests, find_requests
from stepscope.schema import NONE, Events

#: The requests whose parts are told apart from those of all: one of so many, the slowest ones.
_SLOWEST = 10


@dataclass(frozen=True)
class LatencyPart:
    """One part of the latency of requests; the parts of a request sum to its latency.

    A moment goes to the first of device, to_device, from_device, batch_wait and batch that it is in; host_before and
    host_after are what lies before the first and after the last of these, host is the rest between them, or all of a
    request that has none of them.

    Metrics:
        part: host_before: on the host before the rest; batch_wait: in the queue, until its batch begins; batch: its
            batch is at work on the host; to_device and from_device: copies; device: kernels, other copies and fills of
            the request or of its batch; host: on the host in between; host_after: on the host after the rest
        mean_ns: mean over the requests in deep windows
        share: of their latency
        slowest_mean_ns: mean over the slowest tenth of them, at least one
    """

    part: str
    mean_ns: float
    share: float
    slowest_mean_ns: float


@dataclass(frozen=True)
class Batching:
    """The batches that a model server made of requests, in deep windows.

    Metrics:
        count: batches
        batches_per_s: batches / time from the start of the first one to the end of the last one, in each window
        duration_ns: duration of a batch on the host: mean and percentiles
        wait_ns: time that a task was in the queue, until its batch began: mean and percentiles over tasks; null where
            no task is known
        tasks_mean: tasks of a batch, of those of which any is known: a request is one, or several where it was split
        size_mean: items in a batch without padding; null where it is not told
        padded_mean: items in a batch with padding; null where it is not told
        padding_ratio: items added as padding / items of the batches with padding
        device_ns: mean of the time in which kernels ran that a batch launched; null without device work
    """

    count: int
    batches_per_s: float | None
    duration_ns: dict[str, float]
    wait_ns: dict[str, float] | None
    tasks_mean: float | None
    size_mean: float | None
    padded_mean: float | None
    padding_ratio: float | None
    device_ns: float | None


@dataclass(frozen=True)
class Inference:
    """Requests of inference of one worker, null where nothing marks any.

    A request is, the first of these that was recorded: a region named "request", with or without a number
    ("request 17"), which lies in no other of its thread, of the always-on stream or of a deep window, in an XPlane file
    also one with ``_r=-1``; a call of a model server (BatchingSessionRun, TfrtModelRun, ServingModelRun; SessionRun and
    RunGraph where there are no training steps), which lies in no other of its thread; what TensorFlow put into the
    queue of a batch, until the last of its batches was done.

    Metrics:
        source: which of these: annotation, the name of the call, or batch task
        count: requests
        requests_per_s: requests / span_ns
        span_ns: from the start of the first request to the end of the last one: of the whole recording where the
            always-on stream has requests, else summed over the deep windows
        in_flight: requests that were under way at once, on average: sum of their latencies / span_ns
        latency_ns: from the start of a request to its end: mean, percentiles, the shortest and the longest
        deep: requests in deep windows, of which the parts are known
        late: of these, such that ended before device work which they launched: the latency lacks it
        parts: what the latency consists of, in the order of time; null without requests in deep windows
        batches: the batches; null without any
    """

    source: str
    count: int
    requests_per_s: float | None
    span_ns: int
    in_flight: float | None
    latency_ns: dict[str, float]
    deep: int
    late: int
    parts: list[LatencyPart] | None
    batches: Batching | None


def inference(live: Events, deep: Events, bounds: np.ndarray, links: Links) -> Inference | None:
    """None where nothing marks a request.

    Args:
        live: the always-on stream.
        deep: the deep windows, one after the other.
        bounds: where each window begins in ``deep``, and the end (``Capture.bounds``).
        links: launches and runs of ``deep``.
    """
    requests = find_requests(live, deep)
    if len(requests) == 0:
        return None
    parts = request_parts(requests, links)
    latency = requests.latency_ns
    window = np.searchsorted(bounds, requests.row, "right")
    window[:] = 0 if requests.from_live.any() else window
    span = _span_ns(window, requests.start_ns, requests.end_ns)
    return Inference(
        source=requests.source,
        count=len(requests),
        requests_per_s=len(requests) * 1e9 / span if span else None,
        span_ns=span,
        in_flight=int(latency.sum()) / span if span else None,
        latency_ns=_times(latency),
        deep=len(parts.request),
        late=int(np.count_nonzero(parts.late)),
        parts=_parts(latency[parts.request], parts) if len(parts.request) else None,
        batches=_batching(requests, parts, bounds) if len(requests.batches) else None,
    )


def _span_ns(window: np.ndarray, start_ns: np.ndarray, end_ns: np.ndarray) -> int:
    """From the first start to the last end, summed over the windows."""
    return sum(int(end_ns[window == w].max() - start_ns[window == w].min()) for w in np.unique(window).tolist())


def _times(values: np.ndarray) -> dict[str, float]:
    names = ("p50", "p90", "p95", "p99")
    found = dict(zip(names, nearest_rank(values, 50, 90, 95, 99), strict=True))
    return {"mean": float(values.mean()), **found, "min": int(values.min()), "max": int(values.max())}


def _parts(latency: np.ndarray, parts: RequestParts) -> list[LatencyPart]:
    slowest = np.argsort(-latency, kind="stable")[: max(len(latency) // _SLOWEST, 1)]
    total = int(latency.sum())
    out = []
    for name in PARTS:
        ns = parts.ns[name]
        if ns is not None:
            share = int(ns.sum()) / total if total else 0.0
            out.append(LatencyPart(name, float(ns.mean()), share, float(ns[slowest].mean())))
    return out


def _batching(requests: Requests, parts: RequestParts, bounds: np.ndarray) -> Batching:
    events, batches = requests.deep, requests.batches
    rows, of = batches.rows, batches.batch_of_task
    start, end = events.ts_ns[rows], events.ends_ns(rows)
    span = _span_ns(np.searchsorted(bounds, rows, "right"), start, end)
    waits = batch_waits(requests)
    known = (batches.size != NONE) & (batches.padded != NONE)
    padded = int(batches.padded[known].sum())
    return Batching(
        count=len(rows),
        batches_per_s=len(rows) * 1e9 / span if span else None,
        duration_ns=_times(end - start),
        wait_ns=_times(waits) if len(waits) else None,
        tasks_mean=_mean(np.unique(of, return_counts=True)[1]),
        size_mean=_mean(batches.size[batches.size != NONE]),
        padded_mean=_mean(batches.padded[batches.padded != NONE]),
        padding_ratio=(padded - int(batches.size[known].sum())) / padded if padded else None,
        device_ns=None if parts.batch_device_ns is None else _mean(parts.batch_device_ns),
    )


def batch_waits(requests: Requests) -> np.ndarray:
    """How long each task was in the queue, ns of shape (tasks,)."""
    events, batches = requests.deep, requests.batches
    begun = events.ts_ns[batches.rows[batches.batch_of_task]]
    return np.maximum(begun - events.ts_ns[batches.task], 0)


def _mean(values: Sequence[int] | np.ndarray) -> float | None:
    return float(np.mean(values)) if len(values) else None
