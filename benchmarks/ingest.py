"""What it takes to read a trace file: time and peak memory, each file in a fresh process.

``python benchmarks/ingest.py [FILE...]`` reads the given files, or the five largest of ../shared/traces where
that is there, and a made-up trace of ``--events`` records. A row gives the events kept, wall and CPU seconds of
``import_file`` (imports of modules left out), MB of JSON a CPU second and the peak memory of the whole process; then
how many times as much CPU time the same file takes Python alone (without the C++ scanner), ``msgspec`` into
dictionaries and ``json.loads``, each in a process of its own run right after.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from measuring import TRACES, machine, measure, plain_size, write_trace

OURS = """
from stepscope.importers import import_file, kineto, xplane
def read(path): return len(import_file(path).events)
"""
_BYTES = """
import gzip
def data(path):
    data = open(path, "rb").read()
    return gzip.decompress(data) if data[:2] == b"\\x1f\\x8b" else data
"""
MSGSPEC = _BYTES + "import msgspec\ndef read(path): return len(msgspec.json.decode(data(path)))"
JSON = _BYTES + "import json\ndef read(path): return len(json.loads(data(path)))"


def row(path: Path) -> str:
    ours = measure(OURS, path)
    assert ours is not None
    figures = f"{path.name[:40]:40} {ours.count:>10,} {ours.wall_s:7.2f} {ours.cpu_s:7.2f}"
    figures += f" {plain_size(path) / ours.cpu_s / 1e6:6.0f} {ours.peak_bytes / 1e6:8.0f}"
    if ".json" not in path.name:
        return figures
    for others in (measure(OURS, path, STEPSCOPE_PURE_PYTHON="1"), measure(MSGSPEC, path), measure(JSON, path)):
        figures += f" {others.cpu_s / ours.cpu_s:7.1f}x" if others else "        -"
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--events", type=int, default=1_000_000, help="records of the made-up trace; 0 for none")
    args = parser.parse_args()
    files = args.files or sorted(TRACES.glob("*/*trace.json.gz"), key=lambda path: -path.stat().st_size)[:5]
    print(machine())
    print(
        f"{'file':40} {'events':>10} {'wall s':>7} {'CPU s':>7} {'MB/s':>6} {'peak MB':>8}"
        f" {'Python':>8} {'msgspec':>8} {'json':>8}"
    )
    with tempfile.TemporaryDirectory() as folder:
        if args.events:
            files = [*files, write_trace(Path(folder) / f"made_up_{args.events}.json.gz", args.events)]
        for path in files:
            print(row(path.resolve()), flush=True)


if __name__ == "__main__":
    main()
