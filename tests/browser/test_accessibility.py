"""axe-core finds no serious violation on any tab, in light and dark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.opened import expect
from tests.builders import TraceBuilder
from tests.panels import panels

Audited = Callable[[dict[str, str], str], list[Any]]
AXE = Path(__file__).parents[2] / "tb_plugin" / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
TABS = ("summary", "steps", "timeline", "tables", "memory", "resources", "compare", "data")
#: What says that a tab's data is on show.
_SHOWN = {
    "summary": "[data-testid=verdict], .tiles",
    "steps": "[data-testid=step-chart], .card",
    "timeline": "canvas",
    "tables": "[data-testid=table-row], [data-testid=table-empty]",
    "memory": "[data-testid=alive-row], [data-testid=no-allocations]",
    "resources": "[data-testid=chart-cpu], [data-testid=no-monitor]",
    "compare": "[data-testid=compare-sentence]",
    "data": "[data-testid=captured-row]",
}
#: What a run is compared with, where it is not the run ``gpu``.
_WITH = {"memory": {"with": "before", "joined": "tree"}}
_RUN = """async () => {
  const found = await axe.run(document, {resultTypes: ['violations']});
  return found.violations
    .filter((one) => one.impact === 'serious' || one.impact === 'critical')
    .map((one) => [one.id, one.nodes.slice(0, 4).map((node) => `${node.html.slice(0, 200)} ${node.failureSummary}`)]);
}"""


@pytest.fixture(scope="module")
def axe() -> str:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: run python tools/web_ui.py test")
    return AXE.read_text(encoding="utf-8")


@pytest.fixture(scope="module", autouse=True)
def allocations(logdir: Path) -> None:
    """A run with allocations, one of two workers, and one of requests, transfers between slices and counters."""
    (logdir / "panels").mkdir()
    (logdir / "panels" / "node.xplane.pb").write_bytes(panels())
    trace = TraceBuilder()
    for i in range(4):
        trace.step(i, 1000 * i, 1000).op("aten::mm", 1000 * i + 10, 100)
        trace.memory(1000 * i + 20, 4096 * (i + 1), device=0, total=1 << 20, address=i)
        trace.python("nn.Module: Net_0", 1000 * i, 500).python("nn.Module: Linear_0", 1000 * i + 5, 200)
    trace.write(logdir / "before" / "worker0.pt.trace.json")
    trace.write(logdir / "memory" / "worker0.pt.trace.json")
    for rank in range(2):
        TraceBuilder().step(0, 0, 1000).step(1, 1000, 900 + rank).write(logdir / "two" / f"rank{rank}.pt.trace.json")


@pytest.fixture(params=["light", "dark"])
def audited(request: pytest.FixtureRequest, open_page: Callable, address: str, axe: str) -> Audited:
    """Opens a view, waits for an element of it, and returns what axe finds there."""
    it = open_page("about:blank#")
    setting = json.dumps({"theme": request.param})
    store = f"localStorage.setItem('_tb_global_settings', {json.dumps(setting)})"
    it.page.add_init_script(f"if (location.protocol === 'http:') {store}")  # a blank page has no storage

    def audit(state: dict[str, str], shown: str) -> list[Any]:
        if it.page.url.startswith("http"):
            it.reopen(state)
        else:
            it.goto(address, state)
        it.frame.get_by_role("tab").first.wait_for()
        it.frame.locator(shown).first.wait_for()
        it.settle()
        frame = next(f for f in it.page.frames if f != it.page.main_frame and "stepscope" in f.url + f.name)
        expect(it.frame.locator("html")).to_have_attribute("data-theme", request.param)
        frame.evaluate(axe)
        return [(state, *found) for found in frame.evaluate(_RUN)]

    return audit


def test_no_serious_violation_in_panels_of_special_runs(audited: Audited) -> None:
    problems = audited({"run": "panels"}, "[data-testid=latency-parts]")
    for table in ("requests", "batches", "collectives"):
        problems += audited({"run": "panels", "tab": "tables", "table": table}, "[data-testid=table-row]")
    assert problems == []


@pytest.mark.parametrize(("run", "more"), [("torch", {}), ("memory", {}), ("gpu", {}), ("two", {"workers": "all"})])
def test_no_serious_violation(audited: Audited, run: str, more: dict[str, str]) -> None:
    problems = []
    for tab in TABS:
        if more and tab not in ("summary", "steps", "memory", "resources", "timeline"):
            continue
        state = {"run": run, "tab": tab, **_WITH.get(run, {"with": "gpu"}), **more}
        problems += audited(state, ".page, .tables, .timeline" if more else _SHOWN[tab])
    assert problems == []
