"""The step rule on times of 0, 10, 20, ... that one can check by eye. No torch needed."""

from __future__ import annotations

from dataclasses import dataclass, field

from stepscope.schema import NONE, Kind
from stepscope_torch.steps import MAX_UPDATES_A_BATCH, StepTracker

MODEL, TEACHER = 1, 2


@dataclass
class Rows:
    """What the tracker says, as (name, start, end, step) tuples."""

    step: int = NONE
    steps: list[tuple[int, int, int]] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)
    phase_rows: list[tuple[str, int, int, int]] = field(default_factory=list)

    def span(self, kind, name, start_ns, end_ns, step, args=None):
        if kind == Kind.STEP:
            self.steps.append((step, start_ns, end_ns))
            if args:
                assert args == {"complete": False}
                self.cut.append(step)
        else:
            self.phase_rows.append((name, start_ns, end_ns, step))

    def phases(self, step, phases):
        self.phase_rows += [(name, start, end, step) for name, start, end in phases]

    def of(self, name):
        return [row[1:] for row in self.phase_rows if row[0] == name]


class Script:
    """A training loop in which everything takes 10 and follows at once."""

    def __init__(self):
        self.rows = Rows()
        self.now = 0
        self.tracker = StepTracker(self.rows, 0)

    def batch(self):
        self.tracker.input_begin(self.now)
        self.tracker.input_end(self.now, self.now + 10)
        return self.wait()

    def no_batch(self):
        self.tracker.input_begin(self.now)
        self.tracker.input_exhausted()
        return self.wait()

    def forward(self, module=MODEL, grad=True, training=True):
        self.tracker.forward_ends(self.now, module, grad, training)
        self.tracker.begin(self.now)
        self.tracker.forward_begin(module, grad, training)
        return self.phase("forward")

    def evaluate(self, module=MODEL):
        return self.forward(module, grad=False, training=False)

    def h2d(self):
        self.tracker.iteration_ends(self.now)
        return self.phase("h2d")

    def backward(self):
        return self.phase("backward")

    def phase(self, name):
        self.tracker.add(name, self.now, self.now + 10)
        return self.wait()

    def optimizer(self, counts=True):
        self.phase("optimizer")
        if counts:
            self.tracker.optimizer_ran(self.now)
        return self

    def train(self):
        return self.forward().backward().optimizer()

    def wait(self, ns=10):
        self.now += ns
        return self

    def mark(self):
        self.tracker.mark(self.now)
        return self

    def finish(self):
        self.tracker.finish()
        return self.rows


def test_a_step_lasts_from_one_batch_to_the_next():
    rows = Script().batch().train().batch().train().batch().train().finish()
    assert rows.steps == [(0, 0, 40), (1, 40, 80), (2, 80, 120)]
    assert rows.of("input_wait") == [(0, 10, 0), (40, 50, 1), (80, 90, 2)]
    assert rows.of("optimizer") == [(30, 40, 0), (70, 80, 1), (110, 120, 2)]
    assert rows.cut == []


def test_time_after_the_optimizer_belongs_to_its_step():
    rows = Script().batch().train().wait(500).batch().train().finish()
    assert rows.steps == [(0, 0, 540), (1, 540, 580)]


def test_the_search_for_a_batch_that_is_not_there_ends_the_step_and_opens_none():
    script = Script().batch().train().no_batch()
    assert script.rows.step == NONE
    rows = script.wait(1000).batch().train().finish()
    assert rows.steps == [(0, 0, 40), (1, 1050, 1090)]
    assert len(rows.of("input_wait")) == 2


def test_gradient_accumulation_makes_one_step_of_several_batches():
    script = Script()
    for _ in range(2):
        script.batch().forward().backward().batch().forward().backward().optimizer()
    rows = script.finish()
    assert rows.steps == [(0, 0, 70), (1, 70, 140)]
    assert rows.of("input_wait") == [(0, 10, 0), (30, 40, 0), (70, 80, 1), (100, 110, 1)]


def test_batches_fetched_ahead_belong_to_the_step_that_uses_them():
    script = Script()
    for _ in range(2):
        script.batch().batch().forward().backward().forward().backward().optimizer()
    assert script.finish().steps == [(0, 0, 70), (1, 70, 140)]


def test_a_loader_one_batch_ahead():
    rows = Script().batch().batch().train().batch().train().no_batch().train().finish()
    assert rows.steps == [(0, 0, 50), (1, 50, 90), (2, 100, 130)]


def test_several_optimizers_with_one_batch_make_one_step():
    script = Script()
    for _ in range(3):
        script.batch().train().train()
    assert script.finish().steps == [(0, 0, 70), (1, 70, 140), (2, 140, 210)]


def test_an_optimizer_that_does_not_count_ends_no_step():
    script = Script()
    for _ in range(2):
        script.forward().backward().optimizer(counts=False).forward().backward().optimizer()
    rows = script.finish()
    assert rows.steps == [(0, 0, 60), (1, 60, 120)]
    assert len(rows.of("optimizer")) == 4


def test_without_a_loader_the_next_forward_ends_the_step():
    rows = Script().train().wait(5).train().train().finish()
    assert rows.steps == [(0, 0, 35), (1, 35, 65), (2, 65, 95)]
    assert rows.cut == []


