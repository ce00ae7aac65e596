"""Lightning's own Trainer, with and without the callback and the profiler."""

import logging
import subprocess
import sys
import warnings

import pytest
import torch
from torch import nn

from stepscope.runs import open_run
from stepscope.schema import NONE, Kind
from tests.torch.training import TRAINING_PHASES, make_loader, make_model, read

L = pytest.importorskip("lightning.pytorch", reason="lightning is not installed")

pytestmark = pytest.mark.filterwarnings("ignore")
#: Without a budget: on a busy machine a test may take the 10 s after which it is judged.
OPTIONS = {"schedule": False, "monitor_interval_ms": None, "overhead_budget": None}


class Boom(Exception):
    pass


class Module(L.LightningModule):
    def __init__(self, fails_at=None):
        super().__init__()
        self.net = make_model()
        self.fails_at = fails_at
        self.losses = []

    def training_step(self, batch, index):
        if index == self.fails_at:
            raise Boom
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.losses.append(loss.item())
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        self.log("loss", nn.functional.mse_loss(self.net(x), y))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


@pytest.fixture(autouse=True)
def _quiet():
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def trainer(callbacks=(), profiler=None, **options):
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    return L.Trainer(
        max_epochs=2,
        accelerator="cpu",
        callbacks=list(callbacks),
        profiler=profiler,
        enable_model_summary=False,
        **quiet,
        **options,
    )


def fit(module, *, validate=True, **options):
    """Losses, parameters and the number of updates of two epochs of 5 batches."""
    torch.manual_seed(3)
    run = trainer(**options)
    run.fit(module, make_loader(5), make_loader(2) if validate else None)
    return module.losses, [p.tolist() for p in module.parameters()], run.global_step


def hooks(kind, run):
    from stepscope_torch.lightning import StepscopeCallback, StepscopeProfiler

    if kind == "callback":
        return {"callbacks": [StepscopeCallback(run, **OPTIONS)]}
    return {"profiler": StepscopeProfiler(run, **OPTIONS)}


KINDS = ("callback", "profiler")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("batches", "steps"), [(1, 10), (2, 6)])
def test_results_are_the_same_and_every_update_is_a_step(tmp_path, kind, batches, steps):
    plain = fit(Module(), accumulate_grad_batches=batches)
    recorded = fit(Module(), accumulate_grad_batches=batches, **hooks(kind, tmp_path))
    assert recorded == plain
    assert plain[2] == steps
    recording = read(tmp_path)
    assert recording.complete_steps() == recording.steps() == list(range(steps))
    assert recording.phases()["forward"] == 10
    assert set(recording.meta["phases"]) == {*TRAINING_PHASES, "validation"}
    assert recording.notes == []
    assert recording.meta["ended_ns"] is not None


def test_validation_is_part_of_no_step(tmp_path):
    fit(Module(), **hooks("callback", tmp_path))
    recording = read(tmp_path)
    validation = recording.rows(Kind.PHASE, "validation")
    assert {row[3] for row in validation} == {NONE}
    for _, start, end, _ in recording.rows(Kind.STEP):
        assert not any(begin < end and stop > start for _, begin, stop, _ in validation)


def test_the_profiler_names_what_lightning_does(tmp_path):
    fit(Module(), **hooks("profiler", tmp_path))
    recording = read(tmp_path)
    assert len(recording.rows(Kind.ANNOTATION, "run_training_batch")) == 10
    steps = [row[3] for row in recording.rows(Kind.ANNOTATION, "run_training_batch")]
    assert steps == list(range(10))


def test_actions_begun_and_ended_by_hand(tmp_path):
    from stepscope_torch.lightning import StepscopeProfiler

    profiler = StepscopeProfiler(tmp_path, **OPTIONS)
    profiler.stop("never begun")
    profiler.setup("fit")
    profiler.start("mine")
    profiler.stop("mine")
    profiler.teardown("fit")
    assert len(read(tmp_path).rows(Kind.ANNOTATION, "mine")) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_an_exception_of_the_training_ends_the_recording(tmp_path, kind):
    with pytest.raises(Boom):
        fit(Module(fails_at=3), validate=False, **hooks(kind, tmp_path))
    recording = read(tmp_path)
    assert recording.complete_steps() == [0, 1, 2]
    assert recording.meta["ended_ns"] is not None


@pytest.mark.parametrize("kind", KINDS)
def test_each_fit_is_a_worker_of_its_own(tmp_path, kind):
    module = Module()
    run = trainer(**hooks(kind, tmp_path))
    run.fit(module, make_loader(3))
    run.validate(module, make_loader(2), verbose=False)
    run.fit_loop.max_epochs = 3
    run.fit(module, make_loader(3))
    counts = [int(w.live().of_kind(Kind.STEP).sum()) for w in open_run(tmp_path).workers]
    assert sorted(counts) == [3, 6]


def test_a_folder_that_cannot_be_made_harms_no_training(tmp_path):
    (tmp_path / "file").write_text("in the way")
    assert fit(Module(), **hooks("callback", tmp_path / "file" / "run")) == fit(Module())


def test_the_hook_loads_none_of_these_libraries():
    code = "import sys, stepscope_torch; print({'lightning', 'transformers', 'accelerate'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_each_process_of_a_distributed_training_is_a_worker(tmp_path):
    fit(Module(), strategy="ddp_fork", devices=2, **hooks("callback", tmp_path))
    workers = open_run(tmp_path).workers
    assert sorted((w.rank, w.world_size) for w in workers) == [(0, 2), (1, 2)]
    for worker in workers:  # 5 batches, of which each gets 3
        assert int(worker.live().of_kind(Kind.STEP).sum()) == 6
