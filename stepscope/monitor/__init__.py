"""The resource monitor: a sampler process of its own, beside the training process and not slowed by it.

Every sample is a row (ts_ns, metric, index, value) of ``MONITOR_SCHEMA``. Ratios are 0..1, sizes bytes,
rates bytes/s. A rate stands for the time since the sample before it, and its ``ts_ns`` is the end of that time.
What cannot be measured here is absent, never 0; a counter that goes backwards gives no sample.

| metric | index | value |
|---|---|---|
| ``cpu`` | -1 | share of the host's CPU time that was neither idle nor waiting for I/O, all cores |
| ``cpu_core`` | core | the same of one core |
| ``iowait`` | -1 | share of the host's CPU time that was idle with I/O outstanding (Linux) |
| ``memory_used``, ``memory_total`` | -1 | bytes of the host; used = total - available |
| ``process_cpu`` | -1 | cores that the training process and its children kept busy: 1.0 is one core |
| ``process_memory`` | -1 | bytes: sum of their resident sets (pages that forked workers share count once each) |
| ``network_receive``, ``network_send`` | -1 | bytes/s of the hardware interfaces, else of all but loopback; no RDMA |
| ``disk_read``, ``disk_write`` | -1 | bytes/s of the physical disks |
| ``gpu`` | NVML index | share of the GPU's own sampling period (1/6 to 1 s) in which some kernel ran |
| ``gpu_memory_used``, ``gpu_memory_total`` | NVML index | bytes |
| ``cgroup_cpu_limit`` | -1 | cores that the cgroup may use; absent without a limit |
| ``cgroup_memory_limit`` | -1 | bytes; absent without a limit |
| ``cgroup_memory_used`` | -1 | bytes less the file cache that the kernel can just drop; absent without a limit |
| ``process_context_switches`` | -1 | switches between threads a second (``STEPSCOPE_CPU_COUNTERS=1``, as all below) |
| ``process_migrations`` | -1 | moves of a thread to another core a second |
| ``process_page_faults`` | -1 | page faults a second of its code, not of the kernel for it |
| ``process_cycles``, ``process_instructions`` | -1 | cycles and instructions of its code, not the kernel's, a second |
| ``process_instructions_per_cycle`` | -1 | the one divided by the other |
| ``process_cache_misses`` | -1 | accesses that missed the last cache a second |
| ``process_branch_misses`` | -1 | branches that were predicted wrongly a second |
| ``process_itlb_misses`` | -1 | instruction fetches that missed the TLB a second |

Those from ``process_context_switches`` on are of the training process and its children; where the processor counts
them by turns, the counts are scaled to the whole time. The sampler itself is not counted among the children. It ends
when the training process does, however that ends: the pipe on its standard input closes, or its parent is another one.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

from stepscope.child import OUT_OF_REACH, child_environment, lower_priority
from stepscope.errors import StepscopeError
from stepscope.schema import Note
from stepscope.store import WorkerFolder
from stepscope.store.worker_meta import monitor_notes

#: The sampling intervals that can be asked for.
INTERVALS_MS = (100, 200, 500, 1000, 5000, 60000)

#: Commands on the sampler's standard input, a byte each; a digit is a place in ``INTERVALS_MS``.
PAUSE, RESUME, END = b"p", b"r", b"\n"
SET_INTERVAL = tuple(b"%d" % place for place in range(len(INTERVALS_MS)))

#: Its start takes 0.15 s of CPU. Where the training keeps all cores busy, one step pays for all of that (23 ms became
#: 140, 2 threads on 2 cores); with this niceness some steps share it, none above 50 ms, the first sample comes 0.5 s
#: later, and all of each 100 ms are there. With 10 it came 1.2 s later.
_NICENESS = 5


class MonitorProcess:
    """A running sampler. Keep it until ``stop``: dropping it closes its pipe, which ends the sampler."""

    def __init__(self, process: subprocess.Popen[bytes], folder: WorkerFolder) -> None:
        self.pid = process.pid
        self._process = process
        self._folder = folder
        self._owner = os.getpid()

    def pause(self) -> None:
        """Take no samples until ``resume``: between two trainings of one process."""
        self._send(PAUSE)

    def resume(self) -> None:
        """Take samples again after ``pause``."""
        self._send(RESUME)

    def set_interval(self, interval_ms: int) -> str | None:
        """Sample so often from now on. Returns why it does not."""
        if interval_ms not in INTERVALS_MS or isinstance(interval_ms, bool):
            return f"The interval must be one of {', '.join(map(str, INTERVALS_MS))} ms."
        return None if self._send(SET_INTERVAL[INTERVALS_MS.index(interval_ms)]) else "The monitor has ended."

    def stop(self, timeout_s: float = 5.0) -> None:
        """Let the sampler write its last batch and end; kill it after ``timeout_s``. Harmless when called twice.

        In a forked child it does nothing: the sampler is the parent's.
        """
        # A forked DataLoader worker may hold a copy of the pipe: a byte ends the sampler, closing might not.
        if not self._send(END):
            return
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):  # storage that does not answer may hold it
                self._process.wait(timeout_s)

    def _send(self, command: bytes) -> bool:
        """False if the sampler is not this process's, or was stopped before."""
        pipe = self._process.stdin
        if os.getpid() != self._owner or pipe is None or pipe.closed:
            return False
        try:
            pipe.write(command)
            pipe.flush()
            if command == END:
                pipe.close()
        except OSError:  # it has ended already
            pass
        return True

    def notes(self) -> list[Note]:
        """What the sampler could not measure, and why; empty if it measured all that is here."""
        return monitor_notes(self._folder)


def start_monitor(folder: WorkerFolder, interval_ms: int = 500) -> MonitorProcess:
    """Start sampling this process and its host into ``folder.monitor_path()``.

    Args:
        folder: the worker folder of this process; it exists already.
        interval_ms: one of ``INTERVALS_MS``.

    Raises:
        StepscopeError: another interval, or the sampler process cannot be started.
    """
    if interval_ms not in INTERVALS_MS or isinstance(interval_ms, bool):
        allowed = ", ".join(map(str, INTERVALS_MS))
        raise StepscopeError(f"monitor_interval_ms={interval_ms!r}: give one of {allowed}.")
    path = folder.path.resolve()
    command = [sys.executable, "-m", "stepscope.monitor", str(path), str(os.getpid()), str(interval_ms)]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # `-m` searches the working directory first: a folder without Python files shadows no module.
            cwd=path,
            env=child_environment(),
            **OUT_OF_REACH,  # it has the moment to write its last batch
        )
    except (OSError, ValueError) as error:
        raise StepscopeError(f"{sys.executable}: the monitor process cannot be started ({error}).") from error
    lower_priority(process.pid, _NICENESS)
    return MonitorProcess(process, folder)
