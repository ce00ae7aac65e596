"""Train a small real model under the profiler, print what it found in six lines, open TensorBoard on it."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from stepscope.errors import StepscopeError

NAME = "demo"
HELP = "train a small model under the profiler and show the result in TensorBoard"

#: What ``stepscope view`` returns when Ctrl+C ends it.
INTERRUPTED = 130

#: framework -> (the module that it needs, the extra that installs it, the example that is run)
FRAMEWORKS = {
    "pytorch": ("torch", "torch", "pytorch_small.py"),
    "tensorflow": ("tensorflow", "tensorflow", "keras_small.py"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--framework", choices=sorted(FRAMEWORKS), default="pytorch", help="default: pytorch")
    parser.add_argument("--logdir", default="runs", help="where the run folder is made (default: runs)")
    parser.add_argument(
        "--no-view", action="store_true", help="do not start TensorBoard; so too where there is no terminal"
    )


def run(args: argparse.Namespace) -> int:
    module, extra, example = FRAMEWORKS[args.framework]
    for needed, of_extra in ((module, extra), ("tensorboard", "tensorboard")):
        if find_spec(needed) is None:
            raise StepscopeError(
                f"the demo needs the Python package {needed}, which is not installed; "
                f'run: pip install "stepscope[{of_extra}]"'
            )
    run_folder = Path(args.logdir) / f"{args.framework}-demo-{time.strftime('%Y%m%d-%H%M%S')}"
    print(f"Training a small {args.framework} model, recorded in {run_folder} ...", flush=True)
    train(example_path(example), run_folder)

    from stepscope.cli import main

    print(flush=True)
    code = main(["summary", str(run_folder), "--format", "brief"])
    if code != 0:
        return code
    print(flush=True)
    if args.no_view or not sys.stdout.isatty():
        print(f"To see it in TensorBoard: {stepscope_command()} view {shlex.quote(args.logdir)}")
        return 0
    code = main(["view", args.logdir])
    return 0 if code == INTERRUPTED else code


def stepscope_command() -> str:
    """How the user can start ``stepscope`` again: the environment it lies in need not be on PATH."""
    installed = Path(sys.executable).with_name("stepscope")
    return "stepscope" if shutil.which("stepscope") or not installed.exists() else os.path.relpath(installed)


def example_path(name: str) -> Path:
    """The example script; it is run as a program, since it imports a framework and this process must not."""
    spec = find_spec("stepscope_examples")
    places = (spec.submodule_search_locations or []) if spec else []
    for place in places:
        if (Path(place) / name).is_file():
            return Path(place) / name
    raise StepscopeError(f"the example {name} is not part of this installation; install stepscope again")


def train(script: Path, run_folder: Path) -> None:
    # torch's profiler announces each window on standard error; it reads this when torch is loaded
    environment = {"KINETO_LOG_LEVEL": "99", **os.environ}
    # in a session of its own: Ctrl+C would have it print where it was
    command = [sys.executable, str(script), str(run_folder)]
    training: subprocess.Popen[bytes] | None = None
    interrupted = False

    def end(*_: object) -> None:
        nonlocal interrupted
        interrupted = True
        if training is not None:
            training.terminate()

    # no KeyboardInterrupt, which could come in Popen: the training would run and nobody know its process
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, end)
    try:
        training = subprocess.Popen(command, env=environment, start_new_session=True)
        if interrupted:
            training.terminate()
        code = training.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    if interrupted:
        print("\nThe demo was interrupted.", flush=True)
        raise KeyboardInterrupt
    if code != 0:
        raise StepscopeError(f"the demo training {script} ended with exit code {code}; its output is above")
