"""The plugin in a page of Chromium, and assertions that wait for what they assert.

A page is there long before its numbers are. What a test reads at once (``inner_text``, ``count``) must have been waited
for; everything else goes through ``expect``.
"""

from __future__ import annotations

import json
import os
import time
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from stepscope.runs import find_runs

if TYPE_CHECKING:
    from playwright.sync_api import FrameLocator, Locator, Page, Request, Response

#: Far above what a loaded machine needs: only a test that fails waits as long.
PATIENCE_MS = 180_000

#: Moments of ``settle`` that are longer than any pause of a page before it asks again for what is still being made.
_ASKS_AGAIN = 10

#: Takes the plugin's frame away before the address changes: while it lives it may still write to it.
_TAKE_AWAY = """async (hash) => {
  const frame = document.querySelector("iframe");
  const blank = new Promise((done) => frame.addEventListener("load", done, { once: true }));
  frame.contentWindow.location.replace("about:blank");
  await blank;
  localStorage.clear();
  history.replaceState(null, "", hash);
}"""

_LOAD_AGAIN = """() => {
  const frame = document.querySelector("iframe");
  frame.contentWindow.location.replace(frame.src);
}"""

#: Ends after every shorter timer that the page has set (none is as long as this), and after what they drew.
_A_MOMENT = """() => new Promise((done) =>
  setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 250))"""


def expect(locator: Locator) -> Any:
    from playwright.sync_api import expect

    expect.set_options(timeout=PATIENCE_MS)
    return expect(locator)


def hash_of(state: dict[str, str]) -> str:
    """The part of the address that holds the state of the page."""
    return "#stepscope" + "".join(f"&p.stepscope.{key}={quote(value, safe='')}" for key, value in state.items())


def wait_for_listing(address: str, run: str) -> None:
    """The server finds new runs in its own time, and what a page asks for before that is a 404. It may also have looked
    while only some of the workers were written: wait until it lists the run as it lies there."""
    from stepscope_tensorboard.listing import describe

    deadline = time.monotonic() + PATIENCE_MS / 1000
    while True:
        with urllib.request.urlopen(f"{address}/data/plugin/stepscope/runs") as answer:
            told = json.load(answer)
        there = [_outline(describe(r)) for r in find_runs(told["logdir"]) if r.id == run]
        if there == [_outline(one) for one in told["runs"] if one["id"] == run]:
            return
        assert time.monotonic() < deadline, f"the server does not list {run} as it is"
        time.sleep(0.1)


def _outline(run: dict[str, Any]) -> list[Any]:
    """What the listing must know of a run; a job that goes on has newer data than any listing."""
    return [not run["live"] and run["updated_ns"], [(worker["id"], worker["live"]) for worker in run["workers"]]]


class Opened:
    """The plugin in a page. ``problems`` collects what a console or a failed request said."""

    def __init__(self, page: Page) -> None:
        self.page = page
        if rate := os.environ.get("STEPSCOPE_SLOW_PAGE"):
            page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": float(rate)})
        self.problems: list[str] = []
        page.on("console", lambda m: self.problems.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: self.problems.append(str(e)))
        page.on("response", lambda r: self.problems.append(f"{r.status} {r.url}") if r.status >= 400 else None)
        self._under_way: set[Request] = set()
        self._asked = 0
        self._put_off: dict[str, int] = {}  # routes of what the server still makes: moments to wait for another answer
        page.on("request", self._on_request)
        page.on("response", self._on_response)
        page.on("requestfinished", lambda r: self._under_way.discard(r))
        page.on("requestfailed", lambda r: self._under_way.discard(r))

    def _on_request(self, request: Request) -> None:
        self._under_way.add(request)
        self._asked += 1

    def _on_response(self, response: Response) -> None:
        route = response.url.partition("?")[0]
        if response.status == 202:
            self._put_off[route] = _ASKS_AGAIN
        else:
            self._put_off.pop(route, None)

    def goto(self, address: str, state: dict[str, str]) -> None:
        """Open a TensorBoard with the plugin in it."""
        if "run" in state:
            wait_for_listing(address, state["run"])
        self.page.goto(f"{address}/{hash_of(state)}")

    def reopen(self, state: dict[str, str]) -> None:
        """Load the plugin anew in the TensorBoard that is open: a fifth of what loading TensorBoard too takes."""
        if "run" in state:
            at = urlsplit(self.page.url)
            wait_for_listing(f"{at.scheme}://{at.netloc}{at.path.rstrip('/')}", state["run"])
        self.page.mouse.move(0, 0)
        self.page.evaluate(_TAKE_AWAY, hash_of(state))
        self.problems.clear()
        self._under_way.clear()
        self._put_off.clear()
        self.page.evaluate(_LOAD_AGAIN)

    def settle(self) -> None:
        """Wait until all answers have come and are drawn: for what a canvas shows, which no locator can wait for."""
        for _ in range(PATIENCE_MS // 250):
            asked = self._asked
            was_quiet = not self._under_way  # else the last answer may have come when the moment was nearly over
            self.frame.locator("html").evaluate(_A_MOMENT)
            if was_quiet and self._asked == asked and not self._put_off:
                return
            self._put_off = {route: left - 1 for route, left in self._put_off.items() if left > 1}
        raise AssertionError(f"no answer to {[r.url for r in self._under_way]}, put off: {list(self._put_off)}")

    @property
    def frame(self) -> FrameLocator:
        return self.page.frame_locator("iframe[src*='stepscope'], iframe")

    def expect(self, test_id: str) -> Any:
        """To say what the first element of this id comes to show."""
        return expect(self.frame.get_by_test_id(test_id).first)

    def number(self, test_id: str) -> float:
        """The exact number behind a figure of the page; waits until it is there."""
        element = self.frame.get_by_test_id(test_id).and_(self.frame.locator("[data-value], [data-ns]")).first
        exact = element.get_attribute("data-value") or element.get_attribute("data-ns")
        assert exact is not None
        return float(exact)

    def text(self, test_id: str) -> str:
        return self.frame.get_by_test_id(test_id).first.inner_text()

    def hint(self, test_id: str, which: int = 0) -> str:
        """The tooltip of a cell, which tells the exact value."""
        return self.frame.get_by_test_id(test_id).nth(which).get_attribute("title") or ""
