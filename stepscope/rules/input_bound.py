"""The training loop waits for data."""

from __future__ import annotations

from stepscope.report import format as fmt
from stepscope.rules.case import Basis, Case
from stepscope.rules.finding import Finding, severity


def input_bound(case: Case) -> Finding | None:
    """The training loop waits for its next batch.

    Fires when the wait takes at least ``input_warning`` of the step time. The wait is the phase ``input_wait``; in a
    trace without it, the time in which a batch is fetched and no device works. Time in which devices still work off
    what was launched before is not lost and does not count.

    Thresholds:
        input_warning: input time that xprof's input pipeline analyser calls moderate
        input_critical: input time that it calls high

    Gain: the wait per step, if batches are ready before they are needed.
    """
    found = _lost(case)
    if found is None:
        return None
    lost_ns, wait_ns, basis = found
    ratio = basis.ratio(lost_ns)
    if ratio < case.limits.input_warning:
        return None
    cause, fix = _cause(case)
    beside = " while no device works" if case.device_worked else ""
    against = []
    if case.has_device and not case.device_worked:
        against.append("No deep window tells whether the devices had work left while the loop waited.")
    return Finding(
        rule="input_bound",
        severity=severity(ratio, case.limits.input_warning, case.limits.input_critical),
        message=f"The loop waits for data {fmt.percent(ratio)} of the step time{beside}, "
        f"{fmt.time(lost_ns / basis.steps)} a step{cause}.",
        evidence={
            "input_wait_ns_per_step": wait_ns // basis.steps,
            "lost_ns_per_step": lost_ns // basis.steps,
            "steps": basis.steps,
            **_loader(case),
        },
        fix=fix,
        gain=basis.gain(lost_ns, "wait for input in which no device works / time of the steps"),
        places=case.worst_step("input_wait", phase=True) or case.worst_step("dataloader"),
        counter_evidence=against,
        rests_on=("phases", "step activity"),
    )


def _lost(case: Case) -> tuple[int, int, Basis] | None:
    """Time lost and time waited, and the steps that they are of."""
    wait_ns, loop, deep = case.phase_ns("input_wait"), case.loop, case.deep
    if not (case.device_worked and deep and deep.steps):
        return None if wait_ns is None or loop is None else (wait_ns, wait_ns, loop)
    lost_ns = case.idle_for_input_ns
    deep_wait = case.deep_phase_ns("input_wait")
    if wait_ns is None or deep_wait is None:
        return lost_ns, lost_ns, deep
    if loop is not None and loop.steps > deep.steps:
        # Always-on data of all steps say more than few deep ones; these tell which part of a wait is lost.
        return int(wait_ns * min(1.0, lost_ns / deep_wait) if deep_wait else wait_ns), wait_ns, loop
    return lost_ns, deep_wait, deep


def _loader(case: Case) -> dict[str, float]:
    """What else is known about the loading of data."""
    known: dict[str, float] = {}
    workers = (case.worker.get("loader") or {}).get("workers")
    if workers is not None:
        known["loader_workers"] = workers
    for metric in ("cpu", "iowait"):
        series = case.samples.total(metric)
        if series is not None:
            known[f"{metric}_mean_ratio"] = float(series.value.mean())
    return known


def _cause(case: Case) -> tuple[str, list[str]]:
    """The likely cause, as the end of a sentence, and what to do."""
    limits, seen = case.limits, _loader(case)
    if (case.worker.get("loader") or {}).get("workers") == 0:
        return ", because the DataLoader makes each batch in the training process (num_workers=0)", [
            "Give the DataLoader workers: num_workers=4 or more, persistent_workers=True.",
            *(["Add pin_memory=True and copy with .to(device, non_blocking=True)."] if case.device_worked else []),
        ]
    if seen.get("iowait_mean_ratio", 0) >= limits.io_bottleneck_iowait:
        return ", and the host waits for its disks", [
            "Read from a local disk or from memory, or in larger files (shards) read in sequence.",
            "Cache what is decoded once.",
        ]
    if seen.get("cpu_mean_ratio", 0) >= limits.cpu_bottleneck_cpu:
        return ", and the host's CPUs are all busy", [
            "Make the preparation of a batch cheaper: decode and resize ahead of time, or on the GPU.",
            "Use a host with more cores for each GPU.",
        ]
    if case.framework == "tensorflow":
        return "", [
            "End the tf.data pipeline with .prefetch(tf.data.AUTOTUNE).",
            "Give .map(...) num_parallel_calls=tf.data.AUTOTUNE, and .cache() what fits into memory.",
        ]
    if case.framework == "jax":
        return "", ["Prepare and copy the next batch while this one computes: a prefetching iterator of depth 2."]
    return "", [
        "Give the DataLoader more workers (num_workers) and a larger prefetch_factor.",
        "Make the preparation of a batch cheaper, or do it ahead of time.",
    ]
