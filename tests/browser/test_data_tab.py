"""The Data tab: what was captured, in which files, and what every number means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.opened import expect


@pytest.fixture
def tab(open_page: Callable[..., Any], address: str) -> Any:
    it = open_page(address, run="torch", tab="data")
    it.frame.get_by_test_id("captured-row").first.wait_for()
    return it


def test_what_was_captured_and_the_files(tab: Any, summary: Callable[[str], Any]) -> None:
    steps = len(summary("torch")["workers"][0]["steps"])
    rows = tab.frame.get_by_test_id("captured-row")
    expect(rows.first).to_contain_text(f"({steps})")
    expect(rows).to_have_count(3)  # always on, a window, the monitor
    expect(tab.frame.get_by_test_id("file-row").filter(has_text="worker.json")).to_have_count(1)


def test_definitions_are_found_by_words(tab: Any) -> None:
    tab.frame.get_by_test_id("definition-count").wait_for()
    tab.frame.get_by_test_id("definition-search").fill("window effect ratio")
    found = tab.frame.locator(".definitions[open]")
    expect(found).to_have_count(1)
    expect(found).to_contain_text("after a deep window than before")
    tab.frame.get_by_test_id("definition-search").fill("no such words")
    tab.expect("definition-count").to_contain_text("No definition")


def test_the_text_for_a_report_names_no_host(open_page: Callable[..., Any], address: str) -> None:
    it = open_page(address, own=True, run="torch", tab="data")
    it.page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    it.frame.get_by_test_id("copy-report").click()
    it.frame.get_by_text("Copied.").wait_for()
    text = it.page.evaluate("navigator.clipboard.readText()")
    assert "## Captured\n- always on:" in text
    assert "- stepscope: " in text
    assert "/" not in text.split("## Files")[0].split("## Options")[0]
