"""Names with markup, marks that turn letters round, emoji and much length stay text, and turn nothing beside them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from stepscope.schema import Kind
from tests.browser.opened import Opened
from tests.builders import TraceBuilder
from tests.panels import panels
from tests.recorded import RecordedRun

#: Turns all that follows round until it is isolated; its end tells what stands behind it. No XML may hold all of it.
MARK = "<img src=x onerror=alert(1)>\u202e\x01\x0b\ufffeevil \u05e9\u05dc\u05d5\u05dd \U0001f680" + "n" * 60
VIEWS = (
    {},
    {"tab": "steps", "by": "activity", "step": "11"},
    {"tab": "tables", "table": "kernels"},
    {"tab": "tables", "table": "launches"},
    {"tab": "memory"},
    {"tab": "data"},
    {"tab": "compare"},
    {"tab": "compare", "with": "gpu", "joined": "operators"},
    {"workers": "all"},
    {"workers": "all", "tab": "memory"},
    {"run": f"panels{MARK}"},
    *({"run": f"panels{MARK}", "tab": "tables", "table": table} for table in ("requests", "collectives")),
)
#: Texts and tooltips in which something follows such a name in the same line, and tags that a name has made.
_TURNED = """() => {
  const found = [...document.querySelectorAll('img[src=x]')].map((tag) => tag.outerHTML);
  const behind = (text) => {
    const rest = text.slice(text.lastIndexOf('n'.repeat(60)) + 60).replace(/^(n|_0)*/, '').trim();
    return rest !== '' && rest[0] !== '\\u2069'; // the mark that ends an isolated text
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    if (!node.data.includes('\\u202e')) continue;
    let around = node.parentElement;
    const alone = (style) => /isolate|plaintext/.test(style.unicodeBidi) || style.display !== 'inline';
    while (!alone(getComputedStyle(around))) around = around.parentElement;
    if (behind(around.textContent)) found.push(around.outerHTML);
  }
  for (const one of document.querySelectorAll('[title], [aria-label]'))
    for (const line of `${one.title}\\n${one.ariaLabel ?? ''}`.split('\\n'))
      if (line.includes('\\u202e') && behind(line)) found.push(line);
  return found;
}"""


@pytest.fixture(scope="module")
def run(logdir: Path) -> str:
    """Two ranks with names of that kind wherever a script, a trace or a machine gives one."""
    name = f"run{MARK}"
    for rank in range(2):
        job = RecordedRun(
            logdir / name, rank=rank, pid=100 + rank, host=f"host{MARK}", world_size=2, phases=["forward"],
            options={f"option{MARK}": f"value{MARK}"}, refused=[f"refused{MARK}"],
            devices=[{"id": 0, "name": f"GPU{MARK}", "sm_count": 10, "memory_bytes": 1 << 30}],
        )  # fmt: skip
        job.meta["threads"] = {str(job.pid): f"thread{MARK}"}
        job.meta["notes"] = [{"code": "hook_failed", "count": 1, "detail": f"detail{MARK}"}]
        trace = TraceBuilder(rank=rank, world_size=2)
        for i in range(12):
            at = 1000 * i
            job.step(i, at, 1000, forward=(at, 800)).span(Kind.ANNOTATION, f"annotation{MARK}", at + 5, 50 + i)
            if i > 9:
                trace.step(i, at, 1000).python(f"nn.Module: Module{MARK}_0", at + 10, 500)
                trace.op(f"aten::op{MARK}", at + 20, 400, external_id=i)
                trace.launch(at + 30, 5, correlation=i, name=f"cudaLaunch{MARK}", external_id=i)
                trace.kernel(f"kernel{MARK}", at + 50, 300, correlation=i).memory(at + 40, 1000, 0, 2000, address=i)
        job.window(trace).end()
    special = logdir / f"panels{MARK}"
    special.mkdir()
    (special / "node.xplane.pb").write_bytes(panels(MARK))
    return name


def test_names_stay_text_and_turn_nothing(run: str, address: str, open_page: Callable[..., Opened]) -> None:
    page = None
    for view in VIEWS:
        if page is None:
            page = open_page(address, **{"run": run, **view})
            page.page.on("dialog", lambda dialog: pytest.fail(dialog.message))
        else:
            page.reopen({"run": run, **view})
        page.frame.get_by_text("<img src=x").locator("visible=true").last.wait_for()
        page.settle()  # what is opened now is what there is to open
        for opening in ("[data-testid=verdict-more]", ".finding-head", "[data-testid=table-row]"):
            for one in page.frame.locator(opening).all()[:1]:
                one.click()
        page.settle()
        frame = next(f for f in page.page.frames if f != page.page.main_frame)
        assert frame.evaluate(_TURNED) == [], view


def test_a_picture_of_names_that_no_xml_may_hold(run: str, address: str, open_page: Callable[..., Opened]) -> None:
    page = open_page(address, run=run)
    cards = page.frame.locator(".card", has=page.frame.get_by_test_id("card-menu"))
    card = cards.filter(has_text="kernel<img src=x").last
    card.get_by_test_id("card-menu").click()
    with page.page.expect_download() as download:
        page.frame.get_by_test_id("card-png").click()
    assert Path(download.value.path()).read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
