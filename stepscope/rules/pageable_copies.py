"""Batches are copied from pageable memory."""

from __future__ import annotations

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding


def pageable_copies(case: Case) -> Finding | None:
    """Copies to the device read pageable memory: they are slower, block the host and overlap with nothing.

    Fires when they take at least ``pageable_info`` of the step time; a warning from ``pageable_warning``.

    Thresholds:
        pageable_info: our choice: below, pinning changes nothing that can be measured
        pageable_warning: as for input

    Gain: their time, if copies from pinned memory ran beside computation.
    """
    basis = case.deep
    if basis is None:
        return None
    slow = [o for o in case.rows("memory_operations") if o["direction"] == "HtoD" and o["source"] == "pageable"]
    lost_ns = sum(o["time_ns"] for o in slow)
    ratio = basis.ratio(lost_ns)
    if not slow or ratio < case.limits.pageable_info:
        return None
    count = sum(o["count"] for o in slow)
    rate = slow[0]["bytes_per_s"]
    return Finding(
        rule="pageable_copies",
        severity="warning" if ratio >= case.limits.pageable_warning else "info",
        message=f"{count:,} copies from pageable memory last {fmt.percent(ratio)} of the {basis.what}"
        f"{f' at {fmt.rate(rate)}' if rate else ''}; each blocks the host.",
        evidence={"pageable_copies_ns": lost_ns, "copies": count, "bytes_per_s": rate},
        fix=["DataLoader(..., pin_memory=True), and batch.to(device, non_blocking=True)."]
        if case.framework == "pytorch"
        else ["Put batches into pinned memory, or let the framework prefetch them to the device."],
        gain=basis.gain(lost_ns, f"time of copies from pageable memory / {basis.what}"),
        places=case.worst_step("memcpy"),
        rests_on=("memory operations",),
    )
