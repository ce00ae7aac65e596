"""What the server reads when it starts."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from stepscope import cache
from stepscope_tensorboard import first_look
from stepscope_tensorboard.api import Api
from tests.tb.test_api import api_of, get, traced


def opened(api: Api) -> list[tuple[str, str]]:
    """Runs and workers whose timeline and analysis are there after a first look."""
    for _ in range(2):
        api.first_look.begin()
    for thread in threading.enumerate():
        if thread.name == "stepscope-first-look":
            thread.join()
    return [key[:2] for key, session in api._sessions._sessions.items() if session._timeline and session._summary]


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """Two imported traces, the later one in ``new``."""
    for second, run in enumerate(("old", "new")):
        trace = tmp_path / run / "r0.pt.trace.json"
        traced(trace, 0)
        os.utime(trace, (1000 + second, 1000 + second))
        cache.load(trace)
    return tmp_path


def test_the_first_worker_of_the_latest_run_is_read(logdir: Path) -> None:
    api = api_of(logdir)
    assert opened(api) == [("new", "r0.pt.trace.json")]
    assert get(api, "timeline/tree", run="new", worker="r0.pt.trace.json")["lanes"]
    assert len(api._sessions._sessions) == 1  # it is that which is asked for


def test_what_is_large_or_not_imported_waits_until_it_is_asked_for(
    logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traced(logdir / "newest" / "r0.pt.trace.json", 0)
    assert opened(api_of(logdir)) == []
    cache.load(logdir / "newest" / "r0.pt.trace.json")
    monkeypatch.setattr(first_look, "MAX_BYTES", 100)
    assert opened(api_of(logdir)) == []


def test_nothing_to_read_is_no_error(tmp_path: Path) -> None:
    assert opened(api_of(tmp_path)) == []
    assert opened(api_of(tmp_path / "missing")) == []
