"""The median step after a deep window over the one before it."""

import pytest

from stepscope.analysis.capture import merge
from stepscope.analysis.launches import link
from stepscope.analysis.steps import find_steps
from stepscope.analysis.window_effect import window_effect
from stepscope.schema import Events, Kind
from tests.analysis.table import Table


def effect_of(plan: list[int | str]) -> float | None:
    """Of steps of these durations in a row; "start" and "stop" are stalls between them."""
    table, at, number = Table(), 0, 0
    for what in plan:
        if isinstance(what, str):
            table.host(Kind.OVERHEAD, "profiler_stall", at, 1000).told(part=what)
            at += 1000
        else:
            table.host(Kind.STEP, "step", at, what, step=number)
            at, number = at + what, number + 1
    live = table.events()
    capture = merge([])
    return window_effect(live, find_steps(live, capture, link(capture.events)))


def test_medians_of_twenty_steps_on_either_side():
    plan = [900] * 3 + [100] * 20 + ["start", 300, 300, "stop"] + [110] * 20 + [900] * 30
    assert effect_of(plan) == pytest.approx(0.1)


def test_a_probe_right_before_the_window_belongs_to_it():
    plan = [100] * 8 + ["start", 500, "stop", 100, "start", 300, "stop"] + [90] * 5
    assert effect_of(plan) == pytest.approx(-0.1)


def test_steps_between_two_windows_are_after_one_and_before_the_other():
    plan = [100] * 5 + ["start", 300, "stop"] + [200] * 6 + ["start", 300, "stop"] + [300] * 6
    assert effect_of(plan) == pytest.approx((1.0 + 0.5) / 2)


@pytest.mark.parametrize("plan", [[100] * 9, [100] * 4 + ["start", 1, "stop"] + [100] * 9, [100] * 9 + ["start", 100]])
def test_too_few_steps_are_no_measurement(plan):
    assert effect_of(plan) is None


def test_nothing_has_no_effect():
    assert window_effect(Events.empty(), find_steps(Events.empty(), merge([]), link(Events.empty()))) is None
