"""The ``stepscope`` command. One module a subcommand, each with NAME, HELP, add_arguments and run.

Subcommand modules import what they need inside ``run``, so that ``stepscope --help`` and a wrong argument
answer at once.
"""

from __future__ import annotations

import argparse
import codecs
import importlib
import os
import sys
from collections.abc import Sequence

from stepscope import __version__
from stepscope.errors import StepscopeError
from stepscope.report.format import printable

_MODULES = ("summary", "compare", "import_traces", "view", "capture", "control", "doctor", "demo")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns the exit status. Errors of the user are one line and status 2."""
    parser = argparse.ArgumentParser(prog="stepscope", description="A profiler for PyTorch and TensorFlow training.")
    parser.add_argument("--version", action="version", version=f"stepscope {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in _MODULES:
        module = importlib.import_module(f"stepscope.cli.{name}")
        sub = subparsers.add_parser(module.NAME, help=module.HELP, description=module.__doc__)
        module.add_arguments(sub)
        sub.set_defaults(run=module.run)
    args = parser.parse_args(argv)
    if hasattr(sys.stdout, "reconfigure"):  # names may hold what the terminal's encoding lacks
        codecs.register_error("stepscope", _in_ascii)
        sys.stdout.reconfigure(errors="stepscope")
    try:
        status = int(args.run(args))
        sys.stdout.flush()
        return status
    except StepscopeError as error:
        print(f"stepscope: {printable(' '.join(str(error).split()))}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        _drop_output()
        return 141  # what a shell reports for SIGPIPE: the reader (head, a pager) has left
    except OSError as error:
        about = f"{error.filename}: " if error.filename else "the output cannot be written: "
        print(f"stepscope: {printable(about + (error.strerror or str(error)))}.", file=sys.stderr)
        _drop_output()
        return 2
    except KeyboardInterrupt:
        return 130


def _in_ascii(error: UnicodeError) -> tuple[str | bytes, int]:
    """What the terminal cannot show: microseconds as us, all else by its number."""
    assert isinstance(error, UnicodeEncodeError)
    if error.object[error.start] == "µ":
        return "u", error.start + 1
    error.end = error.start + 1
    return codecs.backslashreplace_errors(error)


def _drop_output() -> None:
    """What is still buffered has nowhere to go: Python would complain again when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
