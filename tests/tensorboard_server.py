"""A real TensorBoard in a process of its own, for tests that speak HTTP or drive a browser."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

_READY = re.compile(r"TensorBoard \S+ at (http://\S+?)/? \(Press CTRL\+C to quit\)")


@contextmanager
def tensorboard(*arguments: str) -> Iterator[str]:
    """Run ``tensorboard ARGUMENTS`` on a free port and give its address, path prefix included.

    At the end TensorBoard must not have complained about a response of ours (its security validator warns).
    """
    seed = os.environ.get("STEPSCOPE_LATE_ANSWERS")
    started = ["-m", "tensorboard.main"] if seed is None else [str(Path(__file__).with_name("late_answers.py")), seed]
    command = [sys.executable, *started, "--host", "127.0.0.1", "--port", "0", *arguments]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment)
        try:
            yield _address(process, log)
        finally:
            process.terminate()
            process.wait(300)
        log.seek(0)
        complaints = [line for line in log if "on a Response" in line or "Traceback" in line]
        assert complaints == []


def _address(process: subprocess.Popen, log: TextIO) -> str:
    for _ in range(3000):
        ended = process.poll() is not None
        log.seek(0)
        text = log.read()
        if ready := _READY.search(text):
            return ready[1]
        if ended:
            break
        time.sleep(0.1)
    raise AssertionError(f"TensorBoard did not start:\n{text[-2000:]}")
