"""Which steps are meant, and what they are divided into."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.schema import ACTIVITIES, PHASES
from stepscope.summary import Analysis

#: What steps are divided into.
DIVISIONS = ("activity", "phase")
#: Which steps count: all, those captured in depth, those with phases.
WHICH = ("all", *DIVISIONS)


@dataclass(frozen=True)
class Chosen:
    """Steps from position ``first`` to ``last``, both included, that meet [``t0_ns``, ``t1_ns``), and of them those
    that have the division ``only``. None sets no bound."""

    only: str = "all"
    first: int | None = None
    last: int | None = None
    t0_ns: int | None = None
    t1_ns: int | None = None


@dataclass(frozen=True, eq=False)
class Partition:
    """Columns of ns, one entry a step, that sum to ``whole_ns``; they hold where ``measured``."""

    names: tuple[str, ...]
    columns: dict[str, np.ndarray]
    measured: np.ndarray
    whole_ns: np.ndarray


def chosen_rows(analysis: Analysis, chosen: Chosen) -> np.ndarray:
    """Positions of the chosen steps, rising."""
    steps = analysis.steps
    if steps is None:
        return np.empty(0, np.int64)
    keep = np.ones(len(steps), bool)
    if chosen.only != "all":
        keep &= measured_of(analysis, chosen.only)
    if chosen.t0_ns is not None:
        keep &= steps.end_ns > chosen.t0_ns
    if chosen.t1_ns is not None:
        keep &= steps.start_ns < chosen.t1_ns
    rows = np.flatnonzero(keep)
    if chosen.first is not None:
        rows = rows[rows >= chosen.first]
    return rows if chosen.last is None else rows[rows <= chosen.last]


def measured_of(analysis: Analysis, division: str) -> np.ndarray:
    """Mask of the steps that were divided so."""
    assert analysis.steps is not None
    if division == "activity":
        return analysis.steps.deep if analysis.activity is not None else np.zeros(len(analysis.steps), bool)
    return np.zeros(len(analysis.steps), bool) if analysis.phases is None else analysis.phases.measured


def partition_of(
    analysis: Analysis, division: str, on_host: dict[str, np.ndarray] | None = None, on_device: bool = False
) -> Partition:
    """Every step divided by activity or by phase.

    Args:
        on_device: phases as a device went through them, where they were recorded.
        on_host: activity of the host time of the steps, to divide that instead of their duration, which reaches to the
            end of the device work launched inside.
    """
    steps = analysis.steps
    assert steps is not None
    measured = measured_of(analysis, division)
    if division == "phase" and on_device and (found := analysis.device_phases) is not None:
        whole = np.where(found.measured, found.whole_ns, steps.duration_ns)
        return Partition(PHASES, found.ns, found.measured, whole)
    if division == "phase":
        return Partition(PHASES, {} if analysis.phases is None else analysis.phases.ns, measured, steps.host_ns)
    if on_host is None:
        return Partition(ACTIVITIES, analysis.activity or {}, measured, steps.duration_ns)
    return Partition(ACTIVITIES, on_host, measured, steps.host_ns)


#: Columns by which steps can be sorted, besides the parts of the divisions.
SORTS = ("id", "label", "start", "host", "duration")


def ordered(analysis: Analysis, rows: np.ndarray, sort: str, descending: bool) -> np.ndarray:
    """The rows by one column; those without a value come last whichever way the others are sorted.

    Args:
        sort: one of ``SORTS``, a class of activity, or ``phase:`` and a phase (both divisions have an ``other``).
    """
    steps = analysis.steps
    assert steps is not None
    if sort == "label":
        text = np.array([steps.label[i] for i in rows.tolist()], dtype=object)
        values = np.unique(text, return_inverse=True)[1] if len(rows) else np.empty(0, np.int64)
        known = np.ones(len(rows), bool)
    elif sort in SORTS:
        columns = {"id": steps.id, "start": steps.start_ns, "host": steps.host_ns, "duration": steps.duration_ns}
        values = columns[sort][rows]
        known = values >= 0 if sort == "id" else np.ones(len(rows), bool)
    else:
        division, _, name = ("activity:" + sort if ":" not in sort else sort).partition(":")
        partition = partition_of(analysis, division)
        known = partition.measured[rows] & (name in partition.columns)
        values = partition.columns[name][rows] if name in partition.columns else np.zeros(len(rows), np.int64)
    return rows[np.lexsort((rows, -values if descending else values, ~known))]
