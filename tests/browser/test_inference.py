"""Requests and batches: the cards show what the command prints, the tables have each of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.opened import expect
from tests.importers.xspace import PlaneBuilder, xspace

pytest.importorskip("playwright")
pytestmark = pytest.mark.browser

Open = Callable[..., Any]
Summary = Callable[[str], dict[str, Any]]
MS = 1_000_000_000  # in ps
START_NS = 1_771_595_639_000_000_000


def served() -> bytes:
    """Two batches, each of two requests of 100 ms: put into the queue after 10 and 20 ms, begun after 40, done after
    90; of the 50 ms that a batch takes, a kernel runs for 20. The batches have 6 items and 2 of padding."""
    host = PlaneBuilder("/host:CPU")
    for k in range(4):
        batch, nth = divmod(k, 2)
        at = 200 * batch
        host.line(k + 1, f"client {k}").event("request", at * MS, 100 * MS, request_id=17 + k)
        put = (at + 10 * (nth + 1)) * MS
        host.event("ScheduleOutputTask", put, MS, size=3, _pt=3, _p=70 + batch)
    host.line(9, "batch_threads")
    device = PlaneBuilder("/device:GPU:0").line(13, "Stream #13(Compute)")
    for batch in range(2):
        at = (200 * batch + 40) * MS
        host.event("ProcessBatch", at, 50 * MS, batch_size_before_padding=6, _ct=3, _c=70 + batch)
        host.event("ConcatInputTensors", at + MS, MS, batch_size_after_padding=8, padding_amount=2)
        host.event("cuLaunchKernel", at + 3 * MS, MS, correlation_id=batch + 1)
        device.event("sgemm", at + 10 * MS, 20 * MS, correlation_id=batch + 1)
    environment = PlaneBuilder("Task Environment", profile_start_time=START_NS, profile_stop_time=START_NS + 10**9)
    return xspace(host, device, environment)


@pytest.fixture(scope="module", autouse=True)
def _served(logdir: Path) -> None:
    (logdir / "served").mkdir()
    (logdir / "served" / "node.xplane.pb").write_bytes(served())


def test_cards_show_what_the_command_prints(open_page: Open, address: str, summary: Summary) -> None:
    page = open_page(address, run="served")
    (worker,) = summary("served")["workers"]
    found, batches = worker["inference"], worker["inference"]["batches"]
    page.frame.get_by_test_id("latency-parts").wait_for()
    for name in ("mean", "p50", "p90", "p99", "max"):
        assert page.number(f"latency-{name}") == found["latency_ns"][name] == 100_000_000
        assert page.number(f"batch-duration-{name}") == batches["duration_ns"][name] == 50_000_000
        assert page.number(f"batch-wait-{name}") == batches["wait_ns"][name]
    assert batches["wait_ns"]["mean"] == 25_000_000
    expected = {"host_before": 15, "batch_wait": 25, "batch": 30, "device": 20, "host_after": 10}
    told = {part["part"]: part["mean_ns"] for part in found["parts"] if part["mean_ns"]}
    assert told == {part: ms * 1_000_000 for part, ms in expected.items()}
    assert {part: page.number(f"part-{part}") for part in told} == told
    for figure, value, exact in (
        ("requests-per-s", found["requests_per_s"], 4 / 0.3),
        ("in-flight", found["in_flight"], 4 / 3),
        ("batches-per-s", batches["batches_per_s"], 2 / 0.25),
        ("batch-tasks", batches["tasks_mean"], 2),
        ("batch-size", batches["size_mean"], 6),
        ("batch-padded", batches["padded_mean"], 8),
        ("batch-padding", batches["padding_ratio"], 0.25),
        ("batch-device", batches["device_ns"], 20_000_000),
    ):
        assert page.number(figure) == value == pytest.approx(exact)
    # On top stands what such a run has, and nothing of steps that it does not have.
    assert page.number("tile-latency") == found["latency_ns"]["p50"]
    assert page.number("tile-requests") == found["count"] == 4
    assert page.number("tile-requests-per-s") == found["requests_per_s"]
    expect(
        page.frame.locator("[data-testid=step-p50], [data-testid=step-count], [data-testid=input-wait]")
    ).to_have_count(0)
    lines = _csv(page, "requests")
    rate, in_flight = found["requests_per_s"], found["in_flight"]
    assert lines[1] == "Latency" + ",100000000" * 5 + f",,,4,{rate},{in_flight},0"
    assert "Device,20000000,,,,,0.2,20000000,4,,," in lines
    duration, wait = _csv(page, "batches")[1:]
    assert duration == "Duration" + ",50000000" * 5 + ",2,8,2,6,8,0.25,20000000"
    assert wait.startswith("Wait of a task,25000000,")
    assert wait.endswith(",,,,,,,")


def _csv(page: Any, card: str) -> list[str]:
    page.frame.get_by_test_id(card).get_by_test_id("card-menu").click()
    with page.page.expect_download() as download:
        page.frame.get_by_test_id("card-csv").click()
    return Path(download.value.path()).read_text().splitlines()


def test_tables_have_each_request_and_batch(open_page: Open, address: str) -> None:
    page = open_page(address, run="served")
    page.frame.get_by_test_id("all-requests").click()
    ids = page.frame.locator("[data-testid=table-row] [data-key=id]")
    expect(ids).to_have_count(4)
    assert sorted(ids.all_inner_texts()) == ["17", "18", "19", "20"]
    page.frame.locator("#table-batches").click()
    expect(page.frame.locator("[data-testid=table-row] [data-key=name]")).to_have_text(["8 items"])
    expect(page.frame.locator("[data-testid=table-row] [data-key=padding_ratio]")).to_have_text(["25.0 %"])


def test_a_training_offers_no_table_of_requests(open_page: Open, address: str) -> None:
    page = open_page(address, run="gpu", tab="tables", table="requests")
    expect(page.frame.get_by_test_id("table-empty")).to_contain_text('stepscope.annotate("request")')
    page.frame.locator("#table-kernels").click()
    page.frame.get_by_test_id("table-row").first.wait_for()
    expect(page.frame.locator("#table-requests, #table-batches")).to_have_count(0)
