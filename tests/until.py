"""Waiting for what another process or thread does."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Far above what a loaded machine needs: only a test that fails waits as long.
PATIENCE_S = 300


def wait_until(condition: Callable[[], object], what: str = "it") -> None:
    """Return once the condition holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen in {PATIENCE_S} s"
        time.sleep(0.02)
