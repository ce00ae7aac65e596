"""Counters of the CPU: the scheduler's are counted for real, those of the processor from recorded counts."""

import errno
import mmap
import os
import struct
import sys
import threading
import time

import pytest

from stepscope.monitor.counters import EVENTS, CpuCounters, Reading, growth
from stepscope.schema import Notes

SECOND = 1_000_000_000
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux only")


def values(sampled):
    return {metric: value for metric, _, value in sampled}


@linux
def test_switches_and_page_faults_also_of_threads_that_start_later():
    notes = Notes()
    counters = CpuCounters(os.getpid(), notes)
    counters.sample(0)
    thread = threading.Thread(target=lambda: [time.sleep(0.0005) for _ in range(100)])
    thread.start()
    thread.join()
    with mmap.mmap(-1, 1000 * mmap.PAGESIZE) as memory:
        for page in range(1000):
            memory[page * mmap.PAGESIZE] = 1
    found = values(counters.sample(1 * SECOND))
    absent = " ".join(note.detail for note in notes.list())  # a container may forbid it
    # The kernel may choose a huge page, which is one fault.
    for name, least in (("context switches", 100), ("page faults", 1)):
        assert name in absent or found["process_" + name.replace(" ", "_")] >= least


def test_a_counter_with_half_of_the_turns_is_doubled():
    before = Reading(1000, 10 * SECOND, 5 * SECOND)
    assert growth(before, Reading(1500, 12 * SECOND, 6 * SECOND)) == 1000
    assert growth(before, Reading(1000, 12 * SECOND, 5 * SECOND)) is None  # no turn: not known
    assert growth(before, before) == 0  # no thread ran
    assert growth(before, Reading(10, 12 * SECOND, 6 * SECOND)) is None


class Recorded:
    """Plays the part of the kernel: by event what its counter reads one time after the other, or an error number."""

    def __init__(self, **counts):
        self.counts = counts

    def __call__(self, event, thread):
        told = self.counts.get(event.metric.removeprefix("process_"), errno.ENOENT)
        if isinstance(told, int):
            raise OSError(told, os.strerror(told))
        reader, writer = os.pipe()
        with open(writer, "wb") as file:
            for count, seconds in told:
                file.write(struct.pack("=QQQ", count, seconds * SECOND, seconds * SECOND))
        return reader


def test_recorded_counts_become_rates_and_instructions_per_cycle(monkeypatch):
    monkeypatch.setattr("stepscope.monitor.counters._threads", lambda pid: [1, 2])
    recorded = Recorded(cycles=[(100, 1), (4_100, 3)], instructions=[(50, 1), (8_050, 3)], itlb_misses=[(7, 1), (9, 3)])
    counters = CpuCounters(1, Notes(), recorded)
    assert counters.sample(5 * SECOND) == []
    # Two threads with the same counts, over 2 s.
    assert values(counters.sample(7 * SECOND)) == {
        "process_cycles": 4000,
        "process_instructions": 8000,
        "process_instructions_per_cycle": 2,
        "process_itlb_misses": 2,
    }


def test_what_is_absent_is_told_with_the_reason(monkeypatch, tmp_path):
    monkeypatch.setattr("stepscope.monitor.counters._threads", lambda pid: [1])
    paranoid = tmp_path / "perf_event_paranoid"
    paranoid.write_text("2\n")
    refused = {"context_switches": errno.EACCES, "migrations": errno.EPERM, "page_faults": errno.EMFILE}
    notes = Notes()
    counters = CpuCounters(1, notes, Recorded(**refused), paranoid)
    assert counters.sample(0) == counters.sample(1) == []
    (note,) = notes.list()
    denied, files, hidden = note.detail.split("Not measured: ")[1:]
    assert denied.startswith("context switches, migrations. ")
    assert "perf_event_paranoid is 2, 1 or less" in denied
    assert files.startswith("page faults. ")
    assert "ulimit -n" in files
    assert hidden.startswith("cycles, instructions, cache misses, branch misses, itlb misses. ")
    assert "virtual machine" in hidden


def test_a_thread_that_has_ended_is_left_out(monkeypatch):
    monkeypatch.setattr("stepscope.monitor.counters._threads", lambda pid: [1])
    gone = {event.metric.removeprefix("process_"): errno.ESRCH for event in EVENTS}
    counters = CpuCounters(1, notes := Notes(), Recorded(**gone))
    counters.sample(0)
    assert values(counters.sample(SECOND))["process_cycles"] == 0
    assert notes.list() == []
