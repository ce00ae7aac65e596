"""The cards of the Summary tab and the Step breakdown: what they show is what the command prints, in both themes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.builders import TraceBuilder

pytest.importorskip("playwright")
pytestmark = pytest.mark.browser

Open = Callable[..., Any]
Summary = Callable[[str], dict[str, Any]]


def rank_trace() -> TraceBuilder:
    """Three steps of 10 ms, the last one of 16 ms.

    In each: one call of a module, which allocates and launches a matrix product of 3 ms; an all-reduce of 3 ms, of
    which 1 ms is hidden by it; and a wait of 2 ms for the value of a tensor. The product of the last step takes 9 ms.
    """
    trace = TraceBuilder(rank=0, world_size=2)
    for i in range(3):
        at, longer = i * 10_000, 6000 if i == 2 else 0
        trace.step(i, at, 10_000 + longer).python("nn.Module: Net_0", at + 100, 1000)
        trace.op("aten::mm", at + 200, 500, external_id=i + 1)
        trace.memory(at + 210, 3 << 20, device=0, total=(4 << 20)).memory(
            at + 9000, -(3 << 20), device=0, total=1 << 20
        )
        trace.launch(at + 250, 50, 10 * i + 1, external_id=i + 1)
        trace.kernel("gemm_bf16", at + 1000, 3000 + longer, correlation=10 * i + 1, external_id=i + 1)
        trace.launch(at + 800, 50, 10 * i + 2)
        collective = {"Collective name": "allreduce", "In msg nelems": 1000, "dtype": "Float", "Group size": 2}
        trace.kernel("ncclDevKernel_AllReduce", at + 3000 + longer, 3000, 9, 10 * i + 2, **collective)
        trace.op("aten::item", at + 1200, 3000).runtime("cudaStreamSynchronize", at + 2000, 2000)
    return trace


@pytest.fixture(scope="module", autouse=True)
def _ranks(logdir: Path) -> None:
    rank_trace().write(logdir / "ranks" / "rank0.pt.trace.json")


def open_ranks(open_page: Open, address: str, **state: str) -> Any:
    page = open_page(address, run="ranks", **state)
    page.frame.get_by_test_id("gpu-steps" if "tab" not in state else "step-bars").first.wait_for()
    return page


def test_use_idle_time_and_precision_of_the_gpu(open_page: Open, address: str, summary: Summary) -> None:
    page = open_ranks(open_page, address)
    (worker,) = summary("ranks")["workers"]
    (gpu,) = worker["gpu"]
    assert page.number("gpu-steps") == gpu["utilization_steps"] == pytest.approx((3 * 5 + 6) / 36)
    assert page.number("gpu-window") == gpu["utilization_window"]
    assert gpu["occupancy"] is None
    assert page.text("gpu-occupancy") == "not measured"
    (idle,) = worker["idle"]["devices"]
    assert page.number("gpu-idle") == idle["idle_ns"] / idle["span_ns"]
    # Two gaps of 5 ms; the next launches come 250 us into the step, 4.25 ms after the last work ended.
    assert page.number("idle-host_wait_ns") == idle["host_wait_ns"] == 2 * 5_000_000
    assert page.number("idle-busy_ns") == idle["busy_ns"] == (3 * 5 + 6) * 1_000_000
    assert page.number("precision-bf16") == worker["precision_ns"]["bf16"] == (3 * 3 + 6) * 1_000_000


def test_communication_and_synchronisation(open_page: Open, address: str, summary: Summary) -> None:
    page = open_ranks(open_page, address)
    (worker,) = summary("ranks")["workers"]
    assert page.number("communication-exposed") == worker["communication"]["exposed_ns"] == 3 * 2_000_000
    assert page.number("communication-overlapped") == worker["communication"]["overlapped_ns"] == 3 * 1_000_000
    assert page.number("exposed-communication") == pytest.approx(6 / 36)
    rows = page.frame.get_by_test_id("collectives").locator("tbody tr")
    assert rows.count() == 1
    assert rows.first.inner_text().split()[0] == worker["communication"]["collectives"][0]["name"]
    calls = page.text("sync-calls")
    assert "cudaStreamSynchronize" in calls
    assert "aten::item" in calls
    assert "6.00 ms" in calls


def test_memory_and_modules(open_page: Open, address: str, summary: Summary) -> None:
    page = open_ranks(open_page, address)
    (worker,) = summary("ranks")["workers"]
    assert page.number("peak-memory") == worker["memory"][0]["peak_bytes"] == 4 << 20
    assert "4.00 MiB" in page.text("memory-card")
    page.frame.get_by_role("button", name="Modules", exact=True).click()
    names = page.frame.get_by_test_id("module-name")
    names.first.wait_for()
    assert sorted(names.all_inner_texts()) == ["Net_0", "outside of modules"]
    net = next(m for m in worker["modules"] if m["path"] == ["Net_0"])
    net_row = names.all_inner_texts().index("Net_0")
    assert f"{net['forward_device_total_ns']:,} ns" == page.hint("module-device-total", net_row)


def test_how_far_the_numbers_can_be_trusted(open_page: Open, address: str, summary: Summary) -> None:
    page = open_ranks(open_page, address)
    assert page.text("trust") == summary("ranks")["workers"][0]["trust"]["sentence"]


def test_a_file_is_no_job_that_has_finished(open_page: Open, address: str) -> None:
    assert open_ranks(open_page, address).text("freshness").startswith("file of 20")


def test_the_overhead_of_the_profiler(open_page: Open, address: str, summary: Summary) -> None:
    """A training too short to sample the hooks has no ratio, but its stalls are known; a file tells neither."""
    overhead = summary("torch")["workers"][0]["overhead"]
    page = open_page(address, run="torch")
    page.frame.get_by_test_id("overhead").wait_for()
    if overhead["ratio"] is not None:
        assert page.number("overhead") == overhead["ratio"]
    assert f"Stalls: {overhead['stall_ns']:,} ns" in hint_of_tile(page, "overhead")
    file = open_ranks(open_page, address)
    assert file.text("overhead") == "—"
    assert "a trace file does not tell it" in hint_of_tile(file, "overhead")


def hint_of_tile(page: Any, test_id: str) -> str:
    return page.frame.get_by_test_id(test_id).locator("..").get_attribute("title") or ""


def test_the_summary_of_a_run_asks_for_no_single_steps(open_page: Open, address: str) -> None:
    page = open_page(address, run="torch")
    asked: list[str] = []
    page.page.on("request", lambda request: asked.append(request.url))
    page.page.reload()
    page.frame.get_by_test_id("step-time-chart").wait_for()
    routes = {url.split("/data/plugin/stepscope/")[-1].split("?")[0] for url in asked}
    assert "steps/overview" in routes
    assert "steps" not in routes


def test_the_slowest_step_and_its_reason(open_page: Open, address: str) -> None:
    page = open_ranks(open_page, address, tab="steps", by="activity")
    text = page.text("slowest")
    assert "step 2 with 16.0 ms, 1.60" in text
    assert "Kernel takes 6.00 ms more than usual" in text
    page.frame.get_by_test_id("slowest").get_by_role("button").click()
    page.frame.get_by_test_id("timeline-range").wait_for()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_theme_is_that_of_tensorboard(open_page: Open, address: str, theme: str) -> None:
    """TensorBoard keeps the choice of its theme menu in the browser's storage."""
    page = open_page(address)
    page.page.add_init_script(
        f"localStorage.setItem('_tb_global_settings', {json.dumps(json.dumps({'theme': theme}))})"
    )
    page.page.reload()
    page.frame.get_by_test_id("step-p50").wait_for()
    assert page.frame.locator("html").get_attribute("data-theme") == theme
