"""A stretch of steps as few stacked bars: one a step, or the means of equally many where there are more steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.analysis.percentiles import nearest_rank
from stepscope.analysis.steps import Steps
from stepscope.breakdown.selection import Partition


def bars(
    steps: Steps, rows: np.ndarray, partition: Partition, share: bool, begin: int, end: int, most: int
) -> dict[str, Any]:
    """The bars of ``rows[begin:end]``.

    A bar stands for ``width`` steps, a power of two, and begins at a multiple of it: what a bar is the mean of does
    not change when the stretch moves. Each of its parts is the sum over those of its steps that were divided, divided
    by all of its steps, so that the parts and what was not divided stack to the mean.

    Args:
        rows: positions of the steps that count.
        share: divide each step by itself first.
        most: bars.

    Returns:
        Columns with one entry a bar: ``first`` and ``last`` (positions among all steps), ``id`` and ``label`` of the
        first, ``last_id`` and ``last_label``, ``steps``, ``divided`` (steps), ``mean``, ``longest`` (ns, or ratios
        with ``share``), ``mean_ns`` and ``parts``; besides ``count`` of all rows, ``begin`` (position in rows of the
        first bar), ``width``, and ``p95_ns`` and ``longest_ns`` of all rows.
    """
    width = 1
    while (max(end - begin, 0) + width - 1) // width > most:
        width *= 2
    begin = max(begin, 0) // width * width
    end = min(len(rows), -(-end // width) * width)
    shown = rows[begin:end]
    starts = np.arange(0, len(shown), width)
    ends = np.minimum(starts + width, len(shown)) - 1
    count = np.maximum(ends - starts + 1, 1)
    whole = partition.whole_ns[shown]
    scale = 1 / np.maximum(whole, 1) if share else np.ones(len(shown))
    height = whole * scale
    divided = partition.measured[shown]

    def mean(values: np.ndarray) -> list[float]:
        return (_sums(values, starts) / count).tolist()

    all_whole = partition.whole_ns[rows]
    first, last = shown[starts], shown[ends]
    return {
        "count": len(rows),
        "begin": begin,
        "width": width,
        "p95_ns": nearest_rank(all_whole, 95)[0] if len(rows) else None,
        "longest_ns": int(all_whole.max()) if len(rows) else None,
        "first": first.tolist(),
        "last": last.tolist(),
        "id": _ids(steps, first),
        "label": [steps.label[i] for i in first.tolist()],
        "last_id": _ids(steps, last),
        "last_label": [steps.label[i] for i in last.tolist()],
        "steps": count.tolist() if len(starts) else [],
        "divided": _sums(divided.astype(np.int64), starts).tolist(),
        "mean_ns": mean(whole),
        "mean": mean(height),
        "longest": np.maximum.reduceat(height, starts).tolist() if len(starts) else [],
        "parts": {
            name: mean(np.where(divided, partition.columns[name][shown] * scale, 0))
            for name in partition.names
            if name in partition.columns
        },
    }


def _sums(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    return np.add.reduceat(values, starts) if len(starts) else np.empty(0, values.dtype)


def _ids(steps: Steps, at: np.ndarray) -> list[int | None]:
    return [number if number >= 0 else None for number in steps.id[at].tolist()]
