"""Nothing of the hooks reaches the training: not their errors, not their traces in saved models, not a changed loss."""

from __future__ import annotations

import copy
import io
import logging
import os
import pickle
import sys
import threading
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.optim.optimizer import (
    _global_optimizer_post_hooks,
    _global_optimizer_pre_hooks,
    register_optimizer_step_pre_hook,
)
from torch.utils.data import Dataset, get_worker_info
from torch.utils.data.dataloader import DataLoader, _BaseDataLoaderIter

from stepscope import annotate
from stepscope.recorder import Recorder
from stepscope.runs import find_runs
from stepscope.schema import Kind
from stepscope_torch import Profiler, Schedule, environment
from stepscope_torch import recording as recording_module
from stepscope_torch.loop import Loop
from stepscope_torch.part import take_out_left
from tests.recorded import wait_for_samples
from tests.torch.training import BATCH, SIZE, make_loader, make_model, make_optimizer, profiler, read, train, validate


def original_functions():
    return (
        _BaseDataLoaderIter.__next__,
        torch.autograd.backward,
        torch.autograd.grad,
        torch.amp.GradScaler.step,
        torch.autograd.profiler.profile._prepare_trace,
        torch.autograd.profiler.profile.__exit__,
        torch.autograd.profiler.record_function.__enter__,
    )


def test_losses_are_the_same_to_the_last_bit(tmp_path):
    plain = make_model()
    expected = train(plain, 20)
    hooked = make_model()
    with profiler(tmp_path, hooked, schedule=Schedule(skip_first=4), record_shapes=True):
        losses = train(hooked, 20)
    assert losses == expected
    for name, tensor in plain.state_dict().items():
        assert torch.equal(tensor, hooked.state_dict()[name])


def test_everything_is_put_back(tmp_path):
    before = original_functions()
    model = make_model()
    with profiler(tmp_path, model):
        assert original_functions() != before
        train(model, 3)
    assert original_functions() == before
    assert not model._forward_hooks
    assert not model._forward_pre_hooks
    assert not _global_optimizer_pre_hooks
    assert not _global_optimizer_post_hooks


def test_another_thread_may_end_the_recording_while_the_optimizer_steps(tmp_path):
    """Torch goes through its hooks in that moment, and an error would come of it if they changed."""
    model = make_model()
    prof = profiler(tmp_path, model)
    prof.start()
    stopping = threading.Thread(target=prof.stop)
    steps = []

    def during(*_):
        steps.append(1)
        if len(steps) == 3:
            stopping.start()
            stopping.join()

    handle = register_optimizer_step_pre_hook(during)  # called after ours
    try:
        train(model, 5)
    finally:
        handle.remove()
        take_out_left()
    assert len(steps) == 5
    assert read(tmp_path).complete_steps() == [0, 1]


