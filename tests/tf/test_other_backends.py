"""Keras on torch and on JAX: steps, phases, validation, and results that do not change. One process a backend."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from stepscope.runs import open_run
from stepscope.schema import Kind
from stepscope.summary import summarize
from tests.tf.conftest import read

SCRIPT = Path(__file__).with_name("other_backend.py")


@pytest.fixture(scope="module", params=["torch", "jax"])
def trained(request, tmp_path_factory):
    """The backend, the folder of its runs, and what the script printed."""
    backend = request.param
    if find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    folder = tmp_path_factory.mktemp(backend)
    env = {**os.environ, "KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "2"}
    done = subprocess.run([sys.executable, SCRIPT, folder], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    return backend, folder, json.loads(done.stdout.splitlines()[-1])


def phases_of(run, step):
    return [p.name for p in run.of_step(step.step)]


def test_results_are_bit_identical(trained):
    _, _, told = trained
    assert set(told["same"].values()) == {True}, told["same"]


def test_keras_stays_as_it_was(trained):
    """It goes on handing ``on_train_batch_end`` to its threads, and TensorFlow is not loaded for us."""
    _, _, told = trained
    assert told["asynchronous"] is True
    assert told["tensorflow"] is False


def test_steps_go_on_over_epochs_and_fits(trained):
    backend, folder, _ = trained
    run = read(folder / "several_fits")
    assert run.meta["framework"] == {"torch": "pytorch"}.get(backend, backend)
    assert [s.step for s in run.steps] == list(range(12))
    assert all(s.args == {} for s in run.steps)
    assert all(phases_of(run, s) == ["input_wait", "compute"] for s in run.steps)
    assert set(run.meta["phases"]) == {"input_wait", "compute", "validation"}
    assert set(run.notes) == {"host_time_only"}
    # within an epoch each step ends where the next one begins
    assert [a.end == b.start for a, b in pairwise(run.steps)] == [True, True, True, False] * 2 + [True] * 3
    first, second = run.validation
    assert run.steps[3].end <= first.start < first.end <= run.steps[4].start
    assert run.steps[7].end <= second.start < second.end <= run.steps[8].start


@pytest.mark.parametrize("case", ["eager", "no_jit", "jit"])
def test_however_it_is_compiled(trained, case):
    backend, folder, _ = trained
    if case == "jit" and backend == "torch":
        pytest.skip("torch.compile is tried by the tests of the PyTorch hook")
    run = read(folder / case)
    assert [phases_of(run, s) for s in run.steps] == [["input_wait", "compute"]] * 4


def test_what_is_open_in_each_phase(trained):
    """For what a hang, or a kill in the middle of a step, has to be told by."""
    _, _, told = trained
    steps = [[phase, step] for step in range(2) for phase in ("input_wait", "compute")]
    assert told["open"] == [*steps, ["validation", None], [None, None]]


def test_a_deep_window(trained):
    """Of four steps over the end of an epoch of four, whose fetch finds no batch and is no step."""
    backend, folder, _ = trained
    run = read(folder / "window")
    assert set(run.notes) == {"host_time_only"}
    [window] = run.worker.windows()
    markers = np.flatnonzero(window.events.of_kind(Kind.STEP))
    assert sorted(window.events.step[markers].tolist()) == [2, 3, 4, 5]
    assert (window.framework, window.pid) == (run.meta["framework"], run.meta["pid"])
    names = {window.events.text(i) for i in range(len(window.events))}
    assert "mine" in names
    assert any("aten::mm" in name if backend == "torch" else "dot" in name for name in names)
    for i in markers:  # on the clock of the hook: each begins with its step, however long the process has no core then
        before, step = (run.steps[int(window.events.step[i]) + by] for by in (-1, 0))
        assert before.end - 1_000_000 < window.events.ts_ns[i] < step.end
    coverage = summarize(open_run(folder / "window"))["workers"][0]["coverage"]
    assert coverage["steps"] == 12
    assert coverage["deep_steps"] >= 2  # the others' ends may lie outside the window on a busy machine
    for stall in run.stalls:
        assert all(stall.end <= s.start or s.end <= stall.start for s in run.steps)
    assert not list(run.worker.folder.path.glob(".*"))


def test_a_profiler_of_the_script_comes_first(trained):
    _, folder, told = trained
    assert told["theirs"] is True
    run = read(folder / "rival")
    assert "broken off" in run.notes["window_postponed"].detail
    assert [s.step for s in run.steps] == list(range(12))


def test_a_loss_that_is_no_number_is_noted_after_its_epoch(trained):
    _, folder, _ = trained
    notes = read(folder / "not_finite").notes
    assert notes["loss_not_finite"].detail == "The loss was nan in step 2."


def test_a_batch_that_is_given_is_not_waited_for(trained):
    _, folder, _ = trained
    run = read(folder / "on_batches")
    assert [phases_of(run, s) for s in run.steps] == [["compute"]] * 3


def test_slow_data_is_input_wait(trained):
    """Each batch takes 20 ms to produce, in the thread that waits for it."""
    _, folder, _ = trained
    run = read(folder / "slow")
    assert len(run.steps) == 4
    produced = [a for a in run.annotations if a.step >= 0]
    for made, step in zip(produced, run.steps, strict=True):
        wait = run.of_step(step.step)[0]
        assert wait.name == "input_wait"
        assert wait.start <= made.start < made.end <= wait.end
        assert made.step == step.step


def test_the_steps_of_one_execution_are_told_apart(trained):
    backend, folder, _ = trained
    if backend == "torch":
        pytest.skip("Keras refuses several steps an execution on torch")
    run = read(folder / "executions")
    assert [s.step for s in run.steps] == list(range(16))
    assert all(phases_of(run, s) == ["input_wait", "compute"] for s in run.steps)


def test_an_exception_ends_the_recording(trained):
    _, folder, _ = trained
    run = read(folder / "fails_in_step")
    assert [s.args for s in run.steps] == [{}, {}, {"complete": False}]
    assert run.meta["ended_ns"] is not None
    run = read(folder / "fails_in_data")
    assert 0 < len(run.steps) < 6
    assert all(s.args == {} for s in run.steps)
    assert run.meta["ended_ns"] is not None
