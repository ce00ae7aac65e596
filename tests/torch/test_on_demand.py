"""Windows and stops that are asked for over the run folder while a real training runs."""

from __future__ import annotations

import threading
import time

import pytest
import torch

from stepscope.cli import main
from stepscope.control import Request, ask, responses
from stepscope.runs import open_run
from stepscope.schema import Kind
from stepscope_torch import Schedule
from tests.torch.training import make_loader, make_model, make_optimizer, profiler, read, train, train_step

#: Nothing here waits so long; it is what a failing test takes.
PATIENCE_S = 300


class Asked:
    """A request to the worker that ``prof`` records, and what it says."""

    def __init__(self, prof, command="capture", **fields):
        self.run, self.worker = prof.run, prof.folder.name
        request = Request(command, [self.worker], time.time_ns() + PATIENCE_S * 10**9, **fields)
        self.id = ask(self.run, request)

    @property
    def said(self):
        return responses(self.run, self.id, [self.worker]).get(self.worker)

    def is_final(self):
        return self.said is not None and self.said.state != "accepted"


def train_until(model, ended, losses=None):
    """Train epochs until ``ended()``."""
    optimizer = make_optimizer(model)
    deadline = time.monotonic() + PATIENCE_S
    while not ended():
        assert time.monotonic() < deadline
        for x, y in make_loader(20):
            loss = train_step(model, optimizer, x, y)
            if losses is not None:
                losses.append(loss)


@pytest.mark.parametrize("schedule", [False, Schedule(skip_first=4, active=2)], ids=["no plan", "after the plan's"])
def test_a_window_on_demand(tmp_path, schedule):
    model = make_model()
    with profiler(tmp_path, model, schedule=schedule) as prof:
        train(model, 20)
        asked = Asked(prof, steps=4)
        train_until(model, asked.is_final)
    assert asked.said.state == "done", asked.said
    (worker,) = open_run(tmp_path).workers
    assert asked.said.window == worker.window_ids()[-1] == ("000002" if schedule else "000001")
    window = worker.window(asked.said.window)
    assert window.header["stepscope"]["reason"] == {"why": "on_demand"}
    steps = window.events.of_kind(Kind.STEP)
    assert window.events.step[steps].tolist() == [asked.said.first_step + i for i in range(4)]


def test_the_training_stays_the_same_to_the_last_bit(tmp_path):
    model = make_model()
    losses: list[float] = []
    torch.manual_seed(5)
    with profiler(tmp_path, model) as prof:
        asked = Asked(prof)
        train_until(model, asked.is_final, losses)
    plain, expected = make_model(), []
    torch.manual_seed(5)
    train_until(plain, lambda: len(expected) >= len(losses), expected)
    assert expected == losses


def test_it_begins_no_sooner_than_asked(tmp_path):
    model = make_model()
    with profiler(tmp_path, model) as prof:
        asked = Asked(prof, at_step=700)
        train_until(model, asked.is_final)
    assert asked.said.first_step >= 700


def test_a_second_one_meanwhile_is_refused(tmp_path):
    model = make_model()
    with profiler(tmp_path, model) as prof:
        first = Asked(prof, at_step=10**9)
        train_until(model, lambda: first.said is not None)
        second = Asked(prof)
        train_until(model, second.is_final)
        assert second.said.state == "refused"
    assert first.said.state == "failed"
    assert "recording ended" in first.said.detail
    assert read(tmp_path).codes() == []


def test_to_stop(tmp_path):
    model = make_model()
    with profiler(tmp_path, model) as prof:
        asked = Asked(prof, "stop")
        train_until(model, lambda: not prof.enabled)
        train(model, 40)
    assert asked.said.state == "done"
    recording = read(tmp_path)
    assert recording.codes() == ["recording_stopped"]
    assert recording.meta["ended_ns"] is not None


def test_the_monitor_gets_another_interval(tmp_path):
    model = make_model()
    with profiler(tmp_path, model, monitor_interval_ms=60000) as prof:
        asked = Asked(prof, "interval", interval_ms=100)
        wrong = Asked(prof, "interval", interval_ms=7)
        train_until(model, lambda: asked.is_final() and wrong.is_final())
        assert (asked.said.state, wrong.said.state) == ("done", "refused")
        (worker,) = open_run(tmp_path).workers

        def samples():
            table = worker.monitor()  # None until the sampler's process has started
            return set() if table is None else set(table.column("ts_ns").to_pylist())

        train_until(model, lambda: len(samples()) > 3)


def test_the_command(tmp_path, capsys):
    model = make_model()
    status = []
    with profiler(tmp_path, model) as prof:
        train(model, 60)
        prof._recorder.flush()
        command = threading.Thread(target=lambda: status.append(main(["capture", str(tmp_path), "--steps", "2"])))
        command.start()
        train_until(model, lambda: not command.is_alive())
        command.join()
    assert status == [0]
    out = capsys.readouterr().out
    assert f"{prof.folder.name}: window 000001, 2 steps from step" in out
    assert not list((tmp_path / "plugins/stepscope/control").iterdir())


def test_the_command_without_a_running_job(tmp_path, capsys):
    model = make_model()
    with profiler(tmp_path, model):
        train(model, 3)
    assert main(["capture", str(tmp_path)]) == 2
    assert "no worker of this run is running" in capsys.readouterr().err
