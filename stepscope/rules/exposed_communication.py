"""Ranks wait for each other's data while nothing is computed."""

from __future__ import annotations

from typing import Any

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding, Place, severity

#: The share of the runs whose stalls must be known to say something of all.
_MOST_RUNS = 0.75


def exposed_communication(case: Case) -> Finding | None:
    """Collectives run while no kernel computes.

    Fires when that takes at least ``communication_warning`` of the step time. A collective also lasts while it waits
    for the last rank to come: a slow rank looks like slow communication on all others. Where the stalls of
    most runs are known and less than half of the exposed time, that is said against it.

    Thresholds:
        communication_warning: the removed PyTorch plugin for TensorBoard advised from 10 %
        communication_critical: our choice; xprof calls 15 % of collectives high

    Gain: all of it, if computation hid the collectives.
    """
    basis = case.deep
    if basis is None:
        return None
    lost_ns = case.activity_ns("communication")
    ratio = basis.ratio(lost_ns)
    if ratio < case.limits.communication_warning:
        return None
    talk = case.worker.get("communication") or {}
    on_device = [c for c in talk.get("collectives") or [] if c["device"]]
    overlap = talk.get("overlap")
    longest = f", most of it {fmt.name(on_device[0]['name'])}" if on_device else ""
    hidden = f"; {fmt.percent(overlap)} of the communication overlaps with kernels" if overlap is not None else ""
    evidence = {
        "exposed_communication_ns": lost_ns,
        "communication_ns": talk.get("total_ns"),
        "overlap_ratio": overlap,
    }
    if on_device:
        evidence["longest_collective"] = on_device[0]["name"]
        evidence["busbw_bytes_per_s"] = on_device[0]["busbw_bytes_per_s"]
        evidence["needed_busbw_bytes_per_s"] = on_device[0]["needed_busbw_bytes_per_s"]
        evidence["stall_ns"] = talk["stall_ns"]
    return Finding(
        rule="exposed_communication",
        severity=severity(ratio, case.limits.communication_warning, case.limits.communication_critical),
        message=f"Collectives that no computation hides take {fmt.percent(ratio)} of the {basis.what}{longest}"
        f"{hidden}.",
        evidence=evidence,
        fix=_fix(case, on_device[0]["name"] if on_device else ""),
        gain=basis.gain(lost_ns, f"time of collectives without any compute kernel / {basis.what}"),
        places=[*case.worst_step("communication"), *_kernels(case)],
        counter_evidence=[
            "The time holds waiting for slower ranks: compare the ranks before blaming the network.",
            *_little_waits(talk, on_device),
        ],
        rests_on=("step activity", "communication"),
    )


def _little_waits(talk: dict[str, Any], on_device: list[dict[str, Any]]) -> list[str]:
    """That most of the exposed time is none in which work waited for a collective."""
    runs, known = (sum(each[field] for each in on_device) for field in ("count", "slack_known"))
    if not known or known < _MOST_RUNS * runs or 2 * talk["stall_ns"] >= talk["exposed_ns"]:
        return []
    return [
        f"Work waited for collectives in at most {fmt.time(talk['stall_ns'])} of the {fmt.time(talk['exposed_ns'])} in "
        f"which nothing was computed beside them (known of {known:,} of {runs:,} runs); in the rest nothing else was "
        "ready to run, most often because the host launches too slowly."
    ]


def _kernels(case: Case) -> list[Place]:
    return [Place("kernel", k["name"]) for k in case.rows("kernels") if k["kind"] == "communication"][:1]


def _fix(case: Case, name: str) -> list[str]:
    if case.framework != "pytorch":
        return ["Overlap gradients with the backward pass, or communicate less often (gradient accumulation)."]
    if name in ("all_gather", "reduce_scatter"):
        first = "FSDP: prefetch (forward_prefetch, backward_prefetch=BACKWARD_PRE) and shard larger units."
    elif name in ("all_to_all", "send_recv"):
        first = "Start the exchange earlier and wait for it later: compute what does not need it in between."
    else:
        first = "DDP: set gradient_as_bucket_view=True, and try a larger bucket_cap_mb or static_graph=True."
    return [
        first,
        "Communicate less often: no_sync() on all but the last micro batch, or larger batches.",
        "Send fewer bytes: a bf16 compression hook for gradients.",
    ]
