"""Rooflines: FLOP/s of operations over their operational intensity, under what the device can do at most."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from stepscope.analysis.ceilings import Ceilings
from stepscope.analysis.operator_work import operator_work
from stepscope.tables import Tables
from stepscope.tables.hlo import program_label
from stepscope.tables.query import numbers
from stepscope.tables.source import Source


def roofline(source: Source, most: int) -> dict[str, Any]:
    """Points and roofs of XLA's operations; of more than ``most`` operations those with the largest self time.

    ``without_flops`` counts operations that compute nothing (copies, transposes) or whose work is not known, which have
    no place on axes of logarithms; ``without_flops_ns`` is their self time.
    """
    work = source.hlo
    runs = work.runs
    ops = len(runs.ops)
    own = np.bincount(runs.op, runs.self_ns, ops) if ops else np.zeros(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        intensity = work.flops / work.bytes
        rate = work.flops * runs.executions / own * 1e9
    drawn = np.isfinite(intensity) & np.isfinite(rate) & (work.flops > 0) & (work.bytes > 0)
    first = np.full(ops, np.iinfo(np.int64).max)
    np.minimum.at(first, runs.op, runs.rows)  # what names the row of the table
    shown = np.flatnonzero(drawn)
    shown = shown[np.argsort(-own[shown], kind="stable")][:most]
    roof = work.ceilings
    used = {work.precisions[i] for i in shown.tolist()}
    categories = work.told("category")
    whole = float(own.sum()) or 1.0
    return {
        "id": first[shown].tolist(),
        "name": [runs.ops[i].op for i in shown.tolist()],
        "detail": [program_label(runs.ops[i].program, runs.ops[i].program_id) for i in shown.tolist()],
        "category": [categories[i] for i in shown.tolist()],
        "intensity": intensity[shown].tolist(),
        "flop_per_s": rate[shown].tolist(),
        "self_ns": own[shown].astype(np.int64).tolist(),
        "share": (own[shown] / whole).tolist(),
        "of_roof": [v if np.isfinite(v) else None for v in (work.least_ns * runs.executions / own)[shown].tolist()],
        "count": int(drawn.sum()),
        "without_flops": int(np.count_nonzero(~drawn)),
        "without_flops_ns": int(own[~drawn].sum()),
        "on_device": runs.on_device,
        "ceilings": _ceilings(roof, used),
    }


def operator_roofline(tables: Tables, most: int) -> dict[str, Any]:
    """The same of PyTorch's matrix products and convolutions by their input shapes; ``self_ns`` is their device total,
    without a device their host total. Other operators are not counted.
    """
    frame = tables.frame("operators", "shapes")
    calls, roof = tables.source.calls, tables.source.ceilings
    columns = {key: numbers(frame, key) for key in ("flops", "bytes", "flop_per_s", "intensity", "of_roof")}
    took = numbers(frame, "device_total_ns" if calls.has_device else "host_total_ns")
    drawn = np.flatnonzero(np.isfinite(columns["flop_per_s"]) & (columns["flops"] > 0) & (columns["bytes"] > 0))
    shown = drawn[np.argsort(-took[drawn], kind="stable")][:most]
    rows = frame.data.take(shown)
    whole = float(took[drawn].sum()) or 1.0
    names = rows.column("name").to_pylist()
    code, works = operator_work(tables.source.events, calls.rows)
    used = {
        roof.precision(work.type, True, work.tf32)
        for i in np.unique(code).tolist()
        if roof is not None and (work := works[i]) is not None
    }
    return {
        "id": frame.id[shown].tolist(),
        "name": names,
        "detail": rows.column("input_shapes").to_pylist(),
        "category": names,
        "intensity": columns["intensity"][shown].tolist(),
        "flop_per_s": columns["flop_per_s"][shown].tolist(),
        "self_ns": took[shown].astype(np.int64).tolist(),
        "share": (took[shown] / whole).tolist(),
        "of_roof": [value if np.isfinite(value) else None for value in columns["of_roof"][shown].tolist()],
        "count": len(drawn),
        "without_flops": 0,
        "without_flops_ns": 0,
        "on_device": calls.has_device,
        "ceilings": _ceilings(roof, used),
    }


def _ceilings(roof: Ceilings | None, used: Collection[str | None]) -> dict[str, Any] | None:
    """The peaks in use, and the memory's bandwidth."""
    if roof is None:
        return None
    return {
        "model": roof.model,
        "source": roof.source,
        "bytes_per_s": roof.bytes_per_s,
        "flop_per_s": {name: rate for name, rate in roof.flop_per_s.items() if name in used},
    }
