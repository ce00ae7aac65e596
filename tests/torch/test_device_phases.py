"""Phases on a device, told by events: a device is played here that takes 1 ms for what lies between two events."""

from __future__ import annotations

import itertools

import pytest
import torch

from stepscope.schema import Kind
from stepscope_torch import device_phases
from stepscope_torch.device_phases import DevicePhases
from tests.torch.training import make_loader, make_model, make_optimizer, profiler, read, train, train_step, validate

PHASES = ["forward", "backward", "optimizer"]


class Device:
    """A queue of events. The device passes one each ms of its clock, ``lag`` events behind the host."""

    def __init__(self, lag: int = 4) -> None:
        self.lag = lag
        self.recorded = 0
        self.made = 0
        self.capturing = False

    def is_ready(self) -> bool:
        return not self.capturing

    def event(self) -> Event:
        self.made += 1
        return Event(self)


class Event:
    def __init__(self, device: Device) -> None:
        self.device = device

    def record(self) -> None:
        assert not self.device.capturing
        self.place = self.device.recorded
        self.device.recorded += 1

    def query(self) -> bool:
        return self.place < self.device.recorded - self.device.lag

    def elapsed_time(self, later: Event) -> float:
        assert self.query()
        assert later.query()
        return float(later.place - self.place)


@pytest.fixture
def device(monkeypatch):
    device = Device()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr("stepscope_torch.environment.accelerators", frozenset)
    monkeypatch.setattr("stepscope_torch.environment.devices", list)
    monkeypatch.setattr(
        "stepscope_torch.recording.DevicePhases", lambda *arguments: DevicePhases(*arguments, device=device)
    )
    return device


def test_each_step_has_its_phases_on_the_device(tmp_path, device):
    model = make_model()
    with profiler(tmp_path, model):
        train(model, 40)
        validate(model)
        device.lag = 0
    recording = read(tmp_path)
    rows = recording.rows(Kind.DEVICE_ANNOTATION)
    assert [row[0] for row in rows if row[3] == 39] == PHASES
    steps = [row[3] for row in rows]
    assert steps == sorted(steps)
    assert {steps.count(step) for step in range(16, 40)} == {3}  # the model is known from then on
    assert {row[2] - row[1] for row in rows} == {1_000_000}
    assert all(after[1] >= before[2] for before, after in itertools.pairwise(rows))
    queues = [
        recording.events.args_of(i)["queue_ns"] for i in recording.events.of_kind(Kind.DEVICE_ANNOTATION).nonzero()[0]
    ]
    assert min(queues) >= 0
    assert recording.phases() == dict.fromkeys([*PHASES, "input_wait"], 40) | {"validation": 2}
    assert device.made < 16  # they are used again
    assert recording.notes == []


def test_a_device_that_does_not_keep_up_loses_phases_which_are_counted(tmp_path, device, monkeypatch):
    monkeypatch.setattr(device_phases, "MAX_EVENTS", 20)
    device.lag = 10**6
    model = make_model()
    with profiler(tmp_path, model):
        train(model, 20)
    recording = read(tmp_path)
    assert device.made == 20
    assert recording.rows(Kind.DEVICE_ANNOTATION) == []
    (note,) = recording.notes
    assert note.code == "dropped_spans"
    assert note.count == 16 * 2 + 4 * 3  # no forward before the model is entered


def test_nothing_is_recorded_while_a_graph_is_captured(tmp_path, device):
    model = make_model()
    optimizer = make_optimizer(model)
    with profiler(tmp_path, model):
        for i, (x, y) in enumerate(make_loader(30)):
            device.capturing = 20 <= i < 25
            train_step(model, optimizer, x, y)
        device.lag = 0
    steps = {row[3] for row in read(tmp_path).rows(Kind.DEVICE_ANNOTATION)}
    assert steps == {*range(20), *range(25, 30)}


def test_an_optimizer_that_raises_does_not_end_the_measurement(tmp_path, device):
    model = make_model()
    optimizer = make_optimizer(model)

    def refuse():
        raise ValueError("no loss")

    with profiler(tmp_path, model):
        for i, (x, y) in enumerate(make_loader(30)):
            if i == 20:
                with pytest.raises(ValueError, match="no loss"):
                    optimizer.step(refuse)
            train_step(model, optimizer, x, y)
        device.lag = 0
    rows = read(tmp_path).rows(Kind.DEVICE_ANNOTATION)
    assert [row[0] for row in rows][-3:] == PHASES


def test_an_event_that_fails_switches_it_off_and_nothing_else(tmp_path, device, monkeypatch):
    def refuse(self):
        raise RuntimeError("CUDA error: no device")

    monkeypatch.setattr(Event, "record", refuse)
    expected = train(make_model(), 20)
    model = make_model()
    with profiler(tmp_path, model):
        assert train(model, 20) == expected
    recording = read(tmp_path)
    assert recording.codes() == ["hook_failed"]
    assert len(recording.complete_steps()) == 20
