"""Change what stepscope does in a training that runs: how often it samples the machine, or that it records at all."""

from __future__ import annotations

import argparse

from stepscope.cli.capture import add_worker_arguments

NAME = "control"
HELP = "change the sampling or end the recording of a running training"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", help="the run folder that the training records into")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--monitor-interval",
        type=int,
        metavar="MS",
        help="sample the machine so often: 100, 200, 500, 1000, 5000, 60000",
    )
    what.add_argument("--stop", action="store_true", help="end the recording; the training goes on")
    add_worker_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from stepscope.cli.conversation import converse
    from stepscope.control import STOP, Request
    from stepscope.running_job import expires_ns, interval_request, live_workers
    from stepscope.runs import open_run

    opened = open_run(args.path)
    workers = live_workers(opened, args.rank)
    if args.stop:
        request = Request(STOP, [worker.id for worker in workers], expires_ns())
    else:
        request = interval_request(workers, args.monitor_interval)
    return converse(opened, request, args.timeout)
