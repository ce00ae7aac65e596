"""Copies run while nothing is computed."""

from __future__ import annotations

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding, severity

_ADVICE = {
    "HtoD": "Copy the next batch while this one computes: pin_memory=True, non_blocking=True, a stream of its own.",
    "DtoH": "Fetch results less often, into pinned memory, and wait for them later.",
    "DtoD": "Avoid copies inside the device: in-place operators, views instead of cat, clone and contiguous.",
    "PtoP": "Overlap the exchange between devices with computation.",
}
_WAY = {
    "HtoD": "from host to device",
    "DtoH": "from device to host",
    "DtoD": "inside a device",
    "PtoP": "from device to device",
}


def exposed_copies(case: Case) -> Finding | None:
    """Copies run while no kernel and no collective does.

    Fires when that takes at least ``copies_warning`` of the step time.

    Thresholds:
        copies_warning: our choice, as for input
        copies_critical: as above

    Gain: all of it, if computation hid the copies.
    """
    basis = case.deep
    if basis is None:
        return None
    lost_ns = case.activity_ns("memcpy")
    ratio = basis.ratio(lost_ns)
    copies = case.worker.get("memcpy") or {}
    if ratio < case.limits.copies_warning or not copies:
        return None
    ordered = sorted(copies, key=lambda kind: -copies[kind]["time_ns"])
    most = ordered[0]
    about = copies[most]
    size = f" of {fmt.size(about['bytes'] / about['count'])} in the mean" if about["bytes"] else ""
    return Finding(
        rule="exposed_copies",
        severity=severity(ratio, case.limits.copies_warning, case.limits.copies_critical),
        message=f"Copies that no computation hides take {fmt.percent(ratio)} of the {basis.what}, most of them "
        f"{_WAY.get(most, most)}: {about['count']:,} copies{size}.",
        evidence={"exposed_copies_ns": lost_ns, **{f"{kind}_ns": copies[kind]["time_ns"] for kind in ordered}},
        fix=[_ADVICE[kind] for kind in ordered[:2] if kind in _ADVICE] or ["Overlap copies with computation."],
        gain=basis.gain(lost_ns, f"time of copies without any kernel / {basis.what}"),
        places=case.worst_step("memcpy"),
        rests_on=("step activity", "memory operations"),
    )
