"""A worker's part of the summary, cut to what a page can show at once: every list within a number of bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stepscope.analysis.extremes import extremes
from stepscope_tensorboard.answers import json_bytes

#: Rows of a list that are sent at most, however short they are.
LIST_ROWS = 200

#: The lists of a worker that may be long: the field that tells how many entries there are in all, and the bytes of
#: JSON that are sent of them. Names of kernels alone may take 4 kB, so rows say little about size.
_LISTS = {
    "kernels": ("kernel_count", 90_000),
    "operators": ("operator_count", 80_000),
    "hlo_operations": ("hlo_operation_count", 30_000),
    "modules": ("modules_total", 60_000),
    "kernels_by_launch_config": ("kernel_launch_config_count", 25_000),
    "operators_by_shape": ("operators_by_shape_total", 25_000),
    "operator_stacks": ("operator_stack_count", 25_000),
    "annotations": ("annotation_count", 25_000),
    "memory_operations": ("memory_operation_count", 10_000),
    "devices": ("device_count", 15_000),
    "gpu": ("gpu_count", 15_000),
    "device_units": ("device_unit_count", 40_000),
}
_NESTED_LISTS = {
    "communication": (("collectives", "collective_count", 20_000),),
    "synchronisation": (
        ("calls", "call_count", 5_000),
        ("records", "record_count", 5_000),
        ("by_operator", "by_operator_count", 10_000),
    ),
    "device_counters": (
        ("counters", "counter_count", 40_000),
        ("kernels", "kernel_count", 60_000),
        ("operators", "operator_count", 30_000),
    ),
    "idle": (("devices", "device_count", 10_000), ("streams", "stream_count", 10_000)),
}
#: Lists with shares of the time of all entries, and whose time that is; those that are cut off count, too.
_SHARED = {
    "operators": ("operators", "host_self_ns"),
    "operators_on_devices": ("operators", "device_self_ns"),
    "hlo_operations": ("hlo_operations", "self_ns"),
    "modules": ("modules", "forward_device_self_ns"),
}
#: Memory: allocators, points of all their curves together, and bytes of all their lists together.
_ALLOCATORS = 8
_CURVE_POINTS = 800
_MEMORY_LISTS = 40_000


def bounded(worker: Mapping[str, Any], origin_ns: int) -> dict[str, Any]:
    """A worker of ``stepscope summary`` with its long lists cut, and beside each one how many entries there are;
    ``list_ns`` is the time of all entries of lists with shares.

    Lists lose entries at their end, which are those of the least time. Times of memory become relative to the origin.

    Args:
        worker: the worker's part of the contract; it stays as it is.
        origin_ns: what times count from.
    """
    about = dict(worker)
    about["list_ns"] = {
        name: sum(row.get(field) or 0 for row in rows)
        for name, (of, field) in _SHARED.items()
        if (rows := worker.get(of))
    }
    for name, (total, most_bytes) in _LISTS.items():
        _cut(about, name, total, most_bytes)
    about["annotations_others"] = _others(worker, len(about["annotations"] or []))
    for field, lists in _NESTED_LISTS.items():
        if about.get(field) is not None:
            about[field] = dict(about[field])
            for name, total, most_bytes in lists:
                _cut(about[field], name, total, most_bytes)
    memory = about.get("memory")
    about["memory_count"] = None if memory is None else len(memory)
    if memory is not None:
        shown = memory[:_ALLOCATORS]
        about["memory"] = [_allocator(m, origin_ns, len(shown)) for m in shown]
    return about


def _others(worker: Mapping[str, Any], shown: int) -> dict[str, int] | None:
    """What the annotations add up to that are not among the first ``shown``; None where all are."""
    left = [*(worker.get("annotations") or [])[shown:], *filter(None, [worker.get("annotations_others")])]
    return {name: sum(row[name] for row in left) for name in ("count", "total_ns")} if left else None


def _cut(holder: dict[str, Any], name: str, total: str, most_bytes: int) -> None:
    rows = holder.get(name)
    known = holder.get(total)  # where the analysis itself has left some out
    holder[total] = known if known is not None or rows is None else len(rows)
    holder[name] = None if rows is None else _beginning(rows, most_bytes)


def _beginning(rows: Sequence[Any], most_bytes: int) -> list[Any]:
    kept: list[Any] = []
    for row in rows[:LIST_ROWS]:
        most_bytes -= len(json_bytes(row)) + 1
        if most_bytes < 0:
            break
        kept.append(row)
    return kept


def _allocator(memory: Mapping[str, Any], origin_ns: int, sharers: int) -> dict[str, Any]:
    """One of ``sharers`` allocators that divide the room for memory among them."""
    curve, at_peak = memory["curve"], memory["at_peak"]
    keep = extremes(np.asarray(curve["allocated"], np.int64), _CURVE_POINTS // sharers).tolist()
    most_bytes = _MEMORY_LISTS // sharers // 4
    largest = [
        {**one, "ts_ns": one["ts_ns"] - origin_ns, "freed_ns": _relative(one["freed_ns"], origin_ns)}
        for one in memory["largest"]
    ]
    return {
        **memory,
        "peak_ns": _relative(memory["peak_ns"], origin_ns),
        "curve": {
            "ts_ns": [curve["ts_ns"][i] - origin_ns for i in keep],
            "allocated": [curve["allocated"][i] for i in keep],
            "reserved": curve["reserved"] and [curve["reserved"][i] for i in keep],
        },
        "at_peak": at_peak
        and {
            **at_peak,
            "operators": _beginning(at_peak["operators"], most_bytes),
            "modules": at_peak["modules"] and _beginning(at_peak["modules"], most_bytes),
        },
        "operators": _beginning(memory["operators"], most_bytes),
        "largest": _beginning(largest, most_bytes),
    }


def _relative(ts_ns: int | None, origin_ns: int) -> int | None:
    return None if ts_ns is None else ts_ns - origin_ns
