"""The Tables tab: numbers equal to the command's, any number of rows, keys, files, and the way to the timeline."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.opened import expect
from tests.builders import TraceBuilder
from tests.hlo.recording import cpu_planes
from tests.importers.xspace import xspace
from tests.tables.build import training

pytest.importorskip("playwright")
pytestmark = pytest.mark.browser

Open = Callable[..., Any]
Summary = Callable[[str], dict[str, Any]]

HOSTILE = ["<img src=x onerror=alert(1)>", "\u202egnp.lenrek", "=HYPERLINK(1)", "k" * 300, "🚀 kernel"]
MANY = 20_000


@pytest.fixture(scope="module", autouse=True)
def _traces(logdir: Path) -> None:
    training().write(logdir / "trained" / "t.pt.trace.json")
    hostile, many = TraceBuilder(), TraceBuilder()
    for i, name in enumerate(HOSTILE):
        hostile.kernel(name, 100 * i, 10)
    for i in range(MANY):
        many.kernel("gemm" if i % 2 else "relu", 100 * i, 1 + i % 7)
    many.kernel("the longest", 100 * MANY, 99)
    hostile.write(logdir / "hostile" / "t.pt.trace.json")
    many.write(logdir / "many" / "t.pt.trace.json")
    TraceBuilder().op("aten::mm", 0, 10).write(logdir / "host" / "t.pt.trace.json")
    (logdir / "xla-ops").mkdir()
    (logdir / "xla-ops" / "host.xplane.pb").write_bytes(xspace(*cpu_planes()))


def open_table(open_page: Open, address: str, run: str, **state: Any) -> Any:
    page = open_page(address, run=run, tab="tables", **state)
    page.frame.get_by_test_id("table-row").first.wait_for()
    return page


def rows_of(page: Any, *keys: str) -> list[tuple[str | None, ...]]:
    """The exact values of some columns of the rows that are drawn."""
    script = "(rows, keys) => rows.map(r => keys.map(k => r.querySelector(`[data-key=${k}]`)?.dataset.value ?? null))"
    return [tuple(row) for row in page.frame.get_by_test_id("table-row").evaluate_all(script, list(keys))]


@pytest.mark.parametrize(
    ("table", "field", "columns"),
    [
        ("kernels", "kernels", ("name", "count", "total_ns", "mean_ns", "clipped_ns", "max_ns", "occupancy")),
        ("operators", "operators", ("name", "count", "host_self_ns", "device_self_ns", "device_total_ns")),
        ("memory", "memory_operations", ("operation", "direction", "count", "time_ns", "bytes", "bytes_per_s")),
        ("launches", "launches", ("name", "count", "linked", "host_ns", "device_ns")),
    ],
)
def test_groups_show_what_the_command_prints(
    open_page: Open, address: str, summary: Summary, table: str, field: str, columns: tuple[str, ...]
) -> None:
    page = open_table(open_page, address, "trained", table=table, tcols=",".join(columns))
    (worker,) = summary("trained")["workers"]
    listed = worker[field]["by_call"] if table == "launches" else worker[field]
    expected = [tuple(None if e[c] is None else plain(e[c]) for c in columns) for e in listed]
    expect(page.frame.get_by_test_id("table-row")).to_have_count(len(expected))
    assert sorted(rows_of(page, *columns), key=str) == sorted(expected, key=str)


def plain(value: Any) -> str:
    """A number as JavaScript writes it."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def test_operations_of_xla_with_their_roofline_and_as_a_tree(open_page: Open, address: str) -> None:
    page = open_table(open_page, address, "xla-ops", table="hlo")
    expect(page.frame.locator("[data-testid=table-row] [data-key=name]")).to_have_text(
        ["dot.1", "add_maximum_fusion", "while.1", "add.1", "lost"]
    )
    assert rows_of(page, "flops", "category")[0] == (str(2 * 2 * 64 * 256 * 128), "matrix product")
    roofline = page.frame.get_by_test_id("roofline")
    expect(roofline).to_contain_text("3 operations")
    expect(roofline).to_contain_text("ran on the host's CPU, whose peak rates are not known")
    chart = page.frame.get_by_test_id("roofline-chart")
    chart.locator("canvas").wait_for()
    page.settle()
    chart.click()  # the nearest point
    expect(page.frame.get_by_test_id("details-name")).to_be_visible()
    assert page.frame.get_by_test_id("details-name").inner_text() in ("dot.1", "add_maximum_fusion", "add.1")
    page.frame.locator("#table-hlo_profile").click()
    expect(page.frame.locator("[data-testid=table-row] [data-key=name]").first).to_contain_text("jit_step (7)")
    page = open_page(address, run="host", tab="tables", table="hlo")
    expect(page.frame.get_by_test_id("table-empty")).to_contain_text("jit_compile=True")
    expect(page.frame.locator("#table-hlo")).to_be_visible()
    page.frame.locator("#table-kernels").click()
    expect(page.frame.locator("#table-hlo")).to_have_count(0)  # of PyTorch: only a link led there


