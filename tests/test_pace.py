"""A converter rests while the training computes, until it is told that it need not."""

from __future__ import annotations

import json
import os
import signal

import pytest

from stepscope import pace
from stepscope.pace import Pace


@pytest.fixture
def orders(monkeypatch):
    """Both ends of the pipe, in a process whose signals are as before afterwards. It looks when a test has it look, and
    finds an idle machine unless a test says otherwise."""
    monkeypatch.setattr(pace, "_WORK_S", 3600.0)
    monkeypatch.setattr(pace, "_running", lambda: 0)
    handler = signal.getsignal(signal.SIGPROF)
    reads, writes = os.pipe()
    with open(reads, "rb", buffering=0) as reader, open(writes, "wb", buffering=0) as writer:
        yield reader, writer
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, handler)


def told(orders, line=b"work\n"):
    reader, writer = orders
    it = Pace(reader)
    writer.write(line)
    assert it.line() == line
    return it


def rests():
    return signal.getitimer(signal.ITIMER_PROF)[1] > 0


@pytest.mark.parametrize("by", ["a byte", "the end"])
def test_it_rests_until_it_is_told(orders, monkeypatch, by):
    monkeypatch.setattr(pace, "_running", lambda: pace._UNKNOWN)
    monkeypatch.setattr(pace, "_REST_S", 0.0)
    it = told(orders)
    it._look(signal.SIGPROF, None)
    assert rests()
    writer = orders[1]
    writer.write(b"\n") if by == "a byte" else writer.close()
    it._look(signal.SIGPROF, None)
    assert not rests()


def test_work_that_comes_while_it_imports_is_kept(orders):
    reader, writer = orders
    it = Pace(reader)
    writer.write(b"work\n")
    it._look(signal.SIGPROF, None)
    assert it.line() == b"work\n"


def test_a_machine_with_idle_cores_gives_no_reason_to_rest(orders, monkeypatch):
    monkeypatch.setattr(pace, "_REST_S", 1e9)
    it = told(orders)
    it._look(signal.SIGPROF, None)
    assert rests()  # the next look may find it busy


def test_it_does_nothing_while_all_cores_are_busy_but_not_for_ever(orders, monkeypatch):
    cores = os.cpu_count() or 1
    running = iter([cores] * 7 + [cores // 2] * 100)
    monkeypatch.setattr(pace, "_running", lambda: next(running))
    waited = []
    monkeypatch.setattr(Pace, "_is_told", lambda self, within_s: waited.append(within_s))
    it = told(orders)
    assert len(waited) == 4 + pace._CALM - 1  # two readings a rest; the last of them finds a core idle
    monkeypatch.setattr(pace, "_running", lambda: cores)
    monkeypatch.setattr(it, "_patient_until", 1e-9)
    it._look(signal.SIGPROF, None)
    assert len(waited) == 4 + pace._CALM  # then one rest after so much work


def test_work_that_somebody_waits_for_does_not_rest(orders, monkeypatch):
    monkeypatch.setattr(pace, "_running", lambda: pace._UNKNOWN)
    monkeypatch.setattr(pace, "_REST_S", 1e9)
    told(orders, json.dumps({"at_once": True}).encode() + b"\n")  # as ``converter`` tells it


def test_the_training_may_go_on_once_the_first_rest_has_begun(orders):
    reader, writer = orders
    waits, resting = os.pipe()
    os.set_blocking(waits, False)
    with open(waits, "rb", buffering=0) as file:
        it = Pace(reader, resting)
        it._look(signal.SIGPROF, None)  # no work has come
        assert file.read() is None
        writer.write(b"work\n")
        it._look(signal.SIGPROF, None)
        assert file.read() == b""
        it._look(signal.SIGPROF, None)  # does not close whatever has that number now


def test_a_tick_while_one_is_worked_off_does_nothing(orders, monkeypatch):
    reader, writer = orders
    waits, resting = os.pipe()
    os.close(waits)

    class Ticks:
        """The pipe, whose reading takes so long that the next tick comes, and closing too."""

        fileno = reader.fileno

        def readline(self):
            it._look(signal.SIGPROF, None)
            return reader.readline()

    close = os.close

    def close_slowly(number):
        close(number)
        it._look(signal.SIGPROF, None)

    it = Pace(Ticks(), resting)
    monkeypatch.setattr(os, "close", close_slowly)
    writer.write(b"work\n\n")  # and that it need not rest
    it._look(signal.SIGPROF, None)
    assert it.line() == b"work\n"
