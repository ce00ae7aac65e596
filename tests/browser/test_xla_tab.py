"""What XLA compiled, in the page: memory, graph and text of a program; and how TensorFlow's operators ran."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.opened import expect
from tests.browser.test_accessibility import _RUN as VIOLATIONS
from tests.browser.test_accessibility import AXE
from tests.hlo.runs import B_BYTES, DOT_BYTES, OUT_BYTES, W_BYTES, X_BYTES, write_dense_run
from tests.importers.xspace import PlaneBuilder, xspace

pytest.importorskip("playwright")
pytestmark = pytest.mark.browser

Open = Callable[..., Any]
TOTAL = X_BYTES + W_BYTES + B_BYTES + OUT_BYTES + DOT_BYTES + 64


@pytest.fixture(scope="module", autouse=True)
def _run(logdir: Path) -> None:
    write_dense_run(logdir / "xla")


def nodes(page: Any) -> Any:
    return page.frame.get_by_test_id("xla-node")


def node(page: Any, op: str) -> Any:
    return nodes(page).and_(page.frame.locator(f"[data-op='{op}']"))


def test_the_memory_of_a_program_adds_up(open_page: Open, address: str) -> None:
    page = open_page(address, run="xla", tab="xla")
    assert page.number("xla-total_bytes") == TOTAL
    assert page.number("xla-unused_bytes") == 64
    parts = ("parameter", "constant", "output", "temporary")
    assert sum(page.number(f"xla-{part}_bytes") for part in parts) == TOTAL
    page.expect("xla-alive").to_contain_text("Alive at instruction 4 of 5, the peak")
    buffers = page.frame.get_by_test_id("xla-buffer")
    expect(buffers).to_have_count(5)
    sizes = [int(buffers.nth(i).get_attribute("data-value")) for i in range(5)]
    assert sum(sizes) == page.number("xla-alive-total") == page.number("xla-peak_bytes") == TOTAL - 64
    buffers.filter(has_text="dot.1").get_by_role("button").click()
    page.expect("xla-middle").to_contain_text("%dot.1 = f32[64,256]{1,0} dot(%x, %w)")


def test_walking_in_the_graph(open_page: Open, address: str) -> None:
    page = open_page(address, run="xla", tab="xla", xshow="graph", xdepth="1")
    page.expect("xla-middle").to_contain_text("60.0 µs, 75.0 % of the program")  # where the time goes
    expect(nodes(page)).to_have_count(4)
    node(page, "add_maximum_fusion").click()
    page.expect("xla-middle").to_contain_text("loop fusion")
    expect(nodes(page)).to_have_count(3)
    page.frame.get_by_test_id("xla-open").click()
    expect(node(page, "relu")).to_have_count(1)
    expect(node(page, "add_maximum_fusion")).to_have_count(0)
    page.page.wait_for_function("location.hash.includes('xopened=add_maximum_fusion')")
    page.page.go_back()
    expect(node(page, "add_maximum_fusion")).to_have_count(1)
    page.frame.get_by_test_id("xla-find").fill("matmul")
    page.frame.get_by_test_id("xla-find").press("Enter")  # before the answer has come
    page.expect("xla-middle").to_contain_text("model/dense/MatMul")
    node(page, "x").press("Enter")
    page.expect("xla-middle").to_contain_text("parameter(0)")


def test_the_graph_as_files(open_page: Open, address: str, tmp_path: Path) -> None:
    page = open_page(address, run="xla", tab="xla", xshow="graph")
    nodes(page).first.wait_for()
    found = {}
    for kind in ("dot", "svg"):
        page.frame.get_by_test_id("xla-export").click()
        with page.page.expect_download() as saved:
            page.frame.get_by_test_id(f"xla-{kind}").click()
        saved.value.save_as(tmp_path / kind)
        found[kind] = (tmp_path / kind).read_text(encoding="utf-8")
    assert '"dot.1" -> "add_maximum_fusion";' in found["dot"]
    assert found["svg"].startswith("<svg")
    assert ">dot.1<" in found["svg"]


def test_the_text_of_a_program_leads_from_name_to_name(open_page: Open, address: str) -> None:
    page = open_page(address, run="xla", tab="xla", xshow="text")
    lines = page.frame.get_by_test_id("xla-line")
    expect(lines).to_have_count(5)
    lines.nth(4).get_by_role("button", name="%fused_computation").click()
    expect(lines).to_have_count(7)
    page.frame.get_by_role("button", name="add_maximum_fusion").click()
    expect(page.frame.locator("[aria-current=true]")).to_contain_text("%add_maximum_fusion =")


def test_from_an_operation_in_the_tables_to_the_graph(open_page: Open, address: str) -> None:
    page = open_page(address, run="xla", tab="tables", table="hlo")
    page.frame.get_by_test_id("table-row").filter(has_text="add_maximum_fusion").first.click()
    page.frame.get_by_test_id("open-in-graph").click()
    page.expect("xla-middle").to_contain_text("%add_maximum_fusion")


def test_the_tab_is_there_where_xla_may_have_compiled(open_page: Open, address: str) -> None:
    page = open_page(address, run="xla")
    page.frame.get_by_role("tab", name="XLA").click()
    page.expect("xla-memory").to_be_visible()


def test_a_run_without_programs_says_how_to_get_them(open_page: Open, address: str) -> None:
    page = open_page(address, run="gpu", tab="xla")
    page.expect("no-programs").to_contain_text("jit_compile=True")
    page = open_page(address, run="gpu")
    page.frame.get_by_test_id("step-p50").wait_for()
    page.settle()
    expect(page.frame.get_by_role("tab", name="XLA")).to_have_count(0)  # PyTorch's work is none of XLA's


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_serious_violation(open_page: Open, address: str, theme: str) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: run python tools/web_ui.py test")
    page = open_page("about:blank#")
    store = f"localStorage.setItem('_tb_global_settings', {json.dumps(json.dumps({'theme': theme}))})"
    page.page.add_init_script(f"if (location.protocol === 'http:') {store}")  # a blank page has no storage
    problems = []
    for show, ready in (("memory", "xla-buffer"), ("graph", "xla-node"), ("text", "xla-line")):
        state = {"run": "xla", "tab": "xla", "xshow": show}
        if page.page.url.startswith("http"):
            page.reopen(state)
        else:
            page.goto(address, state)
        page.frame.get_by_test_id(ready).first.wait_for()
        page.settle()
        expect(page.frame.locator("html")).to_have_attribute("data-theme", theme)
        frame = next(f for f in page.page.frames if f != page.page.main_frame and "stepscope" in f.url + f.name)
        frame.evaluate(AXE.read_text(encoding="utf-8"))
        problems += [(show, *found) for found in frame.evaluate(VIOLATIONS)]
    assert problems == []


def test_how_operators_of_tensorflow_ran(
    open_page: Open, address: str, summary: Callable[[str], dict[str, Any]], logdir: Path
) -> None:
    host = PlaneBuilder("/host:CPU").line(1, "tf_Compute/1")
    host.event("EagerExecute", 0, 100_000, eager_op="MatMul", is_func=0)
    host.event("EagerKernelExecute", 20_000, 60_000)
    host.event("model/Add:AddV2", 200_000, 40_000)
    folder = logdir / "eagerly"
    folder.mkdir()
    (folder / "host.xplane.pb").write_bytes(xspace(host, hostname="host"))
    page = open_page(address, run="eagerly")
    page.expect("operator-modes-card").to_contain_text("60.0 % eager on the host")
    (worker,) = summary("eagerly")["workers"]
    assert page.number("operator-modes-host-eager") == worker["operator_modes"]["host_eager_ns"] == 60
    assert page.number("operator-modes-host-graph") == worker["operator_modes"]["host_graph_ns"] == 40
