"""The Compare tab shows what ``stepscope compare`` prints."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stepscope.cli import main
from tests.browser.conftest import gpu_trace
from tests.browser.opened import Opened, expect
from tests.builders import TraceBuilder

pytest.importorskip("playwright")
pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def printed(logdir: Path) -> dict[str, Any]:
    """``longer`` is the run ``gpu`` and four more steps, of 14 ms and with another kernel."""
    trace = gpu_trace()
    for i in range(3, 7):
        at = 30_000 + 14_000 * (i - 3)
        trace.step(i, at, 14_000).launch(at + 100, 50, 70 + i).kernel("softmax", at + 1000, 8000, correlation=70 + i)
    trace.write(logdir / "longer" / "worker0.pt.trace.json")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["compare", str(logdir / "gpu"), str(logdir / "longer"), "--format", "json"]) == 0
    return json.loads(out.getvalue())


def test_the_tab_shows_what_the_command_prints(
    open_page: Callable[..., Opened], address: str, printed: dict[str, Any]
) -> None:
    page = open_page(address, run="longer", tab="compare")
    page.frame.get_by_test_id("compare-none").get_by_role("button").first.click()
    expect(page.frame.get_by_test_id("compare-none")).to_have_count(0)
    page.reopen({"run": "longer", "tab": "compare", "with": "gpu"})
    assert printed["verdict"] == "slower"
    page.expect("compare-sentence").to_have_text(printed["sentence"])
    for pair in printed["headline"]:
        for side in ("a", "b"):
            cell = page.frame.get_by_test_id(f"compare-{pair['name']}-{side}")
            if pair[side] is None:
                expect(cell).to_have_text("—")
            else:
                assert float(cell.get_attribute("data-value") or "nan") == pair[side]
    for row in (r for r in printed["parts"]["activity"]["rows"] if r["a_ns"] or r["b_ns"]):
        cells = page.frame.get_by_test_id(f"compare-activity-{row['name']}").locator("[data-ns]")
        assert [float(c.get_attribute("data-ns") or "nan") for c in cells.all()] == [row["a_ns"], row["b_ns"]]

    kernels = printed["work"]["kernels"]["rows"]
    names = page.frame.get_by_test_id("compare-work-row-name")
    expect(names).to_have_text([row["name"] for row in kernels])
    told = page.frame.get_by_test_id("compare-work-row-difference_ns")
    assert [exactly(c.get_attribute("title")) for c in told.all()] == [
        pytest.approx(row["difference_ns"], abs=0.1) for row in kernels
    ]
    page.frame.get_by_test_id("compare-filter").fill("soft")
    expect(names).to_have_text(["softmax"])
    expect(page.frame.get_by_test_id("compare-work-row-status")).to_have_text("only B")

    page.frame.get_by_test_id("compare-swap").click()
    page.expect("compare-sentence").to_contain_text("B's step is 4 ms (28.6 %) faster than A's")
    page.page.wait_for_url(re.compile(r"stepscope\.run=gpu.*stepscope\.with=longer"))


@pytest.fixture(scope="module")
def modules(logdir: Path) -> None:
    """The same model twice; in ``deeper`` its inner layer takes 40 us more."""
    for name, inner_us in (("shallow", 50), ("deeper", 90)):
        trace = TraceBuilder().step(0, 0, 1000).op("aten::a", 10, 30).python("nn.Module: Net_0", 100, 500)
        trace.op("aten::b", 110, 20).python("nn.Module: Block_0", 200, 200)
        trace.python("nn.Module: Linear_0", 230, inner_us).op("aten::c", 231, inner_us - 2)
        trace.write(logdir / name / "worker0.pt.trace.json")


@pytest.mark.usefixtures("modules")
def test_into_the_tree_of_modules_and_back(open_page: Callable[..., Opened], address: str) -> None:
    page = open_page(address, run="deeper", tab="compare", **{"with": "shallow", "joined": "tree"})
    names = page.frame.get_by_test_id("compare-work-row-name")
    expect(names).to_have_text(["Net_0"])
    names.first.click()
    expect(names).to_have_text(["Block_0", "(itself)"])
    page.expect("compare-work").to_contain_text("1 module, 0 only in B")
    table = page.frame.get_by_test_id("compare-work-row")
    table.press("ArrowDown")
    table.press("Enter")
    expect(names).to_have_text(["Linear_0", "(itself)"])
    # What moved to the inner layer is missing in the outer one: the level adds up to nothing, and so ends the line.
    told = page.frame.get_by_test_id("compare-work-row-difference_ns")
    assert [exactly(cell.get_attribute("title")) for cell in told.all()] == [40_000, -40_000]
    chart = page.frame.get_by_test_id("compare-line-chart")
    expect(chart).to_have_attribute("aria-label", "Differences of 2 rows and their sum, which ends at 0")
    page.page.wait_for_url(re.compile(r"stepscope\.within=Net_0%20%2F%20Block_0"))
    page.frame.get_by_test_id("compare-way").get_by_role("button", name="Net_0").click()
    expect(names).to_have_text(["Block_0", "(itself)"])


def exactly(text: str | None) -> float:
    """The value in a tooltip such as "1,234.5 ns"."""
    assert text is not None
    return float(text.removesuffix(" ns").replace(",", ""))
