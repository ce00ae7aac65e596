"""The cards of the Summary tab and the Step breakdown: what they show is what the command prints, in both themes."""

from __future__ import annotations

import base64
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stepscope.schema import Kind
from tests.browser.opened import expect
from tests.builders import TraceBuilder
from tests.recorded import RecordedRun

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


def counted_trace() -> TraceBuilder:
    """Two operators that launch a kernel each, in the order of the ranges of a range profiler."""
    trace = TraceBuilder()
    for i, name in enumerate(("gemm", "relu")):
        trace.op(f"aten::{name}", 100 * i, 50).launch(100 * i + 10, 5, i + 1)
        counted = {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 10 ** (3 + i)}
        trace.device_range(name, 100 * i, 100, **counted)
    return trace


@pytest.fixture(scope="module", autouse=True)
def _ranks(logdir: Path) -> None:
    rank_trace().write(logdir / "ranks" / "rank0.pt.trace.json")
    counted_trace().write(logdir / "counted" / "worker0.pt.trace.json")


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
    page.expect("gpu-occupancy").to_have_text("not measured")
    (idle,) = worker["idle"]["devices"]
    assert page.number("gpu-idle") == idle["idle_ns"] / idle["span_ns"]
    # Two gaps of 5 ms; the next launches come 250 us into the step, 4.25 ms after the last work ended.
    assert page.number("idle-host_wait_ns") == idle["host_wait_ns"] == 2 * 5_000_000
    assert page.number("idle-busy_ns") == idle["busy_ns"] == (3 * 5 + 6) * 1_000_000
    assert page.number("precision-bf16") == worker["precision_ns"]["bf16"] == (3 * 3 + 6) * 1_000_000


def test_units_of_the_device(open_page: Open, address: str, summary: Summary) -> None:
    page = open_ranks(open_page, address)
    (worker,) = summary("ranks")["workers"]
    units = {unit["unit"]: unit for unit in worker["device_units"]}
    card = page.frame.get_by_test_id("units-card")
    card.locator("tbody tr").first.wait_for()
    rows = card.locator("tbody tr")
    shown = {
        row.get_attribute("data-unit"): [cell.get_attribute("data-value") for cell in row.locator("td").all()]
        for row in rows.all()
    }
    assert list(shown) == [name for name, unit in units.items() if unit["achieved"] is not None]
    for name, values in shown.items():
        told = [units[name][field] for field in ("achieved", "peak", "utilization", "busy")]
        assert [None if value is None else float(value) for value in values] == told
    assert units["compute"]["utilization"] == worker["gpu"][0]["utilization_steps"]
    (collective,) = worker["communication"]["collectives"]
    assert units["interconnect"]["achieved"] == pytest.approx(collective["busbw_bytes_per_s"])
    expect(card.get_by_test_id("units-absent")).to_contain_text("Copies to device")


def test_hardware_counters(open_page: Open, address: str, summary: Summary) -> None:
    page = open_page(address, run="counted")
    (worker,) = summary("counted")["workers"]
    (counter,) = worker["device_counters"]["counters"]
    card = page.frame.get_by_test_id("counters-card")
    total = card.get_by_test_id("counters").locator("tbody td").first
    expect(total).to_have_attribute("data-value", str(round(counter["sum"])))
    assert counter["sum"] == 11_000
    card.get_by_role("button", name="By operator").click()
    expect(card.get_by_test_id("counters-operators").locator("tbody tr")).to_have_text(
        ["aten::gemm11.00 k", "aten::relu110.0 k"]
    )


def test_communication_and_synchronisation(open_page: Open, address: str, summary: Summary) -> None:
    page = open_ranks(open_page, address)
    (worker,) = summary("ranks")["workers"]
    assert page.number("communication-exposed") == worker["communication"]["exposed_ns"] == 3 * 2_000_000
    assert page.number("communication-overlapped") == worker["communication"]["overlapped_ns"] == 3 * 1_000_000
    assert page.number("exposed-communication") == pytest.approx(6 / 36)
    rows = page.frame.get_by_test_id("collectives").locator("tbody tr")
    expect(rows).to_have_count(1)
    told = worker["communication"]["collectives"][0]
    assert rows.first.inner_text().split()[0] == told["name"]
    shown = rows.first.locator("td[data-value]").evaluate_all("cells => cells.map((c) => Number(c.dataset.value))")
    assert shown == [told["slack_ns"], told["stall_ns"], pytest.approx(told["needed_busbw_bytes_per_s"])]
    for told in ("cudaStreamSynchronize", "aten::item", "6.00 ms"):
        page.expect("sync-calls").to_contain_text(told)


