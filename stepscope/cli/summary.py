"""Print what is slow in a run and its numbers: step times, where the time goes, kernels, operators, data quality."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from stepscope.rules import Parameters
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
        help="text: one screen; json: everything, for scripts; brief: six lines (default: text)",
    )
    parser.add_argument(
        "--micro", action="store_true", help="json: also list the micro batches of each step (gradient accumulation)"
    )
    parser.add_argument(
        "--ranks", action="store_true", help="text: all workers beside each other, and none of them in detail"
    )
    parser.add_argument(
        "--fail-on",
        choices=("warning", "critical"),
        help="exit with status 1 if there is a finding of this severity or a higher one, for checks in CI",
    )
    parser.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a threshold of the rules (docs/rules.md), as in --limit input_warning=0.1; can be repeated",
    )
    parser.add_argument("--worker", help="text: the worker to show in detail, by name or rank (default: the first)")


def run(args: argparse.Namespace) -> int:
    from stepscope.parallel import file_executor
    from stepscope.rules import SEVERITIES, Parameters
    from stepscope.runs import open_run
    from stepscope.summary import summarize
    from stepscope.workers import FileWorker

    limits = Parameters().with_text(args.limit)
    opened = open_run(args.path)
    with file_executor([worker.path for worker in opened.workers if isinstance(worker, FileWorker)]) as executor:
        if args.format == "json":
            summary = summarize(opened, args.micro, executor, limits)
            print(json.dumps(summary, allow_nan=False))
        else:
            summary, text = _text(opened, args, executor, limits)
            print(text)
    if args.fail_on:
        failing = SEVERITIES[SEVERITIES.index(args.fail_on) :]
        return int(any(finding["severity"] in failing for finding in summary["findings"]))
    return 0


def _text(
    opened: Run, args: argparse.Namespace, executor: Executor | None, limits: Parameters
) -> tuple[dict[str, Any], str]:
    """What a screen holds needs one worker in full; of the others their rollups do, where they are kept.

    Rollups have the findings of the usual thresholds.
    """
    from stepscope import rollup
    from stepscope.report import text, width
    from stepscope.summary import in_detail, overview, summarize

    in_short = len(opened.workers) > 1 and not args.limit and all(map(rollup.is_kept, opened.workers))
    if in_short:
        summary = overview(opened, rollup.rollups(opened.workers))
    else:
        summary = summarize(opened, executor=executor, limits=limits)
    if args.format == "brief":
        return summary, text.brief(summary)
    with width.fitted(width.of_terminal()):
        if args.ranks:
            return summary, text.all_ranks(summary)
        which = text.choose(summary["workers"], args.worker)
        listed = summary["workers"][which]
        return summary, text.report(summary, in_detail(opened.workers[which], listed) if in_short else listed)