def test_modules_are_a_tree(open_page: Open, address: str) -> None:
    page = open_table(open_page, address, "trained", table="modules", tlevels="0")
    names = page.frame.locator("[data-testid=table-row] [data-key=name]")
    expect(names).to_have_text(["Net_0", "outside of modules"])
    page.frame.get_by_role("button", name="Open", exact=True).click()
    page.frame.get_by_text("Linear_1").wait_for()
    expect(names).to_have_count(4)
    grid = page.frame.get_by_role("treegrid", name="Modules")
    grid.focus()
    page.page.keyboard.press("ArrowLeft")  # closes the first one again
    page.frame.get_by_text("Linear_1").wait_for(state="detached")
    page.expect("table-row").to_have_attribute("aria-expanded", "false")


def test_a_row_opens_its_occurrences_and_they_open_in_the_timeline(open_page: Open, address: str) -> None:
    page = open_table(open_page, address, "trained")
    page.frame.get_by_test_id("table-row").first.click()
    page.frame.get_by_test_id("details-chart").wait_for()
    page.expect("details-name").to_have_text("hmma_gemm")
    page.expect("occurrence-at").to_have_text("1 of 4")
    page.frame.get_by_test_id("occurrence-slowest").click()
    page.frame.get_by_text("3 of 4").wait_for()
    page.expect("occurrence-duration").to_contain_text("40,000 ns")
    page.frame.get_by_test_id("occurrence-next").click()
    page.frame.get_by_text("4 of 4").wait_for()
    page.expect("occurrence-operator").to_have_text("aten::mm")
    page.expect("occurrence-module").to_have_text(re.compile("Linear_1$"))
    page.frame.get_by_text("registers per thread").wait_for()
    page.frame.get_by_test_id("open-in-timeline").click()
    page.frame.get_by_test_id("slice-details").wait_for()
    page.expect("slice-name").to_have_text("hmma_gemm")
    page.expect("slice-duration").to_contain_text("40,000 ns")
    page.page.go_back()
    page.frame.get_by_test_id("details-name").wait_for()
    page.frame.get_by_test_id("list-occurrences").click()
    page.frame.get_by_text("4 of 6 rows").wait_for()
    expect(page.frame.get_by_test_id("table-row")).to_have_count(4)
    assert set(rows_of(page, "name")) == {("hmma_gemm",)}
    page.page.reload()  # all of it is in the address
    page.frame.get_by_text("4 of 6 rows").wait_for()


def test_filters_are_in_the_address(open_page: Open, address: str) -> None:
    page = open_table(open_page, address, "trained", tby="none")
    page.frame.get_by_test_id("table-filter").fill("hmma")
    page.frame.get_by_text("4 of 6 rows").wait_for()
    page.frame.get_by_test_id("table-conditions").click()
    page.frame.get_by_test_id("condition-least").fill("30 us")
    page.frame.get_by_role("button", name="Show these rows").click()
    page.frame.get_by_text("2 of 6 rows").wait_for()
    expect(page.frame.get_by_test_id("table-row")).to_have_count(2)
    assert {row[0] for row in rows_of(page, "dur_ns")} == {"40000"}
    page.page.wait_for_url("**twhere=dur_ns*")
    page.page.reload()
    page.frame.get_by_text("2 of 6 rows").wait_for()
    page.frame.get_by_role("button", name="Remove: Duration").click()
    page.frame.get_by_text("4 of 6 rows").wait_for()
    page.frame.get_by_test_id("table-filter").fill("nothing at all")
    page.frame.get_by_role("button", name="Show all 6").click()
    page.frame.get_by_text("6 rows", exact=True).wait_for()


def test_a_broken_regular_expression_is_told_and_the_rows_stay(open_page: Open, address: str) -> None:
    page = open_table(open_page, address, "trained")
    page.frame.get_by_test_id("table-regex").click()
    page.frame.get_by_test_id("table-filter").fill("(")
    page.expect("table-problem").to_contain_text("no regular expression")
    expect(page.frame.get_by_test_id("table-row")).to_have_count(2)
    page.frame.get_by_test_id("table-filter").fill("(relu)")
    page.frame.get_by_text("1 of 2 rows").wait_for()
    page.problems[:] = [p for p in page.problems if "400" not in p]


