"""Looks for trace files of which the C++ scanner and Python alone make different things.

``python tools/fuzz_importers.py SECONDS [--seed N]`` changes small traces at random, reads each with both and
prints the seeds of those that differ; exit code 1 if there are any. A seed makes the same file everywhere:
``--seed N 0`` reads that one alone. tests/importers/test_equality.py does the same for the first seeds.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from stepscope.importers import kineto_native
from tests.importers.equality import differences, mutated

BLOCK_BYTES = (200, 700, 3000, 4 << 20)
_SHOWN = 20


def check(seed: int, path: Path) -> bool:
    """Whether both readers agree; prints where they do not."""
    path.write_bytes(mutated(seed))
    block_bytes = random.Random(seed).choice(BLOCK_BYTES)
    found = differences(path, block_bytes)
    if found:
        print(f"seed {seed}, blocks of {block_bytes} bytes: " + "; ".join(found), flush=True)
    return not found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--seed", type=int, help="the first seed (default: taken from the clock)")
    args = parser.parse_args()
    if not kineto_native.is_built():
        print("the C++ scanner is not built: python setup.py build_ext --inplace", file=sys.stderr)
        return 2
    seed = first = args.seed if args.seed is not None else time.time_ns() // 1000
    end = time.monotonic() + args.seconds
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        while seed == first or (time.monotonic() < end and failed < _SHOWN):
            failed += not check(seed, Path(folder) / "rank1.json")
            seed += 1
    print(f"{seed - first} files from seed {first} on, {failed} read differently")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
