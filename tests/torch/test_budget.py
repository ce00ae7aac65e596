"""What the overhead budget takes from a training: hooks one by one, never its steps or results."""

from __future__ import annotations

import pytest
import torch

from tests.torch.training import TRAINING_PHASES, make_model, profiler, read, train

STEPS = 64


def shed(prof, *features):
    """As the writer thread does once the cost is above the budget."""
    for feature in features:
        prof._recording.attended.shed(feature)
        if feature == "phases":
            prof._recorder.steps_only_from = prof._recording.loop.tracker.number + 20


def count_calls(holder, name):
    original, calls = getattr(holder, name), []

    def counted(*args):
        calls.append(args)
        return original(*args)

    setattr(holder, name, counted)
    return calls


@pytest.mark.parametrize("features", [["modules"], ["modules", "phases"]], ids=str)
def test_steps_and_losses_stay(tmp_path, features):
    expected = train(make_model(), STEPS) + train(make_model(), STEPS)
    model = make_model()
    with profiler(tmp_path, model) as prof:
        losses = train(model, STEPS)
        shed(prof, *features)
        model.load_state_dict(make_model().state_dict())
        worked_out = count_calls(prof._recording.loop, "_work_off")
        losses += train(model, STEPS)
    assert len(worked_out) < STEPS  # the others were regular: giving up a hook must not make the rest dearer
    assert losses == expected
    recording = read(tmp_path)
    assert recording.complete_steps() == list(range(2 * STEPS))
    assert recording.phases_of(STEPS - 1) == TRAINING_PHASES
    assert recording.phases_of(2 * STEPS - 1) == ([] if "phases" in features else TRAINING_PHASES)
    assert recording.codes() == []


def test_hooks_that_only_make_phases_are_taken_out(tmp_path):
    before = torch.autograd.backward
    model = make_model()
    with profiler(tmp_path, model) as prof:
        train(model, 4)
        assert torch.autograd.backward is not before
        shed(prof, "phases")
        train(model, 40)
        assert torch.autograd.backward is before
    assert read(tmp_path).complete_steps() == list(range(44))
