"""Print the numbers of a run: step times, where the time goes, kernels, operators, data quality."""

from __future__ import annotations

import argparse
import json

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
    parser.add_argument("--worker", help="text: the worker to show in detail, by name or rank (default: the first)")


def run(args: argparse.Namespace) -> int:
    from stepscope.parallel import file_executor
    from stepscope.report import text
    from stepscope.runs import FileWorker, open_run
    from stepscope.summary import summarize

    opened = open_run(args.path)
    with file_executor([worker.path for worker in opened.workers if isinstance(worker, FileWorker)]) as executor:
        summary = summarize(opened, args.micro, executor)
    if args.format == "json":
        print(json.dumps(summary, allow_nan=False))
        return 0
    print(text.brief(summary) if args.format == "brief" else text.report(summary, args.worker))
    return 0