def test_a_patch_of_somebody_else_on_top_stays(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(torch.autograd, "backward", torch.autograd.backward)  # restored afterwards
    model = make_model()
    with profiler(tmp_path, model):
        ours = torch.autograd.backward

        def theirs(*args, **kwargs):
            calls.append("theirs")
            return ours(*args, **kwargs)

        torch.autograd.backward = theirs
        train(model, 2)
    assert torch.autograd.backward is theirs
    train(model, 2)
    assert calls == ["theirs"] * 4
    assert read(tmp_path).phases()["backward"] == 2


@pytest.mark.parametrize("what", ["span", "phases"])
def test_a_recorder_that_raises(tmp_path, monkeypatch, caplog, what):
    def refuse(self, *args, **kwargs):
        raise RuntimeError("refused")

    model = make_model()
    expected = train(make_model(), 30)
    with caplog.at_level(logging.WARNING, "stepscope"), profiler(tmp_path, model):
        monkeypatch.setattr(Recorder, what, refuse)
        assert train(model, 30) == expected
        monkeypatch.undo()
    assert "hook_failed" in read(tmp_path).codes()
    assert len(caplog.records) < 5


HOOKS = ["input_begin", "input_end", "forward_begin", "forward_end", "backward_begin", "backward_end"]
HOOKS += ["optimizer_begin", "optimizer_end", "_interpret", "_segment_ended", "finish"]


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("given", [True, False])
def test_a_hook_that_raises_is_switched_off(tmp_path, monkeypatch, caplog, hook, given):
    def refuse(self, *args, **kwargs):
        raise RuntimeError("refused")

    monkeypatch.setattr(Loop, hook, refuse)
    model = make_model()
    expected = train(make_model(), 20)
    prof = profiler(tmp_path, model if given else None, schedule=Schedule(skip_first=4, active=2))
    with caplog.at_level(logging.WARNING, "stepscope"), prof:
        assert train(model, 20) == expected
        validate(model)
    recording = read(tmp_path)
    assert "hook_failed" in recording.codes()
    assert any("refused" in note.detail for note in recording.notes)
    said = [record.message for record in caplog.records]
    assert len(said) == len(set(said))


def test_an_exception_of_the_model_passes_unchanged_and_ends_its_phases(tmp_path):
    class Fails(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = make_model()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            if self.calls == 3:
                raise ValueError("mine")
            return self.inner(x)

    model = Fails()
    optimizer = make_optimizer(model)
    with profiler(tmp_path, model):
        for x, y in make_loader(5):
            if model.calls == 2:
                with pytest.raises(ValueError, match="mine"):
                    model(x)
                continue
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
    recording = read(tmp_path)
    assert recording.phases() == {"input_wait": 5, "forward": 5, "backward": 4, "optimizer": 4}
    assert recording.notes == []


def test_an_exception_that_ends_the_training_leaves_a_whole_run(tmp_path):
    model = make_model()

    def interrupted():
        with profiler(tmp_path, model):
            train(model, 3)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    recording = read(tmp_path)
    assert recording.complete_steps() == [0, 1, 2]
    assert recording.meta["ended_ns"] is not None


class Broken(Dataset):
    def __len__(self):
        return 3 * BATCH

    def __getitem__(self, index):
        if index == 2 * BATCH:
            raise OSError("no such sample")
        return torch.ones(SIZE), torch.ones(1)


def test_an_exception_of_the_data_passes_unchanged(tmp_path):
    model = make_model()
    optimizer = make_optimizer(model)
    batches = iter(DataLoader(Broken(), batch_size=BATCH))
    with profiler(tmp_path, model):
        for _ in range(2):
            x, y = next(batches)
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        with pytest.raises(OSError, match="no such sample"):
            next(batches)
    assert read(tmp_path).complete_steps() == [0, 1]


def copy_of(model, how):
    if how == "deepcopy":
        return copy.deepcopy(model)
    if how == "pickle":
        return pickle.loads(pickle.dumps(model))
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize("how", ["deepcopy", "pickle", "torch.save"])
def test_copies_of_a_hooked_model_work_and_are_not_recorded(tmp_path, how):
    model = make_model()
    with profiler(tmp_path, model):
        train(model, 1)
        twin = copy_of(model, how)
        assert train(twin, 3) == train(model, 3)
    assert read(tmp_path).phases()["forward"] == 4


def test_a_saved_model_needs_no_stepscope_to_load(tmp_path):
    model = make_model()
    with profiler(tmp_path, model):
        text = pickle.dumps(model)
    assert b"stepscope" not in text


def test_a_folder_that_cannot_be_written_is_said_once(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    model = make_model()
    expected = train(make_model(), 5)
    before = original_functions()
    with caplog.at_level(logging.WARNING, "stepscope"), profiler(tmp_path / "file" / "run", model) as prof:
        assert not prof.enabled
        assert original_functions() == before
        assert train(model, 5) == expected
        prof.step()
    assert len(caplog.records) == 1
    assert str(tmp_path / "file" / "run") in caplog.text


def test_a_second_profiler_is_refused_politely(tmp_path, caplog):
    model = make_model()
    with caplog.at_level(logging.WARNING, "stepscope"), profiler(tmp_path / "a", model) as first:
        with profiler(tmp_path / "b", model) as second:
            train(model, 3)
            assert first.enabled
            assert not second.enabled
        train(model, 2)
    assert not (tmp_path / "b").exists()
    assert len(caplog.records) == 1
    recording = read(tmp_path / "a")
    assert recording.complete_steps() == list(range(5))
    assert recording.codes() == ["second_profiler"]


def test_a_profiler_of_an_earlier_cell_is_ended_by_the_next_one(tmp_path, monkeypatch):
    """A cell that failed is held by its traceback, and so is the profiler that it did not come to stop."""
    cells = SimpleNamespace(execution_count=1)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: cells))
    model = make_model()
    old = profiler(tmp_path / "a", model)
    old.start()
    refused = profiler(tmp_path / "b", model)
    refused.start()  # in the same cell, whose code may yet stop the first
    cells.execution_count = 2
    with profiler(tmp_path / "c", model) as new:
        assert (old.enabled, refused.enabled, new.enabled) == (False, False, True)
        train(model, 3)
        cells.execution_count = 3
        late = profiler(tmp_path / "d", model)
        late.start()  # from a callback, say: a ``with`` ends what it began
        assert (new.enabled, late.enabled) == (True, False)
    assert read(tmp_path / "c").complete_steps() == [0, 1, 2]
    assert read(tmp_path / "a").codes() == ["second_profiler", "never_stopped"]
    assert not (tmp_path / "b").exists()


def test_a_recording_that_broke_gives_way_to_the_next_one(tmp_path):
    model = make_model()
    old = profiler(tmp_path / "a", model)
    old.start()
    train(model, 2)
    recording_module.running.loop.is_broken = True
    with profiler(tmp_path / "b", model):
        train(model, 3)
    assert read(tmp_path / "b").complete_steps() == [0, 1, 2]


def test_start_and_stop_as_often_as_one_likes(tmp_path):
    model = make_model()
    prof = profiler(tmp_path, model)
    prof.stop()
    for _ in range(2):
        prof.start()
        prof.start()
        train(model, 3)
        prof.stop()
        prof.stop()
        train(model, 2)
    (run,) = find_runs(tmp_path)
    assert [worker.live().of_kind(Kind.STEP).sum() for worker in run.workers] == [3, 3]


def test_a_model_that_is_no_module_is_looked_for(tmp_path):
    model = make_model()
    with profiler(tmp_path, model.forward):
        train(model, 3)
    assert read(tmp_path).phases()["forward"] == 3


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_a_scripted_model(tmp_path):
    scripted = torch.jit.script(nn.Sequential(*make_model()))
    with profiler(tmp_path, scripted):
        train(scripted, 4)
    recording = read(tmp_path)
    assert recording.complete_steps() == [0, 1, 2, 3]
    assert recording.phases()["backward"] == 4


def test_options_that_make_no_sense(tmp_path, caplog):
    model = make_model()
    with caplog.at_level(logging.WARNING, "stepscope"), profiler(tmp_path, model, monitor_interval_ms=123):
        train(model, 2)
    recording = read(tmp_path)
    assert recording.complete_steps() == [0, 1]
    assert "requested_but_absent" in recording.codes()
    assert "123" in caplog.text


class Annotated(Dataset):
    """Annotates its samples; in a forked worker that must go nowhere."""

    def __len__(self):
        return 4 * BATCH

    def __getitem__(self, index):
        with annotate("sample"):
            assert (get_worker_info() is None) == (os.getpid() == Annotated.main)
            return torch.ones(SIZE), torch.ones(1)


@pytest.mark.parametrize("workers", [0, 2])
def test_annotations_in_forked_loader_workers(tmp_path, workers):
    Annotated.main = os.getpid()
    model = make_model()
    optimizer = make_optimizer(model)
    loader = DataLoader(
        Annotated(), batch_size=BATCH, num_workers=workers, multiprocessing_context="fork" if workers else None
    )
    with profiler(tmp_path, model):
        for x, y in loader:
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
    recording = read(tmp_path)
    assert recording.complete_steps() == [0, 1, 2, 3]
    samples = recording.rows(Kind.ANNOTATION, "sample")
    assert [row[3] for row in samples] == ([] if workers else [i // BATCH for i in range(4 * BATCH)])


def test_the_overhead_is_written_down(tmp_path):
    model = make_model()
    with profiler(tmp_path, model, schedule=None):
        train(model, 40)
    overhead = read(tmp_path).meta["overhead"]
    assert set(overhead) == {"hook_ns_per_step", "stall_ns", "flush_cpu_ns"}
    assert overhead["hook_ns_per_step"] > 0
    assert overhead["stall_ns"] > 0


def test_the_monitor_samples_beside_it(tmp_path):
    model = make_model()
    with Profiler(tmp_path, model, schedule=False, monitor_interval_ms=100):
        train(model, 3)
        wait_for_samples(tmp_path)
    table = read(tmp_path).worker.monitor()
    assert table is not None


def test_compiled_code_sees_no_hook(tmp_path, monkeypatch):
    """Hooks on modules inside, and patched functions, are traced away: no graph breaks."""
    monkeypatch.setattr(environment, "accelerators", lambda: frozenset({"meta"}))
    model = make_model().eval()

    def function(x):
        return model(x.to(torch.float64).to("cpu").to(torch.float32))

    with profiler(tmp_path, model):
        compiled = torch.compile(function, backend="eager", fullgraph=True)
        x = torch.ones(2, SIZE)
        assert torch.equal(compiled(x), function(x))
    torch._dynamo.reset()
