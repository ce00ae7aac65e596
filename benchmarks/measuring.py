"""Runs a reader in a fresh process and reads its time and peak memory; what the benchmarks of reading share."""

from __future__ import annotations

import gzip
import json
import os
import platform
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TRACES = ROOT.parent / "shared" / "traces"

# The peak of the address space where /proc tells it: getrusage counts the parent's, as it was at the fork.
_MEASURE = """
import json, os, resource, sys, time
def peak_bytes():
    if os.path.exists("/proc/self/status"):
        return 1024 * int(next(s.split()[1] for s in open("/proc/self/status") if s.startswith("VmHWM")))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
wall, cpu = time.perf_counter(), time.process_time()
count = read(sys.argv[1])
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
print("\\n" + json.dumps([count, wall, cpu, peak_bytes()]))
"""


class Measured(NamedTuple):
    count: int
    wall_s: float
    cpu_s: float
    peak_bytes: int


def measure(reader: str, path: Path, python: Path | str = sys.executable, **environment: str) -> Measured | None:
    """What ``read(path)`` of the source text ``reader`` takes, imports left out; None if it fails."""
    done = subprocess.run(
        [str(python), "-c", reader + _MEASURE, str(path)],
        cwd=ROOT if python == sys.executable else path.parent,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return Measured(*json.loads(done.stdout.splitlines()[-1])) if done.returncode == 0 else None


def python_with(name: str, *requirements: str) -> Path | None:
    """The Python of a virtual environment with these packages, made on first use; None if they cannot be had."""
    folder = Path(tempfile.gettempdir()) / "stepscope-oracles" / name
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.is_file():
        venv.create(folder, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
        if subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode:
            return None
        done.touch()
    return python


def machine() -> str:
    """One line that says on what the figures were taken."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{platform.machine()}, {os.cpu_count()} cores{load}, Python {platform.python_version()}"


def plain_size(path: Path) -> int:
    """Bytes of the file once it is unpacked."""
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    if not packed:
        return path.stat().st_size
    with gzip.open(path) as unpacked:
        return sum(len(block) for block in iter(lambda: unpacked.read(1 << 22), b""))


def write_trace(path: Path, records: int, steps: int = 0) -> Path:
    """A training trace of the usual mix: operators, launches, flow arrows and kernels, and perhaps markers of steps."""
    names = [f"void at::native::vectorized_elementwise_kernel<4, functor_{i}>(int, float*)" for i in range(40)]
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write('{"schemaVersion": 1, "baseTimeNanoseconds": 1751410836000000000, "traceEvents": [\n')
        for i in range(records // 5):
            at = 4458676500000 + 20 * i
            op = {"External id": i, "Record function id": i, "Input Dims": [[64, i % 7], []], "Ev Idx": i}
            run = {"External id": i, "device": 0, "context": 1, "stream": 7, "correlation": i, "grid": [i % 50, 1, 1]}
            here = {"pid": 4117, "tid": 4117}
            for event in (
                {"ph": "X", "cat": "cpu_op", "name": f"aten::op{i % 60}", "dur": 15.25, "args": op} | here,
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "dur": 4.5} | here
                | {"args": {"External id": i, "cbid": 211, "correlation": i}},
                {"ph": "s", "id": i, "cat": "ac2g", "name": "ac2g"} | here,
                {"ph": "f", "id": i, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "bp": "e"},
                {"ph": "X", "cat": "kernel", "name": names[i % 40], "pid": 0, "tid": 7, "dur": 12.031, "args": run},
            ):  # fmt: skip
                file.write(json.dumps(event | {"ts": at + 0.125}) + ",\n")
        length = 4 * records // max(steps, 1)
        for i in range(steps):
            marker = {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 4117, "tid": 4117}
            file.write(json.dumps(marker | {"ts": 4458676500000 + length * i, "dur": length - 1}) + ",\n")
        file.write('{"ph": "M", "name": "process_name", "pid": 4117, "tid": 0, "args": {"name": "python3"}}]}\n')
    return path
