"""Counters of the whole host: CPU, memory, network, disks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import psutil

from stepscope.monitor.rates import CpuTimes, cpu_shares, rate
from stepscope.monitor.sampler import TOTAL, Value


class CpuSource:
    """``cpu``, ``cpu_core`` and ``iowait`` from the time counters of each core."""

    def __init__(self) -> None:
        self._before = _cpu_times()

    def sample(self, now_ns: int) -> list[Value]:
        before, after = self._before, _cpu_times()
        self._before = after
        if len(before) != len(after):  # a core came or went: positions no longer name the same cores
            return []
        values: list[Value] = []
        all_cores = cpu_shares(_sum(before), _sum(after))
        if all_cores is not None:
            values.append(("cpu", TOTAL, all_cores.busy))
            if all_cores.iowait is not None:
                values.append(("iowait", TOTAL, all_cores.iowait))
        for core, (a, b) in enumerate(zip(before, after, strict=True)):
            shares = cpu_shares(a, b)
            if shares is not None:
                values.append(("cpu_core", core, shares.busy))
        return values


def _cpu_times() -> list[CpuTimes]:
    cores = []
    for t in psutil.cpu_times(percpu=True):
        # Linux counts guest time in user time as well.
        total = sum(t) - getattr(t, "guest", 0.0) - getattr(t, "guest_nice", 0.0)
        cores.append(CpuTimes(total, t.idle, getattr(t, "iowait", None)))
    return cores


def _sum(cores: Iterable[CpuTimes]) -> CpuTimes:
    first, *rest = cores
    for core in rest:
        first = first + core
    return first


class MemorySource:
    """``memory_used`` and ``memory_total``."""

    def sample(self, now_ns: int) -> list[Value]:
        memory = psutil.virtual_memory()
        return [
            ("memory_used", TOTAL, float(memory.total - memory.available)),
            ("memory_total", TOTAL, float(memory.total)),
        ]


class CounterSource:
    """Two byte rates, such as received and sent, from ``read() -> {metric: {owner: bytes so far}}``."""

    def __init__(self, read: Callable[[], Mapping[str, Mapping[str, float]]]) -> None:
        self._read = read
        self._before: Mapping[str, Mapping[str, float]] = {}
        self._before_ns = 0

    def sample(self, now_ns: int) -> list[Value]:
        after = self._read()
        dur_s = (now_ns - self._before_ns) / 1e9
        rates = {metric: rate(self._before.get(metric, {}), now, dur_s) for metric, now in after.items()}
        self._before, self._before_ns = after, now_ns
        return [(metric, TOTAL, value) for metric, value in rates.items() if value is not None]


def network_counters() -> dict[str, dict[str, float]]:
    """Bytes by interface, raw (psutil would hide a reset)."""
    counters = psutil.net_io_counters(pernic=True, nowrap=False) or {}
    names = hardware(counters, Path("/sys/class/net"), skip=("lo",))
    return {
        "network_receive": {n: counters[n].bytes_recv for n in names},
        "network_send": {n: counters[n].bytes_sent for n in names},
    }


def disk_counters() -> dict[str, dict[str, float]]:
    """Bytes by disk, raw."""
    counters = psutil.disk_io_counters(perdisk=True, nowrap=False) or {}
    names: Iterable[str] = counters
    if sys.platform.startswith("linux"):
        blocks = Path("/sys/block")
        whole = [n for n in counters if (blocks / n).exists()] or list(counters)  # not the partitions
        names = hardware(whole, blocks, skip=("loop", "ram", "zram", "dm-", "md"))
    return {
        "disk_read": {n: counters[n].read_bytes for n in names},
        "disk_write": {n: counters[n].write_bytes for n in names},
    }


def hardware(names: Iterable[str], classes: Path, skip: tuple[str, ...]) -> list[str]:
    """The names that are hardware, so that a bridge, bond or volume does not count its members' bytes again.

    In a container no interface has a device; then all that do not begin with one of ``skip`` count.
    """
    candidates = [n for n in names if not n.startswith(skip)]
    return [n for n in candidates if (classes / n / "device").exists()] or candidates
