"""The headline of a comparison: single numbers of both workers in pairs."""

from __future__ import annotations

from dataclasses import dataclass

from stepscope.compare.sides import Side, lacking
from stepscope.summary.headline import gpu_busy, memory_peak, talks_on_host_only


@dataclass(frozen=True)
class Quantity:
    """One number of both workers. Null is not measured; then ``why`` tells the reason.

    Metrics:
        name: step_p50, step_p95 (of the complete steps), throughput, gpu_busy (mean of the devices'
            utilization_steps), input_wait (mean of a step with phases), exposed_communication (the class
            communication, mean of a step captured in depth; null where all collectives ran on the host), memory_peak
            (the most that was allocated at once on a device, else what the monitor saw there), overhead (the
            profiler's share of the training)
        unit: ns, ratio, bytes or samples_per_s
        a: of the first worker
        b: of the second
        difference: b - a
        ratio: b / a; null where a is 0
        why: a sentence where one of them is null
    """

    name: str
    unit: str
    a: float | None
    b: float | None
    difference: float | None
    ratio: float | None
    why: str | None


#: Name, unit, and what a worker lacks that has no such number.
_NAMES = (
    ("step_p50", "ns", "a complete step"),
    ("step_p95", "ns", "a complete step"),
    ("throughput", "samples_per_s", "a complete step and a known batch size"),
    ("gpu_busy", "ratio", "a step with device work in a deep window"),
    ("input_wait", "ns", "steps of which the input wait is known"),
    ("exposed_communication", "ns", "a step captured in depth whose collectives, if any, ran on a device"),
    ("memory_peak", "bytes", "recorded allocations or a monitor of a device's memory"),
    ("overhead", "ratio", "a recording in which the profiler's overhead was measured"),
)


def quantities(a: Side, b: Side) -> list[Quantity]:
    """The pairs, in the order in which they are shown."""
    of_a, of_b = _values(a), _values(b)
    return [_pair(name, unit, of_a[name], of_b[name], what) for name, unit, what in _NAMES]


def _pair(name: str, unit: str, a: float | None, b: float | None, what: str) -> Quantity:
    if a is None or b is None:
        return Quantity(name, unit, a, b, None, None, lacking(a is None, b is None, what))
    return Quantity(name, unit, a, b, b - a, b / a if a else None, None)


def _values(side: Side) -> dict[str, float | None]:
    worker = side.worker
    times = worker["step_time_ns"] or {}
    return {
        "step_p50": times.get("p50"),
        "step_p95": times.get("p95"),
        "throughput": (worker["throughput"] or {}).get("samples_per_s"),
        "gpu_busy": gpu_busy(worker),
        "input_wait": _per_step(side, "phase_total_ns", "input_wait", "phased_steps"),
        "exposed_communication": None
        if talks_on_host_only(worker)
        else _per_step(side, "activity_total_ns", "communication", "deep_steps"),
        "memory_peak": memory_peak(worker["memory"], side.monitored()),
        "overhead": (worker["overhead"] or {}).get("ratio"),
    }


def _per_step(side: Side, totals: str, part: str, steps: str) -> float | None:
    total = (side.worker[totals] or {}).get(part)
    return None if total is None else total / side.covered(steps)
