"""The Memory tab: parts that add up to the curve, growth from step to step, every allocation as a row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.opened import expect
from tests.builders import TraceBuilder

NAME = "aten::<b>mm</b>\u202e"


@pytest.fixture(scope="module", autouse=True)
def allocations(logdir: Path) -> None:
    """Four steps of 1 ms; each keeps 30 KiB and frees 70 KiB."""
    trace = TraceBuilder()
    for i in range(4):
        at = 1000 * i
        trace.step(i, at, 1000).op("aten::clone", at + 10, 50).op(NAME, at + 100, 50)
        trace.memory(at + 20, 30 << 10, device=0, address=100 + i, total=(530 + 30 * i) << 10)
        trace.memory(at + 110, 70 << 10, device=0, address=9, total=(600 + 30 * i) << 10)
        trace.memory(at + 900, -(70 << 10), device=0, address=9, total=(530 + 30 * i) << 10)
    trace.write(logdir / "leak" / "worker0.pt.trace.json")


@pytest.fixture
def tab(open_page: Callable[..., Any], address: str) -> Any:
    it = open_page(address, run="leak", tab="memory")
    it.frame.get_by_test_id("alive-total").wait_for()
    return it


def values(it: Any, test_id: str) -> list[int]:
    found = it.frame.get_by_test_id(test_id)
    return [int(found.nth(i).get_attribute("data-value")) for i in range(found.count())]


def test_the_peak_is_that_of_the_summary_and_its_parts_add_up(tab: Any, summary: Callable[[str], Any]) -> None:
    (told,) = summary("leak")["workers"][0]["memory"]
    assert tab.number("memory-peak") == told["peak_bytes"] == 690 << 10
    expect(tab.frame.get_by_test_id("alive-row")).to_have_count(3)
    rows = values(tab, "alive-row")
    assert sum(rows) == values(tab, "alive-total")[0] == 690 << 10
    assert sorted(rows) == [70 << 10, 120 << 10, 500 << 10]


def test_names_appear_as_they_are(tab: Any) -> None:
    expect(tab.frame.get_by_test_id("alive-row").filter(has_text=NAME)).to_have_count(1)


def test_a_moment_of_the_curve_is_taken_apart(tab: Any) -> None:
    tab.frame.get_by_test_id("chart-memory").wait_for()
    tab.settle()
    at = tab.frame.get_by_test_id("chart-memory").bounding_box()
    tab.page.mouse.click(at["x"] + at["width"] * 0.42, at["y"] + 60)  # in the second step
    tab.page.wait_for_function("location.hash.includes('p.stepscope.mmoment=')")
    tab.frame.get_by_test_id("alive-total").and_(tab.frame.locator(f"[data-value='{630 << 10}']")).wait_for()
    assert sum(values(tab, "alive-row")) == 630 << 10


def test_growth_after_every_step_is_told_with_who_keeps_it(tab: Any) -> None:
    tab.expect("growth").to_contain_text("Grows after every one of 4 steps, +30.0 KiB a step")
    tab.expect("outlive-row").to_contain_text("aten::clone")
    assert values(tab, "outlive-row") == [90 << 10]


def test_allocations_are_listed_and_a_row_opens_in_the_timeline(tab: Any) -> None:
    rows = tab.frame.get_by_test_id("allocations").get_by_test_id("table-row")
    expect(rows).to_have_count(8)
    rows.first.get_by_role("gridcell").first.click()
    tab.frame.get_by_role("tab", name="Timeline", selected=True).wait_for()


def test_without_allocations_it_tells_how_to_record_them(open_page: Callable[..., Any], address: str) -> None:
    it = open_page(address, run="gpu", tab="memory")
    it.expect("no-allocations").to_contain_text("profile_memory=True")
