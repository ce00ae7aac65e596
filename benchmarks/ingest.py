"""What it takes to read a trace file: time and peak memory, each file in a fresh process.

``python benchmarks/ingest.py [FILE...]`` reads the given files, or the five largest of ../shared/traces where
that is there, and a made-up trace of ``--events`` records. A row gives the events kept, wall and CPU seconds of
``import_file`` (imports of modules left out), MB of JSON a CPU second, the peak memory of the whole process, and
CPU time against ``json.loads`` of the same bytes in a process of its own.
"""

from __future__ import annotations

import argparse
import gzip
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow

ROOT = Path(__file__).resolve().parent.parent
TRACES = ROOT.parent / "shared" / "traces"

OURS = """
from stepscope.importers import import_file, kineto, xplane
def read(path): return len(import_file(path).events)
"""
PLAIN = """
import gzip, json
def read(path):
    data = open(path, "rb").read()
    return len(json.loads(gzip.decompress(data) if data[:2] == b"\\x1f\\x8b" else data))
"""
# The peak of the address space where /proc tells it: getrusage counts the parent's, as it was at the fork.
MEASURE = """
import json, os, resource, sys, time
def peak_bytes():
    if os.path.exists("/proc/self/status"):
        return 1024 * int(next(s.split()[1] for s in open("/proc/self/status") if s.startswith("VmHWM")))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
wall, cpu = time.perf_counter(), time.process_time()
count = read(sys.argv[1])
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
print(json.dumps([count, wall, cpu, peak_bytes()]))
"""


def measure(reader: str, path: Path) -> tuple[int, float, float, int]:
    """Count, wall s, CPU s and peak bytes of one reading in a fresh process."""
    command = [sys.executable, "-c", reader + MEASURE, str(path)]
    return tuple(json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout))


def write_trace(path: Path, records: int) -> Path:
    """A training trace of the usual mix: operators, launches, flow arrows and kernels."""
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
        file.write('{"ph": "M", "name": "process_name", "pid": 4117, "tid": 0, "args": {"name": "python3"}}]}\n')
    return path


def row(path: Path) -> str:
    count, wall, cpu, peak = measure(OURS, path)
    data = path.read_bytes()
    size = len(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data) / 1e6
    figures = f"{count:>10,} {wall:8.2f} {cpu:8.2f} {size / cpu:8.0f} {peak / 1e6:8.0f}"
    if ".json" not in path.name:
        return f"{path.name[:44]:44} {figures}        -        -"
    _, _, plain_cpu, plain_peak = measure(PLAIN, path)
    return f"{path.name[:44]:44} {figures} {cpu / plain_cpu:8.2f} {plain_peak / 1e6:8.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--events", type=int, default=1_000_000, help="records of the made-up trace; 0 for none")
    args = parser.parse_args()
    files = args.files or sorted(TRACES.glob("*/*trace.json.gz"), key=lambda path: -path.stat().st_size)[:5]
    print(f"{platform.machine()}, Python {platform.python_version()}, pyarrow {pyarrow.__version__}")
    print(
        f"{'file':44} {'events':>10} {'wall s':>8} {'CPU s':>8} {'MB/s':>8} {'peak MB':>8} {'/ json':>8} {'json MB':>8}"
    )
    with tempfile.TemporaryDirectory() as folder:
        if args.events:
            files = [*files, write_trace(Path(folder) / f"made_up_{args.events}.json.gz", args.events)]
        for path in files:
            print(row(path))


if __name__ == "__main__":
    main()
