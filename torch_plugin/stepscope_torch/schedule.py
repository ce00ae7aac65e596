"""When deep windows are taken: a plan that is a plain value, and pure functions of the step number."""

from __future__ import annotations

from dataclasses import dataclass

from stepscope.errors import StepscopeError


@dataclass(frozen=True)
class Schedule:
    """The plan of the deep windows of a run.

    Args:
        skip_first: number of the first step of the first window: how long the training warms up. Two steps
            before it a probe is taken: one step that tells how many events a step makes, and is thrown away.
            Below 2 there is no probe, and only ``max_seconds`` bounds the window.
        active: steps in a window.
        windows: how many windows; 0 for none.
        every: steps from the begin of one window to the begin of the next.
        max_events: a window is shortened, to one step at least, rather than hold more events than this.
            Stopping costs 4 to 10 us an event, during which the training stands still; an event with
            ``record_shapes`` counts twice, since it takes twice as long.
        max_seconds: a window ends with the step in which it has lasted this long.

    Raises:
        StepscopeError: a value makes no plan.
    """

    skip_first: int = 10
    active: int = 3
    windows: int = 1
    every: int = 1000
    max_events: int = 100_000
    max_seconds: float = 30.0

    def __post_init__(self) -> None:
        for name, least in (("skip_first", 0), ("active", 1), ("windows", 0), ("every", 1), ("max_events", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise StepscopeError(f"Schedule({name}={value!r}): expected a whole number of at least {least}.")
        if not self.max_seconds > 0:
            raise StepscopeError(f"Schedule(max_seconds={self.max_seconds!r}): expected a number above 0.")
        if self.windows > 1 and self.every < self.active:
            raise StepscopeError(f"Schedule(every={self.every}, active={self.active}): windows would overlap.")


#: What ``Profiler(schedule=...)`` takes: a plan, None for the default one, False for no deep windows.
ScheduleLike = Schedule | None | bool


def as_schedule(given: ScheduleLike) -> Schedule:
    """The plan that the argument of ``Profiler`` means."""
    if given is None or given is True:
        return Schedule()
    if given is False:
        return Schedule(windows=0)
    return given


def next_window(schedule: Schedule, taken: int, previous: int | None) -> int | None:
    """The step with which the next window begins, or None if all are taken.

    Args:
        taken: windows so far.
        previous: the step with which the last one began, which may be later than planned.
    """
    if taken >= schedule.windows:
        return None
    return schedule.skip_first if previous is None else previous + schedule.every


def steps_that_fit(schedule: Schedule, events_per_step: int | None) -> int:
    """Steps of a window: ``active``, or fewer where they would make more than ``max_events``; at least 1."""
    if not events_per_step:
        return schedule.active
    return max(1, min(schedule.active, schedule.max_events // events_per_step))
