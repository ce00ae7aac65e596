"""Times of modules: sampled host times in the live stream, scopes in deep windows."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from stepscope.runs import open_run
from stepscope.schema import Kind
from stepscope.summary import summarize
from stepscope_torch import Schedule
from stepscope_torch import loop as loop_module
from stepscope_torch.entrance import Entrance, is_compiled
from stepscope_torch.module_scopes import named
from tests.torch.training import SIZE, Net, make_model, make_optimizer, profiler, read, train, validate

NAMES = {"Net", "0", "1", "2", "3"}


def placed(model: nn.Module) -> list[str]:
    """The modules at which something stands."""
    return [name for name, module in model.named_modules() if vars(module).get("_compiled_call_impl") is not None]


def test_two_steps_of_each_sample_show_every_module_inside_the_forward(tmp_path, monkeypatch):
    monkeypatch.setattr(loop_module, "_CHECK_EVERY_AT_MOST", 16)  # short steps are sampled less often
    model = make_model()
    with profiler(tmp_path, model, modules=20):  # one begins with a check, every 16 steps
        for _ in range(2):
            train(model, 30)
            validate(model)
    recording = read(tmp_path)
    assert recording.meta["options"]["modules_every"] == 32
    rows = recording.rows(Kind.MODULE)
    assert sorted({row[3] for row in rows}) == [16, 17, 48, 49]
    assert len(rows) == 4 * len(NAMES)
    forwards = {row[3]: row[1:3] for row in recording.rows(Kind.PHASE, "forward")}
    for step in (16, 17, 48, 49):
        own = [row for row in rows if row[3] == step]
        assert {row[0] for row in own} == NAMES
        begin, end = forwards[step]
        assert all(begin <= row[1] <= row[2] <= end for row in own if row[0] != "Net")
    assert recording.complete_steps() == list(range(60))
    assert recording.notes == []
    assert placed(model) == []


def test_modules_can_be_left_out(tmp_path):
    model = make_model()
    with profiler(tmp_path, model, modules=False):
        train(model, 30)
    assert read(tmp_path).rows(Kind.MODULE) == []


def test_a_step_with_too_many_calls_is_not_sampled_and_that_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("stepscope_torch.modules.MAX_CALLS", 3)
    model = make_model()
    with profiler(tmp_path, model):
        train(model, 30)
    recording = read(tmp_path)
    assert recording.rows(Kind.MODULE) == []
    assert recording.codes() == ["dropped_spans"]


def test_a_deep_window_tells_forward_and_backward_of_every_module(tmp_path):
    model = Net(make_model(), nn.Tanh())
    with profiler(tmp_path, model, schedule=Schedule(skip_first=4, active=2)):
        train(model, 8)
    (worker,) = summarize(open_run(tmp_path))["workers"]
    found = {tuple(module["path"]): module for module in worker["modules"]}
    assert set(found) == {(), ("Net",), ("Net", "0"), ("Net", "1"), *(("Net", "0", f"0.{i}") for i in range(4))}
    for path in (("Net", "0", "0.0"), ("Net", "1")):
        assert found[path]["calls"] == 2
        assert found[path]["forward_host_total_ns"] > 0
        assert found[path]["backward_host_total_ns"] > 0
    assert not any(operator["name"].startswith("nn.Module") for operator in worker["operators"])


def test_a_scope_ends_with_its_window_though_its_module_goes_on(tmp_path):
    """A loop without a loader: the window ends in the call of the model that begins the next step."""
    model = make_model()
    optimizer = make_optimizer(model)
    x = torch.ones(4, SIZE)
    with profiler(tmp_path, model, schedule=Schedule(skip_first=4, active=2, windows=2, every=4)):
        for _ in range(20):
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
    assert len(list(open_run(tmp_path).workers[0].windows())) == 2
    assert read(tmp_path).complete_steps() == list(range(20))
    assert placed(model) == []


def test_what_is_compiled_is_one_module():
    inner, whole = make_model(), make_model()
    inner.compile(backend="eager")
    model = Net(inner, nn.Tanh())
    assert [name for name, _ in named([model])] == ["Net", "0", "1"]
    compiled = torch.compile(whole, backend="eager")
    assert [name for name, _ in named([compiled])] == ["OptimizedModule"]
    assert is_compiled(inner)
    assert not is_compiled(model)


@pytest.mark.parametrize("first", [0, 1])
def test_entrances_of_one_module_go_in_any_order(first):
    calls = []

    def make(name):
        def wrap(original):
            def call(*args):
                calls.append(name)
                return original(*args)

            return call

        return wrap

    model = nn.Identity()
    entrances = [Entrance(model, make(i)) for i in range(2)]
    model(1)
    assert calls == [1, 0]
    assert all(entrance.stands for entrance in entrances)
    assert vars(copy.deepcopy(model)).get("_compiled_call_impl") is None
    for i in (first, 1 - first):
        entrances[i].remove()
    assert placed(model) == []


def test_modules_inside_compiled_code_are_not_compiled_anew(tmp_path):
    torch._dynamo.reset()
    model = make_model()
    step = torch.compile(lambda x: model(x).tanh(), backend="eager", fullgraph=True)
    optimizer = make_optimizer(model)
    x = torch.ones(4, SIZE)
    with torch._dynamo.config.patch(error_on_recompile=True), profiler(tmp_path, model, modules=16) as prof:
        for _ in range(40):
            step(x).sum().backward()
            optimizer.step()
            prof.step()
    torch._dynamo.reset()
    recording = read(tmp_path)
    assert len(recording.complete_steps()) == 40
    assert recording.rows(Kind.MODULE) == []
