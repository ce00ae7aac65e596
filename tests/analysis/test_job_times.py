"""The parts of a job around its steps (times in ns)."""

from __future__ import annotations

from stepscope.analysis.capture import merge
from stepscope.analysis.job_times import JobTimes, job_times
from stepscope.analysis.launches import link
from stepscope.analysis.steps import find_steps
from stepscope.schema import Events
from tests.analysis.table import Table


def found(table: Table, **meta: object) -> JobTimes | None:
    live = table.events()
    return job_times(find_steps(live, merge([]), link(Events.empty())), meta)


def test_the_parts_sum_to_the_recorded_time() -> None:
    steps = Table().step(1, 100, 50).step(2, 150, 50).step(3, 260, 40)
    told = found(steps, started_ns=30, ended_ns=310)
    assert told == JobTimes(initialisation_ns=70, steps_ns=140, between_ns=60, finalisation_ns=10)
    assert 70 + 140 + 60 + 10 == 310 - 30


def test_a_job_that_goes_on_has_no_end() -> None:
    assert found(Table().step(1, 100, 50), started_ns=90, ended_ns=None) == JobTimes(10, 50, 0, None)


def test_not_measured_without_a_start_or_a_step() -> None:
    assert found(Table().step(1, 100, 50)) is None
    assert found(Table(), started_ns=1, ended_ns=2) is None
