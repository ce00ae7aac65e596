"""How long the page takes from an action of the user to the painted answer, in Chromium, on a large run.

``python benchmarks/interactions.py [LOGDIR]`` takes the first run of the given folder, or imports a made-up trace of
``--events`` slices. First the Summary of a server that has just started, from the navigation on: when the plugin's own
page began, when its first numbers stood there and when the last change was painted; twice, since the first server keeps
its analysis for the second (of a made-up trace). Then, once the page has rested and the server and the page have read
ahead, which has a line of its own, each tab and table for the first time in ``--pages`` new pages, and each action
``--rounds`` times, never the same twice where answers are kept. An answer counts as painted in the first frame after
which the page changes no more: no request is under way, no element changes and no canvas is drawn. The charts of
ECharts are drawn one a frame after the rest of the page, and are told apart: "answer" is the last change outside of
them, "all" the last one.
Median and slowest, in ms; and the CPU time of the browser and the server together, which other load changes less
(Linux; that of waiting is in it: the first row).
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from playwright.sync_api import Browser, Frame, Page

sys.path.insert(0, str(Path(__file__).resolve().parent))
from browsing import chromium, tensorboard
from measuring import machine, write_trace

from stepscope.cli import main as stepscope

SIZE = {"width": 1600, "height": 900}
FILTERS = ("gemm", "a", "el", "kernel", "r", "s")
TABS = ("steps", "timeline", "tables", "memory", "resources", "data", "summary")
# In each frame of the page: when the last change was painted, and whether more is to come. What tells the time and
# which runs there are changes by itself.
WATCH = """
if (window !== top) {
  const REST_MS = 250; // longer than any timer between an action and its answer
  let requests = 0, changed = 0, painted = 0, answered = 0, waiting = false, began = 0, firstNumber = 0;
  let isOutside = false; // of what waits to be painted, some lies outside of the charts
  const change = (element) => {
    changed += 1;
    if (!element?.closest(".chart")) isOutside = true;
    if (waiting) return;
    waiting = true;
    if (isInFrame) afterFrame(told);
    else nextFrame(() => afterFrame(told));
  };
  const told = () => {
    painted = performance.now();
    if (isOutside) answered = painted;
    waiting = isOutside = false;
  };
  const afterFrame = (then) => {
    const { port1, port2 } = new MessageChannel(); // its message comes after the frame is painted
    port1.onmessage = then;
    port2.postMessage(0);
  };
  // What changes in a callback of a frame is painted in this frame: the next one would be 17 ms too late.
  let isInFrame = false;
  const nextFrame = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (act) => nextFrame((time) => {
    if (!isInFrame) afterFrame(() => { isInFrame = false; });
    isInFrame = true;
    act(time);
  });
  const ask = window.fetch;
  window.fetch = async (...args) => {
    const url = String(args[0]);
    const counts = !url.endsWith("/runs");
    requests += counts;
    try { return await ask(...args); } finally { setTimeout(() => { requests -= counts; }); }
  };
  for (const begin of ["clearRect", "fillRect"]) { // with either of which a frame of a canvas begins
    const draw = CanvasRenderingContext2D.prototype[begin];
    CanvasRenderingContext2D.prototype[begin] = function (...args) {
      if (args[0] === 0 && args[1] === 0) change(this.canvas);
      return draw.apply(this, args);
    };
  }
  const observer = new MutationObserver((records) => {
    if (!firstNumber && document.querySelector("[data-testid=verdict]")) firstNumber = performance.now();
    for (const { target } of records) {
      const element = target.nodeType === 1 ? target : target.parentElement;
      if (!element?.closest(".freshness")) change(element);
    }
  });
  let observed = null;
  const observe = () => { // the blank document that a frame begins with may be replaced under this script
    if (observed === document) return;
    observed = document;
    observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
  };
  observe();
  setInterval(observe, 10);
  const start = (event) => { if (began === 0) { began = event.timeStamp; changed = 0; } };
  window.bench = {
    pretend: () => { began = performance.now(); change(); },
    arm: (...kinds) => {
      observe();
      began = 0;
      kinds.forEach((kind) => addEventListener(kind, start, { capture: true, once: true }));
    },
    rest: async () => {
      for (const asked = performance.now(); ; ) {
        const busy = requests > 0 || waiting || document.querySelector(".progress");
        if (!busy && performance.now() - Math.max(painted, asked) > REST_MS) break;
        await new Promise((done) => setTimeout(done, 20));
      }
      const times = { began, zero: performance.timeOrigin, firstNumber, answered, painted };
      return { answerMs: answered - began, ms: painted - began, changed, ...times };
    },
  };
}
"""


def cpu_ms() -> float:
    """CPU time of the processes below this one, which are the browser's and the server's."""
    total_ns = 0
    for process in psutil.Process().children(recursive=True):
        for task in Path(f"/proc/{process.pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError):
                total_ns += int(task.read_text().split()[0])
    return total_ns / 1e6


class Measured:
    """The pages of a run, and how long actions took in them."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        self.answer_ms: dict[str, list[float]] = {}
        self.ms: dict[str, list[float]] = {}
        self.cpu_ms: dict[str, list[float]] = {}
        self.idle: set[str] = set()

    def show(self, page: Page) -> None:
        """Act in this page from here on."""
        self.page = page
        self.frame = frame_of(page)

    def act(self, name: str, act: Callable[[], Any], *kinds: str) -> None:
        """Act once; the clock starts at the first event of one of the kinds."""
        self.frame.evaluate("(kinds) => bench.arm(...kinds)", list(kinds or ("click",)))
        before = cpu_ms()
        act()
        found = self.frame.evaluate("bench.rest()")
        took = cpu_ms() - before
        if found["began"] == 0 or found["changed"] == 0:
            self.idle.add(name)
        else:
            # Where nothing but a chart changes, the chart is the answer.
            self.answer_ms.setdefault(name, []).append(found["answerMs"] if found["answerMs"] > 0 else found["ms"])
            self.ms.setdefault(name, []).append(found["ms"])
            self.cpu_ms.setdefault(name, []).append(took)

    def each(self, name: str, acts: list[Callable[[], Any]], *kinds: str) -> None:
        """The acts in turn, ``rounds`` times all in all."""
        for i in range(self.rounds):
            self.act(name, acts[i % len(acts)], *kinds)

    def test_id(self, name: str) -> Any:
        return self.frame.get_by_test_id(name).first

    def open(self, tab: str) -> None:
        self.frame.locator(f"#tab-{tab}").click()
        self.frame.evaluate("bench.rest()")

    def box(self, test_id: str) -> dict[str, float]:
        box = self.test_id(test_id).bounding_box()
        assert box is not None
        return box


