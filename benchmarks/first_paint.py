"""How long the timeline of a trace that was imported before takes to appear, in Chromium.

``python benchmarks/first_paint.py [FILE]`` takes the given trace, or a made-up one of ``--events`` slices, and one of
1,000 beside it: what the page takes by itself. For each round a TensorBoard is started, which reads the latest run when
it starts; as soon as it says that it is ready a fresh browser opens the timeline of one and then, in another
TensorBoard, of the other. A row tells, from the navigation on, when the plugin's own page began, when its script, the
lanes and the first rectangles had come, and when the canvas showed them; medians of the rounds.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Browser

sys.path.insert(0, str(Path(__file__).resolve().parent))
from browsing import chromium, tensorboard
from measuring import machine, write_trace

from stepscope import cache

SIZE = {"width": 1600, "height": 900}
MARKS = ("page", "script", "lanes", "rectangles", "drawn")
# In each frame of the page: waits until the canvas holds colours. Text, grid and rulers are grey.
WATCH = """
if (window !== top) {
  const small = new OffscreenCanvas(200, 100).getContext("2d", { willReadFrequently: true });
  const coloured = (canvas) => {
    small.clearRect(0, 0, 200, 100);
    small.drawImage(canvas, 0, 0, 200, 100);
    const { data } = small.getImageData(0, 0, 200, 100);
    let count = 0;
    for (let i = 0; i < data.length; i += 4) {
      const [r, g, b] = [data[i], data[i + 1], data[i + 2]];
      if (Math.max(r, g, b) - Math.min(r, g, b) > 60) count += 1;
    }
    return count;
  };
  const at = (ms) => performance.timeOrigin + ms;
  const came = (part) => performance.getEntriesByType("resource").find((e) => e.name.includes(part))?.responseEnd;
  const look = () => {
    const canvas = document.querySelector('[data-testid="timeline-canvas"]');
    const view = came("timeline/view");
    if (view && canvas?.width && coloured(canvas) > 100) {
      top.firstPaint = [0, came("page.js") ?? 0, came("timeline/tree"), view, performance.now()].map(at);
    } else {
      requestAnimationFrame(look);
    }
  };
  requestAnimationFrame(look);
}
"""


def paint(browser: Browser, logdir: Path) -> list[float]:
    """Milliseconds from the navigation to each of ``MARKS``."""
    with tensorboard(logdir) as address:
        page = browser.new_page(viewport=SIZE)
        page.add_init_script(WATCH)
        worker = quote(next(logdir.glob("run/*.gz")).name, safe="")
        page.goto(f"{address}/#stepscope&p.stepscope.run=run&p.stepscope.worker={worker}&p.stepscope.tab=timeline")
        marks = page.wait_for_function("top.firstPaint", timeout=120_000).json_value()
        began = page.evaluate("performance.timeOrigin")
        page.close()
    return [mark - began for mark in marks]


def imported(logdir: Path, trace: Path) -> Path:
    """A log directory with one run of this trace, its import kept beside it."""
    (logdir / "run").mkdir(parents=True)
    target = logdir / "run" / "rank0.pt.trace.json.gz"
    shutil.copyfile(trace, target)
    cache.load(target)
    return logdir


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--events", type=int, default=1_000_000, help="slices of the made-up trace")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)
        large = args.file or write_trace(made / "large.json.gz", args.events * 5 // 3)
        cases = {
            large.name: imported(made / "large", large),
            "1,000 slices": imported(made / "small", write_trace(made / "small.json.gz", 5000 // 3)),
        }
        found: dict[str, list[list[float]]] = {name: [] for name in cases}
        for _ in range(args.rounds):
            for name, logdir in cases.items():
                with chromium() as browser:
                    found[name].append(paint(browser, logdir))
    print(f"{'ms from the navigation':32}" + "".join(f"{mark:>11}" for mark in MARKS))
    for name, rounds in found.items():
        medians = [statistics.median(column) for column in zip(*rounds, strict=True)]
        print(f"{name[:32]:32}" + "".join(f"{ms:11.0f}" for ms in medians))
    large_ms, small_ms = ([round[-1] for round in rounds] for rounds in found.values())
    ratio = statistics.median(a / b for a, b in zip(large_ms, small_ms, strict=True))
    print(f"drawn: {ratio:.2f} times as long as with 1,000 slices")


if __name__ == "__main__":
    main()
