"""The overhead budget: figures are given, and what it gives up is told."""

from __future__ import annotations

import logging

import pytest

from stepscope.budget import PERIOD_NS, OverheadBudget
from stepscope.live_columns import Names, Written, of_rows
from stepscope.recorder import Recorder
from stepscope.schema import LIVE_SCHEMA, Kind
from stepscope.store import read_stream


def spans(kind, name, count=1, step=0):
    """So many spans of one kind, with step numbers from ``step`` on."""
    return Written(of_rows([(int(kind), name, i, 1, step + i, 1, None) for i in range(count)], Names()))


class Budget:
    """A budget of 1 % whose clock and costs are the test's. A period has 10 s."""

    def __init__(self, tmp_path, ratio=0.01, features=("modules", "phases")):
        self.now_ns, self.hook_ns, self.step, self.shed = 0, None, 0, []
        # Not started: its own writer thread would add to what the test says that one cost.
        self.recorder = Recorder(tmp_path / "run", framework="pytorch")
        self.budget = OverheadBudget(
            self.recorder, ratio, features, lambda: self.hook_ns, self.shed.append, lambda: self.now_ns
        )
        self.recorder.writer_ns = 85_000_000  # of the first rows, for which modules are loaded
        self.budget.observe(spans(Kind.PHASE, "forward"))
        self.budget.look()

    def period(self, steps=1000, hook_ns=None, writer_ns=0):
        """A period of so many steps, whose hooks and writer cost so much."""
        self.budget.observe(spans(Kind.STEP, "step", steps, self.step))
        self.step += steps
        self.hook_ns = hook_ns
        self.now_ns += PERIOD_NS
        self.recorder.writer_ns += writer_ns
        self.budget.look()

    @property
    def told(self):
        return self.recorder.meta["budget"]

    def codes(self):
        return [note.code for note in self.recorder.notes.list()]


@pytest.fixture
def budget(tmp_path):
    return Budget(tmp_path)


def test_within_the_budget_nothing_happens(budget):
    budget.period(steps=1000, hook_ns=100_000)  # 0.1 of 10 s is 1 %, and no more
    assert (budget.shed, budget.codes()) == ([], [])
    assert budget.told == {"limit": 0.01, "hook_ratio": 0.01, "writer_ratio": 0.0, "shed": []}


@pytest.mark.parametrize(
    ("hook_ns", "writer_ns"), [(101_000, 0), (None, 101_000_000), (60_000, 41_000_000)], ids=["hooks", "writer", "both"]
)
def test_above_it_the_first_feature_goes(budget, caplog, hook_ns, writer_ns):
    with caplog.at_level(logging.WARNING, "stepscope"):
        budget.period(1000, hook_ns, writer_ns)
    assert budget.shed == ["modules"]
    (shed,) = budget.told["shed"]
    assert (shed["feature"], shed["from_step"]) == ("modules", 1000)
    assert shed["ratio"] == pytest.approx(0.0101)
    (note,) = budget.recorder.notes.list()
    assert note.detail == (
        "Recording cost 1.0% of the time, above the budget of 1.0%: modules are not measured from step 1000 on."
    )
    assert len(caplog.records) == 1


def test_one_feature_a_period_and_never_the_steps(budget, caplog):
    with caplog.at_level(logging.WARNING, "stepscope"):
        for _ in range(5):
            budget.period(hook_ns=500_000)
    assert budget.shed == ["modules", "phases"]
    assert budget.recorder.steps_only_from == 2000
    assert len(caplog.records) == 1


def test_what_annotations_cost_the_writer_is_no_reason_to_give_up_something_else(budget):
    budget.budget.observe(spans(Kind.ANNOTATION, "augment", 9000))
    budget.period(steps=1000, writer_ns=990_000_000)  # a tenth of its rows are the hook's: 0.99 %
    assert budget.shed == []
    budget.budget.observe(spans(Kind.ANNOTATION, "augment", 9000))
    budget.period(steps=1000, writer_ns=1_010_000_000)
    assert budget.shed == ["modules"]


def test_no_judgement_before_a_period_is_over(budget):
    budget.now_ns = PERIOD_NS - 1
    budget.recorder.writer_ns += PERIOD_NS
    budget.budget.look()
    assert budget.shed == []


def test_each_period_is_judged_by_itself(budget):
    budget.period(writer_ns=99_000_000)
    budget.period(writer_ns=99_000_000)
    assert budget.shed == []


def test_without_a_bound_the_cost_is_told(tmp_path):
    budget = Budget(tmp_path, ratio=None)
    budget.period(hook_ns=900_000)
    assert budget.shed == []
    assert budget.told["hook_ratio"] == pytest.approx(0.09)


def test_from_then_on_the_steps_alone_are_kept(tmp_path):
    recorder = Recorder(tmp_path / "run", framework="pytorch")
    recorder.start()
    recorder.steps_only_from = 2
    for step in range(4):
        recorder.span(Kind.PHASE, "forward", 0, 1, step)
        recorder.span(Kind.STEP, "step", 0, 2, step)
    recorder.span(Kind.PHASE, "validation", 5, 6)
    recorder.stop()
    rows = read_stream(recorder.folder.live_path(), LIVE_SCHEMA).to_pylist()
    assert [(row["name"], row["step"]) for row in rows] == [
        *(("forward", 0), ("step", 0), ("forward", 1), ("step", 1)),
        *(("step", 2), ("step", 3), ("validation", -1)),
    ]
