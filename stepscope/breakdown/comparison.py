"""One step beside the usual one: classes, phases, and the work that differs."""

from __future__ import annotations

import threading
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

import numpy as np

from stepscope.analysis.activity import activity_by_step
from stepscope.analysis.modules import Module, module_times
from stepscope.analysis.percentiles import nearest_rank
from stepscope.analysis.step_work import (
    MAX_PEERS,
    Difference,
    WorkByStep,
    device_work_by_step,
    differences,
    host_work_by_step,
    nearest,
)
from stepscope.analysis.steps import Steps
from stepscope.breakdown.selection import DIVISIONS, Partition, partition_of
from stepscope.schema import Events
from stepscope.summary import Analysis
from stepscope.tables.source import Source


class Work:
    """The events of the deep windows by step, each view made when it is first asked for. Any thread may ask."""

    def __init__(self, source: Source, steps: Steps) -> None:
        self._source = source
        self._steps = steps
        self._lock = threading.RLock()

    @property
    def events(self) -> Events:
        return self._source.events

    def make(self) -> None:
        """Make what ``differences`` needs."""
        with self._lock:
            _ = self._device, self._host

    @cached_property
    def _device(self) -> WorkByStep:
        return device_work_by_step(self._source.events, self._source.links, self._steps)

    @cached_property
    def _host(self) -> WorkByStep:
        return host_work_by_step(self._source.events, self._steps)

    @cached_property
    def host_activity(self) -> dict[str, np.ndarray]:
        """Activity of each step from the start to the end of its marker: the classes sum to its host time."""
        steps = self._steps
        on_host = replace(steps, start_ns=steps.host_start_ns, duration_ns=steps.host_ns)
        return activity_by_step(self._source.events, on_host)

    def differences(self, step: int, usual: np.ndarray) -> tuple[list[Difference], list[Difference]]:
        """Device and host work of a step that differs from the usual one."""
        with self._lock:
            works = self._device, self._host
        device, host = (differences(self.events.names, work, step, usual) for work in works)
        return device, host

    def modules(self, t0_ns: int | None, t1_ns: int | None) -> list[Module] | None:
        """All modules, parents before their children, counting what was launched or began in [t0, t1); None where
        the capture shows none."""
        source = self._source
        with self._lock:
            owners = source.owners
            if owners is None:
                return None
            events = source.events
            within = np.ones(len(events), bool)
            if t0_ns is not None:
                within &= events.ts_ns >= t0_ns
            if t1_ns is not None:
                within &= events.ts_ns < t1_ns
            times = module_times(events, source.links, source.calls, owners, within)
        return [Module(owners.path(i) if i < len(owners) else [], **times.entry(i)) for i in range(len(owners) + 1)]


def comparison(analysis: Analysis, work: Work | None, step: int, most: int) -> dict[str, Any]:
    """What one step has more or less of than the usual one.

    Usual is the median over the complete steps that were divided the same way, at most the 200 nearest ones. Names of
    device and host work are listed by the size of their difference, at most ``most`` of each.

    Args:
        work: of the deep windows; None where there is none.
        step: position among all steps.
    """
    steps = analysis.steps
    assert steps is not None
    partitions = {division: partition_of(analysis, division) for division in DIVISIONS}
    number = int(steps.id[step])
    usual = np.flatnonzero(steps.complete)
    deep = np.flatnonzero(steps.complete & steps.deep)
    device: list[Difference] | None = None
    host: list[Difference] | None = None
    if work is not None and steps.deep[step] and len(deep):
        device, host = work.differences(step, deep)
    return {
        "index": step,
        "id": number if number >= 0 else None,
        "label": steps.label[step],
        "complete": bool(steps.complete[step]),
        "deep": bool(steps.deep[step]),
        "duration": _beside(steps.duration_ns, step, usual),
        "host": _beside(steps.host_ns, step, usual),
        "deep_peers": min(len(deep), MAX_PEERS),
        **{division: _parts(partition, step, steps.complete) for division, partition in partitions.items()},
        "device_work": _listed(device, most),
        "host_work": _listed(host, most),
    }


def _beside(values: np.ndarray, step: int, usual: np.ndarray) -> dict[str, int | None]:
    median = nearest_rank(values[nearest(usual, step)], 50)[0] if len(usual) else None
    return {"ns": int(values[step]), "median_ns": median}


def _parts(partition: Partition, step: int, complete: np.ndarray) -> dict[str, Any] | None:
    """Each part of a step beside its median; None where the step was not divided."""
    if not partition.measured[step]:
        return None
    usual = np.flatnonzero(partition.measured & complete)
    names = [name for name in partition.names if name in partition.columns]
    return {name: _beside(partition.columns[name], step, usual) for name in names}


def _listed(found: list[Difference] | None, most: int) -> dict[str, Any] | None:
    """``rest_ns`` is what the differences that are not listed add up to: with it, the list tells all."""
    if found is None:
        return None
    return {
        "count": len(found),
        "rest_ns": sum(d.delta_ns for d in found[most:]),
        "delta_ns": sum(d.delta_ns for d in found),
        "rows": [asdict(d) for d in found[:most]],
    }
