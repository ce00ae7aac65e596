"""The sampler process, started by ``start_monitor``: ``python -m stepscope.monitor FOLDER PARENT_PID INTERVAL_MS``.

Its standard input holds one-byte commands. It ends at the end of them, when its parent is gone, or at SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from stepscope.child import keep_out_of_reach
from stepscope.monitor import INTERVALS_MS, PAUSE, RESUME, SET_INTERVAL
from stepscope.monitor.cgroup import CgroupSource, OomKills
from stepscope.monitor.counters import VARIABLE, CpuCounters
from stepscope.monitor.gpu import GpuSource, open_nvml
from stepscope.monitor.host import CounterSource, CpuSource, MemorySource, disk_counters, network_counters
from stepscope.monitor.process import ProcessSource
from stepscope.monitor.sampler import Control, Sampler, Source
from stepscope.schema import Note, Notes
from stepscope.store import WorkerFolder
from stepscope.store.layout import write_json


def main(folder: WorkerFolder, parent: int, interval_ms: int) -> None:
    """Sample until the parent ends. A failure is left in the notes file: nobody reads this process's output."""
    keep_out_of_reach()
    control = Control(interval_ms * 1_000_000)
    threading.Thread(target=_obey, args=(control,), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: control.ended.set())
    notes_path = folder.monitor_notes_path()
    notes = Notes()
    try:
        kills = OomKills(parent)
        sampler = Sampler(_sources(parent, notes), folder.monitor_path(), notes_path, notes)
        sampler.run(control, orphaned=lambda: os.getppid() != parent, at_end=lambda: kills.tell(notes))
    except Exception as error:
        stopped = Note("monitor_stopped", 1, f"The resource monitor ended early: {error!r}")
        write_json(notes_path, {"notes": [asdict(n) for n in [*notes.list(), stopped]]})


def _sources(parent: int, notes: Notes) -> list[Source]:
    makers: list[Callable[[], Source]] = [
        CpuSource,
        MemorySource,
        lambda: CounterSource(network_counters),
        lambda: CounterSource(disk_counters),
        lambda: ProcessSource(parent),
        lambda: CgroupSource(parent),
    ]
    nvml = open_nvml()
    if nvml is not None:
        makers.append(lambda: GpuSource(nvml, notes))
    if os.environ.get(VARIABLE, "") not in ("", "0"):
        makers.append(lambda: CpuCounters(parent, notes))
    sources: list[Source] = []
    for make in makers:
        try:
            sources.append(make())
        except Exception as error:
            notes.add("monitor_source_failed", f"A source of the resource monitor could not be opened: {error!r}")
    return sources


def _obey(control: Control) -> None:
    """Follow the commands on standard input until they end; any unknown one ends them."""
    try:
        while (command := os.read(sys.stdin.fileno(), 1)) in (PAUSE, RESUME, *SET_INTERVAL):
            if command in SET_INTERVAL:
                control.interval_ns = INTERVALS_MS[SET_INTERVAL.index(command)] * 1_000_000
            else:
                control.paused = command == PAUSE
    except (OSError, ValueError):
        pass
    control.ended.set()


if __name__ == "__main__":
    main(WorkerFolder(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3]))
