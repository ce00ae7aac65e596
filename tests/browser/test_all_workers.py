"""All workers of a run beside each other: the page shows what the command prints."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stepscope.cli import main
from tests.recorded import RecordedRun
from tests.tensorboard_server import tensorboard

pytest.importorskip("playwright")
pytestmark = pytest.mark.browser

Open = Callable[..., Any]
HOST = "<b>node</b>"
RANKS = 12


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of twelve ranks of fourteen: in three of ten steps rank 7 waits 30 us longer for input."""
    logdir = tmp_path_factory.mktemp("ranks")
    for rank in range(RANKS):
        run = RecordedRun(logdir / "job", rank=rank, pid=rank, world_size=14, phases=["input_wait", "forward"])
        run.meta["host"] = HOST
        for i in range(10):
            more = 30 if rank == 7 and i % 3 == 1 else 0
            wait = (i * 200, 10 + more)
            run.step(i, i * 200, 100 + rank + more, input_wait=wait, forward=(i * 200 + wait[1], 60 + rank))
        run.end()
    return logdir


@pytest.fixture(scope="module")
def site(logs: Path) -> Iterator[str]:
    with tensorboard("--logdir", str(logs)) as address:
        yield address


def across(logs: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["summary", str(logs / "job"), "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_numbers_are_those_of_the_command(
    open_page: Open, site: str, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = open_page(site, run="job", workers="all")
    told = across(logs, capsys)
    found = told["across_workers"]
    assert page.number("run-p50") == told["step_time_ns"]["p50"]
    assert page.number("run-imbalance") == found["imbalance"]["ratio"]
    first = page.frame.get_by_test_id("rank-worker").first
    assert "Rank 7" in first.inner_text()
    assert HOST in first.inner_text()
    (slow,) = (r for r in found["ranks"] if r["rank"] == 7)
    assert page.hint("rank-delta") == f"{round(slow['delta_ns']):,} ns"
    assert "Input wait" in page.text("rank-excess")
    assert "Rank 7" in page.text("run-verdict")
    assert "Input wait" in page.text("run-verdict")
    assert "2 ranks of 14 are missing here: 12, 13" in page.text("ranks-missing")


def test_a_worker_opens_and_back_returns(open_page: Open, site: str) -> None:
    page = open_page(site, run="job", workers="all")
    page.frame.get_by_test_id("slowest-bars").get_by_role("button").first.click()
    page.frame.get_by_test_id("step-p50").wait_for()
    assert "Rank 11" in page.text("worker-picker")  # the slowest in all other steps
    assert "workers=all" not in page.page.url
    page.page.go_back()
    page.frame.get_by_test_id("run-verdict").wait_for()


def test_the_picker_finds_a_rank_by_keyboard(open_page: Open, site: str) -> None:
    page = open_page(site, run="job", workers="all")
    picker = page.frame.get_by_test_id("worker-picker")
    picker.focus()
    picker.press("Enter")
    page.frame.get_by_role("combobox").fill("7")
    page.page.keyboard.press("Enter")
    page.frame.get_by_test_id("step-p50").wait_for()
    assert "Rank 7" in picker.inner_text()
    picker.press("Enter")
    page.page.keyboard.type("all work")
    page.page.keyboard.press("Enter")
    page.frame.get_by_test_id("run-verdict").wait_for()
    assert f"All workers ({RANKS})" in picker.inner_text()


def test_the_map_of_ranks_and_steps(open_page: Open, site: str) -> None:
    page = open_page(site, run="job", workers="all", tab="steps", measure="phase.input_wait", scale="share")
    page.frame.get_by_test_id("rank-map").focus()
    for key in ["ArrowDown"] * 8 + ["ArrowRight"]:
        page.page.keyboard.press(key)
    tip = page.frame.locator(".rank-map .tip")
    assert "Rank 7, step 1" in tip.inner_text()
    assert "40.0 µs" in tip.inner_text()
    assert "+300 %" in tip.inner_text()
    page.frame.get_by_test_id("measure").select_option("duration")
    page.frame.get_by_text("Step time, all workers").wait_for()
    page.page.wait_for_url("**measure=duration**")
    page.frame.get_by_test_id("rank-map").focus()
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("Enter")
    page.frame.get_by_test_id("step-bars").wait_for()
    assert "Rank 8" in page.text("worker-picker")  # the place in the map stayed


def test_a_tab_of_one_worker_offers_the_slowest(open_page: Open, site: str) -> None:
    page = open_page(site, run="job", workers="all", tab="timeline")
    offered = page.frame.get_by_test_id("one-worker-only")
    offered.get_by_role("button", name="Rank 7").click()
    offered.wait_for(state="detached")
    assert "Rank 7" in page.text("worker-picker")
