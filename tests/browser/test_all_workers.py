"""All workers of a run beside each other: the page shows what the command prints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.opened import expect
from tests.builders import TraceBuilder
from tests.recorded import RecordedRun

pytest.importorskip("playwright")
pytestmark = pytest.mark.browser

Open = Callable[..., Any]
HOST = "<b>node</b>"
RANKS = 12


@pytest.fixture(scope="module")
def site(logdir: Path, address: str) -> str:
    """A run of twelve ranks of fourteen: in three of ten steps rank 7 waits 30 us longer for input."""
    for rank in range(RANKS):
        run = RecordedRun(logdir / "job", rank=rank, pid=rank, world_size=14, phases=["input_wait", "forward"])
        run.meta["host"] = HOST
        for i in range(10):
            more = 30 if rank == 7 and i % 3 == 1 else 0
            wait = (i * 200, 10 + more)
            run.step(i, i * 200, 100 + rank + more, input_wait=wait, forward=(i * 200 + wait[1], 60 + rank))
        run.end()
    told = {"Collective name": "allreduce", "In msg nelems": 1000, "dtype": "Float", "Group size": 2}
    for rank, compute in enumerate((20, 60)):  # an all_reduce of 40 us behind 20 us of compute, or behind all of it
        trace = TraceBuilder(rank=rank).step(1, 0, 200).launch(10, 1, 1).launch(12, 1, 2).launch(14, 1, 3)
        trace.kernel("ncclDevKernel_AllReduce(x)", 50, 40, stream=20, correlation=1, **told)
        trace.kernel("gemm", 45, 5 + compute, correlation=2).kernel("sgd", max(90, 50 + compute), 5, correlation=3)
        trace.write(logdir / "talks" / f"rank{rank}.pt.trace.json")
    for rank in (0, 1):
        trace = TraceBuilder(rank=rank).step(1, 0, 100).step(2, 100, 100).launch(10, 5, 1)
        file = trace.kernel("ncclDevKernel_AllReduce(x)", 50, 40, correlation=1).write(
            logdir / "cut" / f"r{rank}.pt.trace.json"
        )
        if rank == 1:
            file.write_text(file.read_text().partition("ncclDevKernel")[0])
    return address


def test_the_numbers_are_those_of_the_command(open_page: Open, site: str, summary: Callable[[str], Any]) -> None:
    page = open_page(site, run="job", workers="all")
    told = summary("job")
    found = told["across_workers"]
    assert page.number("run-p50") == told["step_time_ns"]["p50"]
    assert page.number("run-imbalance") == found["imbalance"]["ratio"]
    page.expect("rank-worker").to_contain_text("Rank 7")
    page.expect("rank-worker").to_contain_text(HOST)
    (slow,) = (r for r in found["ranks"] if r["rank"] == 7)
    assert page.hint("rank-delta") == f"{round(slow['delta_ns']):,} ns"
    page.expect("rank-excess").to_contain_text("Input wait")
    page.expect("run-verdict").to_contain_text("Rank 7")
    page.expect("run-verdict").to_contain_text("Input wait")
    page.expect("ranks-missing").to_contain_text("2 ranks of 14 are missing here: 12, 13")


def test_the_collectives_of_all_and_of_one(open_page: Open, site: str, summary: Callable[[str], Any]) -> None:
    page = open_page(site, run="talks", workers="all")
    told = summary("talks")
    (found,) = told["across_workers"]["collectives"]
    row = page.frame.get_by_test_id("run-collectives").locator("tbody tr")
    expect(row).to_have_count(1)
    shown = row.locator("td[data-value]").evaluate_all("cells => cells.map((cell) => Number(cell.dataset.value))")
    assert shown == [found["total_ns"], 80_000, 20_000, pytest.approx(4000 / 20e-6)]
    assert shown[1:3] == [found["slack_ns"], found["stall_ns"]]
    assert shown[3] == pytest.approx(found["needed_busbw_bytes_per_s"])
    row.get_by_role("button", name="Rank 0").click()
    page.frame.get_by_test_id("step-p50").wait_for()
    page.frame.get_by_role("tab", name="Tables").click()
    page.frame.get_by_role("tab", name="Collectives").click()
    cells = page.frame.locator("[data-testid=table-row] [data-key=stall_ns]")
    expect(cells).to_have_count(1)
    (own,) = told["workers"][0]["communication"]["collectives"]
    assert cells.get_attribute("data-value") == str(own["stall_ns"]) == "20000"


def test_a_rank_whose_file_ends_early_is_not_the_slow_one(open_page: Open, site: str) -> None:
    page = open_page(site, run="cut", workers="all")
    page.expect("ranks-early").to_contain_text("The file of Rank 1 ends early")
    page.expect("run-verdict").not_to_contain_text("holds the others up")
    expect(page.frame.locator("[data-testid=rank-excess]", has_text="its file ends early")).to_have_count(1)


def test_a_worker_opens_and_back_returns(open_page: Open, site: str) -> None:
    page = open_page(site, run="job", workers="all")
    page.frame.get_by_test_id("slowest-bars").get_by_role("button").first.click()
    page.frame.get_by_test_id("step-p50").wait_for()
    page.expect("worker-picker").to_contain_text("Rank 11")  # the slowest in all other steps
    page.page.wait_for_url(lambda url: "workers=all" not in url)
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
    expect(picker).to_contain_text("Rank 7")
    picker.press("Enter")
    expect(page.frame.get_by_role("combobox", name="Search workers")).to_be_focused()
    page.page.keyboard.type("all work")
    page.page.keyboard.press("Enter")
    page.frame.get_by_test_id("run-verdict").wait_for()
    expect(picker).to_contain_text(f"All workers ({RANKS})")


def test_the_map_of_ranks_and_steps(open_page: Open, site: str) -> None:
    page = open_page(site, run="job", workers="all", tab="steps", measure="phase.input_wait", scale="share")
    page.frame.get_by_test_id("rank-map").focus()
    for key in ["ArrowDown"] * 8 + ["ArrowRight"]:
        page.page.keyboard.press(key)
    tip = page.frame.locator(".rank-map .tip")
    expect(tip).to_contain_text("Rank 7, step 1")
    expect(tip).to_contain_text("40.0 µs")
    expect(tip).to_contain_text("+300 %")
    page.frame.get_by_test_id("measure").select_option("duration")
    page.frame.get_by_text("Step time, all workers").wait_for()
    page.page.wait_for_url("**measure=duration**")
    page.frame.get_by_test_id("rank-map").focus()
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("Enter")
    page.frame.get_by_test_id("step-bars").wait_for()
    page.expect("worker-picker").to_contain_text("Rank 8")  # the place in the map stayed


def test_peaks_of_memory_beside_each_other(open_page: Open, logdir: Path, address: str) -> None:
    for rank, size in enumerate((1 << 20, 3 << 20)):
        trace = TraceBuilder().step(0, 0, 100).memory(10, size, device=rank, total=size)
        RecordedRun(logdir / "peaks", rank=rank, pid=rank).sample(0, {("process_memory", -1): 1e9}).window(trace).end()
    page = open_page(address, run="peaks", workers="all", tab="memory")
    assert page.number("run-peak-most") == 3 << 20
    assert page.number("run-peak-mean") == 2 << 20
    assert page.number("run-peak-least") == 1 << 20
    page.frame.get_by_test_id("band-memory").wait_for()
    page.frame.get_by_test_id("run-peaks").get_by_role("button", name="Rank 1").click()
    page.expect("worker-picker").to_contain_text("Rank 1")
    page.frame.get_by_test_id("memory-curve").wait_for()


def test_recordings_of_one_rank_wait_for_nobody(open_page: Open, logdir: Path, address: str) -> None:
    for pid in (1, 2):
        RecordedRun(logdir / "again", rank=0, pid=pid).step(0, 0, 100 * pid).end()
    page = open_page(address, run="again", workers="all")
    page.expect("run-verdict").to_have_text("All of these are recordings of rank 0: none of them waited for another.")


def test_a_tab_of_one_worker_offers_the_slowest(open_page: Open, site: str) -> None:
    page = open_page(site, run="job", workers="all", tab="timeline")
    offered = page.frame.get_by_test_id("one-worker-only")
    offered.get_by_role("button", name="Rank 7").click()
    offered.wait_for(state="detached")
    page.expect("worker-picker").to_contain_text("Rank 7")
