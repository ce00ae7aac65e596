"""The flight recorder: what makes it ask for a window, and what keeps it from asking too often."""

from __future__ import annotations

import math

import pytest

from stepscope.errors import StepscopeError
from stepscope.flight import LEAST_HISTORY, REST_STEPS, SETTLED_NS, FlightPlan, FlightRecorder, as_plan, sentence
from stepscope.live_columns import Names, Written, of_rows
from stepscope.recorder import Recorder
from stepscope.schema import Kind

MS = 1_000_000
HOUR_NS = 3_600_000_000_000


class Flight:
    """A flight recorder with a clock, a budget and a window taker of the test."""

    def __init__(self, tmp_path, plan=None):
        self.now_ns, self.stalls = 0, (0, 0)
        self.asked, self.refusal = [], None
        self.step = 0
        self.recorder = Recorder(tmp_path, framework="pytorch")
        plan = FlightPlan() if plan is None else plan
        self.flight = FlightRecorder(self.recorder, plan, self._ask, lambda: self.stalls, lambda: self.now_ns)
        self.now_ns = HOUR_NS

    def _ask(self, capture):
        if self.refusal is None:
            self.asked.append(capture)
        return self.refusal

    def steps(self, *durations_ms, args=None):
        """Steps that end in one round of the writer."""
        rows = [(int(Kind.STEP), "step", 0, d * MS, self.step + i, 1, args) for i, d in enumerate(durations_ms)]
        self.step += len(rows)
        self.flight.observe(Written(of_rows(rows, Names())))
        self.flight.look()

    def stall(self):
        stall = [(int(Kind.OVERHEAD), "profiler_stall", 0, MS, -1, 1, None)]
        self.flight.observe(Written(of_rows(stall, Names())))

    def window_ends(self):
        self.asked[-1].failure = "ended, one way or another"
        self.flight.look()

    @property
    def reasons(self):
        return [capture.reason for capture in self.asked]


@pytest.fixture
def flight(tmp_path):
    return Flight(tmp_path)


def test_a_slow_step_asks_for_a_window(flight):
    flight.steps(*[100] * LEAST_HISTORY)
    flight.steps(100, 300, 100)
    step = LEAST_HISTORY + 1
    assert flight.reasons == [{"why": "slow_step", "step": step, "dur_ns": 300 * MS, "usual_ns": 100 * MS}]
    assert sentence(flight.reasons[0]) == "Step 51 took 300 ms, 3.0 times the usual 100 ms."
    assert flight.asked[0].steps == 3


def test_not_before_it_knows_what_is_usual(flight):
    flight.steps(*[100] * (LEAST_HISTORY - 1))
    flight.steps(1000)
    assert flight.asked == []


@pytest.mark.parametrize(
    ("usual", "slow"),
    [
        ([100], 150),  # 1.5 times the median and no more
        ([5], 25),  # 20 ms more than usual and no more
        ([100] * 19 + [400], 400),  # every twentieth step is as slow
    ],
)
def test_what_is_not_slow_enough(flight, usual, slow):
    flight.steps(*usual * (200 // len(usual)))
    flight.steps(slow)
    assert flight.asked == []
    flight.steps(slow + 1)
    assert len(flight.asked) == 1


def test_incomplete_steps_do_not_count(flight):
    flight.steps(*[100] * 60)
    flight.steps(1000, args={"complete": False})
    assert flight.asked == []


def test_one_at_a_time_and_a_rest_after_it(flight):
    flight.steps(*[100] * 60)
    flight.steps(500)
    flight.steps(500)
    assert len(flight.asked) == 1
    flight.window_ends()
    flight.steps(*[500] * REST_STEPS)
    assert len(flight.asked) == 1
    flight.steps(500)
    assert len(flight.asked) == 2


def test_steps_beside_a_stall_do_not_count(flight):
    flight.steps(*[100] * 60)
    flight.stall()
    flight.steps(*[500] * REST_STEPS)
    assert flight.asked == []


def test_no_more_windows_than_planned(flight):
    flight.steps(*[100] * 900)
    for _ in range(5):
        flight.steps(500)
        if flight.asked:
            flight.window_ends()
        flight.steps(*[100] * REST_STEPS)
    assert len(flight.asked) == FlightPlan().windows


def test_no_more_time_than_planned(flight):
    flight.stalls = (2_000_000_000, 2)  # the next one makes 3 s: 1 % of 300 s
    flight.steps(*[100] * 60)
    flight.now_ns = 299_000_000_000
    flight.steps(500)
    assert flight.asked == []
    flight.now_ns = 300_000_000_000
    flight.steps(500)
    assert len(flight.asked) == 1


def test_not_while_the_training_warms_up(flight):
    flight.now_ns = SETTLED_NS - 1
    flight.stalls = (1, 1)
    flight.steps(*[100] * 60)
    flight.steps(500)
    assert flight.asked == []


def test_a_refusal_is_no_window_taken(flight):
    flight.refusal = "Another capture is under way."
    flight.steps(*[100] * 300)
    for _ in range(3):
        flight.steps(500)
    flight.refusal = None
    flight.steps(600)
    assert len(flight.asked) == 1


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_no_number_is_noted_and_asks_once(flight, value):
    flight.now_ns = 0  # whatever the budget
    for step, loss in enumerate([1.0, 0.5, value, value]):
        flight.flight.loss(loss, step)
    flight.steps(100)
    flight.window_ends()
    flight.steps(100)
    assert flight.reasons == [{"why": "loss_not_finite", "step": 2, "value": str(value)}]
    (note,) = flight.recorder.notes.list()
    assert (note.code, note.detail) == ("loss_not_finite", f"The loss was {value} in step 2.")


def test_without_a_plan_a_bad_loss_is_noted_only(tmp_path):
    flight = Flight(tmp_path)
    flight.flight._plan = None
    flight.steps(*[100] * 60)
    flight.steps(900)
    flight.flight.loss(math.nan, 5)
    flight.steps(100)
    assert flight.asked == []
    assert [note.code for note in flight.recorder.notes.list()] == ["loss_not_finite"]


def test_plans():
    assert as_plan(None, True) == as_plan(True, False) == FlightPlan()
    assert as_plan(None, False) is as_plan(False, True) is None
    with pytest.raises(StepscopeError, match="time_ratio from 0 to 1"):
        FlightPlan(time_ratio=2)