def test_twenty_thousand_rows_and_the_keyboard(open_page: Open, address: str) -> None:
    page = open_table(open_page, address, "many", tby="none")
    grid = page.frame.get_by_role("grid", name="Kernels")
    expect(grid).to_have_attribute("aria-rowcount", str(MANY + 2))
    grid.focus()
    page.page.keyboard.press("Control+End")
    last = page.frame.locator(f"[aria-rowindex='{MANY + 2}'] [data-value]").first
    last.wait_for()
    assert page.frame.get_by_test_id("table-row").count() < 100
    expect(grid).to_have_attribute("aria-activedescendant", f"cell-{MANY}-0")
    page.page.keyboard.press("Control+Home")
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("ArrowRight")
    expect(grid).to_have_attribute("aria-activedescendant", "cell-1-1")
    page.page.keyboard.press("ArrowUp")
    page.page.keyboard.press("Enter")
    page.frame.get_by_test_id("details-name").get_by_text("the longest").wait_for()
    page.page.keyboard.press("Escape")
    page.frame.get_by_test_id("table-details").wait_for(state="detached")
    page.page.keyboard.type("gemm")
    page.frame.get_by_text(f"{MANY // 2:,} of {MANY + 1:,} rows").wait_for()
    page.expect("table-filter").to_have_value("gemm")


def test_hostile_names_are_texts_and_no_formulas(open_page: Open, address: str, tmp_path: Path) -> None:
    page = open_table(open_page, address, "hostile", tcols="name,count", tsort="count")
    names = page.frame.locator("[data-testid=table-row] [data-key=name]")
    expect(names).to_have_count(len(HOSTILE))
    assert sorted(names.all_text_contents()) == sorted(HOSTILE)
    names.filter(has_text="onerror").click()
    page.frame.get_by_test_id("details-name").get_by_text(HOSTILE[0]).wait_for()
    page.frame.get_by_test_id("table-files").click()
    with page.page.expect_download() as download:
        page.frame.get_by_test_id("table-csv").click()
    assert download.value.suggested_filename == "hostile_t.pt.trace.json_kernels_by-name.csv"
    saved = tmp_path / "saved.csv"
    download.value.save_as(saved)
    with saved.open(newline="", encoding="utf-8") as file:
        told = {row["name"] for row in csv.DictReader(file)}
    assert told == {f"'{n}" if n.startswith("=") else n for n in HOSTILE}


def test_copying_rows_and_a_cell(open_page: Open, address: str) -> None:
    page = open_table(open_page, address, "trained", own=True, tcols="name,count,total_ns")
    page.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.frame.get_by_role("grid").focus()
    page.page.keyboard.press("Control+c")
    page.frame.get_by_text("Cell copied").wait_for()
    assert page.page.evaluate("navigator.clipboard.readText()") == "hmma_gemm"
    page.page.keyboard.press("Shift+ArrowDown")
    page.page.keyboard.press("Control+c")
    page.frame.get_by_text("2 rows copied").wait_for()
    text = page.page.evaluate("navigator.clipboard.readText()")
    assert text == "Kernel\tCount\tTotal (ns)\nhmma_gemm\t4\t120000\nrelu\t2\t20000"


def test_launches_over_time(open_page: Open, address: str, summary: Summary) -> None:
    page = open_table(open_page, address, "trained", table="launches")
    page.frame.get_by_test_id("latency-chart").locator("canvas").wait_for()
    page.frame.get_by_test_id("depth-chart").locator("canvas").wait_for()
    launched = summary("trained")["workers"][0]["launches"]
    told = f"{launched['linked']} linked launches · {launched['without_run']} without a run"
    expect(page.frame.get_by_text(told)).to_have_count(1)
    card = page.frame.get_by_test_id("launch-latency")
    card.get_by_test_id("card-menu").click()
    with page.page.expect_download() as download:
        page.frame.get_by_test_id("card-csv").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert lines[0] == "At (ns),Launch,Latency (ns),Behind earlier work (ns)"
    assert len(lines) == 1 + launched["linked"]
    card = page.frame.get_by_test_id("queue-depth")
    card.get_by_test_id("card-menu").click()
    page.frame.get_by_test_id("card-table").click()
    card.get_by_role("table").wait_for()


@pytest.mark.parametrize(
    ("table", "reason"), [("kernels", "Nothing ran on a device"), ("launches", "No call put work on a device")]
)
def test_a_table_without_rows_says_why(open_page: Open, address: str, table: str, reason: str) -> None:
    page = open_page(address, run="host", tab="tables", table=table)
    empty = page.frame.get_by_test_id("table-empty")
    empty.get_by_text(reason).wait_for()
    empty.get_by_role("button", name="See the operators on the host").click()
    page.frame.get_by_test_id("table-row").first.wait_for()
    page.page.wait_for_url("**table=operators*")
