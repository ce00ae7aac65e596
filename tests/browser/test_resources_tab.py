"""The Resources tab: curves on one axis with the steps, zoom and moment in the address, the way into the timeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.opened import expect


@pytest.fixture
def tab(open_page: Callable[..., Any], address: str) -> Any:
    it = open_page(address, run="torch", tab="resources")
    it.frame.get_by_test_id("chart-cpu").wait_for()
    it.settle()
    return it


def extent(it: Any) -> tuple[str, str]:
    told = it.frame.get_by_test_id("time-range")
    return told.get_attribute("data-t0"), told.get_attribute("data-t1")


def box(it: Any, test_id: str) -> dict[str, float]:
    found = it.frame.get_by_test_id(test_id).bounding_box()
    assert found is not None
    return found


def test_steps_and_the_interval_stand_above_the_curves(tab: Any) -> None:
    tab.frame.get_by_test_id("time-strips").wait_for()
    tab.expect("sampled").to_contain_text("sampled every")
    tab.frame.get_by_test_id("chart-memory").wait_for()


def test_each_metric_in_numbers(tab: Any, summary: Callable[[str], Any]) -> None:
    ((_, told),) = summary("torch")["resources"].items()
    tab.expect("metric-label").to_have_text("CPU, all cores")
    tab.expect("metric-samples").to_have_text(str(told["cpu"]["samples"]))
    exact = float(tab.hint("metric-mean").removesuffix(" %"))
    assert exact == pytest.approx(100 * told["cpu"]["mean"], abs=0.01)


def test_a_drag_zooms_and_the_address_tells_it(tab: Any) -> None:
    t0, t1 = extent(tab)
    told = tab.frame.get_by_test_id("time-range")
    at = box(tab, "chart-cpu")
    tab.page.mouse.move(at["x"] + at["width"] * 0.4, at["y"] + 30)
    tab.page.mouse.down()
    tab.page.mouse.move(at["x"] + at["width"] * 0.6, at["y"] + 30, steps=4)
    tab.page.mouse.up()
    tab.page.wait_for_function("location.hash.includes('p.stepscope.rat=')")
    expect(told).not_to_have_attribute("data-t0", t0)
    near, far = extent(tab)
    assert float(t0) < float(near) < float(far) < float(t1)
    tab.frame.get_by_test_id("chart-cpu").press("Escape")
    tab.page.wait_for_function("!location.hash.includes('p.stepscope.rat=')")
    expect(told).to_have_attribute("data-t0", t0)
    expect(told).to_have_attribute("data-t1", t1)


def test_a_moment_opens_in_the_timeline(tab: Any) -> None:
    tab.frame.get_by_test_id("time-strips").wait_for()
    at = box(tab, "chart-cpu")
    tab.page.mouse.click(at["x"] + at["width"] * 0.5, at["y"] + 30)
    tab.frame.get_by_test_id("open-moment").click()
    tab.frame.get_by_role("tab", name="Timeline", selected=True).wait_for()
    tab.page.wait_for_url("**p.stepscope.at=**")


def test_the_cursor_can_be_moved_by_keys(tab: Any) -> None:
    tab.frame.get_by_test_id("time-strips").press("ArrowRight")
    tab.expect("time-where").not_to_contain_text("Point at a chart")


def test_a_trace_without_a_monitor_says_so(open_page: Callable[..., Any], address: str) -> None:
    it = open_page(address, run="gpu", tab="resources")
    it.expect("no-monitor").to_contain_text("No resource monitor")
