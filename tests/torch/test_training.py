"""Steps and phases of real trainings on the CPU."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import nn

from stepscope import annotate
from stepscope.runs import open_run
from stepscope.schema import NONE, Kind
from stepscope.summary import summarize
from tests.torch.training import (
    TRAINING_PHASES,
    make_loader,
    make_model,
    make_optimizer,
    profiler,
    read,
    train,
    train_step,
    validate,
)


@pytest.mark.parametrize("workers", [0, 2])
def test_every_batch_is_a_step_with_its_phases(tmp_path, workers):
    model = make_model()
    with profiler(tmp_path, model):
        train(model, 5, num_workers=workers)
        train(model, 3, num_workers=workers)
    recording = read(tmp_path)
    assert recording.complete_steps() == recording.steps() == list(range(8))
    for step in range(8):
        assert recording.phases_of(step) == TRAINING_PHASES
    assert recording.meta["phases"] == sorted(TRAINING_PHASES)
    assert recording.notes == []


def test_without_the_model_the_outermost_modules_are_found(tmp_path):
    model, loss = make_model(), nn.MSELoss()
    optimizer = make_optimizer(model)
    with profiler(tmp_path):
        for x, y in make_loader(4):
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()
    recording = read(tmp_path)
    assert recording.steps() == [0, 1, 2, 3]
    for step in range(4):
        assert recording.phases_of(step) == TRAINING_PHASES
    assert not nn.modules.module._global_forward_pre_hooks
    assert not model._forward_pre_hooks
    assert not model._forward_hooks
    assert not loss._forward_hooks


def test_a_wrapper_around_the_model_is_found_when_it_is_what_the_loop_calls(tmp_path):
    class Wrapper(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner.forward(x)  # past the hooks of the inner module

    model = Wrapper(make_model())
    with profiler(tmp_path, model.inner):
        train(model, 5)
    recording = read(tmp_path)
    assert "forward" not in recording.phases_of(0)
    for step in range(1, 5):
        assert recording.phases_of(step) == TRAINING_PHASES
    assert not model._forward_hooks


def test_phases_of_a_step_sum_to_its_duration(tmp_path):
    model = make_model()
    with profiler(tmp_path, model):
        train(model, 40)
    (worker,) = summarize(open_run(tmp_path))["workers"]
    assert len(worker["steps"]) == 40
    for step in worker["steps"]:
        measured = [ns for ns in step["phase_ns"].values() if ns is not None]
        assert sum(measured) == step["host_ns"]
        assert min(measured) >= 0


def test_steps_follow_each_other_without_a_gap(tmp_path):
    """Also those told by comparison with the step before, which a test of 40 steps has most of."""
    model = make_model()
    with profiler(tmp_path, model):
        train(model, 40)
    rows = read(tmp_path).rows(Kind.STEP)
    assert [row[3] for row in rows] == list(range(40))
    for (_, _, end, _), (_, start, _, _) in itertools.pairwise(rows):
        assert end == start


def test_gradient_accumulation(tmp_path):
    model = make_model()
    optimizer = make_optimizer(model)
    with profiler(tmp_path, model):
        for i, (x, y) in enumerate(make_loader(6)):
            nn.functional.mse_loss(model(x), y).backward()
            if i % 3 == 2:
                optimizer.step()
                optimizer.zero_grad()
    recording = read(tmp_path)
    assert recording.complete_steps() == [0, 1]
    assert recording.phases_of(0) == ["input_wait", "forward", "backward"] * 3 + ["optimizer"]


def test_a_loop_without_a_loader(tmp_path):
    model = make_model()
    optimizer = make_optimizer(model)
    x = torch.ones(4, 8)
    with profiler(tmp_path, model):
        for _ in range(4):
            train_step(model, optimizer, x, x.sum(1, keepdim=True))
    recording = read(tmp_path)
    assert recording.complete_steps() == [0, 1, 2, 3]
    assert recording.phases_of(3) == ["forward", "backward", "optimizer"]
    assert "input_wait" not in recording.meta["phases"]


@pytest.mark.parametrize("evaluates", [False, True])
def test_a_loop_without_a_loader_whose_model_is_not_given(tmp_path, evaluates):
    """The second step begins with a call of the model, in the middle of which its modules come to be known."""
    model = make_model()
    optimizer = make_optimizer(model)
    x = torch.ones(4, 8)
    with profiler(tmp_path):
        for _ in range(4):
            if evaluates:
                with torch.no_grad():
                    model(x)
            train_step(model, optimizer, x, x.sum(1, keepdim=True))
    recording = read(tmp_path)
    assert recording.codes() == []
    for step in range(4):
        assert recording.phases_of(step) == ["forward", "backward", "optimizer"]
    assert recording.phases()["validation"] == (4 if evaluates else 0)


def test_a_closure_runs_forward_and_backward_inside_the_optimizer(tmp_path):
    model = make_model()
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=2)
    x = torch.ones(4, 8)

    def closure():
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        return loss

    with profiler(tmp_path, model):
        for _ in range(3):
            optimizer.step(closure)
    recording = read(tmp_path)
    assert recording.complete_steps() == [0, 1, 2]
    for step in range(3):
        phases = recording.phases_of(step)
        assert phases[0] == "optimizer"
        assert phases[1:3] == ["forward", "backward"]


def test_only_the_given_optimizer_ends_steps(tmp_path):
    model, critic = make_model(), make_model()
    first, second = make_optimizer(model), make_optimizer(critic)
    x = torch.ones(4, 8)
    with profiler(tmp_path, optimizer=second):
        for _ in range(3):
            train_step(model, first, x, x.sum(1, keepdim=True))
            train_step(critic, second, x, x.sum(1, keepdim=True))
    recording = read(tmp_path)
    assert recording.complete_steps() == [0, 1, 2]
    assert recording.phases_of(2) == ["forward", "backward", "optimizer"] * 2


def test_own_step_calls(tmp_path):
    with profiler(tmp_path) as prof:
        for _ in range(3):
            with annotate("work"):
                torch.ones(3).sum()
            prof.step()
    recording = read(tmp_path)
    assert recording.complete_steps() == [0, 1, 2]
    assert recording.meta["phases"] == []


def test_validation_between_epochs(tmp_path):
    model = make_model()
    with profiler(tmp_path, model):
        for _ in range(2):
            train(model, 3)
            validate(model, 2)
    recording = read(tmp_path)
    assert recording.complete_steps() == list(range(6))
    rows = recording.rows(Kind.PHASE, "validation")
    assert [row[3] for row in rows] == [NONE] * 4
    assert recording.phases()["forward"] == 6
    assert recording.phases()["input_wait"] == 6
    steps = recording.rows(Kind.STEP)
    for _, start, end, _ in rows:
        assert not any(start < step_end and end > step_start for _, step_start, step_end, _ in steps)


def test_activation_checkpointing_repeats_no_forward_phase(tmp_path):
    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = make_model()

        def forward(self, x):
            return torch.utils.checkpoint.checkpoint(self.inner, x, use_reentrant=False)

    model = Checkpointed()
    with profiler(tmp_path / "outer", model):
        train(model, 4)
    with profiler(tmp_path / "inner", model.inner):
        train(model, 4)
    for name in ("outer", "inner"):
        recording = read(tmp_path / name)
        assert recording.complete_steps() == [0, 1, 2, 3]
        assert recording.phases() == dict.fromkeys(TRAINING_PHASES, 4)


def test_an_optimizer_stepping_in_gradient_hooks(tmp_path):
    model = make_model()
    optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(lambda p: optimizers[p].step())
    with profiler(tmp_path, model):
        for x, y in make_loader(3):
            nn.functional.mse_loss(model(x), y).backward()
    recording = read(tmp_path)
    assert recording.complete_steps() == [0, 1, 2]
    assert recording.phases_of(1) == ["input_wait", "forward", "backward"]


def test_a_scaler_that_skips_its_optimizer_ends_the_step_all_the_same(tmp_path):
    model = make_model()
    optimizer = make_optimizer(model)
    scaler = torch.amp.GradScaler("cpu", enabled=True)
    with profiler(tmp_path, model):
        for i, (x, y) in enumerate(make_loader(4)):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y) * (float("inf") if i == 1 else 1)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    recording = read(tmp_path)
    assert recording.complete_steps() == [0, 1, 2, 3]
    for step in range(4):
        assert recording.phases_of(step) == TRAINING_PHASES


@pytest.mark.parametrize("how", ["wrapper", "in place before", "in place after"])
def test_a_compiled_model(tmp_path, how):
    model = make_model()
    called = torch.compile(model, backend="eager", fullgraph=True) if how == "wrapper" else model
    if how == "in place before":
        model.compile(backend="eager", fullgraph=True)
    with profiler(tmp_path, called):
        if how == "in place after":
            model.compile(backend="eager", fullgraph=True)
        train(called, 5)
    recording = read(tmp_path)
    assert recording.complete_steps() == list(range(5))
    for step in range(3, 5):
        assert recording.phases_of(step) == TRAINING_PHASES
    torch._dynamo.reset()


def test_annotations_carry_the_step_they_fall_in(tmp_path):
    model = make_model()
    optimizer = make_optimizer(model)
    with profiler(tmp_path, model):
        for x, y in make_loader(20):
            with annotate("one"):
                train_step(model, optimizer, x, y)
        with annotate("after"):
            validate(model)
    recording = read(tmp_path)
    assert [row[3] for row in recording.rows(Kind.ANNOTATION, "one")] == list(range(20))
    assert [row[3] for row in recording.rows(Kind.ANNOTATION, "after")] == [NONE]


def test_annotations_after_validation_carry_their_step_again(tmp_path):
    model = make_model()
    optimizer = make_optimizer(model)
    with profiler(tmp_path, model):
        for _ in range(2):
            for x, y in make_loader(3):
                with annotate("one"):
                    train_step(model, optimizer, x, y)
            validate(model)
    assert [row[3] for row in read(tmp_path).rows(Kind.ANNOTATION, "one")] == list(range(6))


def test_copies_to_a_device(tmp_path, monkeypatch):
    """The meta device stands in for an accelerator: a copy there is one call of Tensor.to as well."""
    from stepscope_torch import environment

    monkeypatch.setattr(environment, "accelerators", lambda: frozenset({"meta"}))
    model = make_model()
    optimizer = make_optimizer(model)
    original = torch.Tensor.to
    with profiler(tmp_path, model):
        for x, y in make_loader(3):
            x.to("meta")
            x.to(device=torch.device("meta"), non_blocking=True)
            x.to(torch.empty(1, device="meta"))
            x.to(torch.float64)
            x.to("cpu")
            x.to(dtype=torch.float64)
            x.to("meta").to("meta")
            train_step(model, optimizer, x, y)
    recording = read(tmp_path)
    assert recording.phases()["h2d"] == 3 * 4
    assert recording.complete_steps() == [0, 1, 2]
    assert torch.Tensor.to is original
    assert "to" not in vars(torch.Tensor)
