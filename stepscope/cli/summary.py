"""Print the numbers of a run: step times, where the time goes, kernels, operators, data quality."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from stepscope.runs import Run

NAME = "summary"
HELP = "print the numbers of a run or a trace"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path",
        help="a run folder, a log directory with one run, a folder of trace files, or one trace file "
        "(*.pt.trace.json[.gz], *.json[.gz], *.xplane.pb)",
    )
    parser.add_argument(
        "--format",
        choices=("text", "json", "brief"),
        default="text",
        help="text: one screen; json: everything, for scripts; brief: five lines (default: text)",
    )
    parser.add_argument(
        "--micro", action="store_true", help="json: also list the micro batches of each step (gradient accumulation)"
    )
    parser.add_argument(
        "--ranks", action="store_true", help="text: all workers beside each other, and none of them in detail"
    )
    parser.add_argument("--worker", help="text: the worker to show in detail, by name or rank (default: the first)")


def run(args: argparse.Namespace) -> int:
    from stepscope.parallel import file_executor
    from stepscope.runs import FileWorker, open_run
    from stepscope.summary import summarize

    opened = open_run(args.path)
    with file_executor([worker.path for worker in opened.workers if isinstance(worker, FileWorker)]) as executor:
        if args.format == "json":
            print(json.dumps(summarize(opened, args.micro, executor), allow_nan=False))
        else:
            print(_text(opened, args, executor))
    return 0


def _text(opened: Run, args: argparse.Namespace, executor: Executor | None) -> str:
    """What a screen holds needs one worker in full; of the others their rollups do, where they are kept."""
    from stepscope import rollup
    from stepscope.report import text
    from stepscope.summary import in_detail, overview, summarize

    in_short = len(opened.workers) > 1 and all(map(rollup.is_kept, opened.workers))
    summary = overview(opened, rollup.rollups(opened.workers)) if in_short else summarize(opened, executor=executor)
    if args.format == "brief":
        return text.brief(summary)
    if args.ranks:
        return text.all_ranks(summary)
    which = text.choose(summary["workers"], args.worker)
    listed = summary["workers"][which]
    return text.report(summary, in_detail(opened.workers[which], listed) if in_short else listed)
