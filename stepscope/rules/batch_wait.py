"""Requests of inference wait for their batch."""

from __future__ import annotations

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding, Place

_SOONER = "Let batches begin sooner: a shorter batch_timeout_micros, or a max_batch_size that this load fills."
_FASTER = "Serve batches faster, or more at once: num_batch_threads, a faster model, another replica."
_SIZES = "Give allowed_batch_sizes that are nearer to the sizes that occur: the padding is computed too."
#: Batches follow one another without a pause on at least one thread where they take so much of the time.
_BUSY = 0.9


def batch_wait(case: Case) -> Finding | None:
    """Requests spend their time in the queue of a batch.

    Fires when that takes at least ``batch_wait_warning`` of the latency of the requests in deep windows, of which there
    are at least ``batch_wait_requests``. Where a batch is at work at almost every moment, batches are too slow for
    the load; else they wait for more requests to come.

    Thresholds:
        batch_wait_warning: our choice: below it, the batch or the host is the first thing to look at
        batch_wait_requests: our choice: of fewer the mean says little

    Gain: cannot be told: smaller batches that begin sooner are more batches.
    """
    found = case.worker.get("inference")
    batches = found["batches"] if found else None
    if not found or not batches or batches["wait_ns"] is None or found["deep"] < case.limits.batch_wait_requests:
        return None
    wait = next((part for part in found["parts"] or [] if part["part"] == "batch_wait"), None)
    if wait is None or wait["share"] < case.limits.batch_wait_warning:
        return None
    at_work = (batches["batches_per_s"] or 0) * batches["duration_ns"]["mean"] / 1e9
    padding = batches["padding_ratio"]
    why = "batches wait for more requests" if at_work < _BUSY else "batches are at work all the time"
    return Finding(
        rule="batch_wait",
        severity="warning",
        message=f"Requests spend {fmt.percent(wait['share'])} of their time waiting for a batch, "
        f"{fmt.time(wait['mean_ns'])} each: {why}.",
        evidence={
            "batch_wait_ns": wait["mean_ns"],
            "latency_mean_ns": found["latency_ns"]["mean"],
            "batches_at_work": at_work,
            "batch_duration_mean_ns": batches["duration_ns"]["mean"],
            "padding_ratio": padding,
        },
        fix=[_SOONER if at_work < _BUSY else _FASTER, *([_SIZES] if padding else [])],
        gain=None,
        places=[Place("annotation", "request")] if found["source"] == "annotation" else [],
        rests_on=("annotations",),
    )
