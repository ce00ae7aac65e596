"""Sections of the report on the units of devices and on hardware counters."""

from __future__ import annotations

from typing import Any

from stepscope.report import format as fmt

TOP = 10
MOST_UNITS = 16
_PARTS = {"multiprocessors": "", "warps": "", "percent": " %", "cycles": " cycles", "instructions": " instructions"}


def device_units(worker: dict[str, Any]) -> list[str]:
    """What was measured of each unit."""
    units = [unit for unit in worker["device_units"] or [] if unit["achieved"] is not None]
    if not units:
        return []
    several = len({unit["device"] for unit in units}) > 1
    rows = [["", "achieved", "peak", "use", "at work", ""]]
    for unit in units[:MOST_UNITS]:
        label = f"{unit['device']} {unit['label']}" if several else unit["label"]
        peak = "not known" if unit["peak"] is None else amount(unit["peak"], unit["quantity"])
        use = "" if unit["utilization"] is None else fmt.percent(unit["utilization"])
        busy = "" if unit["busy"] is None else fmt.percent(unit["busy"])
        achieved = amount(unit["achieved"], unit["quantity"])
        rows.append([fmt.name(label), achieved, peak, use, busy, unit["measured"]])
    left = len(units) - MOST_UNITS
    more = [f"  and {fmt.count(left, 'more unit')}"] if left > 0 else []
    return fmt.table(rows, right=(1, 2, 3, 4)) + more


def hardware_counters(worker: dict[str, Any]) -> list[str]:
    found = worker["device_counters"]
    if not found:
        return []
    counters = found["counters"]
    rows = [["", "sum", "mean", "of"]]
    for one in counters[:TOP]:
        total = "" if one["sum"] is None else fmt.scaled(one["sum"])
        name = fmt.name(one["label"] or one["counter"])
        rows.append([name, total, fmt.scaled(one["mean"]), fmt.count(one["samples"], one["source"])])
    left = len(counters) - TOP
    more = [f"  and {fmt.count(left, 'more counter')}"] if left > 0 else []
    return fmt.table(rows, right=(1, 2, 3)) + more


def amount(value: float, quantity: str) -> str:
    """A value in its quantity."""
    if quantity == "ns":
        return fmt.time(value)
    if quantity == "ratio":
        return fmt.percent(value)
    if quantity == "bytes":
        return fmt.size(value)
    if quantity == "bytes_per_s":
        return fmt.rate(value)
    if quantity in ("flop", "flop_per_s"):
        return fmt.scaled(value, "FLOP") + ("/s" if quantity == "flop_per_s" else "")
    return fmt.scaled(value) + _PARTS.get(quantity, f" {quantity}")
