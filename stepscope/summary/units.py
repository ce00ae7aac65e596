"""The members on units of devices: what each achieved against its peak, and the hardware counters of the file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from stepscope.analysis.ceilings import Ceilings, ceilings_of
from stepscope.analysis.collectives import CollectiveRuns
from stepscope.analysis.counted_work import CountedWork, counted_operators
from stepscope.analysis.counter_units import counter_units
from stepscope.analysis.device_counters import (
    CounterValues,
    device_counters,
    ranges_by_kernel,
    ranges_by_operator,
)
from stepscope.analysis.device_units import device_named, device_units
from stepscope.analysis.gpu import Gpu
from stepscope.analysis.hlo_ops import HloRuns, hlo_runs_where
from stepscope.analysis.launches import Links
from stepscope.analysis.operators import Calls
from stepscope.analysis.select import device_of
from stepscope.analysis.steps import Steps
from stepscope.hlo.programs import Programs
from stepscope.schema import Device, Events, Program


def units_part(
    events: Events,
    steps: Steps,
    gpus: Sequence[Gpu],
    collectives: CollectiveRuns | None,
    devices: Sequence[Device],
    work: Sequence[CountedWork] | None,
    counters: CounterValues | None,
) -> list[dict[str, Any]]:
    found = device_units(events, steps, gpus, collectives, devices, work or ())
    if counters is not None and len(counters):
        found = sorted(found + counter_units(counters, devices), key=lambda unit: unit.device)
    return [asdict(unit) for unit in found]


def counters_part(events: Events, links: Links, found: CounterValues) -> dict[str, Any] | None:
    """Hardware counters, None where the file has none; ``operators_why`` tells why no operator is known."""
    if not len(found):
        return None
    operators, why = ranges_by_operator(events, links, found)
    return {
        "counters": [asdict(counter) for counter in device_counters(found)],
        "kernels": [asdict(each) for each in ranges_by_kernel(events, found)],
        "operators": [asdict(each) for each in operators],
        "operators_why": why,
    }


def counted_work(
    events: Events,
    gpus: Sequence[Gpu],
    calls: Calls | None,
    compiled: HloRuns | None,
    devices: Sequence[Device],
    programs: Callable[[], Iterable[Program]],
) -> list[CountedWork]:
    """What could be counted: of operations that XLA compiled device by device, else of PyTorch's operators."""
    if compiled is not None and compiled.on_device and len(compiled):
        read = Programs(programs())
        place = device_of(events, compiled.rows)
        found = [
            _counted_hlo(hlo_runs_where(events, compiled, place == gpu.device), read, gpu.device, devices)
            for gpu in gpus
        ]
        return [each for each in found if each is not None]
    used = [gpu.device for gpu in gpus]
    return counted_operators(events, calls, used, _roof(used[0], devices)) if used and calls is not None else []


def _counted_hlo(runs: HloRuns, programs: Programs, ordinal: int, devices: Sequence[Device]) -> CountedWork | None:
    # The tables, which sum the same, are much to load for the many captures without XLA.
    from stepscope.tables.hlo_work import HloWork

    roof = _roof(ordinal, devices)
    work = HloWork.of(runs, programs, roof)
    if not len(runs):
        return None
    (sums,) = [{key: values[0] for key, values in work.sums([np.zeros(len(runs.ops), np.int64)], 1).items()}]
    if not sums["flops"]:
        return None
    flops = work.flops * runs.executions
    peaks = np.array([np.nan if p is None or roof is None else roof.flop_per_s[p] for p in work.precisions], float)
    at_peak = float(np.nansum(flops / peaks)) * 1e9
    # FLOPs of fused elementwise work hardly count, and its time does: it is the device's use as a whole that is told.
    return CountedWork(
        ordinal,
        "the HLO operations whose work is known",
        sums["flops"],
        round(sums["flops_ns"]),
        at_peak if roof is not None else None,
        sums["bytes"] or 0,
        round(sums["bytes_ns"]) if sums["bytes"] else 0,
    )


def _roof(ordinal: int, devices: Sequence[Device]) -> Ceilings | None:
    device = device_named(ordinal, devices)
    return ceilings_of(device) if device else None
