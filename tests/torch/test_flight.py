"""The flight recorder in a real training."""

from __future__ import annotations

import math

import pytest
import torch

from stepscope.flight import FlightPlan
from stepscope.runs import open_run
from stepscope_torch import Schedule
from stepscope_torch.loss import LossCheck
from tests.torch.test_on_demand import train_until
from tests.torch.training import make_model, profiler, read, train


def test_a_loss_that_is_no_number_opens_a_window(tmp_path):
    model = make_model()
    with profiler(tmp_path, model, flight_recorder=FlightPlan(time_ratio=0)) as prof:  # none after a slow step
        train(model, 20)
        prof.loss(torch.tensor(1.0))
        prof.loss(torch.tensor([1.0, math.nan], requires_grad=True))
        train_until(model, lambda: prof._recording.windows.taken)
    (worker,) = open_run(tmp_path).workers
    window = worker.window("000001")
    assert window.header["stepscope"]["reason"] == {"why": "loss_not_finite", "step": 20, "value": "nan"}
    assert "Taken by the flight recorder. The loss was nan in step 20." in [note.detail for note in window.notes]
    assert read(tmp_path).codes() == ["loss_not_finite"]


@pytest.mark.parametrize("value", ["no number", None, torch.zeros(0), object()])
def test_what_is_no_loss_raises_nothing(tmp_path, value):
    model = make_model()
    with profiler(tmp_path, model) as prof:
        prof.loss(value)
        train(model, 2)
    prof.loss(1.0)
    assert read(tmp_path).complete_steps() == [0, 1]


def test_it_is_on_where_windows_are_planned(tmp_path):
    assert profiler(tmp_path, flight_recorder=None)._settings.flight_plan is None
    assert profiler(tmp_path, schedule=Schedule(), flight_recorder=None)._settings.flight_plan is not None
    assert profiler(tmp_path, schedule=Schedule(), flight_recorder=False)._settings.flight_plan is None


def test_losses_on_the_host_are_seen_at_once():
    seen = []
    check = LossCheck(lambda value, step: seen.append((value, step)))
    for step, value in enumerate([1, 2.5, torch.tensor(3.0), torch.tensor([[4.0]]), torch.tensor([1.0, 9.0])]):
        check.check(value, step)
    assert seen == [(1.0, 0), (2.5, 1), (3.0, 2), (4.0, 3), (5.0, 4)]
