"""CPU and memory of the training process and its children (data loader workers, converters)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import psutil

from stepscope.monitor.rates import rate
from stepscope.monitor.sampler import TOTAL, Value

#: Nanoseconds between two looks for new children: cheap where Linux lists them, else a scan of all processes.
REFRESH_NS = 1_000_000_000
SCAN_REFRESH_NS = 5_000_000_000


class ProcessSource:
    """``process_cpu`` and ``process_memory`` of ``pid`` and its descendants, without this process itself."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._children_of, self._refresh_ns = (
            (_listed_children, REFRESH_NS) if _lists_children() else (_scanned_children, SCAN_REFRESH_NS)
        )
        self._tree: dict[int, psutil.Process] = {}
        self._next_refresh_ns = 0
        self._before: dict[tuple[int, float], float] = {}
        self._before_ns = 0

    def sample(self, now_ns: int) -> list[Value]:
        if now_ns >= self._next_refresh_ns:
            self._tree = find_tree(self.pid, self._children_of, self._tree)
            self._next_refresh_ns = now_ns + self._refresh_ns
        cpu_s: dict[tuple[int, float], float] = {}
        memory = 0
        for pid, process in list(self._tree.items()):
            try:
                with process.oneshot():
                    times = process.cpu_times()
                    memory += process.memory_info().rss
                    cpu_s[pid, process.create_time()] = times.user + times.system
            except psutil.Error:  # it has ended
                del self._tree[pid]
        used = rate(self._before, cpu_s, (now_ns - self._before_ns) / 1e9)
        self._before, self._before_ns = cpu_s, now_ns
        values: list[Value] = []
        if used is not None:
            values.append(("process_cpu", TOTAL, used))
        if cpu_s:
            values.append(("process_memory", TOTAL, float(memory)))
        return values


def find_tree(
    root: int, children_of: Callable[[int], list[int]], known: dict[int, psutil.Process]
) -> dict[int, psutil.Process]:
    """``root`` and its descendants by pid; handles already ``known`` are kept while they name the same process."""
    tree: dict[int, psutil.Process] = {}
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        if pid in tree or pid == os.getpid():
            continue
        try:
            process = known.get(pid)
            tree[pid] = process if process is not None and process.is_running() else psutil.Process(pid)
            waiting += children_of(pid)
        except (psutil.Error, OSError):  # it ended between the two
            tree.pop(pid, None)
    return tree


def _lists_children() -> bool:
    return bool(list(Path("/proc/self/task").glob("*/children")))


def _listed_children(pid: int) -> list[int]:
    """Linux's own lists: one small file a thread."""
    pids: list[int] = []
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                pids += [int(p) for p in file.read().split()]
        except OSError:  # the thread ended
            continue
    return pids


def _scanned_children(pid: int) -> list[int]:
    return [p.pid for p in psutil.Process(pid).children()]
