"""What a training was at when it ended or hung."""

from __future__ import annotations

import sys
import time

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from stepscope.doctor import examine
from stepscope.runs import open_run
from tests.torch.training import BATCH, SIZE, make_model, make_optimizer, profiler, read, train, train_step


def only(run):
    (worker,) = examine(open_run(run)).workers
    return worker


def test_an_exception_that_leaves_the_loop(tmp_path):
    def training():
        with profiler(tmp_path, make_model()) as prof:
            train(prof.model, 12)
            raise ValueError("the loss is gone")

    with pytest.raises(ValueError, match="the loss is gone"):
        training()
    told = read(tmp_path).meta["exception"]
    assert (told["type"], told["message"], told["step"]) == ("ValueError", "the loss is gone", 12)
    assert told["at"].endswith("in training")
    assert only(tmp_path).state == "failed"
    assert only(tmp_path).last_step == 11


@pytest.mark.parametrize(("error", "kept"), [(SystemExit(0), False), (SystemExit("bad"), True)])
def test_an_orderly_exit_is_no_failure(tmp_path, error, kept):
    def training():
        with profiler(tmp_path, make_model()) as prof:
            train(prof.model, 1)
            raise error

    with pytest.raises(SystemExit):
        training()
    assert ("exception" in read(tmp_path).meta) is kept


def test_a_script_that_dies_without_the_context_manager(tmp_path, monkeypatch):
    prof = profiler(tmp_path, make_model())
    prof.start()
    train(prof.model, 3)
    monkeypatch.setattr(sys, "last_value", RuntimeError("as Python keeps it"), raising=False)
    prof._recording.at_exit()
    assert read(tmp_path).meta["exception"]["type"] == "RuntimeError"


def test_what_is_open_in_each_phase(tmp_path):
    """In steps worked out one by one and in regular ones."""
    seen = []

    def look(phase):
        activity = prof._recording.loop.activity()
        seen.append((phase, activity.phase, activity.step))

    class Data(Dataset):
        def __len__(self):
            return 12 * BATCH

        def __getitem__(self, index):
            if index % BATCH == 0:
                look("input_wait")
            return torch.ones(SIZE), torch.ones(1)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = make_model()

        def forward(self, x):
            look("forward")
            y = self.inner(x)
            y.register_hook(lambda grad: look("backward"))
            return y

    model = Model()
    optimizer = make_optimizer(model)
    with profiler(tmp_path, model, modules=False) as prof:
        for x, y in DataLoader(Data(), batch_size=BATCH):
            train_step(model, optimizer, x, y)
            look(None)
    assert len(seen) == 48
    assert [expected for expected, _, _ in seen] == [found for _, found, _ in seen]
    assert [step for _, _, step in seen[:8]] == [0, 0, 0, 0, 1, 1, 1, 1]


def test_a_hang_is_told_with_what_is_open(tmp_path):
    class Hangs(nn.Sequential):
        def forward(self, x):
            deadline = time.monotonic() + 180
            self.told = None  # where the step began long ago, the file first tells what was open before
            while (self.told or {}).get("phase") != "forward" and time.monotonic() < deadline:
                time.sleep(0.1)
                self.told = only(tmp_path).open
            return super().forward(x)

    model = Hangs(nn.Linear(SIZE, 1))
    with profiler(tmp_path, model):
        train(model, 1)
    assert (model.told["step"], model.told["phase"]) == (0, "forward")
    assert only(tmp_path).open is None
