"""Answers that come after the user has gone on: none is drawn, and none leads elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.opened import Opened, expect
from tests.browser.timeline_page import TimelinePage, Timelines

pytest.importorskip("playwright")
pytestmark = pytest.mark.browser


class Held:
    """The first answer of a route, kept from the page until ``release``."""

    def __init__(self, page: Any, route: str) -> None:
        self._page = page
        self._routes: list[Any] = []
        page.route(re.compile(route), self._on_route)

    def _on_route(self, route: Any) -> None:
        if self._routes:
            route.continue_()
        else:
            self._routes.append(route)

    def wait(self) -> None:
        while not self._routes:
            self._page.wait_for_timeout(20)

    def release(self) -> None:
        self._routes[0].continue_()


def _select(tab: TimelinePage, t_us: float, name: str) -> None:
    tab.click(tab.stream, t_us)
    tab.selected(name)


def test_a_slice_that_is_selected_no_more(timeline: Timelines) -> None:
    tab = timeline(own=True)
    _select(tab, 2000, "gemm")
    gemm, relu = tab.at(tab.stream, 2000), tab.at(tab.stream, 6000)
    held = Held(tab.page, "/timeline/slice")
    tab.page.mouse.click(*relu)
    held.wait()
    tab.page.mouse.click(*gemm)
    held.release()
    tab.opened.settle()
    tab.selected("gemm")


def test_the_next_slice_of_one_that_is_selected_no_more(timeline: Timelines) -> None:
    tab = timeline(own=True)
    _select(tab, 2000, "gemm")
    relu = tab.at(tab.stream, 16_000)
    held = Held(tab.page, "/timeline/neighbour")
    tab.key(".")
    held.wait()
    tab.page.mouse.click(*relu)
    tab.selected("relu")
    details = tab.frame.get_by_test_id("slice-details")
    row = details.get_attribute("data-row")
    held.release()
    tab.opened.settle()
    assert details.get_attribute("data-row") == row  # not the relu that follows gemm


def test_hits_of_an_earlier_search(timeline: Timelines) -> None:
    tab = timeline("crowd", own=True, find="work")
    hits = tab.frame.get_by_test_id("search-hits")
    hits.get_by_text("12,000", exact=True).wait_for()
    held = Held(tab.page, r"/timeline/search\?.*text=work&.*offset=[1-9]")
    field = tab.frame.get_by_test_id("timeline-search")
    field.press("Shift+Enter")  # the last hit is on another page
    held.wait()
    field.fill("work 1199")
    hits.get_by_text("11", exact=True).wait_for()  # 1199 and 11990 to 11999
    held.release()
    tab.opened.settle()
    expect(hits).to_have_text("11")


def test_arrows_of_an_earlier_view(timeline: Timelines) -> None:
    tab = timeline(own=True)
    _select(tab, 2000, "gemm")
    held = Held(tab.page, "/timeline/arrows")
    tab.key("x")
    held.wait()
    tab.key("x")
    tab.key("f")
    tab.key("x")
    arrows = tab.frame.get_by_test_id("arrow-count")
    tab.opened.settle()
    shown = arrows.get_attribute("data-value")
    held.release()
    tab.opened.settle()
    assert (arrows.get_attribute("data-value"), shown) == (shown, "2")  # 6 in the whole trace


def test_a_place_that_is_found_after_the_page_was_left(open_page: Callable[..., Opened], address: str) -> None:
    page = open_page(address, own=True, run="gpu")
    row = page.frame.get_by_test_id("finding-dominant_kernel")
    row.get_by_role("button").first.press("Enter")
    held = Held(page.page, "/timeline/find")
    row.get_by_test_id("place").first.click()
    held.wait()
    page.frame.get_by_role("tab", name="Tables").click()
    held.release()
    page.settle()
    expect(page.frame.get_by_role("tab", name="Tables")).to_have_attribute("aria-selected", "true")
