"""Compare two runs: step time, what steps are made of, and the kernels, operators and modules that differ most."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepscope.compare import Side

NAME = "compare"
HELP = "print what differs between two runs or traces"
_PATH_HELP = "a run folder, a log directory with one run, a folder of trace files, or one trace file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", help=f"what to compare with, such as the run before a change: {_PATH_HELP}")
    parser.add_argument("b", help="what to compare, likewise; differences are this one less the first")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument("--worker-a", help="the worker of the first, by name or rank (default: the first one)")
    parser.add_argument("--worker-b", help="the worker of the second, likewise")
    parser.add_argument(
        "--most", type=_positive, default=None, metavar="N", help="json: rows of each table (default: 300)"
    )


def run(args: argparse.Namespace) -> int:
    from stepscope.compare import MOST_ROWS, compare
    from stepscope.report import width
    from stepscope.report.comparison import comparison

    found = compare(_side(args.a, args.worker_a), _side(args.b, args.worker_b), args.most or MOST_ROWS)
    if args.format == "json":
        print(json.dumps(found, allow_nan=False))
        return 0
    with width.fitted(width.of_terminal()):
        print(comparison(found))
    return 0


def _side(path: str, which: str | None) -> Side:
    from stepscope.compare import Side
    from stepscope.errors import StepscopeError
    from stepscope.report.text import choose
    from stepscope.runs import open_run
    from stepscope.summary import analyse_worker, run_resources

    opened = open_run(path)
    if not opened.workers:
        raise StepscopeError(f"{opened.path}: this run has no worker to read yet.")
    known = [] if which is None else [{"worker": worker.id, "rank": worker.rank} for worker in opened.workers]
    worker = opened.workers[choose(known, which)]
    return Side(opened.name, analyse_worker(worker).summary, run_resources([worker]))


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError("must be a whole number of rows, at least 1")
    return int(text)
