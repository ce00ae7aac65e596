"""Search in the Timeline tab, and a lane of all ranks beside each other."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stepscope.schema import Kind
from tests.browser.opened import PATIENCE_MS
from tests.browser.timeline_page import HOSTILE, TimelinePage, Timelines
from tests.recorded import RecordedRun

pytest.importorskip("playwright")
pytestmark = pytest.mark.browser

Open = Callable[..., Any]

_VIEW_OF_RANK_1 = re.compile(r"/timeline/view\?.*worker=r1")


# -- search -----------------------------------------------------------------------------------------


def test_hits_are_counted_and_stepped_through(timeline: Timelines) -> None:
    tab = timeline()
    tab.key("/")
    tab.page.keyboard.type("GEMM|relu")
    hits = tab.frame.get_by_test_id("search-hits")
    hits.get_by_text("none").wait_for()
    tab.frame.get_by_label("Regular expression (RE2)").click()
    hits.get_by_text("6", exact=True).wait_for()
    tab.frame.get_by_test_id("timeline-search").press("Enter")
    hits.get_by_text("1 of 6").wait_for()
    tab.selected("gemm")
    tab.key("n")
    hits.get_by_text("2 of 6").wait_for()
    tab.selected("relu")
    tab.key("p")
    hits.get_by_text("1 of 6").wait_for()
    tab.frame.get_by_label("Match case").click()
    hits.get_by_text("3", exact=True).wait_for()


def test_hits_of_a_running_job_grow_with_it(open_page: Open, timeline_site: str, logdir: Path) -> None:
    run = RecordedRun(logdir / "running", started_us=0)
    run.span(Kind.ANNOTATION, "augment", 10, 5).step(0, 0, 100).flush()
    tab = TimelinePage(open_page(timeline_site, run="running", tab="timeline", find="augment"))
    hits = tab.frame.get_by_test_id("search-hits")
    hits.get_by_text("1", exact=True).wait_for()
    tab.frame.get_by_test_id("timeline-search").press("Enter")
    hits.get_by_text("1 of 1").wait_for()
    run.span(Kind.ANNOTATION, "augment", 110, 5).step(1, 100, 100).flush()
    hits.get_by_text("1 of 2").wait_for()


def test_a_search_in_arguments(timeline: Timelines) -> None:
    tab = timeline(find="[[8", rules="a")
    tab.frame.get_by_test_id("search-hits").get_by_text("3", exact=True).wait_for()


def test_a_wrong_pattern_is_told(open_page: Open, timeline_site: str) -> None:
    opened = open_page(timeline_site, run="pair", tab="timeline", find="(", rules="r")
    opened.frame.get_by_test_id("search-hits").get_by_text("no regular expression").wait_for()
    # The server's answer 400, which a browser writes to the console too, is what is tested.
    opened.problems[:] = [p for p in opened.problems if "400" not in p]


def test_all_slices_of_one_name_stand_out(timeline: Timelines) -> None:
    tab = timeline()
    tab.click(tab.stream, 2000)
    tab.selected("gemm")
    tab.opened.settle()

    def looks(t_us: float) -> bytes:
        """A few pixels of the slice that runs then."""
        x, y = tab.at(tab.stream, t_us)
        return tab.page.screenshot(clip={"x": x - 4, "y": y - 4, "width": 8, "height": 8})

    hit, other = 11_500, 16_500  # gemm and relu of the next step
    before = looks(hit), looks(other)
    tab.key("h")
    tab.frame.get_by_test_id("search-hits").get_by_text("3", exact=True).wait_for()
    tab.opened.expect("highlight").to_have_attribute("aria-pressed", "true")
    tab.opened.settle()
    assert (looks(hit) == before[0], looks(other) == before[1]) == (True, False)  # the others are dimmed
    tab.key("h")
    tab.frame.get_by_test_id("search-hits").wait_for(state="detached")


# -- ranks ------------------------------------------------------------------------------------------


def test_a_lane_of_all_ranks_aligned_by_step(timeline: Timelines) -> None:
    tab = timeline()
    tab.stream.hover()
    tab.stream.get_by_test_id("compare-lane").click()
    peers = tab.frame.get_by_test_id("pinned-lane")
    tab.frame.get_by_text("Rank 1").first.wait_for()
    tab.opened.settle()
    # Step 6 begins at 10 ms here and 13 ms on rank 1: aligned, its gemm [14, 17) lies at [11, 14) too.
    tab.opened.expect("compare-field").to_contain_text("at step 6")
    tab.click(peers.nth(2), 13_500)
    tab.selected("gemm")
    tab.click(peers.nth(2), 14_200)  # the next one begins at 14.5
    tab.frame.get_by_test_id("slice-name").wait_for(state="detached")
    tab.click(peers.nth(2), 13_500)
    tab.frame.get_by_test_id("open-peer").click()
    tab.frame.get_by_test_id("worker-picker").get_by_text("Rank 1").wait_for()
    tab.selected("gemm")


def test_a_run_of_one_worker_has_nothing_to_compare(timeline: Timelines) -> None:
    tab = timeline("odd-name")
    tab.click(tab.thread, 500, 1)
    tab.selected(HOSTILE)
    tab.key("o")
    tab.frame.get_by_test_id("said").get_by_text("This run has one worker").wait_for(state="attached")
    assert tab.frame.get_by_test_id("pinned-lane").count() == 0


def test_ranks_aligned_by_clock(timeline: Timelines) -> None:
    """An answer that was asked for while the lanes were aligned otherwise is not drawn, however late it comes."""
    tab = timeline(own=True)
    held: list[Any] = []
    tab.page.route(_VIEW_OF_RANK_1, lambda route: route.continue_() if held else held.append(route))
    tab.stream.hover()
    tab.stream.get_by_test_id("compare-lane").click()
    while not held:
        tab.page.wait_for_timeout(20)
    with tab.page.expect_response(_VIEW_OF_RANK_1, timeout=PATIENCE_MS):
        tab.frame.get_by_role("button", name="by clock").click()
    held[0].continue_()
    peers = tab.frame.get_by_test_id("pinned-lane")
    tab.frame.get_by_text("Rank 1").first.wait_for()
    tab.click(peers.nth(2), 16_800)
    tab.selected("gemm")
    tab.frame.get_by_role("button", name="End", exact=True).click()
    peers.first.wait_for(state="detached")
