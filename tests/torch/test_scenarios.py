"""Every kind of training script: the same losses and parameters with the hook as without, and the right steps."""

from __future__ import annotations

import shutil

import pytest
import torch

from stepscope.runs import open_run
from stepscope.schema import Kind
from stepscope_torch import Schedule
from tests.torch.scenarios import SCENARIOS, STEPS, Unhooked, train_rank
from tests.torch.test_processes import free_port
from tests.torch.training import TRAINING_PHASES, Recording, profiler, read


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


def test_spawned_ranks_of_distributed_models(tmp_path):
    schedule = Schedule(skip_first=12, active=1)
    torch.multiprocessing.spawn(train_rank, (2, free_port(), tmp_path, schedule), nprocs=2)
    for name in ("data_parallel", "sharded"):
        workers = open_run(tmp_path / name).workers
        assert sorted((worker.rank, worker.world_size) for worker in workers) == [(0, 2), (1, 2)]
        for worker in workers:
            recording = Recording(worker, worker.live())
            assert recording.complete_steps() == list(range(STEPS))
            for step in (1, 12, STEPS - 1):
                assert recording.phases_of(step) == TRAINING_PHASES
            assert recording.notes == []
            (window,) = worker.windows()
            assert window.events.step[window.events.of_kind(Kind.STEP)].tolist() == [12]


def test_a_fork_trains_unrecorded_and_its_parent_goes_on(tmp_path):
    scenario = SCENARIOS["iterable_dataset"]
    expected, _ = scenario.outcome(Unhooked)

    def hook(model):
        prof = profiler(tmp_path, model)
        prof.start()
        child = torch.multiprocessing.get_context("fork").Process(target=train_in_fork, args=(expected,))
        child.start()
        child.join()
        assert child.exitcode == 0
        return prof

    losses, _ = scenario.outcome(hook)
    assert losses == expected
    assert read(tmp_path).complete_steps() == list(range(STEPS))


def train_in_fork(expected: list[float]) -> None:
    assert SCENARIOS["iterable_dataset"].outcome(Unhooked)[0] == expected
