"""A converter rests while the training computes, until it is told that it need not."""

from __future__ import annotations

import os
import signal

import pytest

from stepscope import pace
from stepscope.pace import Pace


@pytest.fixture
def orders():
    """Both ends of the pipe, in a process whose signals are as before afterwards."""
    handler = signal.getsignal(signal.SIGPROF)
    reads, writes = os.pipe()
    with open(reads, "rb", buffering=0) as reader, open(writes, "wb", buffering=0) as writer:
        yield reader, writer
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, handler)


def rests():
    return signal.getitimer(signal.ITIMER_PROF)[1] > 0


@pytest.mark.parametrize("by", ["a byte", "the end"])
def test_it_rests_until_it_is_told(orders, monkeypatch, by):
    monkeypatch.setattr(pace, "_is_machine_busy", lambda: True)
    monkeypatch.setattr(pace, "_REST_S", 0.0)
    reader, writer = orders
    it = Pace(reader)
    writer.write(b"work\n")
    assert it.line() == b"work\n"
    it._look(signal.SIGPROF, None)
    assert rests()
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
    monkeypatch.setattr(pace, "_is_machine_busy", lambda: False)
    monkeypatch.setattr(pace, "_REST_S", 1e9)
    reader, writer = orders
    it = Pace(reader)
    writer.write(b"work\n")
    assert it.line() == b"work\n"
    it._look(signal.SIGPROF, None)
    assert rests()  # the next look may find it busy
