"""Requests over the run folder: who asks and who answers meet in files, and a file of any form harms neither."""

from __future__ import annotations

import json
import os
import time

import pytest

from stepscope.cli import conversation
from stepscope.control import (
    ACCEPTED,
    DONE,
    FAILED,
    REFUSED,
    Request,
    ask,
    control_folder,
    responses,
    withdraw,
)
from stepscope.controlled import Capture, Control, Handlers
from stepscope.errors import StepscopeError
from stepscope.runs import open_run
from stepscope.store import RunFolder


class Job:
    """The asked side of a worker."""

    def __init__(self, run, rank=0):
        self.run = run
        self.id = RunFolder(run).create_worker(rank, "node1", 4117).id
        self.captures: list[Capture] = []
        self.intervals: list[int] = []
        self.stops = 0
        self.refusal: str | None = None
        self.control = Control(run, self.id, Handlers(self._capture, self._interval, self._stop))

    def _capture(self, capture):
        if self.refusal is None:
            self.captures.append(capture)
        return self.refusal

    def _interval(self, interval_ms):
        self.intervals.append(interval_ms)
        return

    def _stop(self):
        self.stops += 1
        return

    def said(self, request_id):
        return responses(self.run, request_id, [self.id]).get(self.id)


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path / "run")


def request(job, command="capture", in_s=60, **fields):
    return Request(command, [job.id], time.time_ns() + in_s * 10**9, **fields)


class Converted:
    """A conversion that has ended."""

    running = False

    def __init__(self, folder, error=None):
        self.folder = folder
        self._error = error

    def error(self):
        return self._error


def test_a_capture_is_accepted_and_then_done(job, tmp_path):
    request_id = ask(job.run, request(job, steps=5, at_step=40))
    assert job.said(request_id) is None
    job.control.poll()
    (capture,) = job.captures
    assert (capture.steps, capture.at_step) == (5, 40)
    assert job.said(request_id).state == ACCEPTED
    capture.recorded(range(41, 46), Converted(tmp_path / "000002"))
    job.control.poll()
    said = job.said(request_id)
    assert (said.state, said.window, said.first_step, said.steps) == (DONE, "000002", 41, 5)
    withdraw(job.run, request_id)
    assert list(control_folder(job.run).iterdir()) == []


def test_a_worker_that_came_too_late_says_so_and_which_steps_it_takes(job, tmp_path):
    request_id = ask(job.run, request(job, at_step=40))
    job.control.poll()
    (capture,) = job.captures
    assert capture.settle(earliest=55) == 55
    job.control.poll()
    said = job.said(request_id)
    late = "The request came too late for step 40."
    assert (said.state, said.first_step, said.detail) == (ACCEPTED, 55, late)
    capture.recorded(range(55, 58), Converted(tmp_path / "000001"))
    job.control.poll()
    said = job.said(request_id)
    assert (said.state, said.first_step, said.steps, said.detail) == (DONE, 55, 3, late)


def test_the_command_tells_the_steps_of_each_worker(job, tmp_path, capsys, monkeypatch):
    late = Job(job.run, rank=1)

    def meanwhile(seconds):
        """Each time the command waits, the jobs go on."""
        for one, earliest, steps in ((job, 12, 3), (late, 55, 2)):
            one.control.poll()
            (capture,) = one.captures
            first = capture.settle(earliest)
            capture.recorded(range(first, first + steps), Converted(tmp_path / "000001"))

    monkeypatch.setattr(conversation.time, "sleep", meanwhile)
    asked = Request("capture", [job.id, late.id], time.time_ns() + 60 * 10**9, steps=3, at_step=40)
    assert conversation.converse(open_run(job.run), asked, 300.0) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"{job.id}: window 000001, 3 steps from step 40" in lines
    assert f"{late.id}: window 000001, 2 of 3 steps from step 55. The request came too late for step 40." in lines
    assert lines[-1] == "These are not the same steps in all workers."


@pytest.mark.parametrize(("at_step", "earliest"), [(40, 12), (0, 12)])
def test_a_worker_in_time_has_nothing_more_to_say(job, at_step, earliest):
    request_id = ask(job.run, request(job, at_step=at_step))
    job.control.poll()
    job.captures[0].settle(earliest)
    job.control.poll()
    said = job.said(request_id)
    assert (said.state, said.first_step, said.detail) == (ACCEPTED, at_step, "")


def test_each_request_is_taken_up_once(job):
    ask(job.run, request(job))
    for _ in range(3):
        job.control.poll()
    assert len(job.captures) == 1


