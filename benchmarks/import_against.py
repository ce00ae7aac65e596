"""Importing a packed trace into a run folder, and its whole summary, against what other tools take to load it.

``python benchmarks/import_against.py [FILE...]`` takes the given files, or a made-up trace of ``--events`` records.
HolisticTraceAnalysis 0.5.0 and torch-tb-profiler 0.4.3 are installed from the package index, each into a virtual
environment of its own among the temporary files; one that cannot be installed, or that fails on the file, is left
out. Each runs in a fresh process, ours directly before it; a row gives its figures and how many times as much as
ours they are. They do not do the same: the others build trees of operators while they load. The last line takes the
fastest of our imports: neighbours only ever add to wall time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from measuring import Measured, machine, measure, plain_size, python_with, write_trace

IMPORT = """
import tempfile
from stepscope.cli import import_traces
from stepscope import runs, parallel, store
from stepscope.importers import kineto
from pathlib import Path
def read(path):
    with tempfile.TemporaryDirectory() as out:
        return import_traces.import_run(runs.open_run(path), Path(out), "run")[0]
"""
SUMMARY = """
from stepscope.runs import open_run
from stepscope.summary import summarize
from stepscope.importers import kineto
def read(path): return len(summarize(open_run(path))["workers"])
"""
HTA = """
from hta.trace_analysis import TraceAnalysis
def read(path): return len(TraceAnalysis(trace_files={0: path}, trace_dir="/").t.traces[0])
"""
TB_PROFILER = """
import tempfile
from torch_tb_profiler.profiler.data import RunProfileData
def read(path):
    with tempfile.TemporaryDirectory() as cache:
        data = RunProfileData.parse("worker", 0, path, cache)
        return len(data.events)
"""
PEERS = {
    "HolisticTraceAnalysis": (HTA, "HolisticTraceAnalysis==0.5.0", "pandas<3"),
    "torch-tb-profiler": (TB_PROFILER, "torch-tb-profiler==0.4.3", "tensorboard", "setuptools<80"),
}


def show(name: str, found: Measured | None, ours: Measured | None) -> None:
    if found is None:
        print(f"{name:32} failed")
        return
    figures = f"{name:32} {found.wall_s:8.2f} {found.cpu_s:8.2f} {found.peak_bytes / 1e6:8.0f}"
    if ours is not None:
        ratios = (found.wall_s / ours.wall_s, found.cpu_s / ours.cpu_s, found.peak_bytes / ours.peak_bytes)
        figures += "".join(f" {ratio:7.1f}x" for ratio in ratios)
    print(figures, flush=True)


def compare(path: Path) -> None:
    size = plain_size(path)
    print(f"{path.name}: {size / 1e6:.0f} MB of JSON, {path.stat().st_size / 1e6:.1f} MB as it is")
    print(f"{'':32} {'wall s':>8} {'CPU s':>8} {'peak MB':>8} {'wall':>8} {'CPU':>8} {'peak':>8}  against the import")
    imports = []
    for name, (reader, *requirements) in PEERS.items():
        python = python_with(name, *requirements)
        if python is None:
            print(f"{name:32} cannot be installed")
            continue
        imports.append(measure(IMPORT, path))
        show("import", imports[-1], None)
        show(f"{name} loads", measure(reader, path, python), imports[-1])
    imports.append(measure(IMPORT, path))
    show("import", imports[-1], None)
    show("summary of the file", measure(SUMMARY, path), imports[-1])
    done = [each for each in imports if each is not None]
    if done:
        wall_s, cpu_s = min(each.wall_s for each in done), min(each.cpu_s for each in done)
        print(f"import: {size / wall_s / 1e6:.0f} MB of JSON a second, {size / cpu_s / 1e6:.0f} a CPU second")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--events", type=int, default=1_000_000, help="records of the made-up trace")
    args = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        made_up = Path(folder) / f"made_up_{args.events}.pt.trace.json.gz"
        for path in args.files or [write_trace(made_up, args.events)]:
            compare(path.resolve())


if __name__ == "__main__":
    main()
