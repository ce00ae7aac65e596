"""Spreads work on trace files over processes, as many as cores and memory allow.

Only commands do so: processes are spawned, since forking one that has threads is unsafe, and spawning from
a script that does not guard its main part would run that script again.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import psutil

from stepscope.ending import unwind_when_told

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Below this many bytes of files a process costs more (half a second) than it brings.
_WORTH_BYTES = 4 << 20
#: Memory that reading and analysing takes: a process by itself, and for each byte of a file (packed ones hold
#: 10 to 20 bytes of JSON in each).
_PROCESS_BYTES = 200 << 20
_PER_BYTE, _PER_PACKED_BYTE = 3, 40


def process_count(paths: Sequence[Path]) -> int:
    """How many processes may work on these files at once: no more than files, usable cores, and than half of
    the memory that is free can hold."""
    sizes = sorted((_memory_bytes(path) for path in paths), reverse=True)
    free = psutil.virtual_memory().available // 2
    count = 0
    while count < min(len(sizes), _cores()) and free >= sizes[count]:
        free -= sizes[count]
        count += 1
    return max(count, 1)


@contextmanager
def file_executor(paths: Sequence[Path]) -> Iterator[Executor | None]:
    """An executor for work on each of these files; None where one process does as well."""
    count = process_count(paths)
    worth = sum(map(_size, paths)) >= _WORTH_BYTES
    if count == 1 or not worth or multiprocessing.current_process().daemon:
        yield None
        return
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, mp_context=spawn, initializer=unwind_when_told) as executor:
        yield executor


def ordered(executor: Executor | None, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """The results in the order of the items. Where a process dies, which is mostly for want of memory, this
    one does the rest, one item after the other."""
    done = 0
    if executor is not None:
        try:
            for result in executor.map(function, items):
                yield result
                done += 1
        except BrokenProcessPool:
            pass
        else:
            return
    yield from map(function, items[done:])


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _memory_bytes(path: Path) -> int:
    return _PROCESS_BYTES + _size(path) * (_PER_PACKED_BYTE if path.name.endswith(".gz") else _PER_BYTE)
