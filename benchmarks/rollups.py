"""What the summary and the step breakdown of a run of 512 ranks take, from rollups and without them.

``python benchmarks/rollups.py [--ranks N] [--steps N] [--kernels N]`` makes a run of as many ranks (200 steps, ten of
them in a deep window of 50 kernels a step), makes the rollups, and prints CPU seconds of opening the run, its summary
from rollups and the step breakdown of all ranks; and, as the ratio, what the full analysis of all ranks would take,
which is that of a few of them times their number.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parent))
from many_ranks import make_run
from measuring import machine

from stepscope.analysis.rank_map import part_means, rank_map
from stepscope.rollup import read, rollups
from stepscope.runs import open_run
from stepscope.summary import analyse_worker, overview
from stepscope.summary.across import side_by_side

ANALYSED = 8
T = TypeVar("T")


def cpu_s(work: Callable[[], T], times: int = 1) -> tuple[T, float]:
    """The result, and the least CPU time of a few runs."""
    least = float("inf")
    for _ in range(times):
        began = time.process_time()
        result = work()
        least = min(least, time.process_time() - began)
    return result, least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=512)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--kernels", type=int, default=50)
    args = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        make_run(path, args.ranks, args.steps, min(10, args.steps), args.kernels)
        run = open_run(path)
        _, making_s = cpu_s(lambda: rollups(run.workers))
        size = sum(p.stat().st_size for p in path.rglob("rollup.arrow"))

        run, open_s = cpu_s(lambda: open_run(path), 3)
        kept, read_s = cpu_s(lambda: [read(worker) for worker in run.workers], 3)
        found = [rollup for rollup in kept if rollup is not None]
        assert len(found) == args.ranks
        _, summary_s = cpu_s(lambda: overview(run, found), 3)

        def breakdown() -> None:
            measures = side_by_side(found)
            part_means(measures, rank_map(measures, measures.compared_by, 0, args.steps, 240))

        _, steps_s = cpu_s(breakdown, 3)
        _, full_s = cpu_s(lambda: [analyse_worker(worker).to_dict() for worker in run.workers[:ANALYSED]], 3)
    full_s *= args.ranks / min(ANALYSED, args.ranks)
    total_s = open_s + read_s + summary_s + steps_s
    print(f"{args.ranks} ranks, {args.steps} steps, {args.kernels} kernels in each of 10 deep ones; CPU seconds")
    print(f"  rollups, once                {making_s:8.2f}   {size / args.ranks / 1000:.0f} kB a rank")
    print(f"  open the run                 {open_s:8.2f}")
    print(f"  read the rollups             {read_s:8.2f}")
    print(f"  summary of the run           {summary_s:8.2f}")
    print(f"  step breakdown of all ranks  {steps_s:8.2f}")
    print(f"  together                     {total_s:8.2f}")
    print(f"  full analysis of all ranks   {full_s:8.2f}   {full_s / total_s:.0f} times as long")


if __name__ == "__main__":
    main()
