"""The roofline of XLA's operations: FLOP/s of each over its operational intensity, under what the device can do."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.tables.hlo import program_label
from stepscope.tables.source import Source


def roofline(source: Source, most: int) -> dict[str, Any]:
    """Points and roofs; of more than ``most`` operations those with the largest self time.

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
        "program": [program_label(runs.ops[i].program, runs.ops[i].program_id) for i in shown.tolist()],
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
        "ceilings": None
        if roof is None
        else {
            "model": roof.model,
            "source": roof.source,
            "bytes_per_s": roof.bytes_per_s,
            "flop_per_s": {name: rate for name, rate in roof.flop_per_s.items() if name in used},
        },
    }
