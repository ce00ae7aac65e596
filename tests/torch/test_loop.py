"""What the hooks' marks make, on a clock that ticks 10 at each reading."""

from __future__ import annotations

import itertools
import threading
from unittest.mock import Mock

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stepscope.live_columns import Names, Written
from stepscope.schema import Kind
from stepscope.store.blocks import decode
from stepscope_torch import Schedule
from stepscope_torch import loop as loop_module
from stepscope_torch.loop import Loop
from stepscope_torch.sessions import Sessions
from stepscope_torch.window import DeepWindows
from tests.torch.test_steps import Rows


class FakeRecorder(Rows):
    """Keeps rows instead of writing them."""

    enabled = True
    is_full = False
    deferred = 0

    def __init__(self):
        super().__init__()
        self.sources = []
        self.each_round = []

    def drain(self):
        """The rows of the steps that were told by comparison, put where they belong."""
        alike = [steps for source in self.sources for steps in source()]
        if alike:
            block = Written(None, alike).block(Names(), 0)
            for row in decode(block).to_pylist():
                assert row["tid"] == threading.get_native_id()
                self.deferred += row["kind"] == Kind.STEP
                self.span(row["kind"], row["name"], row["ts_ns"], row["ts_ns"] + row["dur_ns"], row["step"])
        self.steps.sort()
        self.phase_rows.sort(key=lambda row: row[1:])

    def note(self, code, detail, count=1):
        raise AssertionError(detail)


class Training:
    """Plays what the hooks of a training loop would call."""

    def __init__(self):
        self.recorder = FakeRecorder()
        self.loop = Loop(self.recorder, DeepWindows(self.recorder, Schedule(windows=0), {}, Sessions()))
        self.model = torch.nn.Identity()
        self.optimizer = object()

    def finish(self):
        self.loop.finish()
        self.recorder.drain()

    def batch(self):
        self.loop.input_begin()
        self.loop.input_end(True)

    def no_batch(self):
        self.loop.input_begin()
        self.loop.input_end(False)

    def forward(self):
        self.loop.forward_begin(self.model)
        self.loop.forward_end(self.model)

    def evaluate(self):
        self.model.eval()
        with torch.no_grad():
            self.forward()
        self.model.train()

    def backward(self):
        self.loop.backward_begin()
        self.loop.backward_end()

    def step(self):
        self.loop.optimizer_begin(self.optimizer)
        self.loop.optimizer_end(self.optimizer, True)

    def train(self):
        self.batch()
        self.forward()
        self.backward()
        self.step()

    def train_twice(self):
        self.train()
        self.train()

    def accumulate(self):
        self.batch()
        self.forward()
        self.backward()

    def without_loader(self):
        self.forward()
        self.backward()
        self.step()

    def closure(self):
        self.batch()
        self.loop.optimizer_begin(self.optimizer)
        self.forward()
        self.backward()
        self.loop.optimizer_end(self.optimizer, True)

    def failing_forward(self):
        """A forward that a KeyboardInterrupt leaves: its end is never marked."""
        self.batch()
        self.loop.forward_begin(self.model)

    def failing_step(self):
        self.accumulate()
        self.loop.optimizer_begin(self.optimizer)

    def nested_loader(self):
        self.loop.input_begin()
        self.batch()
        self.forward()
        self.loop.input_end(True)
        self.forward()
        self.backward()
        self.step()


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    ticks = itertools.count(0, 10)  # the first reading is the tracker's, before everything else
    monkeypatch.setattr(loop_module, "perf_counter_ns", lambda: next(ticks))
    monkeypatch.setattr(loop_module, "_SAMPLE_EVERY", 1)  # sampling reads the clock too


def test_regular_steps_are_told_by_comparison():
    training = Training()
    for _ in range(40):
        training.train()
    training.finish()
    rows = training.recorder
    assert rows.steps == [(i, 10 + 80 * i, 90 + 80 * i) for i in range(39)] + [(39, 3130, 3200)]
    assert rows.of("forward") == [(30 + 80 * i, 40 + 80 * i, i) for i in range(40)]
    assert rows.deferred > 30


ACTIONS = [
    "train", "train", "train", "accumulate", "no_batch", "evaluate", "batch", "without_loader", "closure",
    "failing_forward", "failing_step", "nested_loader", "step", "backward",
]  # fmt: skip


