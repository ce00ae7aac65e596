"""Ranks wait for each other's data while nothing is computed."""

from __future__ import annotations

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding, Place, severity


def exposed_communication(case: Case) -> Finding | None:
    """Collectives run while no kernel computes.

    Fires when that takes at least ``communication_warning`` of the step time. A collective also lasts while it waits
    for the last rank to come: a slow rank looks like slow communication on all others.

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
    return Finding(
        rule="exposed_communication",
        severity=severity(ratio, case.limits.communication_warning, case.limits.communication_critical),
        message=f"Collectives that no computation hides take {fmt.percent(ratio)} of the {basis.what}{longest}"
        f"{hidden}.",
        evidence=evidence,
        fix=_fix(case, on_device[0]["name"] if on_device else ""),
        gain=basis.gain(lost_ns, f"time of collectives without any compute kernel / {basis.what}"),
        places=[*case.worst_step("communication"), *_kernels(case)],
        counter_evidence=["The time holds waiting for slower ranks: compare the ranks before blaming the network."],
        rests_on=("step activity", "communication"),
    )


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