def test_memory_and_modules(open_page: Open, address: str, summary: Summary) -> None:
    page = open_ranks(open_page, address)
    (worker,) = summary("ranks")["workers"]
    assert page.number("peak-memory") == worker["memory"][0]["peak_bytes"] == 4 << 20
    page.expect("memory-card").to_contain_text("4.00 MiB")
    page.frame.get_by_role("button", name="Modules", exact=True).click()
    names = page.frame.get_by_test_id("module-name")
    expect(names).to_have_count(2)
    assert sorted(names.all_inner_texts()) == ["Net_0", "outside of modules"]
    net = next(m for m in worker["modules"] if m["path"] == ["Net_0"])
    net_row = names.all_inner_texts().index("Net_0")
    assert f"{net['forward_device_total_ns']:,} ns" == page.hint("module-device-total", net_row)


def test_modules_of_sampled_steps(open_page: Open, address: str, logdir: Path, summary: Summary) -> None:
    run = RecordedRun(logdir / "always-on", phases=["forward"])
    for i in range(4):
        run.span(Kind.MODULE, "head", i * 1000 + 100, 200 + 100 * i, i)
        run.span(Kind.MODULE, "Net", i * 1000, 800, i)
        run.step(i, i * 1000, 900, forward=(i * 1000, 800))
    run.end()
    page = open_page(address, run="always-on", list="modules")
    (worker,) = summary("always-on")["workers"]
    expect(page.frame.get_by_test_id("module-name")).to_have_text([m["name"] for m in worker["sampled_modules"]])
    assert page.hint("module-total", 1) == "350,000 ns"  # (200 + 300 + 400 + 500) / 4 us a step
    page.expect("sampled-basis").to_contain_text("4 sampled steps")


def test_how_far_the_numbers_can_be_trusted(open_page: Open, address: str, summary: Summary) -> None:
    page = open_ranks(open_page, address)
    page.expect("trust").to_have_text(summary("ranks")["workers"][0]["trust"]["sentence"])


def test_a_file_is_no_job_that_has_finished(open_page: Open, address: str) -> None:
    open_ranks(open_page, address).expect("freshness").to_have_text(re.compile("^file of 20"))


def test_the_overhead_of_the_profiler(open_page: Open, address: str, summary: Summary) -> None:
    """A training too short to sample the hooks has no ratio, but its stalls are known; a file tells neither."""
    overhead = summary("torch")["workers"][0]["overhead"]
    page = open_page(address, run="torch")
    page.frame.get_by_test_id("overhead").wait_for()
    if overhead["ratio"] is not None:
        assert page.number("overhead") == overhead["ratio"]
    assert f"Stalls: {overhead['stall_ns']:,} ns" in hint_of_tile(page, "overhead")
    file = open_ranks(open_page, address)
    file.expect("overhead").to_have_text("—")
    assert "a trace file does not tell it" in hint_of_tile(file, "overhead")


def hint_of_tile(page: Any, test_id: str) -> str:
    return page.frame.get_by_test_id(test_id).locator("..").get_attribute("title") or ""


def test_the_summary_of_a_run_asks_for_no_single_steps(open_page: Open, address: str) -> None:
    page = open_page(address, own=True, run="torch")
    asked: list[str] = []
    page.page.on("request", lambda request: asked.append(request.url))
    page.page.reload()
    page.frame.get_by_test_id("step-time-chart").wait_for()
    routes = [url.split("/data/plugin/stepscope/")[-1].split("?")[0] for url in asked]
    assert "steps/overview" in routes
    # What other tabs will need is read ahead later, when the page has rested.
    assert "steps" not in itertools.takewhile(lambda route: route != "ahead", routes)


