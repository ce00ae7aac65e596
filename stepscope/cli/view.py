"""Open TensorBoard with the Stepscope tab on a log directory."""

from __future__ import annotations

import argparse
import os
import threading
from importlib.util import find_spec

from stepscope.errors import StepscopeError

NAME = "view"
HELP = "open TensorBoard with the Stepscope tab"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("logdir", help="the folder that holds the runs")
    parser.add_argument("--port", type=_port, help="port to serve on (default: 6006, or the next free one)")
    parser.add_argument("--host", help="address to serve on (default: this machine only)")


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port < 1 << 16:
        raise argparse.ArgumentTypeError(f"{port} is no port; give 0 to 65535")
    return port


def run(args: argparse.Namespace) -> int:
    if not os.path.isdir(args.logdir):
        raise StepscopeError(f"{args.logdir}: no such folder. Give the log directory that holds the runs.")
    if find_spec("tensorboard") is None:
        raise StepscopeError('TensorBoard is not installed; run: pip install "stepscope[tensorboard]"')
    address = start(args.logdir, args.port, args.host)
    print(f"TensorBoard with Stepscope: {address}#stepscope  (Ctrl+C stops it)", flush=True)
    threading.Event().wait()
    return 0


def start(logdir: str, port: int | None = None, host: str | None = None) -> str:
    """Serve in the background of this process; the address.

    Raises:
        StepscopeError: TensorBoard cannot start, for example because the port is taken or the address unknown.
    """
    from tensorboard import default, program

    from stepscope_tensorboard.plugin import StepscopePlugin

    plugins = default.get_plugins()
    if StepscopePlugin not in plugins:  # a checkout that is not installed has no entry point
        plugins.append(StepscopePlugin)
    server = program.TensorBoard(plugins=plugins)
    flags = [f"--logdir={logdir}"]
    flags += ["--port", str(port)] if port is not None else []
    flags += ["--host", host] if host is not None else []
    server.configure(argv=["stepscope view", *flags])
    try:
        return server.launch()
    except (program.TensorBoardServerException, SystemExit) as error:  # it exits where the address is unknown
        raise StepscopeError(f"TensorBoard cannot start on {host or 'this machine'}: {error}") from error
