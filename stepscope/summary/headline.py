"""Single numbers that sum up a worker, for where workers or runs stand beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_UNNAMED = "unnamed device"


def gpu_busy(worker: Mapping[str, Any]) -> float | None:
    """Mean over the worker's devices of ``utilization_steps``; None where there is none."""
    busy = [g["utilization_steps"] for g in worker["gpu"] or [] if g["utilization_steps"] is not None]
    return sum(busy) / len(busy) if busy else None


def device_names(worker: Mapping[str, Any]) -> list[str]:
    """What the worker's devices are called, each once. Many a trace tells of their work, but not what they are."""
    names = sorted({device["name"] or _UNNAMED for device in worker["devices"]})
    return names or ([_UNNAMED] if worker["gpu"] else [])


def talks_on_host_only(worker: Mapping[str, Any]) -> bool:
    """Whether its collectives all ran on the host, as those of Gloo: whether computation hid them is not known."""
    found = (worker["communication"] or {}).get("collectives") or []
    return bool(found) and not any(collective["device"] for collective in found)


def memory_peak(memory: Sequence[Mapping[str, Any]] | None, resources: Mapping[str, Any]) -> int | None:
    """The most that was allocated on a device at once, else what the monitor saw of the device's memory.

    Args:
        memory: the allocators of a worker.
        resources: what the monitor beside it saw, by metric.
    """
    peaks = [m["peak_bytes"] for m in memory or [] if m["device"] is not None]
    if peaks:
        return max(peaks)
    seen = resources.get("gpu_memory_used")
    return None if seen is None else int(seen["max"])
