"""Which trainings' steps are told by comparison: those that a step takes least time of."""

from __future__ import annotations

import pytest
import torch

from stepscope.schema import Kind
from stepscope_torch.loop import Loop
from tests.torch.training import make_loader, make_model, profiler, read

STEPS = 60


def plain(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def update(loss):
        loss.backward()
        optimizer.step()

    return update


def scaled(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")

    def update(loss):
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    return update


def two_optimizers(model):
    first, *others = model.parameters()
    optimizers = [torch.optim.SGD([first], lr=0.1), torch.optim.Adam(others)]

    def update(loss):
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()

    return update


@pytest.mark.parametrize("made", [plain, scaled, two_optimizers])
def test_most_steps_are_not_worked_out_in_full(tmp_path, monkeypatch, made):
    in_full = []
    work_off = Loop._work_off
    monkeypatch.setattr(Loop, "_work_off", lambda loop: (in_full.append(loop.tracker.number), work_off(loop))[1])
    model = make_model()
    update = made(model)
    with profiler(tmp_path, model, modules=False):
        for x, _ in make_loader(STEPS):
            update(model(x).square().mean())
    recording = read(tmp_path)
    assert recording.steps() == list(range(STEPS))
    assert len(recording.rows(Kind.PHASE, "optimizer")) == STEPS * (2 if made is two_optimizers else 1)
    assert len(set(in_full)) < STEPS // 3
