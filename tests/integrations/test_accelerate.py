"""Accelerate's own loop, with and without the helper."""

import pytest
import torch
from torch import nn

from tests.torch.training import TRAINING_PHASES, make_loader, make_model, make_optimizer, read

accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")

#: Without a budget: on a busy machine a test may take the 10 s after which it is judged.
OPTIONS = {"schedule": False, "monitor_interval_ms": None, "overhead_budget": None}


def train(run=None, accumulate=1, **options):
    """Losses and parameters of two epochs of 6 batches."""
    from stepscope_torch.accelerate import profile

    accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=accumulate)
    model = make_model()
    torch.manual_seed(2)
    model, optimizer, loader = accelerator.prepare(model, make_optimizer(model), make_loader(6))
    profiler = None if run is None else profile(accelerator, run, **OPTIONS, **options)
    if profiler is not None:
        profiler.start()
    losses = []
    for _ in range(2):
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = nn.functional.mse_loss(model(x), y)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            losses.append(loss.item())
    if profiler is not None:
        profiler.stop()
    return losses, [p.tolist() for p in model.parameters()]


@pytest.mark.parametrize(("accumulate", "steps"), [(1, 12), (3, 4)])
def test_results_are_the_same_and_every_update_is_a_step(tmp_path, accumulate, steps):
    assert train(tmp_path, accumulate) == train(None, accumulate)
    recording = read(tmp_path)
    assert recording.complete_steps() == recording.steps() == list(range(steps))
    assert recording.phases()["forward"] == 12
    assert recording.meta["phases"] == sorted(TRAINING_PHASES)
    assert recording.notes == []


def test_only_prepared_optimizers_end_a_step(tmp_path):
    from stepscope_torch.accelerate import profile

    accelerator = accelerate.Accelerator(cpu=True)
    model, other = make_model(), make_model()
    model, optimizer, loader = accelerator.prepare(model, make_optimizer(model), make_loader(4))
    beside = make_optimizer(other)
    with profile(accelerator, tmp_path, **OPTIONS):
        for i, (x, y) in enumerate(loader):
            nn.functional.mse_loss(other(x), y).backward()
            beside.step()
            if i % 2:
                accelerator.backward(nn.functional.mse_loss(model(x), y))
                optimizer.step()
    assert read(tmp_path).complete_steps() == [0, 1]


def test_an_exception_passes_and_ends_the_recording(tmp_path):
    from stepscope_torch.accelerate import profile

    accelerator = accelerate.Accelerator(cpu=True)
    model = make_model()
    model, optimizer, loader = accelerator.prepare(model, make_optimizer(model), make_loader(4))

    def run():
        with profile(accelerator, tmp_path, optimizer=optimizer, **OPTIONS):
            for i, (x, y) in enumerate(loader):
                accelerator.backward(nn.functional.mse_loss(model(x), y) * (1 / (2 - i)))
                optimizer.step()

    with pytest.raises(ZeroDivisionError):
        run()
    recording = read(tmp_path)
    assert recording.complete_steps() == [0, 1]
    assert recording.meta["ended_ns"] is not None
