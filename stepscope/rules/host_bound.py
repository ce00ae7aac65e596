"""The device idles because the host does not launch work fast enough."""

from __future__ import annotations

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding, Place, severity

#: A launch call takes 2 to 10 us: where the runtime takes this long for each, it does something else.
_LONG_CALL_NS = 50_000


def host_bound(case: Case) -> Finding | None:
    """The device idles while the host prepares its next work.

    Fires when idle time that ended with work launched too late, and neither waits for input nor follows a
    synchronisation, takes at least ``host_warning`` of the step time (of the capture, where no step is known). Many
    kernels that are shorter than the calls that launch them make it launch-bound: then fewer, larger kernels help.
    Otherwise Python or the framework is slow. Where the host is mostly inside the runtime, and longer than 50 us for
    each launch, its long calls are to be looked at first. A capture without steps whose idle time exceeds ``pause_ms``
    a launch holds start-up and pauses rather than training: it is told as info.

    Thresholds:
        host_warning: kernel launch time that xprof calls high
        host_critical: GPU utilisation below which the removed PyTorch plugin for TensorBoard advised
        short_kernel_ratio: share of launches whose kernels are shorter than the call; our choice
        pause_ms: our choice

    Gain: all of that idle time, if the device always has work queued.
    """
    basis = case.deep
    if basis is None or not case.device_worked:
        return None
    lost_ns = case.idle_for_host_ns
    ratio = basis.ratio(lost_ns)
    if ratio < case.limits.host_warning:
        return None
    launches = case.worker.get("launches") or {}
    kernels = case.rows("kernels")
    runs = sum(k["count"] for k in kernels)
    mean_ns = sum(k["total_ns"] for k in kernels) / runs if runs else None
    linked = launches.get("linked") or 0
    short = (launches.get("short_kernels") or 0) / linked if linked else None
    is_short = short is not None and short >= case.limits.short_kernel_ratio
    whose = "their" if len(case.rows("gpu")) > 1 else "its"
    why = f"; {fmt.percent(short)} of {whose} launches start kernels shorter than the call itself" if is_short else ""
    level = severity(ratio, case.limits.host_warning, case.limits.host_critical)
    against = case.slowed
    if not basis.steps:
        paused = lost_ns / max(launches.get("count") or 1, 1) > case.limits.pause_ms * 1e6
        level = "info" if paused else "warning"
        against = [*against, "No step is marked, so the idle time may hold start-up and pauses of the script."]
    return Finding(
        rule="host_bound",
        severity=level,
        message=f"{_devices(case)} {fmt.percent(ratio)} of the {basis.what} waiting for the host{_doing(case)}{why}.",
        evidence={
            "idle_for_host_ns": lost_ns,
            "idle_ns": case.activity_ns("idle"),
            "launches": launches.get("count"),
            "kernel_runs": runs,
            "mean_kernel_ns": mean_ns,
            "short_kernel_ratio": short,
            "queue_wait_p50_ns": (launches.get("queue_wait_ns") or {}).get("p50"),
        },
        fix=_fix(case, is_short, launches.get("graph_launches") or 0),
        gain=basis.gain(lost_ns, f"(idle - input - after synchronisation - queued) / {basis.what}"),
        places=[*case.worst_step("idle"), *_busiest_operator(case)],
        counter_evidence=against,
        confidence=case.host_confidence,
        rests_on=("step activity", "device times", "launches"),
    )


def _doing(case: Case) -> str:
    """What the host does most while no device works, as the end of a sentence."""
    return {
        None: "",
        "runtime": ", which is mostly inside calls of the device's runtime (launches, allocations, loading of code)",
        "cpu": ", which is mostly inside operators of the framework",
        "other": ", which mostly runs code that nothing recorded (Python, logging)",
    }[_most(case)]


def _most(case: Case) -> str | None:
    """The class of activity in which the host is most while no device works; None where no step is known."""
    if case.deep is None or not case.deep.steps:
        return None
    return max(("runtime", "cpu", "other"), key=case.activity_ns)


def _devices(case: Case) -> str:
    """What idles, as the begin of a sentence."""
    count = len(case.rows("gpu"))
    return "The GPUs idle" if count > 1 else "The GPU idles" if count else "The device idles"


def _busiest_operator(case: Case) -> list[Place]:
    told = [o for o in case.rows("operators") if o.get("host_self_ns")]
    return [Place("operator", max(told, key=lambda o: o["host_self_ns"])["name"])] if told else []


def _fix(case: Case, is_short: bool, graphs: int) -> list[str]:
    larger = "Give each launch more work: a larger batch, or fused operators."
    where = "in the slowest step" if case.deep and case.deep.steps else "before the kernels in the timeline"
    python = f"Look at the host's thread {where}: Python, logging and checks between launches cost most."
    if case.framework == "tensorflow":
        first = ["Compile the step: model.compile(jit_compile=True), or @tf.function around a custom loop."]
        return [*first, "Run several steps in one call: steps_per_execution.", larger]
    if case.framework == "jax":
        return ["Keep the whole step inside one jax.jit, and several steps in one jax.lax.scan.", larger]
    compiled = (
        "Record more of the step in CUDA graphs; the launches outside of them are what is left."
        if graphs
        else "Launch less: torch.compile(model, mode='reduce-overhead'), or CUDA graphs where shapes are fixed."
    )
    rest = [compiled, larger, python] if is_short else [python, compiled, larger]
    if not _waits_in_runtime(case):
        return rest
    loads = "the first launch of a kernel loads its code, which later steps do not, and the driver allocates"
    return [f"Look at the long calls of the runtime in the timeline: {loads}. Record after a warm-up.", *rest]


def _waits_in_runtime(case: Case) -> bool:
    """Whether the host is mostly inside calls of the runtime that are too long for launches."""
    if _most(case) != "runtime":
        return False
    launches = (case.worker.get("launches") or {}).get("count") or 1
    return (case.activity_ns("runtime") or 0) / launches > _LONG_CALL_NS
