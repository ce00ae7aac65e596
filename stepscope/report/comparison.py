"""A comparison of two workers as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stepscope.report import format as fmt
from stepscope.report.width import fold

#: Rows of each table.
TOP = 10
_LABELS = {
    "step_p50": "step time, median",
    "step_p95": "step time, p95",
    "throughput": "throughput",
    "gpu_busy": "GPU busy in the steps",
    "input_wait": "input wait a step",
    "exposed_communication": "exposed communication a step",
    "memory_peak": "peak memory of a device",
    "overhead": "profiler's overhead",
}
_UNITS: dict[str, Callable[[float | None], str]] = {
    "ns": fmt.time,
    "ratio": fmt.percent,
    "bytes": fmt.size,
    "samples_per_s": lambda value: fmt.NOT_MEASURED if value is None else f"{value:,.4g} samples/s",
}
#: The difference of two percentages is no percentage of anything.
_CHANGES: dict[str, Callable[[float | None], str]] = {"ratio": lambda value: f"{(value or 0) * 100:.1f} points"}
_PARTS = {"phase": "A step by phase of the loop", "activity": "A step by activity"}


def comparison(found: Mapping[str, Any]) -> str:
    """One screen: the sentence, what to mind, the pairs, parts of the step, and the work that differs most."""
    lines = [f"A: {_side(found['a'])}", f"B: {_side(found['b'])}", "", f"{found['sentence']}{_mostly(found)}"]
    if found["warnings"]:
        lines += ["", "Mind", *map(_warning, found["warnings"])]
    lines += ["", "In short", *_headline(found["headline"])]
    for division, title in _PARTS.items():
        parts = found["parts"][division]
        lines += ["", title, *([f"  {parts['why']}"] if parts["why"] else _parts(parts))]
    for table in ("kernels", "operators", "modules"):
        work = found["work"][table]
        on = "" if work["why"] else f", {work['basis']} time a step"
        lines += ["", f"{table.capitalize()}{on}", *([f"  {work['why']}"] if work["why"] else _work(work))]
    return "\n".join(fold(lines))


def _side(side: Mapping[str, Any]) -> str:
    devices = ", ".join(fmt.name(device) for device in side["devices"]) or "no accelerator"
    steps = f"{fmt.count(side['steps'], 'step')}, {side['deep_steps']:,} in depth"
    return f"{fmt.name(side['run'])}, {fmt.name(side['worker'])}: {side['framework']}, {devices}, {steps}"


def _warning(warning: Mapping[str, Any]) -> str:
    values = "" if warning["a"] is None else f": {fmt.name(warning['a'])} in A, {fmt.name(warning['b'])} in B"
    return f"  {warning['detail']}{values}."


def _mostly(found: Mapping[str, Any]) -> str:
    named = [f"{fmt.name(one['name'])} {_signed(one['difference_ns'], fmt.time)}" for one in found["mostly"]]
    return f"; mostly {', '.join(named)} (mean step)" if named else ""


def _headline(pairs: list[dict[str, Any]]) -> list[str]:
    rows = [["", "A", "B", "difference", "B / A"]]
    for pair in pairs:
        show = _UNITS[pair["unit"]]
        ratio = "" if pair["ratio"] is None else f"{pair['ratio']:.3f}"
        change = "" if pair["difference"] is None else _signed(pair["difference"], _CHANGES.get(pair["unit"], show))
        rows.append([_LABELS[pair["name"]], show(pair["a"]), show(pair["b"]), change, ratio])
    return fmt.table(rows, right=(1, 2, 3, 4))


def _parts(parts: Mapping[str, Any]) -> list[str]:
    rows = [["", "A", "B", "difference"]]
    for row in (*parts["rows"], {"name": "sum", **parts}):
        rows.append([row["name"], *_times(row)])
    return fmt.table(rows, right=(1, 2, 3))


def _work(work: Mapping[str, Any]) -> list[str]:
    rows = [["", "A", "B", "difference", "accumulated", "count A", "count B", ""]]
    for row in work["rows"][:TOP]:
        counts = ["" if row[key] is None else f"{row[key]:,.4g}" for key in ("a_count", "b_count")]
        status = "" if row["status"] == "both" else row["status"]
        rows.append([fmt.name(row["name"]), *_times(row), _signed(row["accumulated_ns"], fmt.time), *counts, status])
    others = len(work["rows"][TOP:]) + work["rest"]["count"]
    if others:
        shown = work["rows"][:TOP]
        left = {key: work[key] - sum(row[key] for row in shown) for key in ("a_ns", "b_ns", "difference_ns")}
        rows.append([fmt.count(others, "other name"), *_times(left), "", "", "", ""])
    rows.append(["sum", *_times(work), "", "", "", ""])
    return fmt.table(rows, right=(1, 2, 3, 4, 5, 6))


def _times(row: Mapping[str, Any]) -> list[str]:
    return [fmt.time(row["a_ns"]), fmt.time(row["b_ns"]), _signed(row["difference_ns"], fmt.time)]


def _signed(value: float, show: Callable[[float | None], str]) -> str:
    return ("+" if value > 0 else "-" if value < 0 else "") + show(abs(value))
