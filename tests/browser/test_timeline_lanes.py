"""The lanes of the Timeline tab and how one moves among them, in a real Chromium."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.opened import PATIENCE_MS, Opened, expect
from tests.browser.timeline_page import HOSTILE, Timelines

pytest.importorskip("playwright")
pytestmark = pytest.mark.browser


# -- lanes ------------------------------------------------------------------------------------------


def test_idle_threads_are_put_away_with_their_number(timeline: Timelines) -> None:
    tab = timeline("idle")
    expect(tab.lanes()).to_have_count(4)  # host, process, the busy thread, the row for the others
    tab.frame.get_by_test_id("lane-more").get_by_text("30 idle threads").click()
    tab.frame.get_by_text("thread 100005").first.wait_for()
    tab.key("i")
    tab.frame.get_by_test_id("lane-more").wait_for()
    tab.opened.expect("idle-toggle").to_contain_text("30 idle threads hidden")


def test_a_search_hit_on_an_idle_thread_brings_it_back(timeline: Timelines) -> None:
    tab = timeline("idle", find="work 7")
    tab.frame.get_by_test_id("search-next").click()
    tab.selected("work 7")
    expect(tab.lanes().filter(has_text="100007")).to_have_count(1)


def test_twelve_thousand_lanes_scroll(timeline: Timelines) -> None:
    tab = timeline("crowd", idle="1")
    assert tab.lanes().count() < 80  # only those in view are elements
    tab.frame.locator(".labels-body").focus()
    tab.page.keyboard.press("End")
    tab.frame.locator(".label.active").wait_for()
    tab.opened.settle()
    assert tab.lanes().count() < 80
    last = tab.lanes().last
    box = last.bounding_box()
    assert box["y"] + box["height"] <= tab.canvas.bounding_box()["y"] + tab.canvas.bounding_box()["height"] + 1
    tab.frame.get_by_test_id("lane-filter").fill("100 777")
    tab.frame.get_by_text("thread 100777").first.wait_for()
    assert tab.lanes().count() < 80


def test_a_filter_leaves_the_lanes_with_its_words(timeline: Timelines) -> None:
    tab = timeline()
    before = tab.names()
    tab.key("l")
    tab.page.keyboard.type("stream 7")
    tab.frame.get_by_text("1 lane found").wait_for()
    assert [name for name in tab.names() if "stream" in name] == ["stream 7"]
    assert len(tab.names()) < len(before)
    tab.page.keyboard.press("Escape")
    expect(tab.lanes()).to_have_count(len(before))
    assert tab.names() == before


def test_the_curves_of_device_work(timeline: Timelines) -> None:
    """gemm runs [1, 4) ms of the first step; its record tells no grid."""
    tab = timeline()
    lane = tab.frame.get_by_test_id("lane-counter").first
    expect(lane).to_contain_text("Utilisation")
    expect(lane).to_contain_text("SM efficiency")  # named once they have come
    tab.opened.settle()
    tip = tab.frame.get_by_test_id("timeline-tip")
    tab.page.mouse.move(*tab.at(lane, 2500))
    expect(tip).to_contain_text("Busy100 %")
    expect(tip).to_contain_text("SM efficiency, estimated" + "not measured")
    expect(tip).to_contain_text("Share of the time in which a kernel runs")
    expect(tip).to_contain_text("tell every grid")
    tab.page.mouse.move(*tab.at(lane, 500))
    expect(tip).to_contain_text("Busy0 %")
    asked: set[str] = set()  # what the server still makes is asked for again
    tab.page.on("request", lambda request: asked.add(request.url) if "/timeline/curves?" in request.url else None)
    for _ in range(3):
        tab.page.mouse.wheel(0, -160)  # over the lanes; a key zooms for as long as it is held
    tab.opened.settle()
    assert 1 <= len(asked) <= 3  # once for each zoom at most
    expect(lane).to_contain_text("Busy")


def test_the_curve_of_a_counter_of_the_trace(timeline: Timelines) -> None:
    tab = timeline("odd-name")
    lane = tab.frame.get_by_test_id("lane-counter").filter(has_text="queue")
    expect(lane).to_contain_text(HOSTILE.split(",")[0])  # named once its values have come
    tab.opened.settle()
    tip = tab.frame.get_by_test_id("timeline-tip")
    for at, value in ((250, "-4.00"), (750, "8.00")):
        tab.page.mouse.move(*tab.at(lane, at))
        expect(tip).to_contain_text(f"{HOSTILE}{value}")
    expect(tip).to_contain_text("The value of each sample until the next one")


#: Counts the frames that are drawn of the timeline, each of which begins with its ground.
_COUNT_FRAMES = """(canvas) => {
  const fill = CanvasRenderingContext2D.prototype.fillRect;
  canvas.frames = 0;
  CanvasRenderingContext2D.prototype.fillRect = function (...args) {
    if (this.canvas === canvas && args[0] === 0 && args[1] === 0 && args[3] > canvas.clientHeight / 2) canvas.frames++;
    return fill.apply(this, args);
  };
}"""
_FRAMES_AFTER_A_MOMENT = "(canvas) => new Promise((done) => setTimeout(() => done(canvas.frames), 250))"


def test_slices_and_curves_of_a_view_are_drawn_at_once(timeline: Timelines) -> None:
    tab = timeline()
    tab.opened.settle()
    held: dict[str, list[Any]] = {"curves": [], "view": []}

    def hold(route: Any) -> None:
        name = route.request.url.partition("?")[0].rpartition("/")[2]
        held[name].append(route) if name in held else route.continue_()

    tab.page.route("**/timeline/*", hold)
    tab.canvas.evaluate(_COUNT_FRAMES)
    tab.page.mouse.move(*tab.at(tab.stream, 2500))
    for _ in range(2):
        tab.page.mouse.wheel(0, -160)
    scaled = tab.canvas.evaluate(_FRAMES_AFTER_A_MOMENT)
    assert scaled >= 1  # what is known is drawn meanwhile
    with tab.page.expect_request_finished(lambda request: "/timeline/curves?" in request.url, timeout=PATIENCE_MS):
        _let_go(held.pop("curves"))
    assert tab.canvas.evaluate(_FRAMES_AFTER_A_MOMENT) == scaled
    _let_go(held.pop("view"))
    tab.opened.settle()
    assert tab.canvas.evaluate(_FRAMES_AFTER_A_MOMENT) > scaled


def _let_go(routes: list[Any]) -> None:
    for route in routes:
        route.continue_()


def test_a_pinned_lane_stays_on_top(timeline: Timelines) -> None:
    tab = timeline()
    tab.stream.hover()
    tab.stream.get_by_test_id("pin-lane").click()
    pinned = tab.frame.get_by_test_id("pinned-lane")
    pinned.wait_for()
    expect(pinned).to_contain_text("stream 7")
    assert pinned.bounding_box()["y"] < tab.lanes().first.bounding_box()["y"]
    tab.click(pinned, 2000)
    tab.selected("gemm")
    pinned.get_by_test_id("pin-lane").click()
    pinned.wait_for(state="detached")


def test_lanes_are_moved_by_keys_and_by_dragging(timeline: Timelines) -> None:
    tab = timeline()
    tab.opened.settle()
    labels = tab.frame.locator(".labels-body")
    labels.focus()
    names = tab.names()
    thread, device = names.index("thread 4000 (python3)"), next(i for i, n in enumerate(names) if n.startswith("GPU"))
    assert thread < device
    for _ in range(thread):
        tab.page.keyboard.press("ArrowDown")
    tab.page.keyboard.press("Alt+ArrowDown")
    tab.opened.settle()
    assert tab.names().index("thread 4000 (python3)") > tab.names().index(names[device])
    box, above = tab.thread.bounding_box(), tab.frame.get_by_test_id("lane-device").first.bounding_box()
    tab.page.mouse.move(box["x"] + 60, box["y"] + 8)
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + 60, above["y"], steps=4)
    tab.page.mouse.up()
    tab.opened.settle()
    assert tab.names() == names


def test_a_lane_and_the_names_are_resized(timeline: Timelines) -> None:
    tab = timeline()
    tab.opened.settle()
    height = tab.thread.bounding_box()["height"]
    grip = tab.thread.get_by_test_id("lane-grip").bounding_box()
    tab.page.mouse.move(grip["x"] + 50, grip["y"] + 2)
    tab.page.mouse.down()
    tab.page.mouse.move(grip["x"] + 50, grip["y"] - 30, steps=3)
    tab.page.mouse.up()
    tab.frame.get_by_role("button", name="2 more rows").wait_for()
    assert tab.thread.bounding_box()["height"] == height - 2 * 17
    tab.frame.locator(".labels-body").focus()
    tab.page.keyboard.press("ArrowDown")
    tab.page.keyboard.press("ArrowDown")
    tab.page.keyboard.press("+")
    tab.frame.get_by_role("button", name="1 more row").wait_for()
    tab.page.keyboard.press("*")
    tab.frame.get_by_test_id("lane-rows").wait_for(state="detached")
    assert tab.thread.bounding_box()["height"] == height
    width = tab.canvas.bounding_box()["width"]
    tab.frame.get_by_test_id("names-edge").focus()
    tab.page.keyboard.press("ArrowRight")
    tab.opened.settle()
    assert tab.canvas.bounding_box()["width"] == width - 16


def test_rows_that_were_cut_are_told_and_come_into_view(timeline: Timelines) -> None:
    """The thread's rows: step, module, operator, launch."""
    tab = timeline()
    above, below = tab.frame.get_by_test_id("rows-above"), tab.frame.get_by_test_id("rows-below")
    tab.frame.locator(".labels-body").focus()
    for key in ("ArrowDown", "ArrowDown", "-", "-"):
        tab.page.keyboard.press(key)
    tab.frame.get_by_role("button", name="2 more rows").wait_for()
    expect(below).to_have_accessible_name("2 rows below those shown")
    expect(above).to_have_count(0)
    height = tab.thread.bounding_box()["height"]
    tab.frame.get_by_test_id("timeline-search").fill("aten::linear")
    tab.page.keyboard.press("Enter")  # before there is an answer
    tab.selected("aten::linear")  # with the row above it, the module's
    expect(above).to_have_accessible_name("1 row above those shown")
    assert tab.thread.bounding_box()["height"] == height
    tab.click(tab.thread, 500, depth=0)
    tab.selected("nn.Module: Net_0")
    above.click()
    expect(above).to_have_count(0)
    tab.click(tab.thread, 8000, depth=0)
    tab.selected("ProfilerStep#5")
    tab.page.mouse.move(*tab.at(tab.thread, 500))
    tab.page.keyboard.down("Alt")
    tab.page.mouse.wheel(0, 100)
    tab.page.mouse.wheel(0, 100)
    tab.page.keyboard.up("Alt")
    expect(above).to_have_accessible_name("2 rows above those shown")
    expect(below).to_have_count(0)
    # The lanes of a comparison show the same rows, and leave the buttons to the compared one.
    tab.frame.locator(".labels-body").focus()
    tab.page.keyboard.press("o")
    peers = tab.frame.get_by_test_id("pinned-lane")
    expect(peers).to_have_count(3)
    tab.click(peers.nth(2), 11_000, depth=1)
    tab.selected("nn.Module: Net_0")
    assert [peers.nth(i).bounding_box()["height"] for i in (1, 2)] == [height, height]
    expect(peers.get_by_test_id("lane-rows")).to_have_count(0)


