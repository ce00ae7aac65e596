"""Whether the training runs as fast after a deep window as before it."""

from __future__ import annotations

import numpy as np

from stepscope.analysis.steps import Steps
from stepscope.schema import Events, Kind

#: Steps that are compared on either side, at most and at least.
MOST, LEAST = 20, 5


def window_effect(live: Events, steps: Steps) -> float | None:
    """Median step after a deep window over the median before it, less 1; of several windows the median.

    Up to 20 complete steps on either side are compared; None where there are fewer than 5. A profiler of the GPU
    that stays attached after its window makes the steps after it slower.
    """
    captures = _captures(live)
    start, end, dur = steps.host_start_ns, steps.host_end_ns, steps.host_ns
    complete = steps.complete & steps.from_live
    effects = []
    for i, (begin, stop) in enumerate(captures):
        earliest = captures[i - 1][1] if i else np.iinfo(np.int64).min
        latest = captures[i + 1][0] if i + 1 < len(captures) else np.iinfo(np.int64).max
        before = dur[complete & (start >= earliest) & (end <= begin)][-MOST:]
        after = dur[complete & (start >= stop) & (end <= latest)][:MOST]
        if len(before) >= LEAST and len(after) >= LEAST:
            effects.append(float(np.median(after) / np.median(before)) - 1)
    return float(np.median(effects)) if effects else None


def _captures(live: Events) -> list[tuple[int, int]]:
    """Begin and end of each capture, in order of time; such as follow within few steps (probe and window) as one."""
    rows = np.flatnonzero(live.of_kind(Kind.OVERHEAD))
    rows = rows[np.argsort(live.ts_ns[rows], kind="stable")]
    step_start = np.sort(live.ts_ns[live.of_kind(Kind.STEP)])
    found: list[tuple[int, int]] = []
    begin = None
    for row in rows.tolist():
        part = live.args_of(row).get("part")
        if part == "start":
            begin = int(live.ts_ns[row])
        elif part == "stop" and begin is not None:
            stop = int(live.end_ns[row])
            if found and np.searchsorted(step_start, begin) - np.searchsorted(step_start, found[-1][1]) < LEAST:
                found[-1] = (found[-1][0], stop)
            else:
                found.append((begin, stop))
            begin = None
    return found
