"""Every kind of training script: the same losses and parameters with the hook as without, and the right steps."""

from __future__ import annotations

import os
import shutil
from code import InteractiveInterpreter
from types import SimpleNamespace

import pytest
import torch

import stepscope_torch.recording
from stepscope.runs import open_run
from stepscope.schema import Kind
from stepscope_torch import Schedule
from tests.torch.scenarios import SCENARIOS, STEPS, Unhooked, train_rank
from tests.torch.training import TRAINING_PHASES, Recording, make_model, profiler, read, train


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
    torch.multiprocessing.spawn(train_rank, (2, tmp_path, schedule), nprocs=2)
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


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may become somebody else")
def test_who_may_not_write_to_the_folder_trains_unrecorded(tmp_path, caplog):
    scenario = SCENARIOS["iterable_dataset"]
    expected = scenario.outcome(Unhooked)[0]
    child = torch.multiprocessing.get_context("fork").Process(target=train_as_nobody, args=(tmp_path, expected, caplog))
    child.start()
    child.join()
    assert child.exitcode == 0
    assert not list(tmp_path.iterdir())


def train_as_nobody(folder, expected, caplog) -> None:
    os.setgid(65534)
    os.setuid(65534)
    assert SCENARIOS["iterable_dataset"].outcome(lambda model: profiler(folder / "run", model))[0] == expected
    (told,) = caplog.records
    assert "Permission denied" in told.getMessage()


#: As one runs them in a notebook: started, stopped and started again in one process.
CELLS = [
    "model = make_model(); prof = hook(model); losses = []",
    "prof.start(); losses += train(model, 8); prof.stop()",
    "losses += train(model, 8)",
    "prof.start(); losses += train(model, 8)",
    "prof = hook(model); prof.start(); losses += train(model, 8)",  # run again without a stop
    "prof.stop()",
]


def test_cells_of_a_notebook(tmp_path):
    """A recording whose profiler is lost goes on until the next one."""
    outcomes = []
    for hook in (lambda model: SimpleNamespace(start=int, stop=int), lambda model: profiler(tmp_path, model)):
        names = {"hook": hook, "make_model": make_model, "train": train}
        console = InteractiveInterpreter(names)
        for cell in CELLS:
            assert console.runsource(cell) is False
        outcomes.append((names["losses"], names["model"].state_dict()))
    assert stepscope_torch.recording.running is None
    (expected, tensors), (losses, hooked) = outcomes
    assert losses == expected
    assert all(torch.equal(tensor, hooked[name]) for name, tensor in tensors.items())
    recorded = [Recording(worker, worker.live()) for worker in open_run(tmp_path).workers]
    assert [len(recording.complete_steps()) for recording in recorded] == [8, 8, 8]
    assert [recording.codes() for recording in recorded] == [[], ["never_stopped"], []]
