"""Every kind of training script: the same losses and parameters with the hook as without, and the right steps."""

from __future__ import annotations

import shutil

import pytest
import torch

from tests.torch.scenarios import SCENARIOS, Unhooked
from tests.torch.training import profiler, read


@pytest.mark.filterwarnings("ignore:.*pin_memory.*")
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_hook_sees_the_training_and_changes_nothing(tmp_path, name):
    if name == "inductor" and not (shutil.which("g++") or shutil.which("clang++")):
        pytest.skip("inductor needs a C++ compiler")
    scenario = SCENARIOS[name]
    expected_losses, expected_tensors = scenario.outcome(Unhooked)
    losses, tensors = scenario.outcome(lambda model: profiler(tmp_path, model))
    assert losses == expected_losses
    assert len(tensors) == len(expected_tensors)
    assert all(map(torch.equal, tensors, expected_tensors))
    recording = read(tmp_path)
    complete = recording.complete_steps()
    assert len(complete) == scenario.steps
    assert recording.phases_of(complete[-1]) == scenario.phases
    assert recording.codes() == scenario.notes