# -- moves ------------------------------------------------------------------------------------------


def test_from_step_to_step(timeline: Timelines) -> None:
    tab = timeline()
    tab.key("g")
    tab.page.keyboard.type("6")
    tab.page.keyboard.press("Enter")
    tab.wait_for_range(10_000 - 1500, 20_000 + 1500)  # 15 % of room
    tab.key("]")
    tab.wait_for_range(30_000 - 13_000, 30_000)  # moved by a step as far as the trace goes
    field = tab.frame.get_by_test_id("step-field")
    expect(field).to_have_value("7")
    tab.key("[")
    expect(field).to_have_value("6")
    tab.key("g")
    tab.page.keyboard.type("99")
    tab.page.keyboard.press("Enter")
    expect(field).to_have_attribute("aria-invalid", "true")


def test_fit_the_selection_then_all(timeline: Timelines) -> None:
    tab = timeline()
    whole = tab.shown()
    tab.click(tab.stream, 2000)
    tab.selected("gemm")
    tab.key("f")
    tab.wait_for_range(1000 - 450, 4000 + 450)
    tab.key("f")
    tab.wait_for_range(*whole)


def test_the_next_slice_of_a_row(timeline: Timelines) -> None:
    tab = timeline()
    tab.click(tab.stream, 2000)
    tab.selected("gemm")
    tab.key(".")
    tab.selected("relu")
    tab.key(",")
    tab.selected("gemm")
    tab.key(",")
    tab.frame.get_by_test_id("said").get_by_text("This is the first slice of its row").wait_for(state="attached")


