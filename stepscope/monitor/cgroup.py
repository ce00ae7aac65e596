"""The CPU and memory limits of the training process's cgroup (v1 or v2), as in a container or a batch job.

A limit binds every group below it, so the smallest one on the way up to the root counts. Inside a container
the kernel may name a path of the host that is not mounted; then the mounted root is the container's own group.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil

from stepscope.monitor.sampler import TOTAL, Value
from stepscope.schema import Notes

MOUNT = Path("/sys/fs/cgroup")


class CgroupSource:
    """``cgroup_cpu_limit``, ``cgroup_memory_limit``, ``cgroup_memory_used``; nothing where there is no limit."""

    def __init__(self, pid: int, mount: Path = MOUNT, proc: Path = Path("/proc")) -> None:
        self._cpu: list[Path] = []
        self._memory: list[Path] = []
        self._host_memory = psutil.virtual_memory().total
        for controllers, path in _memberships(proc / str(pid) / "cgroup"):
            if controllers == [""]:  # v2
                groups = list(_upwards(mount, path)) or list(_upwards(mount / "unified", path))
                self._cpu += [g for g in groups if (g / "cpu.max").exists()]
                self._memory += [g for g in groups if (g / "memory.max").exists()]
            elif "cpu" in controllers:
                self._cpu += _upwards(_first_existing(mount / ",".join(controllers), mount / "cpu"), path)
            elif "memory" in controllers:
                self._memory += _upwards(mount / "memory", path)

    def sample(self, now_ns: int) -> list[Value]:
        values: list[Value] = []
        cores = [c for c in map(_cpu_limit, self._cpu) if c is not None]
        if cores:
            values.append(("cgroup_cpu_limit", TOTAL, min(cores)))
        # v1 writes "no limit" as a number near 2^63; a limit above what the host has binds nobody either.
        limits = [(b, g) for g in self._memory if (b := _memory_limit(g)) is not None and b < self._host_memory]
        if limits:
            limit, group = min(limits, key=lambda pair: pair[0])
            values.append(("cgroup_memory_limit", TOTAL, float(limit)))
            used = _memory_used(group)
            if used is not None:
                values.append(("cgroup_memory_used", TOTAL, float(used)))
        return values


class OomKills:
    """Processes of the training's cgroup that the kernel ended for want of memory, whoever's limit it was.

    A kill leaves no other trace: the samples after it show the memory that it set free.
    """

    def __init__(self, pid: int, mount: Path = MOUNT, proc: Path = Path("/proc")) -> None:
        self._files: list[Path] = []
        for controllers, path in _memberships(proc / str(pid) / "cgroup"):
            if controllers == [""]:  # v2
                groups = [*_upwards(mount, path), *_upwards(mount / "unified", path)]
                self._files += [g / "memory.events" for g in groups]
            elif "memory" in controllers:
                self._files += [g / "memory.oom_control" for g in _upwards(mount / "memory", path)]
        self._before = self._count()

    def _count(self) -> int | None:
        for file in self._files:  # the own group's first; one above it counts those of others too
            words = _words(file)
            told = dict(zip(words[::2], words[1::2], strict=False)).get("oom_kill")
            if told is not None:
                return int(told)
        return None

    def tell(self, notes: Notes) -> None:
        """Note those since this object was made."""
        now = self._count()
        if now is not None and self._before is not None and now > self._before:
            detail = "The kernel ended processes of this training for want of memory."
            notes.add("out_of_memory", detail, now - self._before)


def _memberships(path: Path) -> Iterator[tuple[list[str], str]]:
    """(controllers, group path) of each line; the controllers of v2 are [""]."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return
    for line in text.splitlines():
        _, controllers, group = line.split(":", 2)
        yield controllers.split(","), group


def _upwards(mount: Path, group: str) -> Iterator[Path]:
    """The folders from the group up to the mount, as far as they exist."""
    if not mount.is_dir():
        return
    here = mount / group.lstrip("/")
    if ".." in here.parts:  # the group is outside this cgroup namespace
        here = mount
    while True:
        if here.is_dir():
            yield here
        if here == mount:
            return
        here = here.parent


def _first_existing(first: Path, second: Path) -> Path:
    return first if first.is_dir() else second


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").split()
    except OSError:
        return []


def _cpu_limit(group: Path) -> float | None:
    """Cores: quota / period."""
    words = _words(group / "cpu.max") or _words(group / "cpu.cfs_quota_us") + _words(group / "cpu.cfs_period_us")
    if len(words) != 2 or words[0] == "max" or int(words[0]) <= 0 or int(words[1]) <= 0:
        return None
    return int(words[0]) / int(words[1])


def _memory_limit(group: Path) -> int | None:
    words = _words(group / "memory.max") or _words(group / "memory.limit_in_bytes")
    return int(words[0]) if words and words[0] != "max" else None


def _memory_used(group: Path) -> int | None:
    """Usage less inactive file cache: what counts when the kernel looks for memory (as Kubernetes does)."""
    words = _words(group / "memory.current") or _words(group / "memory.usage_in_bytes")
    if not words:
        return None
    stat = _words(group / "memory.stat")
    pairs = dict(zip(stat[::2], stat[1::2], strict=False))
    inactive = int(pairs.get("total_inactive_file", pairs.get("inactive_file", 0)))
    return max(0, int(words[0]) - inactive)
