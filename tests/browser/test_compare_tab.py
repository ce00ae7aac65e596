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
    page.frame.get_by_test_id("compare-none").get_by_role("button", name="gpu", exact=True).click()
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


def exactly(text: str | None) -> float:
    """The value in a tooltip such as "1,234.5 ns"."""
    assert text is not None
    return float(text.removesuffix(" ns").replace(",", ""))
