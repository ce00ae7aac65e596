"""Each tab on a PyTorch run, a Keras run and a GPU trace: the page shows what the command prints."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.opened import expect
from tests.recorded import RecordedRun
from tests.tensorboard_server import tensorboard

pytest.importorskip("playwright")
pytestmark = pytest.mark.browser

RUNS = ("torch", "keras", "gpu")
Open = Callable[..., Any]
Summary = Callable[[str], dict[str, Any]]


def nanoseconds(text: str) -> int:
    """The exact value in a text such as "Exactly 1,234 ns"."""
    match = re.search(r"([\d,]+) ns", text)
    assert match is not None, text
    return int(match[1].replace(",", ""))


@pytest.mark.parametrize("run", RUNS)
def test_the_summary_tab(open_page: Open, address: str, summary: Summary, run: str) -> None:
    page = open_page(address, run=run)
    expected = summary(run)
    assert page.number("step-p50") == expected["step_time_ns"]["p50"]
    assert page.number("step-p95") == expected["step_time_ns"]["p95"]
    assert page.number("step-count") == expected["step_time_ns"]["count"]


def test_the_summary_tab_of_a_gpu_trace(open_page: Open, address: str, summary: Summary) -> None:
    page = open_page(address, run="gpu")
    (worker,) = summary("gpu")["workers"]
    assert page.number("gpu-util") == worker["gpu"][0]["utilization_steps"]
    assert page.number("gpu-util") == pytest.approx(0.7)  # 3 and 4 of each 10 ms
    assert page.number("activity-kernel") == 3 * 7_000_000
    shown = page.frame.get_by_test_id("top-time-value")
    expect(shown).to_have_count(len(worker["kernels"]))
    assert [int(cell.get_attribute("data-ns")) for cell in shown.all()] == [k["total_ns"] for k in worker["kernels"]]


@pytest.mark.parametrize("run", RUNS)
def test_the_step_breakdown_tab(open_page: Open, address: str, summary: Summary, run: str) -> None:
    page = open_page(address, run=run, tab="steps", steps="all")
    steps = summary(run)["workers"][0]["steps"]
    assert nanoseconds(page.hint("step-duration")) == steps[0]["duration_ns"]
    last = page.frame.get_by_test_id("step-id").count() - 1
    shown = int(page.frame.get_by_test_id("step-id").nth(last).inner_text())
    (step,) = (s for s in steps if s["id"] == shown)
    assert nanoseconds(page.hint("step-duration", last)) == step["duration_ns"]


def test_the_classes_of_a_step_are_those_of_the_command(open_page: Open, address: str, summary: Summary) -> None:
    page = open_page(address, run="gpu", tab="steps", by="activity")
    step = summary("gpu")["workers"][0]["steps"][0]
    assert nanoseconds(page.hint("step-kernel")) == step["activity_ns"]["kernel"] == 7_000_000


def test_the_phases_of_a_step_are_those_of_the_command(open_page: Open, address: str, summary: Summary) -> None:
    page = open_page(address, run="torch", tab="steps", by="phase")
    step = summary("torch")["workers"][0]["steps"][0]
    assert nanoseconds(page.hint("step-forward")) == step["phase_ns"]["forward"] > 0


@pytest.mark.parametrize("run", RUNS)
def test_the_timeline_tab(open_page: Open, address: str, summary: Summary, run: str) -> None:
    """The longest step stands in the table of what is in view with the duration that the command prints."""
    page = open_page(address, run=run, tab="timeline")
    steps = summary(run)["workers"][0]["steps"]
    page.frame.get_by_test_id("lane-thread").first.wait_for()
    page.frame.get_by_test_id("in-view").click()
    names = page.frame.get_by_test_id("in-view-slice-name")
    names.first.wait_for()
    longest = max(steps, key=lambda s: s["host_ns"])["host_ns"]
    page.frame.locator(f"[title='{longest:,} ns']").first.wait_for()


def test_a_click_on_a_step_opens_it_in_the_timeline(open_page: Open, address: str, summary: Summary) -> None:
    page = open_page(address, run="gpu", tab="steps")
    page.frame.get_by_test_id("step-label").nth(1).click()
    page.frame.get_by_test_id("step-in-timeline").click()
    shown = page.frame.get_by_test_id("timeline-range")
    shown.wait_for()
    step = summary("gpu")["workers"][0]["steps"][1]
    t0, t1 = (float(shown.get_attribute(name) or "nan") for name in ("data-t0", "data-t1"))
    start = step["start_ns"] - summary("gpu")["workers"][0]["steps"][0]["start_ns"]
    assert t0 <= start
    assert t1 >= start + step["duration_ns"]
    assert t1 - t0 < 2 * step["duration_ns"]


def test_a_kernel_leads_to_its_launch_and_back(open_page: Open, address: str) -> None:
    page = open_page(address, run="gpu", tab="timeline")
    page.frame.get_by_test_id("in-view").click()
    page.frame.get_by_test_id("in-view-slice-name").get_by_text("relu", exact=True).first.click()
    page.frame.get_by_role("button", name="Selection", exact=True).click()
    page.expect("slice-name").to_have_text("relu")
    assert nanoseconds(page.text("slice-duration").replace("4.00 ms", "")) == 4_000_000
    page.frame.get_by_test_id("connection-launch").click()
    page.frame.get_by_test_id("slice-name").get_by_text("cudaLaunchKernel", exact=True).wait_for()
    page.frame.get_by_test_id("connection-run").click()
    page.frame.get_by_test_id("slice-name").get_by_text("relu", exact=True).wait_for()


def test_a_link_reopens_the_view(open_page: Open, address: str) -> None:
    first = open_page(address, run="gpu", tab="timeline")
    first.frame.get_by_test_id("in-view").click()
    first.frame.get_by_test_id("in-view-slice-name").get_by_text("gemm", exact=True).first.click()
    first.page.wait_for_url("**p.stepscope.slice=**")
    second = open_page(address)
    second.page.goto("about:blank")
    second.page.goto(first.page.url)
    second.frame.get_by_test_id("slice-name").get_by_text("gemm", exact=True).wait_for()


def test_from_an_empty_log_directory_to_a_running_job(open_page: Open, logdir: Path, tmp_path: Path) -> None:
    """The page says what to do, notices the run that begins (of a hostile name), and follows it."""
    name = "<img src=x onerror=alert(1)>"
    with tensorboard("--logdir", str(tmp_path)) as address:
        page = open_page(address, own=True)
        page.page.on("dialog", lambda dialog: page.problems.append("the name of the run was run"))
        page.frame.get_by_test_id("empty-logdir").wait_for()
        page.expect("empty-logdir").to_contain_text(str(tmp_path))
        page.expect("empty-logdir").to_contain_text("stepscope import")
        run = RecordedRun(tmp_path / name).step(0, 0, 1000, forward=(0, 600)).flush()
        assert page.number("step-p50") == 1_000_000
        page.expect("run-picker").to_contain_text(name)
        assert page.frame.locator("img[src=x]").count() == 0
        run.step(1, 1000, 1000).step(2, 2000, 1000).flush()
        page.frame.locator("[data-testid=step-count][data-value='3']").wait_for()


def test_a_tab_that_is_opened_again_asks_for_nothing_and_begins_at_its_top(open_page: Open, address: str) -> None:
    page = open_page(address, run="gpu", tab="steps")
    page.frame.get_by_test_id("step-id").first.wait_for()
    page.settle()
    page.frame.locator("#panel").evaluate("panel => panel.scrollTo(0, 9999)")
    assert page.frame.locator("#panel").evaluate("panel => panel.scrollTop") > 0
    page.frame.locator("#tab-memory").click()
    expect(page.frame.locator("#tab-memory")).to_have_attribute("aria-selected", "true")
    page.settle()
    asked: list[str] = []
    page.page.on("request", lambda request: asked.append(request.url))
    page.frame.locator("#tab-steps").click()
    page.frame.get_by_test_id("step-id").first.wait_for()
    assert page.frame.locator("#panel").evaluate("panel => panel.scrollTop") == 0
    page.settle()
    # What other tabs will need is read ahead meanwhile.
    assert [url for url in asked if re.search(r"/stepscope/(steps|modules)\b", url)] == []


def test_slices_that_come_late_are_read_ahead_all_the_same(open_page: Open, address: str) -> None:
    page = open_page(address, own=True, run="gpu")
    held: list[Any] = []
    page.page.route("**/timeline/view?*", lambda route: route.continue_() if held else held.append(route))
    with page.page.expect_request("**/timeline/view?*"):
        page.page.reload()
    page.frame.locator("html").evaluate("() => new Promise((done) => setTimeout(done, 1000))")  # what comes next waits
    held[0].continue_()
    page.settle()
    asked: list[str] = []
    page.page.on("request", lambda request: asked.append(request.url))
    page.frame.locator("#tab-timeline").click()
    page.frame.get_by_test_id("timeline-canvas").wait_for()
    page.settle()
    assert [url for url in asked if "/timeline/view" in url] == []