def test_without_a_loader_the_next_copy_to_the_device_ends_the_step():
    rows = Script().h2d().h2d().train().h2d().h2d().train().finish()
    assert rows.steps == [(0, 0, 50), (1, 50, 100)]
    assert rows.of("h2d") == [(0, 10, 0), (10, 20, 0), (50, 60, 1), (60, 70, 1)]


def test_one_batch_for_the_whole_training_does_not_make_one_step_of_it():
    script = Script().batch()
    count = MAX_UPDATES_A_BATCH + 10
    for _ in range(count):
        script.train()
    rows = script.finish()
    assert rows.steps == [(0, 0, 40)] + [(i, 10 + 30 * i, 40 + 30 * i) for i in range(1, count)]
    assert rows.of("input_wait") == [(0, 10, 0)]
    assert rows.of("backward") == [(20 + 30 * i, 30 + 30 * i, i) for i in range(count)]


def test_the_model_moves_to_the_device_before_the_first_step():
    rows = Script().h2d().h2d().wait(100).batch().train().finish()
    assert rows.steps == [(0, 120, 160)]
    assert rows.of("h2d") == [(0, 10, NONE), (10, 20, NONE)]


def test_validation_lies_outside_steps_and_includes_its_batches():
    script = Script().batch().train().no_batch()
    script.batch().evaluate()
    assert script.rows.step == NONE
    script.batch().evaluate().no_batch()
    rows = script.batch().train().finish()
    assert rows.steps == [(0, 0, 40), (1, 100, 140)]
    assert rows.of("validation") == [(50, 70, NONE), (70, 90, NONE)]
    assert rows.of("input_wait") == [(0, 10, 0), (100, 110, 1)]
    assert rows.of("forward") == [(10, 20, 0), (110, 120, 1)]


def test_validation_before_the_first_step():
    rows = Script().batch().evaluate().no_batch().batch().train().finish()
    assert rows.of("validation") == [(0, 20, NONE)]
    assert rows.steps == [(0, 30, 70)]


def test_validation_without_a_loader_lasts_until_training_goes_on():
    rows = Script().train().evaluate().evaluate().wait(5).train().finish()
    assert rows.steps == [(0, 0, 30), (1, 55, 85)]
    assert rows.of("validation") == [(30, 55, NONE)]


def test_validation_cuts_a_step_that_waits_for_its_optimizer():
    rows = Script().batch().train().batch().forward().backward().no_batch().batch().evaluate().batch().train().finish()
    assert rows.steps == [(0, 0, 40), (1, 40, 80), (2, 100, 140)]
    assert rows.cut == [1]
    assert rows.of("validation") == [(80, 100, NONE)]


def test_the_same_without_a_loader():
    rows = Script().train().forward().backward().evaluate().train().finish()
    assert rows.steps == [(0, 0, 30), (1, 30, 50), (2, 60, 90)]
    assert rows.cut == [1]


def test_a_teacher_that_never_trains_makes_no_validation():
    script = Script()
    for _ in range(2):
        script.batch().evaluate(TEACHER).train()
    rows = script.finish()
    assert rows.steps == [(0, 0, 50), (1, 50, 100)]
    assert rows.of("validation") == []


def test_a_forward_without_gradients_inside_a_step_is_a_forward():
    script = Script()
    for _ in range(2):
        script.batch().forward(grad=False).train()
    rows = script.finish()
    assert rows.steps == [(0, 0, 50), (1, 50, 100)]
    assert len(rows.of("forward")) == 4


def test_a_model_may_train_in_eval_mode():
    script = Script()
    for _ in range(3):
        script.batch().forward(training=False).backward().optimizer()
    rows = script.finish()
    assert rows.steps == [(0, 0, 40), (1, 40, 80), (2, 80, 120)]
    assert rows.of("validation") == []


def test_own_marks_end_steps_and_nothing_else_does():
    script = Script().batch().train().mark()
    for _ in range(2):
        script.wait(5).batch().train().batch().train().mark()
    rows = script.finish()
    assert rows.steps == [(0, 0, 40), (1, 45, 125), (2, 130, 210)]
    assert rows.cut == []


def test_own_marks_need_no_activity():
    rows = Script().wait(30).mark().wait(20).mark().wait(20).finish()
    assert rows.steps == [(0, 0, 30), (1, 30, 50)]


def test_validation_between_own_marks():
    script = Script().batch().train().mark()
    rows = script.batch().evaluate().no_batch().batch().train().mark().finish()
    assert rows.steps == [(0, 0, 40), (1, 70, 110)]
    assert rows.of("validation") == [(40, 60, NONE)]


def test_own_marks_where_nothing_trains_make_steps_of_inference():
    rows = Script().evaluate().mark().evaluate().evaluate().mark().finish()
    assert rows.steps == [(0, 0, 10), (1, 10, 30)]
    assert rows.of("validation") == []
    assert rows.of("forward") == [(0, 10, 0), (10, 20, 1), (20, 30, 1)]


def test_an_open_step_without_optimizer_is_cut_by_the_end():
    rows = Script().batch().train().batch().forward().finish()
    assert rows.steps == [(0, 0, 40), (1, 40, 60)]
    assert rows.cut == [1]


def test_annotations_learn_the_step_they_fall_in():
    script = Script()
    assert script.rows.step == NONE
    script.batch()
    assert script.rows.step == 0
    script.train()
    assert script.rows.step == 0
    script.batch()
    assert script.rows.step == 1
    script.finish()
    assert script.rows.step == NONE
