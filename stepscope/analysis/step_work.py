"""What ran in each step by name, and in what one step differs from the usual one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis.launches import Links
from stepscope.analysis.nesting import nest
from stepscope.analysis.select import host_rows
from stepscope.analysis.steps import Steps
from stepscope.schema import NONE, RUNTIME_CALLS, Events, Kind

#: Steps that a step is compared with at most: those nearest to it.
MAX_PEERS = 200


@dataclass(frozen=True)
class Difference:
    """What one step has more or less of than the usual one: all work of one name.

    *Device*: kernels, collectives, copies and fills launched in the step (where the launch is not in the
    trace: begun in it), by their durations. *Host*: operators and
    runtime calls that begin in the step, by their self time (without the ones inside), all threads. Usual is the
    median over the complete steps captured in depth (the 200 nearest ones), in which a name that does not occur
    counts as 0.

    Metrics:
        name: of the kernel, copy, operator or call
        ns: its time in the step
        median_ns: its usual time
        delta_ns: ns - median_ns
        count: how often it ran in the step
        median_count: how often it usually runs
        row: the longest one in the step, by its place in the table of events; null where the step has none
    """

    name: str
    ns: int
    median_ns: int
    delta_ns: int
    count: int
    median_count: int
    row: int | None


@dataclass(frozen=True, eq=False)
class WorkByStep:
    """Rows of work with the step (position, ``NONE`` for none), name and time of each."""

    rows: np.ndarray
    step: np.ndarray
    name: np.ndarray
    ns: np.ndarray


def step_of_host(steps: Steps, at_ns: np.ndarray) -> np.ndarray:
    """The step whose marker holds each moment, ``NONE`` outside of all."""
    return _within(steps.host_start_ns, steps.host_end_ns, at_ns)


def step_of_runs(events: Events, links: Links, steps: Steps) -> np.ndarray:
    """The step of each run of the links: that of its launch; without a launch, the one that it starts in."""
    launched = links.call_of_run != NONE
    step = _within(steps.start_ns, steps.end_ns, events.ts_ns[links.run])
    step[launched] = step_of_host(steps, events.ts_ns[links.call[links.call_of_run[launched]]])
    return step


def device_work_by_step(events: Events, links: Links, steps: Steps) -> WorkByStep:
    """Every run on a device."""
    rows = links.run
    step = step_of_runs(events, links, steps)
    return WorkByStep(rows, step, events.name[rows].astype(np.int64), events.dur_ns[rows])


def host_work_by_step(events: Events, steps: Steps) -> WorkByStep:
    """Every operator and runtime call, with its self time."""
    tree = nest(events, host_rows(events, Kind.OP, *RUNTIME_CALLS))
    step = step_of_host(steps, events.ts_ns[tree.rows])
    return WorkByStep(tree.rows, step, events.name[tree.rows].astype(np.int64), tree.self_ns(events))


def differences(names: list[str], work: WorkByStep, step: int, usual: np.ndarray) -> list[Difference]:
    """Every name that differs in time or count, the largest difference first.

    Args:
        names: of the events, to which ``work.name`` points.
        usual: positions of the steps that the medians are over; not empty.
    """
    usual = nearest(usual, step)
    used = np.isin(work.step, np.append(usual, step))
    rows, at, name, ns = work.rows[used], work.step[used], work.name[used], work.ns[used]
    known, code = np.unique(name, return_inverse=True)
    place = np.searchsorted(usual, at)
    peer = np.isin(at, usual)
    size = (len(usual), len(known))
    time, count = np.zeros(size, np.int64), np.zeros(size, np.int64)
    np.add.at(time, (place[peer], code[peer]), ns[peer])
    np.add.at(count, (place[peer], code[peer]), 1)
    median = len(usual) - 1 >> 1  # nearest rank: a value that occurred
    usual_ns, usual_count = np.sort(time, axis=0)[median], np.sort(count, axis=0)[median]
    own = at == step
    own_ns, own_count = np.zeros(len(known), np.int64), np.zeros(len(known), np.int64)
    np.add.at(own_ns, code[own], ns[own])
    np.add.at(own_count, code[own], 1)
    longest = np.full(len(known), NONE, np.int64)
    by_time = np.argsort(ns[own], kind="stable")
    longest[code[own][by_time]] = rows[own][by_time]  # the last one stays
    delta = own_ns - usual_ns
    return [
        Difference(
            names[known[i]],
            int(own_ns[i]),
            int(usual_ns[i]),
            int(delta[i]),
            int(own_count[i]),
            int(usual_count[i]),
            int(longest[i]) if longest[i] != NONE else None,
        )
        for i in np.lexsort((known, -np.abs(delta))).tolist()
        if delta[i] or own_count[i] != usual_count[i]
    ]


def nearest(positions: np.ndarray, step: int) -> np.ndarray:
    """At most ``MAX_PEERS`` positions, those nearest to a step, rising."""
    by_distance = np.argsort(np.abs(positions - step), kind="stable")
    return np.sort(positions[by_distance[:MAX_PEERS]])


def _within(start_ns: np.ndarray, end_ns: np.ndarray, at_ns: np.ndarray) -> np.ndarray:
    """Position of the interval that holds each moment; the intervals are sorted and disjoint."""
    if len(start_ns) == 0:
        return np.full(len(at_ns), NONE, np.int64)
    found = np.searchsorted(start_ns, at_ns, "right") - 1
    inside = (found >= 0) & (at_ns < end_ns[np.maximum(found, 0)])
    return np.where(inside, found, NONE)