def test_the_slowest_step_and_its_reason(open_page: Open, address: str) -> None:
    """It is compared with the usual one: its product takes 6 ms more, and with it the class and the step."""
    page = open_ranks(open_page, address, tab="steps", by="activity")
    page.expect("slowest").to_contain_text("step 2 with 16.0 ms, 1.60")
    page.expect("slowest").to_contain_text("Kernel takes 6.00 ms more than usual")
    page.frame.get_by_test_id("slowest").get_by_role("button", name="step 2").click()
    assert page.number("compare-duration") == 16_000_000
    assert page.number("compare-kernel") == 9_000_000
    row = page.frame.get_by_test_id("device-difference").locator("tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("gemm_bf16")
    expect(row).to_contain_text("+6.00 ms")
    page.page.wait_for_url("**p.stepscope.step=2**")
    page.page.go_back()
    expect(page.frame.get_by_test_id("step-detail")).to_have_count(0)
    page.page.go_forward()
    row.get_by_role("button").click()
    page.frame.get_by_test_id("slice-name").get_by_text("gemm_bf16", exact=True).wait_for()


def test_a_range_of_steps_counts_alone(open_page: Open, address: str, summary: Summary) -> None:
    page = open_ranks(open_page, address, tab="steps", by="activity", range="0-1")
    steps = summary("ranks")["workers"][0]["steps"][:2]
    assert page.number("range-part-kernel") == sum(step["activity_ns"]["kernel"] for step in steps) == 2 * 3_000_000
    assert page.number("range-time-max") == max(step["duration_ns"] for step in steps)
    expect(page.frame.get_by_test_id("step-id")).to_have_text(["0", "1"])
    page.frame.get_by_test_id("step-range").click()
    page.frame.locator("[data-testid=range-part-kernel][data-ns='15000000']").wait_for()
    assert page.number("range-part-kernel") == summary("ranks")["workers"][0]["activity_total_ns"]["kernel"]


def test_dragging_over_the_bars_selects_steps(open_page: Open, address: str) -> None:
    page = open_ranks(open_page, address, tab="steps", by="activity")
    page.settle()
    box = page.frame.get_by_test_id("step-bars").bounding_box()
    third = (box["width"] - 64) / 3
    page.page.mouse.move(box["x"] + 64 + third * 1.5, box["y"] + 60)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + 64 + third * 2.5, box["y"] + 60, steps=4)
    page.page.mouse.up()
    page.page.wait_for_url("**p.stepscope.range=1-2**")
    page.frame.get_by_test_id("step-range").get_by_text("2 steps selected").wait_for()


def test_a_long_run_sends_what_is_shown(open_page: Open, address: str, logdir: Path) -> None:
    """Of 20,000 steps the browser gets the bars of a screen and the rows in view, also at the end of the table."""
    run = RecordedRun(logdir / "long")
    for i in range(20_000):
        run.step(i, 1000 * i, 1000, forward=(1000 * i, 600))
    run.end(at_us=20_000_000)
    page = open_page(address, own=True, run="long", tab="steps")
    sent: list[str] = []
    page.page.on("response", lambda response: sent.append(response.url))
    page.frame.get_by_test_id("step-id").first.wait_for()
    table = page.frame.get_by_role("table", name="Steps")
    table.focus()
    table.evaluate("table => { table.scrollTop = table.scrollHeight }")
    page.frame.get_by_text("19999", exact=True).first.wait_for()
    pages = [url for url in sent if "/stepscope/steps?" in url]
    assert all("limit=200" in url for url in pages)
    assert 1 <= len(pages) < 12
    assert page.number("range-part-forward") == 20_000 * 600_000


def test_host_time_of_the_steps(open_page: Open, address: str, summary: Summary) -> None:
    page = open_ranks(open_page, address, tab="steps", by="activity", host="1")
    assert page.number("range-time-max") == max(s["host_ns"] for s in summary("ranks")["workers"][0]["steps"])


def test_modules_as_a_flame_graph(open_page: Open, address: str, summary: Summary) -> None:
    page = open_ranks(open_page, address, tab="steps")
    (net,) = (m for m in summary("ranks")["workers"][0]["modules"] if m["path"] == ["Net_0"])
    box = page.frame.get_by_test_id("module-flame").get_by_role("button", name="Net_0: 24.0 ms, 100 % of all modules")
    assert net["forward_device_total_ns"] == 24_000_000  # it launches the all-reduce too
    box.click()
    page.page.wait_for_url("**p.stepscope.module=**")
    page.frame.get_by_role("navigation", name="Module on show").get_by_text("Net_0").wait_for()


def test_the_top_kernels(open_page: Open, address: str, summary: Summary) -> None:
    """How many are shown apart is the reader's choice, and the others stay in the sum."""
    page = open_ranks(open_page, address, k="1")
    first, second = sorted(summary("ranks")["workers"][0]["kernels"], key=lambda k: -k["total_ns"])
    assert page.number("top-time-value") == first["total_ns"]
    assert page.number("top-time-rest") == second["total_ns"]
    assert page.number("top-count-value") + page.number("top-count-rest") == first["count"] + second["count"] == 6
    field = page.frame.get_by_test_id("top-k").first
    field.fill("2")
    field.press("Enter")
    page.page.wait_for_url("**p.stepscope.k=2**")
    page.frame.get_by_test_id("top-time-value").nth(1).wait_for()
    page.frame.get_by_test_id("top-time-rest").wait_for(state="detached")


def test_activity_and_memory_operations_of_the_gpu(open_page: Open, address: str, summary: Summary) -> None:
    page = open_ranks(open_page, address)
    times = summary("ranks")["workers"][0]["activity_time_ns"]
    assert page.number("gpu-activity-kernel") == times["kernel"]
    assert page.number("gpu-activity-sync") == times["sync"] == 6_000_000
    assert times["memcpy"] == 0
    assert page.frame.get_by_test_id("gpu-activity-memcpy").count() == 0


