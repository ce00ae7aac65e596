"""How many frames a second the timeline draws while one moves over 10,000 visible rectangles.

``python benchmarks/timeline_frames.py [--seconds N]`` writes a trace of 12 threads with nested operators, opens it in
TensorBoard and a headless Chromium, and turns the wheel once a frame: first sideways, then to zoom in and out by
turns, so that rectangles are fetched on the way. The same once more with fewer rectangles that have names on them.
Prints for each the frames a second, the slowest frame of a hundred, and what a frame takes of the page's thread:
scripts, and all tasks.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
from browsing import chromium, tensorboard
from measuring import machine

THREADS, LEVELS = 12, 3
SLICES = 3000  # of one level of one thread
SHOWN = 280  # of them in view
NAMED = 30  # so few that each has its name written on it

_OPEN = "#stepscope&p.stepscope.tab=timeline"
_CANVAS = "[data-testid=timeline-canvas]"

# Turns the wheel in every frame; gives the times of the frames.
_MOVE = """(canvas, [kind, ms]) => new Promise(done => {
  const box = canvas.getBoundingClientRect(), times = [];
  const at = { clientX: box.left + box.width / 2, clientY: box.top + 200, bubbles: true, cancelable: true };
  const frame = now => {
    times.push(now);
    const turn = times.length;
    const by = kind === "pan" ? { deltaX: turn % 240 < 120 ? 24 : -24 } : { deltaY: turn % 80 < 40 ? -12 : 12 };
    canvas.dispatchEvent(new WheelEvent("wheel", { ...at, ...by }));
    if (now - times[0] < ms) requestAnimationFrame(frame);
    else done(times);
  };
  requestAnimationFrame(frame);
})"""


def write_trace(path: Path) -> int:
    """Threads with operators of three levels, each of 10 us; gives the span in us."""
    pitch = 10
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write('{"schemaVersion": 1, "baseTimeNanoseconds": 1751410836000000000, "traceEvents": [\n')
        for thread in range(THREADS):
            for i in range(SLICES):
                for level in range(LEVELS):
                    event = {
                        "ph": "X",
                        "cat": "cpu_op",
                        "name": f"aten::op_{(i * 7 + level + thread) % 90}",
                        "pid": 100,
                        "tid": 100 + thread,
                        "ts": 1000 + pitch * i + level,
                        "dur": pitch - 1 - 2 * level,
                    }
                    file.write(json.dumps(event) + ",\n")
        file.write('{"ph": "M", "name": "process_name", "pid": 100, "tid": 0, "args": {"name": "python3"}}]}\n')
    return pitch * SLICES


def measured(page: Any, canvas: Any, kind: str, seconds: float) -> str:
    """One line about moving for so long."""
    cdp = page.context.new_cdp_session(page)
    cdp.send("Performance.enable")

    def spent() -> dict[str, float]:
        return {m["name"]: m["value"] for m in cdp.send("Performance.getMetrics")["metrics"]}

    before = spent()
    times = canvas.evaluate(_MOVE, [kind, 1000 * seconds])
    after = spent()
    frames = [b - a for a, b in pairwise(times)]
    script, task = (1000 * (after[n] - before[n]) / len(frames) for n in ("ScriptDuration", "TaskDuration"))
    per_second = 1000 * len(frames) / (times[-1] - times[0])
    slow = statistics.quantiles(frames, n=100)[98]
    return f"{kind:>6} {per_second:>9.1f} {slow:>14.1f} {script:>10.2f} {task:>10.2f}"


def rectangles(page: Any, address: str, begin_ns: int, width_ns: int) -> int:
    """How many rectangles the lanes on the screen have in a view, asked of the server."""
    frame = page.frame_locator("iframe")
    px = int(frame.locator(_CANVAS).evaluate("canvas => canvas.clientWidth"))
    lanes = frame.locator(".labels-body [data-lane]").evaluate_all("all => all.map(one => one.dataset.lane)")
    route = f"{address}/data/plugin/stepscope"
    run = page.request.get(f"{route}/runs").json()["runs"][0]
    at = {"run": run["id"], "worker": run["workers"][0]["id"]}
    t0 = begin_ns - int(page.request.get(f"{route}/timeline/tree", params=at).json()["origin_ns"])
    view = {"t0": t0, "t1": t0 + width_ns, "px": px, "lanes": ",".join(lanes)}
    answer = page.request.get(f"{route}/timeline/view", params=at | view)
    return int(pa.ipc.open_stream(answer.body()).read_all().num_rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=6, help="of each kind of move (default: 6)")
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder:
        logdir = Path(folder)
        (logdir / "run").mkdir()
        span_us = write_trace(logdir / "run" / "worker0.pt.trace.json.gz")
        begin_ns = 1_751_410_836_000_000_000 + 1_000_000 + span_us * 300
        with tensorboard(logdir) as address, chromium() as browser:
            print(f"{machine()}, Chromium {browser.version}")
            print(
                f"{'rectangles':>10} {'move':>6} {'frames/s':>9} {'p99 frame ms':>14} {'script ms':>10} {'task ms':>10}"
            )
            for shown in (SHOWN, NAMED):
                width_ns = 1000 * span_us * shown // SLICES
                page = browser.new_page(viewport={"width": 1920, "height": 1080})
                page.goto(f"{address}/{_OPEN}&p.stepscope.at={begin_ns},{width_ns}")
                canvas = page.frame_locator("iframe").locator(_CANVAS)
                canvas.wait_for(timeout=60_000)
                page.wait_for_load_state("networkidle")
                page.wait_for_timeout(1000)
                count = rectangles(page, address, begin_ns, width_ns)
                for kind in ("pan", "zoom"):
                    print(f"{count:>10,} {measured(page, canvas, kind, seconds)}")
                page.close()


if __name__ == "__main__":
    main()
