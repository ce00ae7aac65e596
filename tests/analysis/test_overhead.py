"""Overhead: stalls of the stream, the hooks' own figure, and their share of the recorded time."""

import numpy as np

from stepscope.analysis.capture import merge
from stepscope.analysis.launches import link
from stepscope.analysis.overhead import overhead
from stepscope.analysis.steps import find_steps
from stepscope.schema import Events, Kind, Lane


def _live() -> Events:
    """Two steps of 1000 ns, and a stall of 500 ns between them."""
    return Events.from_columns(
        {
            "ts_ns": np.array([0, 1000, 1500]),
            "dur_ns": np.array([1000, 500, 1000]),
            "kind": np.array([Kind.STEP, Kind.OVERHEAD, Kind.STEP]),
            "name": np.array([0, 1, 0]),
            "step": np.array([0, -1, 1]),
        },
        ["step", "profiler_stall"],
        [Lane("thread", "MainThread")],
    )


def _steps(live: Events):
    capture = merge([])
    return find_steps(live, capture, link(capture.events))


def test_stall_and_hooks_share_the_time_of_steps_and_stalls():
    live = _live()
    shed = [{"feature": "modules", "from_step": 9, "ratio": 0.02}, "damaged"]
    cost = overhead(live, _steps(live), {"overhead": {"hook_ns_per_step": 10}, "budget": {"shed": shed}})
    assert cost is not None
    assert cost.stall_ns == 500
    assert cost.hook_ns_per_step == 10
    assert cost.shed == ["modules"]
    assert cost.ratio == (500 + 2 * 10) / (1000 + 1000 + 500)


def test_hooks_that_left_no_figure_are_unknown_not_free():
    live = _live()
    cost = overhead(live, _steps(live), {})
    assert cost is not None
    assert cost.hook_ns_per_step is None
    assert cost.ratio is None


def test_an_imported_file_has_no_overhead_to_tell():
    assert overhead(Events.empty(), _steps(Events.empty()), {}) is None
