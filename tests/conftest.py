"""What all tests share: a cache folder of their own, a hypothesis profile, a real Chromium."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from stepscope.recorder import Recorder

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Before torch is loaded, here and in the processes that tests start. OpenMP's threads wait for each other by spinning:
# where other processes want the cores too, a training of 40 s took 7 minutes.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# What a script starts in the background ignores Ctrl+C, and so would the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No test measures wall time, and neither does hypothesis: CI machines are small and shared.
settings.register_profile("stepscope", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("stepscope")

#: Reasons of skips that a whole installation does not know.
_MISSING_PART = r"not installed|web UI is not built|could not import"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all-parts", action="store_true", help="fail where tests were skipped since a part is missing")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """`make test` installs every part, so a part that is missing there is a fault and no reason to skip."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or not session.config.getoption("all_parts"):
        return
    missing = [r for r in reporter.stats.get("skipped", []) if re.search(_MISSING_PART, str(r.longrepr))]
    if missing:
        reporter.write_line(f"--all-parts: {len(missing)} skipped since a part is missing", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session", autouse=True)
def _own_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Imports of trace files are cached in the user's cache folder; tests neither use nor fill that one. And reports
    are as wide as in a file: pytest-xdist gives its processes the width of the terminal."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("COLUMNS", raising=False)
        yield


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    """One that records into the test's folder, as rank 3 of 8."""
    recorder = Recorder(tmp_path / "run", framework="pytorch", rank=3, world_size=8)
    recorder.start()
    yield recorder
    recorder.stop()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A headless Chromium: the one on PATH, else Playwright's own. `make test` sees to it that one is there."""
    from playwright.sync_api import sync_playwright

    on_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    arguments = ["--disable-gpu", *(["--no-sandbox"] if as_root else [])]  # the sandbox refuses to run as root
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=on_path, args=arguments)
        yield browser
        browser.close()