def frame_of(page: Page) -> Frame:
    page.wait_for_function("frames.length && frames[0].bench && frames[0].document.querySelector('.tabs')", timeout=0)
    return page.frames[-1]


def first_view(browser: Browser, logdir: Path, run: str) -> dict[str, float]:
    """The Summary of a server that has read nothing yet."""
    with tensorboard(logdir) as address:
        page = browser.new_page(viewport=SIZE)
        page.add_init_script(WATCH)
        page.goto(f"{address}/#stepscope&p.stepscope.run={run}")
        frame = frame_of(page)
        found = frame.evaluate("bench.rest()")
        sizes = frame.evaluate(
            "performance.getEntriesByType('resource').map(e => [e.encodedBodySize, e.name.includes('.js')])"
        )
        later = found["zero"] - page.evaluate("performance.timeOrigin")
        page.close()
    return {
        "page": later,
        "first numbers": later + found["firstNumber"],
        "complete but for charts": later + found["answered"],
        "complete": later + found["painted"],
        "largest kB": max(size for size, _ in sizes) / 1000,
        "JavaScript kB": sum(size for size, script in sizes if script) / 1000,
    }


def open_page(browser: Browser, address: str, m: Measured) -> str:
    """A new page that has rested, and a sentence on what reading ahead took."""
    page = browser.new_page(viewport=SIZE)
    page.add_init_script(WATCH)
    with page.expect_response(lambda r: "/ahead?" in r.url and r.status == 200, timeout=0):
        page.goto(address)
        m.show(page)
        m.frame.evaluate("bench.rest()")
        began, before = time.perf_counter(), cpu_ms()
    m.frame.evaluate("bench.rest()")
    ahead_ms = (time.perf_counter() - began) * 1000
    return f"read ahead: {ahead_ms:.0f} ms after the page rested, {cpu_ms() - before:.0f} ms of CPU time"


