"""A stretch of steps in numbers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from stepscope.analysis.histogram import histogram
from stepscope.analysis.percentiles import nearest_rank
from stepscope.analysis.steps import Steps
from stepscope.breakdown.selection import Partition
from stepscope.summary.distributions import distribution

#: A step is an outlier where it takes so many times the median.
OUTLIER_FACTOR = 1.5
#: Outliers that are listed, the longest first.
MAX_OUTLIERS = 50


def statistics(steps: Steps, rows: np.ndarray, partition: Partition) -> dict[str, Any]:
    """How long the complete ones of these steps take, and what they divide into.

    Returns:
        ``steps``, ``incomplete``, ``divided``: how many; ``time_ns``: percentiles; ``histogram``; ``outlier_above_ns``
        (1.5 times the median), ``outlier_count`` and ``outliers`` (positions, the longest first); ``parts``: of each
        part ``total_ns`` over the divided steps and ``median_ns`` of a step; ``slowest``: position, time, and the part
        that makes most of its difference to the median.
    """
    complete = rows[steps.complete[rows]]
    ns = partition.whole_ns[complete]
    time = distribution([ns])
    found = histogram(ns)
    divided = rows[partition.measured[rows]]
    limit = None if time is None else OUTLIER_FACTOR * time["p50"]
    outliers = complete[:0] if limit is None else complete[ns > limit]
    outliers = outliers[np.argsort(-partition.whole_ns[outliers], kind="stable")]
    return {
        "steps": len(rows),
        "incomplete": len(rows) - len(complete),
        "divided": len(divided),
        "first": int(rows[0]) if len(rows) else None,
        "last": int(rows[-1]) if len(rows) else None,
        "time_ns": time,
        "histogram": None if found is None else asdict(found),
        "outlier_above_ns": limit,
        "outlier_count": len(outliers),
        "outliers": [_told(steps, i, partition) for i in outliers[:MAX_OUTLIERS].tolist()],
        "parts": {
            name: {
                "total_ns": int(partition.columns[name][divided].sum()) if len(divided) else None,
                "median_ns": nearest_rank(partition.columns[name][divided], 50)[0] if len(divided) else None,
            }
            for name in partition.names
            if name in partition.columns
        },
        "slowest": _slowest(steps, complete, partition),
    }


def _told(steps: Steps, at: int, partition: Partition) -> dict[str, Any]:
    number = int(steps.id[at])
    return {
        "index": at,
        "id": number if number >= 0 else None,
        "label": steps.label[at],
        "ns": int(partition.whole_ns[at]),
    }


#: A part stands out where it makes so much of the difference between a step and the median.
STANDS_OUT_RATIO = 0.4
_FEWEST = 3


def _slowest(steps: Steps, complete: np.ndarray, partition: Partition) -> dict[str, Any] | None:
    """The slowest complete step, and the part that makes most of its difference to the medians of all, if one does."""
    if len(complete) < _FEWEST:
        return None
    ns = partition.whole_ns[complete]
    at = int(complete[np.argmax(ns)])
    median = nearest_rank(ns, 50)[0]
    part = None
    divided = complete[partition.measured[complete]]
    if partition.measured[at] and len(divided) >= _FEWEST:
        more = {
            name: int(values[at]) - nearest_rank(values[divided], 50)[0] for name, values in partition.columns.items()
        }
        name = max(more, key=lambda n: more[n])
        if more[name] > 0 and more[name] >= STANDS_OUT_RATIO * (int(ns.max()) - median):
            part = {"name": name, "more_ns": more[name]}
    return {**_told(steps, at, partition), "median_ns": median, "part": part}
