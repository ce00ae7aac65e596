"""Verdict and findings on the Summary tab: those of the command, their evidence, and the way into the timeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.browser.conftest import Opened

Open = Callable[..., "Opened"]
Summary = Callable[[str], dict[str, Any]]


def test_the_page_tells_what_the_command_tells(open_page: Open, address: str, summary: Summary) -> None:
    expected = summary("gpu")
    page = open_page(address, run="gpu")
    verdict = page.frame.get_by_test_id("verdict")
    verdict.wait_for()
    assert expected["verdict"]["sentence"] in verdict.inner_text()
    others = [f for f in expected["findings"] if f["rule"] != expected["verdict"]["rule"]]
    shown = page.frame.locator(".finding")
    assert [row.get_attribute("data-severity") for row in shown.all()] == [f["severity"] for f in others]
    assert page.frame.locator(".finding-message").all_inner_texts() == [f["message"] for f in others]


def test_the_verdict_opens_to_its_evidence(open_page: Open, address: str, summary: Summary) -> None:
    expected = summary("gpu")
    (finding,) = (f for f in expected["findings"] if f["rule"] == expected["verdict"]["rule"])
    page = open_page(address, run="gpu")
    verdict = page.frame.get_by_test_id("verdict")
    more = page.frame.get_by_test_id("verdict-more")
    more.press("Enter")
    assert more.get_attribute("aria-expanded") == "true"
    assert verdict.locator(".fixes li").all_inner_texts() == finding["fix"]
    told = [cell.get_attribute("data-value") for cell in verdict.locator(".evidence td").all()]
    assert str(next(iter(finding["evidence"].values()))) in told


def test_a_finding_opens_by_key_and_leads_to_the_kernel(open_page: Open, address: str, summary: Summary) -> None:
    (finding,) = (f for f in summary("gpu")["findings"] if f["rule"] == "dominant_kernel")
    page = open_page(address, run="gpu")
    row = page.frame.get_by_test_id("finding-dominant_kernel")
    head = row.get_by_role("button").first
    head.focus()
    head.press("Enter")
    assert head.get_attribute("aria-expanded") == "true"
    shares = [cell.get_attribute("data-value") for cell in row.locator(".evidence td").all()]
    assert str(finding["evidence"]["share_ratio"]) in shares
    row.get_by_test_id("place").first.click()
    assert page.frame.get_by_test_id("slice-name").inner_text() == finding["evidence"]["kernel"]


def test_throughput_of_a_training_with_a_data_loader(open_page: Open, address: str, summary: Summary) -> None:
    page = open_page(address, run="torch")
    (worker,) = summary("torch")["workers"]
    assert worker["throughput"]["batch_size"] == 32
    assert page.number("throughput") == worker["throughput"]["samples_per_s"]
