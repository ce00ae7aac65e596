"""The steps of a worker as columns: a page of them, or a picture of all."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepscope.analysis.extremes import extremes
from stepscope.analysis.steps import Steps
from stepscope.schema import ACTIVITIES, PHASES
from stepscope.summary import Analysis
from stepscope_tensorboard.answers import or_null

#: Stretches of steps in deep windows that are told; the latest ones where there are more.
MAX_DEEP_RUNS = 100


def steps_impl(analysis: Analysis, origin: int, rows: np.ndarray, offset: int, limit: int) -> dict[str, Any]:
    """A page of the steps at these positions, column by column; ``index`` are the positions."""
    steps = analysis.steps
    page = rows[offset : offset + limit]
    phases = analysis.phases
    return {
        "origin_ns": str(origin),
        "count": len(rows),
        "offset": offset,
        "index": page.tolist(),
        **_step_columns(steps, page, origin),
        "activity": _classes(analysis.activity, ACTIVITIES, None if steps is None else steps.deep, page),
        "phase": _classes(phases.ns if phases else None, PHASES, phases.measured if phases else None, page),
    }


def overview_impl(analysis: Analysis, origin: int, points: int) -> dict[str, Any]:
    """Few steps that show how long all of them take.

    Of each stretch of equally many steps the shortest and the longest are kept; so are the first and the last step,
    and the ends of each stretch of steps that lie in deep windows.
    """
    steps = analysis.steps
    count = 0 if steps is None else len(steps)
    runs = _runs(steps.deep) if steps is not None else np.empty((0, 2), np.int64)
    runs = runs[-MAX_DEEP_RUNS:]
    shown = np.empty(0, np.int64)
    if steps is not None and count:
        shown = np.union1d(extremes(steps.duration_ns, points), runs.ravel())
    return {
        "origin_ns": str(origin),
        "count": count,
        "incomplete": 0 if steps is None else int(np.count_nonzero(~steps.complete)),
        "deep": runs.tolist(),
        "index": shown.tolist(),
        **_step_columns(steps, shown, origin),
    }


def _runs(holds: np.ndarray) -> np.ndarray:
    """First and last position of each stretch of True, shape (stretches, 2)."""
    edges = np.flatnonzero(np.diff(holds.astype(np.int8), prepend=0, append=0))
    return np.column_stack((edges[::2], edges[1::2] - 1))


def _step_columns(steps: Steps | None, page: np.ndarray, origin: int) -> dict[str, list]:
    if steps is None:
        return {k: [] for k in ("id", "label", "start", "host", "duration", "complete", "inferred", "averaged")}
    return {
        "id": or_null(steps.id[page]),
        "label": [steps.label[i] for i in page.tolist()],
        "start": (steps.start_ns[page] - origin).tolist(),
        "host": steps.host_ns[page].tolist(),
        "duration": steps.duration_ns[page].tolist(),
        "complete": steps.complete[page].tolist(),
        "inferred": steps.inferred[page].tolist(),
        "averaged": [n if n > 1 else None for n in steps.averaged[page].tolist()],
    }


def _classes(
    columns: dict[str, np.ndarray] | None, names: tuple[str, ...], holds: np.ndarray | None, page: np.ndarray
) -> dict[str, list[int | None]]:
    """Each class's time in each step of a page; None where it was not measured."""
    if columns is None or holds is None:
        return {name: [None] * len(page) for name in names}
    measured = holds[page].tolist()
    out = {}
    for name in names:
        values = columns[name][page].tolist() if name in columns else [None] * len(page)
        out[name] = [value if ok else None for value, ok in zip(values, measured, strict=True)]
    return out
