"""Take a deep window now in a training that runs, in all its workers at the same steps, and wait for it."""

from __future__ import annotations

import argparse

NAME = "capture"
HELP = "take a deep window now in a running training"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", help="the run folder that the training records into")
    parser.add_argument("--steps", type=int, default=3, help="steps in the window, 1 to 1000 (default: 3)")
    add_worker_arguments(parser)


def add_worker_arguments(parser: argparse.ArgumentParser) -> None:
    """Which workers are asked, and how long to wait for them."""
    parser.add_argument("--rank", type=_ranks, metavar="N,N", help="only these ranks, as in 0,7 (default: all)")
    parser.add_argument(
        "--timeout", type=float, default=120.0, metavar="S", help="seconds to wait for answers (default: 120)"
    )


def run(args: argparse.Namespace) -> int:
    from stepscope.cli.conversation import converse
    from stepscope.running_job import capture_request, live_workers
    from stepscope.runs import open_run

    opened = open_run(args.path)
    workers = live_workers(opened, args.rank)
    return converse(opened, capture_request(workers, args.steps), args.timeout)


def _ranks(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of ranks; write 0,7") from None
