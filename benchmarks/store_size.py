"""How many bytes an event takes in a run folder, args and all, against the packed trace.

``python benchmarks/store_size.py [FILE...]`` imports the given files, or the traces of ../shared/traces that have at
least ``--least`` events: below that the headers of Parquet files outweigh the events.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from stepscope.importers import import_file
from stepscope.store import write_window

sys.path.insert(0, str(Path(__file__).resolve().parent))
from measuring import TRACES, machine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--least", type=int, default=10_000)
    args = parser.parse_args()
    print(machine())
    print(f"{'file':40} {'events':>9} {'args':>8} {'events B':>9} {'args B':>7} {'B/event':>8} {'.gz / store':>12}")
    for path in args.files or sorted(TRACES.glob("kineto/*.gz")):
        window = import_file(path)
        count = len(window.events)
        if count < args.least and not args.files:
            continue
        with tempfile.TemporaryDirectory() as folder:
            write_window(Path(folder) / "window", window)
            sizes = {file.name: file.stat().st_size for file in (Path(folder) / "window").iterdir()}
        total = sum(sizes.values())
        events, values = sizes["events.parquet"], sizes["args.parquet"]
        print(
            f"{path.name[:40]:40} {count:>9,} {len(window.events.args_values):>8,} {events:>9,} {values:>7,}"
            f" {total / count:8.2f} {path.stat().st_size / total:11.1f}x"
        )


if __name__ == "__main__":
    main()
