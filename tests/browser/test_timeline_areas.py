"""What is selected in the Timeline tab, and the numbers of a marked area."""

from __future__ import annotations

import re

import pytest

from tests.browser.opened import expect
from tests.browser.timeline_page import HOSTILE, Timelines

pytest.importorskip("playwright")
pytestmark = pytest.mark.browser


# -- selection --------------------------------------------------------------------------------------


def test_a_kernel_tells_its_operator_module_and_stack(timeline: Timelines) -> None:
    tab = timeline()
    tab.click(tab.stream, 2000)
    tab.selected("gemm")
    tab.opened.expect("slice-module").to_have_text("Net_0")
    tab.opened.expect("slice-stack").to_contain_text("nn.Module: Net_0")
    tab.frame.get_by_test_id("slice-operator").click()
    tab.selected("aten::linear")
    tab.opened.expect("slice-details").to_contain_text(re.compile(r"\[\[8, ?16\]\]"))


def test_all_arrows_or_those_of_the_selection(timeline: Timelines) -> None:
    tab = timeline()
    tab.key("x")
    arrows = tab.frame.get_by_test_id("arrow-count")
    expect(arrows).to_have_attribute("data-value", "6")
    tab.opened.expect("arrows").to_have_attribute("aria-pressed", "true")
    tab.key("x")
    arrows.wait_for(state="detached")


def test_colours_by_key(timeline: Timelines) -> None:
    tab = timeline()
    legend = tab.frame.get_by_label("Colours")
    for mode, group in (("name", "gemm"), ("stream", "GPU 0 stream 7"), ("module", "Net_0")):
        tab.key("c")
        tab.opened.expect("coloring").to_have_value(mode)
        legend.get_by_text(group, exact=True).wait_for()


# -- areas ------------------------------------------------------------------------------------------


def test_a_marked_area_in_numbers(timeline: Timelines) -> None:
    tab = timeline()
    tab.mark(tab.stream, 300, 10_000)
    frame = tab.frame
    span = tab.opened.number("area-span")
    assert span == pytest.approx(9_700_000, rel=0.01)
    assert tab.opened.number("area-busy") == 7_000_000
    assert tab.opened.number("area-idle") == span - 7_000_000
    assert tab.opened.number("area-count") == 2
    expect(frame.get_by_test_id("area-name")).to_have_text(["relu", "gemm"])
    assert tab.opened.hint("area-total") == "4,000,000 ns"
    frame.get_by_role("button", name="Count").click()
    frame.get_by_role("button", name="Name", exact=True).click()
    expect(frame.get_by_test_id("area-name")).to_have_text(["gemm", "relu"])
    frame.get_by_role("button", name="By kind").click()
    expect(frame.get_by_test_id("area-kind")).to_have_text(["kernel"])
    frame.get_by_role("button", name="By lane").click()
    tab.opened.expect("area-lane").to_contain_text("stream 7")
    tab.opened.expect("selection-live").to_contain_text("2 slices")
    frame.get_by_test_id("zoom-here").click()
    tab.opened.settle()
    t0, t1 = tab.shown()
    assert t1 - t0 == pytest.approx(span / 1000, abs=0.01)


def test_an_edge_of_the_area_moves(timeline: Timelines) -> None:
    tab = timeline()
    tab.mark(tab.stream, 500, 9000)
    tab.frame.get_by_test_id("area-name").first.wait_for()
    x, y = tab.at(tab.stream, 9000)
    tab.page.mouse.move(x, y)
    tab.page.mouse.down()
    tab.page.mouse.move(tab.at(tab.stream, 4250)[0], y, steps=3)
    tab.page.mouse.up()
    tab.frame.locator("[data-testid=area-count][data-value='1']").wait_for()
    assert tab.opened.number("area-busy") == 3_000_000


def test_cursors_by_key_measure(timeline: Timelines) -> None:
    tab = timeline()
    tab.opened.settle()
    tab.canvas.focus()
    for t in (1000, 4000):
        tab.page.mouse.move(*tab.at(tab.stream, t))
        tab.page.keyboard.press("m")
    tab.opened.expect("said").to_contain_text("from the first")
    tab.opened.settle()
    assert tab.opened.number("area-span") == pytest.approx(3_000_000, rel=0.02)
    tab.key("Escape")
    tab.frame.get_by_test_id("area-span").wait_for(state="detached")


def test_the_selection_becomes_an_area(timeline: Timelines) -> None:
    tab = timeline()
    tab.click(tab.stream, 2000)
    tab.selected("gemm")
    tab.key("r")
    tab.opened.settle()
    assert tab.opened.number("area-span") == tab.opened.number("area-busy") == 3_000_000


def test_an_area_opens_its_steps(timeline: Timelines) -> None:
    tab = timeline()
    tab.mark(tab.stream, 1000, 12_000)
    tab.frame.get_by_test_id("area-name").first.wait_for()
    tab.frame.get_by_test_id("open-steps").click()
    chip = tab.frame.get_by_test_id("among-marked")
    expect(chip).to_contain_text("2 steps")
    expect(tab.frame.get_by_test_id("step-label")).to_have_count(2)
    chip.click()
    tab.frame.get_by_test_id("step-label").nth(2).wait_for()


def test_a_hostile_name_is_shown_as_it_is(timeline: Timelines) -> None:
    tab = timeline("odd-name")
    tab.click(tab.thread, 500, depth=1)
    name = tab.frame.get_by_test_id("slice-name")
    expect(name).to_have_text(HOSTILE)
    assert name.evaluate("e => getComputedStyle(e).unicodeBidi") == "isolate"


def test_what_a_device_shows_of_its_host_is_the_slice_of_the_thread(timeline: Timelines) -> None:
    tab = timeline()
    host = tab.frame.get_by_test_id("lane-launches")
    expect(host).to_contain_text("Host launches")
    tab.click(host, 225, depth=1)
    tab.selected("cudaLaunchKernel")
    tab.frame.get_by_test_id("connection-run").get_by_text("gemm").wait_for()
    tab.frame.get_by_test_id("slice-details").get_by_text("thread 4000").first.wait_for()
