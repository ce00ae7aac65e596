"""Counters of the CPU and of the scheduler for the training process, from Linux's ``perf_event_open`` (man page of that
name): off unless ``STEPSCOPE_CPU_COUNTERS=1`` is set, since every counter costs something at each switch of a thread.

The hardware's counters were not verified on hardware with them; the tests replay recorded counts.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from stepscope.monitor.sampler import TOTAL, Value
from stepscope.schema import Notes

VARIABLE = "STEPSCOPE_CPU_COUNTERS"
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")

_HARDWARE, _SOFTWARE, _HARDWARE_CACHE = 0, 1, 3
#: Reads of the instruction TLB that missed: which cache, which access << 8, which result << 16.
_ITLB_READ_MISS = 4 | 0 << 8 | 1 << 16


@dataclass(frozen=True)
class Event:
    """What is counted. ``in_kernel``: also there; it needs a lower ``perf_event_paranoid``."""

    metric: str
    type: int
    config: int
    in_kernel: bool = False


EVENTS = (
    # Both happen in the kernel: without it they are counted as 0, not refused.
    Event("process_context_switches", _SOFTWARE, 3, in_kernel=True),
    Event("process_migrations", _SOFTWARE, 4, in_kernel=True),
    Event("process_page_faults", _SOFTWARE, 2),
    Event("process_cycles", _HARDWARE, 0),
    Event("process_instructions", _HARDWARE, 1),
    Event("process_cache_misses", _HARDWARE, 3),
    Event("process_branch_misses", _HARDWARE, 5),
    Event("process_itlb_misses", _HARDWARE_CACHE, _ITLB_READ_MISS),
)


@dataclass(frozen=True)
class Reading:
    """A counter so far: its count, and the ns in which its threads ran and in which it really counted.

    The processor has fewer counters than are asked for, and the kernel lets them take turns.
    """

    count: int
    enabled_ns: int
    running_ns: int


def growth(before: Reading, after: Reading) -> float | None:
    """What was counted between two readings, for the whole time in which the threads ran: the count in its turns times
    enabled / running. None where it had no turn, or went backwards.
    """
    count = after.count - before.count
    enabled = after.enabled_ns - before.enabled_ns
    running = after.running_ns - before.running_ns
    if min(count, enabled, running) < 0:
        return None
    if enabled == 0:
        return 0.0  # no thread ran
    return count * enabled / running if running else None


class CpuCounters:
    """``EVENTS`` a second of ``pid`` and its children, and instructions per cycle.

    A counter is opened for each thread that there is now; those that they start are counted with them. One that starts
    in the very moment of the opening may be missed.

    Args:
        pid: the training process.
        notes: takes what cannot be counted here, and why.
        open_event: opens the counter of a thread; raises OSError.
    """

    def __init__(
        self, pid: int, notes: Notes, open_event: Callable[[Event, int], int] | None = None, paranoid: Path = PARANOID
    ) -> None:
        opened = open_event or open_counter
        _allow_many_files()
        threads = _threads(pid)
        self._counters: dict[str, list[int]] = {}
        refused: dict[str, list[str]] = {}
        for event in EVENTS:
            try:
                self._counters[event.metric] = _open_all(event, threads, opened)
            except OSError as error:
                why = _reason(error, event, paranoid)
                refused.setdefault(why, []).append(event.metric.removeprefix("process_").replace("_", " "))
        if refused:
            told = " ".join(f"Not measured: {', '.join(names)}. {why}" for why, names in refused.items())
            notes.add("cpu_counters_absent", told)
        self._before: Mapping[str, Reading] = {}
        self._before_ns = 0

    def sample(self, now_ns: int) -> list[Value]:
        after = {metric: _read(counters) for metric, counters in self._counters.items()}
        dur_s = (now_ns - self._before_ns) / 1e9
        grown = {metric: growth(self._before[metric], after[metric]) for metric in self._before}
        self._before, self._before_ns = after, now_ns
        values: list[Value] = [(m, TOTAL, value / dur_s) for m, value in grown.items() if value is not None]
        cycles, instructions = grown.get("process_cycles"), grown.get("process_instructions")
        if cycles and instructions is not None:
            values.append(("process_instructions_per_cycle", TOTAL, instructions / cycles))
        return values


def open_counter(event: Event, thread: int) -> int:
    """A file descriptor that counts for a thread and for all that it starts from now on.

    Raises:
        OSError: not permitted, not supported, or the thread has ended.
    """
    inherit, not_in_kernel, not_in_hypervisor = 1 << 1, 1 << 5, 1 << 6
    flags = inherit | not_in_hypervisor | (0 if event.in_kernel else not_in_kernel)
    with_times = 1 | 2  # enabled, running
    # struct perf_event_attr in its first version: type, size, config, no sampling, read_format, flags, no breakpoint
    attributes = struct.pack("=IIQQQQQQQ", event.type, 64, event.config, 0, 0, with_times, flags, 0, 0)
    number = {"x86_64": 298, "aarch64": 241}.get(platform.machine()) if os.name == "posix" else None
    if number is None or not PARANOID.exists():
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    libc = ctypes.CDLL(None, use_errno=True)
    any_cpu, no_group, close_on_exec = -1, -1, 8
    found = libc.syscall(
        ctypes.c_long(number), ctypes.c_char_p(attributes), thread, any_cpu, no_group, ctypes.c_ulong(close_on_exec)
    )
    if found < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(found)


def _open_all(event: Event, threads: list[int], opened: Callable[[Event, int], int]) -> list[int]:
    counters: list[int] = []
    for thread in threads:
        try:
            counters.append(opened(event, thread))
        except ProcessLookupError:  # the thread has ended
            continue
        except OSError:
            for counter in counters:
                os.close(counter)
            raise
    return counters


def _read(counters: list[int]) -> Reading:
    told = [struct.unpack("=QQQ", os.read(counter, 24)) for counter in counters]
    return Reading(*(sum(column) for column in zip(*told, strict=True))) if told else Reading(0, 0, 0)


def _threads(pid: int) -> list[int]:
    """Of the process and its children, but for this one."""
    training = psutil.Process(pid)
    threads: list[int] = []
    for process in (training, *(child for child in training.children(recursive=True) if child.pid != os.getpid())):
        try:
            threads += [thread.id for thread in process.threads()]
        except psutil.Error:  # it has ended
            continue
    return threads


def _allow_many_files() -> None:
    """A file for each thread and event: 100 threads come near the usual limit of 1,024."""
    if not sys.platform.startswith("linux"):
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _reason(error: OSError, event: Event, paranoid: Path) -> str:
    if error.errno in (errno.EACCES, errno.EPERM):
        try:
            level = paranoid.read_text(encoding="ascii").strip()
        except OSError:
            level = "not readable"
        least = 1 if event.in_kernel else 2
        return (
            f"The kernel does not permit it: kernel.perf_event_paranoid is {level}, {least} or less or the capability "
            "CAP_PERFMON is needed, and a container must allow perf_event_open."
        )
    if error.errno in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV):
        return "The processor has no such counter, or a virtual machine hides it."
    if error.errno == errno.EMFILE:
        return "There are too many threads for the limit of open files (ulimit -n)."
    return f"The kernel does not count here ({error.strerror})."
