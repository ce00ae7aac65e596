"""What the profiler itself cost the training: stalls that it caused, and the work of its hooks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepscope.analysis.steps import Steps
from stepscope.analysis.window_effect import window_effect
from stepscope.schema import Events, Kind


@dataclass(frozen=True)
class Overhead:
    """Time that the profiler took from the training thread; null for imported files and where it was not measured.

    Metrics:
        stall_ns: time the training thread stood still while a deep window opened, closed or was saved
            (``profiler_stall`` spans, outside of steps)
        hook_ns_per_step: median self time of the hooks in a step, sampled; what the framework spends on
            calling a hook is not in it
        ratio: (stall_ns + hook_ns_per_step * steps) / (time of the steps + stall_ns)
        window_effect_ratio: how much longer steps take after a deep window than before it: median of up to 20
            complete steps after it / median of up to 20 before it - 1, the median of all windows; null where
            fewer than 5 steps are on a side
        shed: what was given up to stay within the overhead budget, in that order; steps never are
    """

    stall_ns: int
    hook_ns_per_step: int | None
    ratio: float | None
    window_effect_ratio: float | None
    shed: list[str]


def overhead(live: Events, steps: Steps, meta: Mapping[str, Any]) -> Overhead | None:
    """The cost of recording one worker.

    Args:
        live: the always-on stream.
        steps: the steps of the worker.
        meta: worker.json; the hooks leave their sampled self time there when they end.
    """
    if len(live) == 0:
        return None
    stall_ns = int(live.dur_ns[live.of_kind(Kind.OVERHEAD)].sum())
    hook_ns = (meta.get("overhead") or {}).get("hook_ns_per_step")
    hook_ns = hook_ns if isinstance(hook_ns, int) else None
    covered_ns = int(np.sum(steps.host_ns)) + stall_ns
    known = hook_ns is not None and covered_ns > 0
    ratio = (stall_ns + (hook_ns or 0) * len(steps)) / covered_ns if known else None
    return Overhead(stall_ns, hook_ns, ratio, window_effect(live, steps), _shed(meta.get("budget")))


def _shed(told: object) -> list[str]:
    """From worker.json, of whatever form it is."""
    listed = told.get("shed") if isinstance(told, Mapping) else None
    entries = (
        [entry.get("feature") for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []
    )
    return [feature for feature in entries if isinstance(feature, str)]