def tabs(m: Measured, when: str) -> None:
    for tab in TABS:
        m.act(f"open {tab}, {when}", lambda tab=tab: m.frame.locator(f"#tab-{tab}").click())


def each_table(m: Measured) -> None:
    m.open("tables")
    for name in ("Operators", "Modules", "Memory operations", "Launches", "Annotations", "Kernels"):
        m.act(f"table {name}, first", m.frame.get_by_role("tab", name=name, exact=True).click)


def tabs_again(m: Measured) -> None:
    for _ in range(m.rounds):
        tabs(m, "again")


def summary(m: Measured) -> None:
    m.open("summary")

    def first(k: int) -> None:
        m.test_id("top-k").fill(str(k))
        m.test_id("top-k").press("Enter")

    m.each("change k", [lambda k=k: first(k) for k in (3, 8, 5, 12, 7, 20)], "change")


def steps(m: Measured) -> None:
    m.open("steps")
    box = m.box("step-bars")
    at = [box["x"] + 64 + (box["width"] - 80) * part for part in (0.2, 0.5, 0.8, 0.3, 0.6, 0.9, 0.1)]
    m.each("click a step", [lambda x=x: m.page.mouse.click(x, box["y"] + 90) for x in at], "pointerup")

    def brush(begin: float, end: float) -> None:
        m.page.mouse.move(begin, box["y"] + 60)
        m.page.mouse.down()
        m.page.mouse.move(end, box["y"] + 60, steps=4)
        m.page.mouse.up()

    m.each("brush steps", [lambda i=i: brush(at[i], at[i + 1]) for i in range(6)], "pointerup")
    for name in ("Share", "Absolute"):
        button = m.frame.get_by_role("button", name=name, exact=True)
        if button.count():
            m.act(f"steps: {name.lower()}", button.first.click)


def tables(m: Measured) -> None:
    m.open("tables")
    heads = m.frame.get_by_role("columnheader").get_by_role("button")
    m.each("sort a table of names", [lambda i=i: heads.nth(i).click() for i in (1, 2, 3, 4, 5, 6)])
    m.each("filter it", [lambda text=text: m.test_id("table-filter").fill(text) for text in FILTERS], "input")
    m.test_id("table-filter").fill("")
    m.frame.evaluate("bench.rest()")
    m.each("open a row", [lambda i=i: m.frame.get_by_test_id("table-row").nth(i).click() for i in range(6)])
    m.page.keyboard.press("Escape")
    by = m.test_id("table-by")
    values = by.locator("option").evaluate_all("options => options.map(o => o.value)")
    m.act("every kernel, first", lambda: by.select_option(values[-1]), "change")
    m.each("sort every kernel", [lambda i=i: heads.nth(i).click() for i in (1, 2, 3, 4, 5, 6)])
    m.each("filter every kernel", [lambda t=t: m.test_id("table-filter").fill(t) for t in FILTERS], "input")
    m.test_id("table-filter").fill("")
    by.select_option(values[0])


