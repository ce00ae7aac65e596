"""One rank holds up the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stepscope.report import format as fmt
from stepscope.rules.finding import Finding, Gain, severity
from stepscope.rules.parameters import Parameters

_REMEDIES = {
    "input_wait": "Its input is slow: compare storage, loader workers and the length of its samples.",
    "dataloader": "Its input is slow: compare storage, loader workers and the length of its samples.",
    "kernel": "Its device computes longer: more or longer samples, or a slower, hotter or shared device.",
    "h2d": "Its copies take longer: compare where its process runs and its memory is (NUMA node, PCIe).",
    "memcpy": "Its copies take longer: compare where its process runs and its memory is (NUMA node, PCIe).",
    "validation": "It alone evaluates: share the evaluation among the ranks.",
}


_FEWER_THREADS = (
    "Let the workers of a host run no more busy threads than it has cores: fewer for each (OMP_NUM_THREADS, "
    "torch.set_num_threads), fewer loader processes, or fewer workers."
)
_NO_CPU: Mapping[str, float] = {}


def straggler(
    across: Mapping[str, Any] | None, limits: Parameters, cpu: Mapping[str, float] = _NO_CPU
) -> Finding | None:
    """Workers do not need the same time for a step, so that the others wait for the slowest.

    Looks at all workers of a run. Fires when the slowest worker's time of a step exceeds the mean of all by at least
    ``straggler_warning`` of it, as a mean over the steps. Compared is the step without exposed communication where that
    was measured: a rank that comes late makes the others wait, so that all steps last equally long. Only workers of
    one attempt of the job are compared: recordings of one rank were made one after the other, and none of them waits.
    Where the monitor saw half of the time or more above ``cpu_bottleneck_cpu`` on a host of theirs, it says so: there
    a worker may be slow only because it waits for a core.

    Thresholds:
        straggler_warning: impact from which TraceML warns
        straggler_critical: impact that it calls critical
        cpu_bottleneck_cpu: as in ``cpu_bottleneck``

    Gain: the slowest worker's time beyond the mean of all, if work were balanced.
    """
    if not across or len(across["ranks"]) < 2:
        return None
    lost = across["imbalance"]
    if lost["ratio"] is None or lost["ratio"] < limits.straggler_warning:
        return None
    ranks = across["ranks"]
    slowest = max(ranks, key=lambda r: r["slowest"])
    same = [slowest] if slowest["rank"] is None else [r for r in ranks if r["rank"] == slowest["rank"]]
    share = sum(r["slowest"] for r in same) / max(lost["steps"], 1)
    others = sum(r["attempt"] == slowest["attempt"] for r in ranks) - 1
    stays = share >= 0.5
    excess = slowest["excess"]
    who = f"Rank {slowest['rank']}" if slowest["rank"] is not None else fmt.name(slowest["worker"], 40)
    where = f" on {fmt.name(slowest['host'], 40)}" if slowest["host"] else ""
    cause = f", most of it in {excess['part'].replace('_', ' ')}" if excess and stays else ""
    message = (
        f"{who}{where} holds up the other {fmt.count(others, 'worker')}: it is the slowest in "
        f"{fmt.percent(share)} of the steps, and waiting for it costs {fmt.percent(lost['ratio'])}{cause}."
        if stays
        else f"Unequal work costs {fmt.percent(lost['ratio'])} of the slowest worker's step; which one that is changes "
        "from step to step."
    )
    remedy = _REMEDIES.get(excess["part"]) if excess and stays else None
    full = _full_host([slowest] if stays else ranks, cpu, limits.cpu_bottleneck_cpu)
    there = sum(r["host"] == full and r["attempt"] == slowest["attempt"] for r in ranks) if full else 0
    counter = [] if lost["steps"] >= 20 else [f"Only {fmt.count(lost['steps'], 'step')} could be compared."]
    if full:
        counter.append(
            f"All CPUs of {fmt.name(full, 40)} are busy (median {fmt.percent(cpu[full])}), which "
            f"{fmt.count(there, 'worker')} of the run {'use' if there > 1 else 'uses'}: who is slow there may only "
            "wait for a core."
        )
    return Finding(
        rule="straggler",
        severity=severity(lost["ratio"], limits.straggler_warning, limits.straggler_critical),
        message=message,
        evidence={
            "workers": len(ranks),
            "steps": lost["steps"],
            "excess_ns_per_step": round(lost["excess_ns"]),
            "compared": lost["measure"],
            "slowest_in_ratio": share,
            "its_delta_ns": slowest["delta_ns"] and round(slowest["delta_ns"]),
            **({"host_cpu_p50_ratio": cpu[full], "workers_on_host": there} if full else {}),
        },
        fix=[
            *([_FEWER_THREADS] if full else []),
            *([remedy] if remedy else []),
            "Balance the work: equal numbers of samples and, for sequences, equal lengths (bucketing, packing)."
            if not stays
            else "Run the same ranks on other hosts: if the slow one moves along, it is the data, else the machine.",
        ],
        gain=Gain(round(lost["excess_ns"]), lost["ratio"], "(slowest - mean of all workers) / slowest, over the steps"),
        workers=[r["worker"] for r in same] if stays else [],
        confidence="high" if lost["steps"] >= 20 and not full else "medium",
        counter_evidence=counter,
        rests_on=("steps", "communication"),
    )


def _full_host(workers: Iterable[Mapping[str, Any]], cpu: Mapping[str, float], high: float) -> str | None:
    """The host of these workers whose CPUs are the busiest, if they are above ``high`` half of the time."""
    hosts = {w["host"] for w in workers if cpu.get(w["host"] or "", 0.0) > high}
    return max(hosts, key=lambda host: cpu[host], default=None)
