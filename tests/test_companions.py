"""Windows of all workers of a job at the same steps, for which the flight recorder of one of them asks."""

from __future__ import annotations

import os

import numpy as np
import pytest

from stepscope.companions import Companions
from stepscope.control import control_folder
from stepscope.controlled import Control, Handlers
from stepscope.flight import FlightPlan, FlightRecorder
from stepscope.recorder import Recorder

SLOW = {"why": "slow_step", "step": 57, "dur_ns": 300_000_000, "usual_ns": 100_000_000}


class Worker:
    """A worker with the flight recorder and the control of one, and a window taker of the test."""

    def __init__(self, run, rank, world_size=3, plan=None):
        self.recorder = Recorder(run, framework="pytorch", rank=rank, world_size=world_size)
        self.recorder.start()
        self.asked = []
        self.companions = Companions(self.recorder)
        self.flight = FlightRecorder(
            self.recorder, plan or FlightPlan(), self._ask, lambda: (0, 0), ask_all=self.companions.ask
        )
        handlers = Handlers(lambda capture: self.flight.take(capture), lambda ms: None, lambda: None)
        self.control = Control(run, self.recorder.folder.id, handlers)

    def _ask(self, capture):
        self.asked.append((capture.steps, capture.at_step, capture.reason))

    def say_nothing_for(self, seconds):
        path = self.recorder.folder.path / "worker.json"
        then = path.stat().st_mtime - seconds
        os.utime(path, (then, then))


@pytest.fixture
def job(tmp_path):
    """Makes workers, which end with the test."""
    made = []

    def make(rank, **options):
        made.append(Worker(tmp_path, rank, **options))
        return made[-1]

    yield make
    for worker in made:
        worker.recorder.stop()


def test_all_workers_take_the_same_steps_whoever_asks(job, tmp_path):
    workers = [job(rank) for rank in range(3)]
    for worker in workers[1:]:  # a slow step of one is a slow step of all that wait for it
        worker.flight._history = np.full(60, 100_000_000)
        worker.recorder.step = 60
        worker.flight._open(SLOW)
    assert len(list(control_folder(tmp_path).glob("request-*"))) == 1
    for worker in workers:
        worker.control.poll()
    # 30 steps of 100 ms from where the training is when it is asked: all have seen the request by then
    expected = (3, 60 + 1 + 30, {**SLOW, "rank": 1})
    assert [worker.asked for worker in workers] == [[expected]] * 3
    assert not list(control_folder(tmp_path).glob("response-*"))


def test_each_worker_keeps_to_its_own_plan(job):
    one, other = job(0), job(1, plan=FlightPlan(windows=0))
    one.flight._open(SLOW)
    one.control.poll()
    other.control.poll()
    assert (len(one.asked), other.asked) == (1, [])


def test_a_worker_without_company_asks_itself(job, tmp_path):
    alone, silent = job(0), job(1)
    silent.say_nothing_for(60)
    alone.flight._open(SLOW)
    assert alone.asked == [(3, 0, SLOW)]
    only = job(2, world_size=1)
    only.flight._open(SLOW)
    assert only.asked == [(3, 0, SLOW)]
    assert not control_folder(tmp_path).exists()


def test_a_request_of_a_recording_before_this_one_is_in_nobodys_way(job, tmp_path):
    one, other = job(0), job(1)
    one.companions.ask(SLOW, 3, 0)
    (left,) = control_folder(tmp_path).glob("request-*")
    os.utime(left, (1, 1))
    restarted = job(0)
    restarted.flight._open(SLOW)
    restarted.control.poll()
    other.control.poll()
    assert len(restarted.asked) == len(other.asked) == 1


def test_a_folder_that_cannot_be_written_leaves_the_own_window(job, tmp_path):
    one, _ = job(0), job(1)
    control_folder(tmp_path).write_text("in the way")
    one.flight._open(SLOW)
    assert one.asked == [(3, 0, SLOW)]