def test_only_the_named_workers_take_it_up(job):
    other = Job(job.run, rank=1)
    request_id = ask(job.run, request(other))
    job.control.poll()
    other.control.poll()
    assert job.captures == []
    assert len(other.captures) == 1
    assert list(responses(job.run, request_id, [job.id, other.id])) == [other.id]


def test_what_a_hook_refuses_is_told(job):
    job.refusal = "Not now."
    request_id = ask(job.run, request(job))
    job.control.poll()
    said = job.said(request_id)
    assert (said.state, said.detail) == (REFUSED, "Not now.")


def test_interval_and_stop(job):
    one = ask(job.run, request(job, "interval", interval_ms=1000))
    two = ask(job.run, request(job, "stop"))
    job.control.poll()
    assert (job.intervals, job.stops) == ([1000], 1)
    assert job.said(one).state == job.said(two).state == DONE


def test_the_end_of_the_training_answers_what_is_open(job):
    request_id = ask(job.run, request(job))
    job.control.poll()
    job.control.close()
    said = job.said(request_id)
    assert said.state == FAILED
    assert "recording ended" in said.detail


def test_a_window_that_cannot_be_converted_is_told(job, tmp_path):
    request_id = ask(job.run, request(job))
    job.control.poll()
    job.captures[0].recorded(range(3), Converted(tmp_path / "000001", "no space"))
    job.control.poll()
    assert job.said(request_id).state == FAILED
    assert "no space" in job.said(request_id).detail


def test_a_late_request_is_refused(job):
    request_id = ask(job.run, request(job, in_s=-1))
    job.control.poll()
    assert job.captures == []
    assert "too late" in job.said(request_id).detail


GOOD = {"command": "capture", "expires_ns": time.time_ns() + 3000 * 10**9}  # from when the tests are collected


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"\xff\xfe",
        b"[" * 50_000,
        b"x" * 100_000,
        {**GOOD, "command": "run"},
        {**GOOD, "steps": 0},
        {**GOOD, "steps": 10**9},
        {**GOOD, "steps": "3"},
        {**GOOD, "steps": True},
        {**GOOD, "expires_ns": 2**80},
        {**GOOD, "shell": "rm -rf"},
        {**GOOD, "workers": "0-node1-4117"},
        {"command": "capture"},
        {**GOOD, "reason": {"why": "on_demand", "step": 1}},
        {**GOOD, "reason": {"why": "slow_step", "step": 1, "dur_ns": 5}},
        {**GOOD, "reason": {"why": "loss_not_finite", "step": 1, "value": "<b>"}},
        {**GOOD, "reason": {"why": "loss_not_finite", "step": 1, "value": "nan", "rank": "0"}},
        {**GOOD, "command": "stop", "reason": {"why": "loss_not_finite", "step": 1, "value": "nan"}},
    ],
    ids=lambda text: repr(text)[:30],
)
def test_files_of_any_form_are_refused(job, text):
    if isinstance(text, dict):
        text = json.dumps({"workers": [job.id], **text}).encode()
    control_folder(job.run).mkdir()
    (control_folder(job.run) / "request-0123456789abcdef.json").write_bytes(text)
    job.control.poll()
    assert job.captures == []
    assert job.said("0123456789abcdef").state == REFUSED


def test_links_pipes_and_other_names_are_not_read(job, tmp_path):
    folder = control_folder(job.run)
    folder.mkdir()
    good = tmp_path / "good.json"
    good.write_text(json.dumps({**GOOD, "workers": [job.id]}))
    (folder / "request-0123456789abcdef.json").symlink_to(good)
    os.mkfifo(folder / "request-0123456789abcde0.json")
    (folder / "request-..%2f.json").write_text(good.read_text())
    (folder / "request-0123456789abcde1.json.tmp").write_text(good.read_text())
    job.control.poll()
    assert job.captures == []


def test_a_request_that_makes_no_sense_is_not_written(job):
    with pytest.raises(StepscopeError, match="1 to 1000 steps"):
        ask(job.run, request(job, steps=0))
    assert not control_folder(job.run).exists()


def test_old_files_are_removed_and_others_stay(job):
    folder = control_folder(job.run)
    folder.mkdir()
    old, foreign = folder / "request-0123456789abcdef.json", folder / "notes.txt"
    for path in (old, foreign):
        path.write_text("{}")
        os.utime(path, (0, 0))
    ask(job.run, request(job))
    assert not old.exists()
    assert foreign.exists()


def test_a_folder_that_vanishes_harms_nothing(job):
    request_id = ask(job.run, request(job))
    job.control.poll()
    for path in control_folder(job.run).iterdir():
        path.unlink()
    control_folder(job.run).rmdir()
    job.captures[0].failure = "gone"
    job.control.poll()
    assert job.said(request_id) is None
