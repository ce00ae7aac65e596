"""Hugging Face's own Trainer, with and without the callback, on a model of a few hundred parameters."""

import pytest
import torch
from torch import nn

from stepscope.runs import open_run
from stepscope.schema import NONE, Kind
from tests.torch.training import TRAINING_PHASES, make_model, read

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

#: Without a budget: on a busy machine a test may take the 10 s after which it is judged.
OPTIONS = {"schedule": False, "monitor_interval_ms": None, "overhead_budget": None}
SAMPLES = 24
BATCH = 4


class Boom(Exception):
    pass


class Net(nn.Module):
    def __init__(self, fails_at=None):
        super().__init__()
        self.inner = make_model()
        self.fails_at = fails_at
        self.calls = 0

    def forward(self, x, labels):
        self.calls += 1
        if self.calls == self.fails_at:
            raise Boom
        out = self.inner(x)
        return {"loss": nn.functional.mse_loss(out, labels), "logits": out}


def samples(n):
    x = torch.arange(n * 8, dtype=torch.float32).reshape(-1, 8) / 200
    return [{"x": row, "labels": row.sum(0, keepdim=True)} for row in x]


def callback(run):
    from stepscope_torch.huggingface import StepscopeCallback

    return StepscopeCallback(run, **OPTIONS)


def train(tmp_path, callbacks=(), model=None, **arguments):
    """The logged losses and the parameters after two epochs of 6 batches."""
    model = model or Net()
    options = transformers.TrainingArguments(
        output_dir=str(tmp_path / "out"),
        use_cpu=True,
        num_train_epochs=2,
        per_device_train_batch_size=BATCH,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        seed=3,
        **arguments,
    )
    trainer = transformers.Trainer(
        model, options, train_dataset=samples(SAMPLES), eval_dataset=samples(8), callbacks=list(callbacks)
    )
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train()
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    return losses, [p.tolist() for p in model.parameters()], trainer.state.global_step


@pytest.mark.parametrize(("accumulate", "steps"), [(1, 12), (4, 4)])
def test_results_are_the_same_and_every_update_is_a_step(tmp_path, accumulate, steps):
    """6 batches an epoch, 4 to an update: the second update of an epoch has 2."""
    arguments = {"gradient_accumulation_steps": accumulate, "eval_strategy": "epoch"}
    plain = train(tmp_path, **arguments)
    recorded = train(tmp_path, [callback(tmp_path / "run")], **arguments)
    assert recorded == plain
    assert plain[2] == steps
    assert len(plain[0]) == steps
    recording = read(tmp_path / "run")
    assert recording.complete_steps() == recording.steps() == list(range(steps))
    assert recording.phases()["forward"] == 12
    assert set(recording.meta["phases"]) == {*TRAINING_PHASES, "validation"}
    assert recording.notes == []


def test_evaluation_is_part_of_no_step(tmp_path):
    train(tmp_path, [callback(tmp_path / "run")], eval_strategy="epoch")
    recording = read(tmp_path / "run")
    validation = recording.rows(Kind.PHASE, "validation")
    assert {row[3] for row in validation} == {NONE}
    for _, start, end, _ in recording.rows(Kind.STEP):
        assert not any(begin < end and stop > start for _, begin, stop, _ in validation)


def test_a_training_after_one_that_failed_is_recorded(tmp_path):
    with pytest.raises(Boom):
        train(tmp_path, [callback(tmp_path / "first")], Net(fails_at=4))
    train(tmp_path, [callback(tmp_path / "second")])
    assert read(tmp_path / "first").complete_steps() == [0, 1, 2]
    assert read(tmp_path / "first").meta["ended_ns"] is not None
    assert len(read(tmp_path / "second").steps()) == 12


def test_each_training_is_a_worker_of_its_own(tmp_path):
    hook = callback(tmp_path / "run")
    train(tmp_path, [hook])
    train(tmp_path, [hook])
    counts = [int(w.live().of_kind(Kind.STEP).sum()) for w in open_run(tmp_path / "run").workers]
    assert counts == [12, 12]
