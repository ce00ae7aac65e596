"""What leaves the Timeline tab, an address, files, Perfetto, and what it is without a pointer."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.opened import expect
from tests.browser.timeline_page import TimelinePage, Timelines

pytest.importorskip("playwright")
pytestmark = pytest.mark.browser

Open = Callable[..., Any]


# -- sharing ----------------------------------------------------------------------------------------


def test_the_address_reopens_everything(timeline: Timelines, open_page: Open) -> None:
    tab = timeline()
    tab.stream.hover()
    tab.stream.get_by_test_id("pin-lane").click()
    tab.frame.get_by_test_id("coloring").select_option("name")
    tab.key("x")
    tab.mark(tab.stream, 300, 10_000)
    tab.frame.get_by_test_id("area-name").first.wait_for()
    tab.frame.get_by_test_id("zoom-here").click()
    tab.frame.get_by_test_id("lane-filter").fill("stream")
    tab.frame.get_by_test_id("timeline-search").fill("relu")
    tab.frame.get_by_test_id("search-hits").get_by_text("3", exact=True).wait_for()
    tab.opened.settle()
    other = open_page("about:blank").page
    other.goto(tab.page.url)
    frame = other.frame_locator("iframe")
    frame.get_by_test_id("pinned-lane").get_by_text("stream 7").wait_for()
    frame.get_by_test_id("search-hits").get_by_text("3", exact=True).wait_for()
    expect(frame.get_by_test_id("coloring")).to_have_value("name")
    expect(frame.get_by_test_id("arrows")).to_have_attribute("aria-pressed", "true")
    expect(frame.get_by_test_id("lane-filter")).to_have_value("stream")
    expect(frame.get_by_test_id("timeline-search")).to_have_value("relu")
    frame.get_by_test_id("area-tab").click()
    expect(frame.get_by_test_id("area-busy")).to_have_attribute("data-value", "7000000")
    shown = frame.get_by_test_id("timeline-range")
    assert float(shown.get_attribute("data-t1") or 0) / 1000 == pytest.approx(tab.shown()[1], abs=0.01)


def download(tab: TimelinePage, item: str, folder: Path) -> Path:
    tab.key("e")
    with tab.page.expect_download() as waiting:
        tab.frame.get_by_test_id(item).click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def test_exports_of_the_marked_part(timeline: Timelines, tmp_path: Path) -> None:
    tab = timeline()
    tab.mark(tab.stream, 300, 10_000)
    tab.frame.get_by_test_id("area-name").first.wait_for()
    trace = download(tab, "export-trace", tmp_path)
    events = json.loads(trace.read_text())["traceEvents"]
    assert [e["name"] for e in events if e["ph"] == "X"] == ["gemm", "relu"]
    with download(tab, "export-csv", tmp_path).open() as file:
        assert [(r["name"], r["duration_ns"]) for r in csv.DictReader(file)] == [
            ("gemm", "3000000"),
            ("relu", "4000000"),
        ]
    picture = download(tab, "export-png", tmp_path).read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(picture[16:20], "big") > 2000  # two pixels for each of the screen, and the names


PERFETTO = """<script>
addEventListener("message", (event) => {
  if (event.data === "PING") event.source.postMessage("PONG", "*");
  else document.title = new TextDecoder().decode(event.data.perfetto.buffer);
});
</script>"""


def test_perfetto_gets_the_trace(timeline: Timelines) -> None:
    tab = timeline(own=True)
    tab.page.context.route("https://ui.perfetto.dev/", lambda r: r.fulfill(content_type="text/html", body=PERFETTO))
    tab.key("e")
    with tab.page.context.expect_page() as waiting:
        tab.frame.get_by_test_id("export-perfetto").click()
    page = waiting.value
    page.wait_for_function("document.title.length > 100")
    names = [e["name"] for e in json.loads(page.title())["traceEvents"] if e["ph"] == "X"]
    assert names.count("gemm") == 3


def test_without_perfetto_the_page_says_what_to_do(timeline: Timelines) -> None:
    tab = timeline(own=True)
    tab.page.context.route("https://ui.perfetto.dev/", lambda r: r.abort())
    tab.key("e")
    with tab.page.context.expect_page() as waiting:
        tab.frame.get_by_test_id("export-perfetto").click()
    waiting.value.close()
    tab.frame.get_by_role("alert").get_by_text("Save the trace here").wait_for()


# -- without a pointer ------------------------------------------------------------------------------


def test_every_key_of_the_help_is_one(timeline: Timelines) -> None:
    """The help names no key that does nothing: each is known to the page, which then takes it."""
    tab = timeline()
    tab.key("?")
    dialog = tab.frame.get_by_role("dialog")
    dialog.wait_for()
    keys = {k for k in dialog.locator("kbd").all_inner_texts() if k[:3] not in ("Alt", "Shi") and k not in "+-*"}
    assert len(keys) >= 34
    tab.page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    names = {"↑": "ArrowUp", "↓": "ArrowDown", "Esc": "Escape"}
    for key in sorted(keys - {"?"}):
        taken = tab.canvas.evaluate(
            """(canvas, key) => {
                canvas.focus();
                const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
                canvas.dispatchEvent(event);
                canvas.dispatchEvent(new KeyboardEvent("keyup", { key, bubbles: true }));
                return event.defaultPrevented;
            }""",
            names.get(key, key if len(key) > 1 else key.lower()),
        )
        assert taken, key


def test_the_slices_in_view_as_a_table(timeline: Timelines) -> None:
    tab = timeline()
    tab.opened.settle()
    tab.key("v")
    names = tab.frame.get_by_test_id("in-view-slice-name")
    names.first.wait_for()
    expect(names.first).to_have_text(re.compile(r"ProfilerStep#\d"))
    tab.opened.settle()
    longest = names.first.inner_text()
    tab.frame.get_by_test_id("in-view-slice").focus()
    tab.page.keyboard.press("ArrowDown")
    tab.page.keyboard.press("Enter")
    tab.selected(longest)