def play(actions, always_in_full=False):
    with pytest.MonkeyPatch.context() as patch:
        ticks = itertools.count(0, 10)
        patch.setattr(loop_module, "perf_counter_ns", lambda: next(ticks))
        patch.setattr(loop_module, "_SAMPLE_EVERY", 1)
        if always_in_full:
            patch.setattr(loop_module, "learn", lambda *_: None)
        training = Training()
        for action in actions:
            for _ in range(3 if action == "train" else 1):
                getattr(training, action)()
        training.finish()
    return training.recorder


@given(st.lists(st.sampled_from(ACTIONS), max_size=40))
def test_comparison_and_full_work_give_the_same_rows(actions):
    quick, full = play(actions), play(actions, always_in_full=True)
    assert full.deferred == 0
    assert (quick.steps, quick.cut, sorted(quick.phase_rows)) == (full.steps, full.cut, sorted(full.phase_rows))


@given(st.lists(st.sampled_from(ACTIONS), max_size=40))
def test_steps_never_overlap_and_are_numbered_in_order(actions):
    rows = play(actions)
    assert [number for number, _, _ in rows.steps] == list(range(len(rows.steps)))
    for (_, _, end), (_, start, _) in itertools.pairwise(rows.steps):
        assert end <= start
    for _, start, end, step in rows.phase_rows:
        if step >= 0:
            _, step_start, step_end = rows.steps[step]
            assert step_start <= start <= end <= step_end


def test_an_interrupted_forward_is_dropped_and_counted():
    training = Training()
    training.train()
    training.failing_forward()
    training.train()
    training.train()
    training.finish()
    assert training.loop.unclosed == 1
    assert len(training.recorder.of("forward")) == 3
    assert len(training.recorder.steps) == 3


@pytest.mark.parametrize("place", ["add", "_emit_step", "input_begin"])
def test_an_interrupt_in_our_hook_costs_a_step_and_no_more(monkeypatch, place):
    """Ctrl-C in a notebook may hit a hook as well as the training; the cell is run again with the same profiler."""
    training = Training()
    for _ in range(3):
        training.train()
    training.loop.look_soon()  # the next step is worked out, not only compared
    with monkeypatch.context() as patched:
        patched.setattr(training.loop.tracker, place, Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            training.train_twice()
    assert not training.loop.is_broken
    for _ in range(3):
        training.train()
    training.finish()
    steps = training.recorder.steps
    assert len(steps) == 2 + 3  # the third one was being worked off
    assert all(start < end for _, start, end in steps)


def test_an_optimizer_that_raised_does_not_swallow_what_follows():
    training = Training()
    for _ in range(2):
        training.without_loader()
    training.forward()
    training.backward()
    training.loop.optimizer_begin(training.optimizer)  # raises in there
    for _ in range(3):
        training.without_loader()
    training.finish()
    assert training.loop.unclosed == 1
    assert len(training.recorder.steps) == 5


def test_a_loader_inside_a_dataset_is_part_of_the_wait_outside():
    training = Training()
    training.nested_loader()
    training.train()
    training.finish()
    rows = training.recorder
    assert rows.of("input_wait") == [(10, 60, 0), (130, 140, 1)]
    assert rows.of("forward") == [(70, 80, 0), (150, 160, 1)]


def test_other_threads_leave_no_trace_but_a_count():
    training, other = Training(), Training()
    training.train()
    other.loop = training.loop
    thread = threading.Thread(target=other.train)
    thread.start()
    thread.join()
    training.train()
    training.finish()
    assert len(training.recorder.steps) == 2
    assert len(training.recorder.of("forward")) == 2
    assert training.loop.other_threads == 3


def test_the_thread_that_trains_is_followed_even_if_another_one_started_the_recording():
    training = Training()
    training.batch()  # a prefetching thread's, say
    thread = threading.Thread(target=lambda: [training.train() for _ in range(3)])
    thread.start()
    thread.join()
    training.finish()
    assert len(training.recorder.steps) == 3


@pytest.mark.parametrize("stalls", [False, True])
def test_a_stall_is_no_cost_of_the_hooks(monkeypatch, stalls):
    """A window opens or closes between two steps, which takes far longer than the hooks."""
    monkeypatch.setattr(loop_module, "_SAMPLE_EVERY", 4)
    training = Training()
    loop = training.loop
    loop.windows.at_boundary = lambda step, *_: stalls and step == 20
    for _ in range(40):
        training.train()
        if loop.tracker.number == 19:
            loop.look_soon()
    assert len(loop.hook_ns) == (not stalls)
