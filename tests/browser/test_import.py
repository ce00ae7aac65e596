"""The first import of a trace that takes long: its progress, cancelling it, and beginning it again."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.browser.conftest import Opened, gpu_trace
from tests.until import wait_until


def import_of(path: Path) -> psutil.Process:
    """The process that imports the file, below the TensorBoard that this one has started."""
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        for process in psutil.Process().children(recursive=True):
            try:
                if process.cmdline()[-1:] == [str(path)]:
                    return process
            except psutil.Error:
                continue
        time.sleep(0.002)
    raise AssertionError(f"nothing imports {path}")


def wait_for_end(process: psutil.Process) -> None:
    """Also of one that its parent has not asked for yet: such a process exists on, ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        wait_until(lambda: process.status() == psutil.STATUS_ZOMBIE)


@pytest.mark.skipif(sys.platform == "win32", reason="processes cannot be stopped there")
def test_an_import_is_cancelled_and_begun_again(logdir: Path, address: str, open_page: Callable[..., Opened]) -> None:
    path = gpu_trace().write(logdir / "late" / "worker0.pt.trace.json")
    it = open_page(address, run="late", worker=path.name)
    child = import_of(path)
    child.suspend()  # an import that takes long
    try:
        frame = it.frame
        frame.get_by_text("Importing worker0.pt.trace.json").first.wait_for()
        frame.get_by_role("button", name="Cancel", exact=True).first.click()
        frame.get_by_test_id("import-cancelled").first.wait_for()
    finally:
        child.resume()
    wait_for_end(child)
    again = frame.get_by_role("button", name="Import again").first
    again.wait_for()
    assert os.listdir(path.parent) == [path.name] or os.listdir(path.parent / ".stepscope") == []
    again.click()
    assert it.number("step-p50") == 10_000_000
    frame.get_by_test_id("import-cancelled").wait_for(state="detached")