def test_two_fingers_zoom(timeline_site: str, chromium: Any) -> None:
    context = chromium.new_context(viewport={"width": 1200, "height": 800}, has_touch=True)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    opened = Opened(page)
    opened.goto(timeline_site, {"run": "pair", "tab": "timeline"})
    frame = opened.frame
    canvas = frame.get_by_test_id("timeline-canvas")
    canvas.wait_for()
    opened.settle()
    shown = frame.get_by_test_id("timeline-range")

    def width() -> float:
        return float(shown.get_attribute("data-t1") or 0) - float(shown.get_attribute("data-t0") or 0)

    before = width()
    box = canvas.bounding_box()
    session = context.new_cdp_session(page)
    middle, y = box["x"] + box["width"] / 2, box["y"] + 150

    def touch(type_: str, apart: float) -> None:
        points = [{"x": middle - apart, "y": y, "id": 0}, {"x": middle + apart, "y": y, "id": 1}]
        session.send("Input.dispatchTouchEvent", {"type": type_, "touchPoints": points if type_ != "touchEnd" else []})

    touch("touchStart", 50)
    for apart in (60, 80, 100):
        touch("touchMove", apart)
    touch("touchEnd", 0)
    opened.settle()
    assert width() == pytest.approx(before / 2, rel=0.1)
    context.close()