def timeline(m: Measured) -> None:
    m.open("timeline")
    canvas = m.box("timeline-canvas")
    middle = canvas["x"] + canvas["width"] / 2, canvas["y"] + canvas["height"] / 3
    m.page.mouse.move(*middle)
    m.each("zoom in", [lambda: m.page.mouse.wheel(0, -600)], "wheel")
    m.each("zoom out", [lambda: m.page.mouse.wheel(0, 600)], "wheel")
    for _ in range(4):
        m.page.mouse.wheel(0, -600)
    m.frame.evaluate("bench.rest()")
    lanes = [m.frame.get_by_test_id(f"lane-{kind}").first.bounding_box() for kind in ("thread", "stream")]
    rows = [box["y"] + 12 for box in lanes if box is not None]
    places = [(middle[0] + dx, y) for dx in (-200, 0, 200) for y in rows]
    m.each("select a slice", [lambda at=at: m.page.mouse.click(*at) for at in places], "pointerup")

    def drag(by: float) -> None:
        m.page.mouse.move(*middle)
        m.page.mouse.down()
        m.page.mouse.move(middle[0] + by, middle[1], steps=3)
        m.page.mouse.up()

    m.each("pan", [lambda: drag(-300), lambda: drag(300)], "pointerup")

    def area(by: float) -> None:
        m.page.keyboard.down("Shift")
        drag(by)
        m.page.keyboard.up("Shift")

    m.each("mark an interval", [lambda: area(200), lambda: area(320)], "pointerup")
    m.each("search", [lambda t=t: m.test_id("timeline-search").fill(t) for t in ("gemm", "aten", "")], "input")
    m.each(
        "colour by",
        [lambda by=by: m.test_id("coloring").select_option(by) for by in ("name", "stream", "module", "kind")],
        "change",
    )


def two(ms: list[float]) -> str:
    """Median and slowest as two columns."""
    return f"{statistics.median(ms):>7.0f} {max(ms):>7.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logdir", nargs="?", type=Path)
    parser.add_argument("--events", type=int, default=1_000_000, help="slices of the made-up trace")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--pages", type=int, default=5, help="in which the tabs are opened for the first time")
    args = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as made, chromium() as browser:
        logdir = args.logdir
        if logdir is None:
            (Path(made) / "run").mkdir()
            write_trace(Path(made) / "run" / "rank0.pt.trace.json.gz", args.events * 5 // 3, steps=500)
            logdir = Path(made) / "logdir"
            stepscope(["import", str(Path(made) / "run"), "--out", str(logdir)])
        run = sorted(path.name for path in logdir.iterdir() if path.is_dir())[0]
        for when in ("first server", "second server"):
            found = first_view(browser, logdir, run)
            print(f"Summary, {when}: " + ", ".join(f"{name} {value:.0f}" for name, value in found.items()))
        with tensorboard(logdir) as address:
            measured = Measured(args.rounds)
            for i in range(args.pages):
                if i > 0:
                    measured.page.close()
                told = open_page(browser, f"{address}/#stepscope&p.stepscope.run={run}", measured)
                if i == 0:
                    print(told)
                tabs(measured, "first")
                each_table(measured)
            measured.each("nothing", [lambda: measured.frame.evaluate("bench.pretend()")], "stepscope")
            for part in (tabs_again, summary, steps, tables, timeline):
                part(measured)
    print(f"{'':32} {'':>6} {'answer, ms':^15} {'all, ms':^15}")
    print(f"{'action':32} {'times':>6} {'median':>7} {'max':>7} {'median':>7} {'max':>7} {'CPU ms':>7}")
    for name, ms in measured.answer_ms.items():
        cpu = statistics.median(measured.cpu_ms[name])
        print(f"{name:32} {len(ms):>6} {two(ms)} {two(measured.ms[name])} {cpu:>7.0f}")
    every = [
        [ms for name, values in found.items() for ms in values if name != "nothing"]
        for found in (measured.answer_ms, measured.ms)
    ]
    print(f"{'all':32} {len(every[0]):>6} {two(every[0])} {two(every[1])}")
    for name in sorted(measured.idle):
        print(f"{name}: changed nothing")


if __name__ == "__main__":
    main()
