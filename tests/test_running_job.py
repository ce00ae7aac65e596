"""What is asked of the workers of a running job together."""

from __future__ import annotations

import time

import pytest

from stepscope import running_job
from stepscope.control import LEAD_S
from stepscope.running_job import capture_request
from stepscope.runs import open_run
from tests.builders import T0_NS
from tests.recorded import RecordedRun

PACE_US = 10_000
IN_THE_LEAD = int(LEAD_S * 1e6 / PACE_US)


def train(rank: RecordedRun, first: int, *durations_us: int) -> None:
    """Steps that end by now."""
    begin_us = (time.time_ns() - T0_NS) // 1000 - sum(durations_us)
    for i, dur_us in enumerate(durations_us):
        rank.step(first + i, begin_us, dur_us)
        begin_us += dur_us
    rank.flush()


@pytest.fixture
def ranks(tmp_path):
    return [RecordedRun(tmp_path, rank=rank, pid=100 + rank, world_size=2) for rank in range(2)]


def ask(ranks):
    return capture_request(open_run(ranks[0].path).workers, 3)


def test_it_begins_where_no_worker_is_yet(ranks):
    train(ranks[0], 0, *[PACE_US] * 20)
    train(ranks[1], 0, *[PACE_US] * 30)
    assert 30 + IN_THE_LEAD <= ask(ranks).at_step < 30 + 100 * IN_THE_LEAD


def test_slow_steps_among_quick_ones_do_not_bring_it_forward(ranks):
    for rank in ranks:
        train(rank, 0, *[PACE_US] * 20, *[50 * PACE_US] * 20)
    assert ask(ranks).at_step >= 40 + IN_THE_LEAD


def test_the_pace_of_a_job_that_has_only_begun_is_waited_for(ranks, monkeypatch):
    looks = []

    def meanwhile(seconds):
        """The first step of both, a slow one, and then the others."""
        looks.append(seconds)
        for rank in ranks:
            if len(looks) == 1:
                train(rank, 0, 100 * PACE_US)
            elif len(looks) == 3:
                train(rank, 1, *[PACE_US] * 30)

    monkeypatch.setattr(running_job.time, "sleep", meanwhile)
    assert ask(ranks).at_step >= 31 + IN_THE_LEAD
    assert len(looks) == 3


def test_a_job_in_its_first_step_is_asked_in_time(ranks, monkeypatch):
    monkeypatch.setattr(running_job, "PACE_WITHIN_S", 0.0)
    assert ask(ranks).at_step == 0


def test_one_worker_waits_for_no_other(ranks, monkeypatch):
    monkeypatch.delattr(running_job.time, "sleep")
    first, _ = open_run(ranks[0].path).workers
    assert capture_request([first], 3).at_step == 0
