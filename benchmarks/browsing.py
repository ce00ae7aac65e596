"""A TensorBoard and a headless Chromium of their own; what the benchmarks of the page share."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

_READY = re.compile(r"TensorBoard \S+ at (http://\S+?)/? \(Press CTRL\+C to quit\)")


@contextmanager
def tensorboard(logdir: Path) -> Iterator[str]:
    """Run TensorBoard over a folder on a free port and give its address."""
    command = [sys.executable, "-m", "tensorboard.main", "--host", "127.0.0.1", "--port", "0", "--logdir", str(logdir)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stderr is not None
        ready = next(filter(None, map(_READY.search, process.stderr)), None)
        if ready is None:
            raise SystemExit("TensorBoard did not start; run it by hand to see why.")
        yield ready[1]
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless Chromium: the one on PATH, else playwright's."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"] if as_root else [])
        try:
            yield browser
        finally:
            browser.close()
