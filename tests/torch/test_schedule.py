"""The plan of deep windows, a pure function of the step number."""

import pytest

from stepscope.errors import StepscopeError
from stepscope_torch import Schedule
from stepscope_torch.schedule import as_schedule, next_window, steps_that_fit


def test_the_default_is_one_window_of_three_steps_after_ten():
    plan = as_schedule(None)
    assert plan == Schedule(skip_first=10, active=3, windows=1)
    assert next_window(plan, taken=0, previous=None) == 10
    assert next_window(plan, taken=1, previous=10) is None


def test_false_means_no_window():
    assert next_window(as_schedule(False), taken=0, previous=None) is None


def test_windows_follow_at_an_even_distance_from_where_the_last_one_really_began():
    plan = Schedule(skip_first=5, windows=3, every=100)
    assert next_window(plan, taken=1, previous=5) == 105
    assert next_window(plan, taken=2, previous=115) == 215


@pytest.mark.parametrize(("events_per_step", "steps"), [(None, 3), (0, 3), (10, 3), (400, 2), (999, 1), (5000, 1)])
def test_a_window_has_fewer_steps_rather_than_too_many_events(events_per_step, steps):
    assert steps_that_fit(Schedule(active=3, max_events=1000), events_per_step) == steps


@pytest.mark.parametrize(
    "arguments",
    [{"active": 0}, {"skip_first": -1}, {"windows": 1.5}, {"max_seconds": 0}, {"windows": 2, "every": 2, "active": 3}],
)
def test_a_plan_that_is_none_is_refused_in_a_sentence(arguments):
    with pytest.raises(StepscopeError, match=r"^Schedule\(.*\.$"):
        Schedule(**arguments)
