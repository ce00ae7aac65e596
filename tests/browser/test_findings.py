"""Verdict and findings on the Summary tab: those of the command, their evidence, and the way into the timeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.browser.opened import Opened, expect

Open = Callable[..., Opened]
Summary = Callable[[str], dict[str, Any]]


def test_the_page_tells_what_the_command_tells(open_page: Open, address: str, summary: Summary) -> None:
    expected = summary("gpu")
    page = open_page(address, run="gpu")
    verdict = page.frame.get_by_test_id("verdict")
    expect(verdict).to_contain_text(expected["verdict"]["sentence"])
    others = [f for f in expected["findings"] if f["rule"] != expected["verdict"]["rule"]]
    shown = page.frame.locator(".finding")
    expect(page.frame.locator(".finding-message")).to_have_text([f["message"] for f in others])
    assert [row.get_attribute("data-severity") for row in shown.all()] == [f["severity"] for f in others]


def test_the_verdict_opens_to_its_evidence(open_page: Open, address: str, summary: Summary) -> None:
    expected = summary("gpu")
    (finding,) = (f for f in expected["findings"] if f["rule"] == expected["verdict"]["rule"])
    page = open_page(address, run="gpu")
    verdict = page.frame.get_by_test_id("verdict")
    more = page.frame.get_by_test_id("verdict-more")
    more.press("Enter")
    expect(more).to_have_attribute("aria-expanded", "true")
    expect(verdict.locator(".fixes li")).to_have_text(finding["fix"])
    told = [cell.get_attribute("data-value") for cell in verdict.locator(".evidence td").all()]
    assert str(next(iter(finding["evidence"].values()))) in told


def test_a_finding_opens_by_key_and_leads_to_the_kernel(open_page: Open, address: str, summary: Summary) -> None:
    (finding,) = (f for f in summary("gpu")["findings"] if f["rule"] == "dominant_kernel")
    page = open_page(address, run="gpu")
    row = page.frame.get_by_test_id("finding-dominant_kernel")
    head = row.get_by_role("button").first
    head.focus()
    head.press("Enter")
    expect(head).to_have_attribute("aria-expanded", "true")
    row.locator(".evidence td").first.wait_for()
    shares = [cell.get_attribute("data-value") for cell in row.locator(".evidence td").all()]
    assert str(finding["evidence"]["share_ratio"]) in shares
    page.page.wait_for_url("**finding=dominant_kernel*")
    page.page.reload()  # a link leads to the open finding
    expect(head).to_have_attribute("aria-expanded", "true")
    row.get_by_test_id("place").first.click()
    page.expect("slice-name").to_have_text(finding["evidence"]["kernel"])


def test_throughput_of_a_training_with_a_data_loader(open_page: Open, address: str, summary: Summary) -> None:
    page = open_page(address, run="torch")
    (worker,) = summary("torch")["workers"]
    assert worker["throughput"]["batch_size"] == 32
    assert page.number("throughput") == worker["throughput"]["samples_per_s"]
    assert page.number("job-initialisation_ns") == worker["job"]["initialisation_ns"]
    assert page.number("job-steps_ns") == worker["job"]["steps_ns"]