def test_cpu_use_is_that_of_the_command(open_page: Open, address: str, summary: Summary) -> None:
    page = open_page(address, run="torch")
    ((_, metrics),) = summary("torch")["resources"].items()
    assert page.number("cpu-active") == metrics["cpu"]["active"]
    assert page.number("cpu-mean") == metrics["cpu"]["mean"]


def test_a_histogram_of_an_annotation_of_choice(open_page: Open, address: str, summary: Summary) -> None:
    page = open_page(address, run="torch")
    (augment,) = (a for a in summary("torch")["workers"][0]["annotations"] if a["name"] == "augment")
    page.frame.get_by_test_id("histogram-name").fill("augment")
    page.frame.get_by_test_id("histogram-name").press("Enter")
    assert page.number("histogram-spread-p50") == augment["p50_ns"]
    assert page.number("histogram-spread-max") == augment["max_ns"]
    page.page.wait_for_url("**p.stepscope.hist=**")
    page.page.reload()
    assert page.number("histogram-spread-p50") == augment["p50_ns"]
    page.frame.get_by_role("button", name="Remove the histogram of augment").click()
    page.frame.get_by_test_id("histogram").wait_for(state="detached")


HOSTILE = "=1+1‮<img src=x onerror=alert(1)>"


def test_a_hostile_name_is_text_here_and_in_files(open_page: Open, address: str) -> None:
    page = open_ranks(open_page, address, hist=json.dumps([HOSTILE]))
    card = page.frame.get_by_test_id("histogram")
    card.get_by_role("heading", name=HOSTILE).wait_for()
    assert card.locator("img").count() == 0
    page.frame.get_by_test_id("top-time").get_by_test_id("card-menu").click()
    with page.page.expect_download() as download:
        page.frame.get_by_test_id("card-csv").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert lines[0] == "Kernel,Time (ns),of all time,Runs,of all runs"
    assert lines[1].startswith("gemm_bf16,15000000,0.625,3,0.5")


def test_a_card_as_a_table_and_as_a_picture(open_page: Open, address: str) -> None:
    page = open_ranks(open_page, address)
    card = page.frame.get_by_test_id("step-distribution")
    card.get_by_test_id("card-menu").focus()
    page.page.keyboard.press("Enter")
    page.frame.get_by_test_id("card-table").wait_for()
    page.page.keyboard.press("Enter")
    card.get_by_role("table").wait_for()
    assert card.get_by_test_id("step-spread-chart").count() == 0
    card.get_by_test_id("card-menu").click()
    with page.page.expect_download() as download:
        page.frame.get_by_test_id("card-png").click()
    picture = Path(download.value.path()).read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(picture) > 5000
    assert download.value.suggested_filename == "ranks-rank0-Step_time_distribution.png"


def test_the_picture_of_a_chart_of_the_windows_height_holds_its_card(open_page: Open, address: str) -> None:
    """The height of the bars is a share of the window's, which a picture does not have."""
    page = open_ranks(open_page, address, tab="steps")
    card = page.frame.get_by_test_id("step-bars-card")
    card.get_by_test_id("card-menu").click()
    with page.page.expect_download() as download:
        page.frame.get_by_test_id("card-png").click()
    picture = base64.b64encode(Path(download.value.path()).read_bytes()).decode()
    at_the_end, wanted = card.evaluate(
        """async (card, picture) => {
          const image = new Image();
          image.src = `data:image/png;base64,${picture}`;
          await image.decode();
          const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
          const ctx = canvas.getContext("2d");
          const colour = () => [...ctx.getImageData(0, 0, 1, 1).data];
          ctx.drawImage(image, -40, -(image.height - 40)); // 8 pixels into the card, where its padding is
          const found = colour();
          ctx.fillStyle = getComputedStyle(card).backgroundColor;
          ctx.fillRect(0, 0, 1, 1);
          return [found, colour()];
        }""",
        picture,
    )
    assert at_the_end == wanted


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_theme_is_that_of_tensorboard(open_page: Open, address: str, theme: str) -> None:
    """TensorBoard keeps the choice of its theme menu in the browser's storage."""
    page = open_page(address, own=True, run="torch")
    page.page.add_init_script(
        f"localStorage.setItem('_tb_global_settings', {json.dumps(json.dumps({'theme': theme}))})"
    )
    page.page.reload()
    page.frame.get_by_test_id("step-p50").wait_for()
    expect(page.frame.locator("html")).to_have_attribute("data-theme", theme)
