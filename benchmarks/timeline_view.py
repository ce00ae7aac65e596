"""What a viewport of the timeline costs on 10 million events, and against a straightforward group-by.

``python benchmarks/timeline_view.py [--events N]`` lays out a synthetic training capture (two threads with nested
operators, three streams), asks for random viewports of 2000 pixels at zooms from everything to 1/100,000 and
prints the median and the slowest, the size of the answer, and the paired ratio to the group-by, which filters the
events by time and groups them by row and pixel. CPU time of the thread, both in turn in one process; the wall time
of ours besides, which also shows what else the machine does. The first view of the process, which shows everything,
has a line of its own and counts among all.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from measuring import machine

from stepscope.schema import Events, Kind, Lane, Window
from stepscope.timeline import Timeline
from stepscope.timeline.segment import Segment
from stepscope.workers import FileWorker

PX = 2000
VIEWS = 300
#: Of the views of each zoom, those that the group-by answers too, which takes seconds.
PAIRS = 5
SPAN_NS = 10_000_000_000


class Given(FileWorker):
    """A worker whose window is at hand."""

    def __init__(self, window: Window) -> None:
        self.id = "synthetic"
        self._given = window
        self._about = window

    def load(self) -> Window:
        return self._given


def nested(random: np.random.Generator, slices: int, levels: int) -> tuple[np.ndarray, np.ndarray]:
    """Start and duration of slices in ``levels`` levels, each level within the one above, over ``SPAN_NS``."""
    per_level = slices // levels
    edges = np.sort(random.integers(0, SPAN_NS, 2 * per_level))
    start, end = edges[::2], edges[1::2]
    starts, durations = [], []
    for level in range(levels):
        inset = (end - start) * level // (3 * levels)
        starts.append(start + inset)
        durations.append(end - start - 2 * inset)
    return np.concatenate(starts), np.concatenate(durations)


def capture(events: int) -> Window:
    random = np.random.default_rng(0)
    shares = ((0.4, 8, "thread"), (0.3, 6, "thread"), (0.2, 1, "stream"), (0.07, 1, "stream"), (0.03, 1, "stream"))
    parts = [nested(random, int(events * share), levels) for share, levels, _ in shares]
    lanes = [
        Lane(
            kind, f"{kind} {i}", pid="1" if kind == "thread" else "0", tid=str(i), device=0 if kind == "stream" else -1
        )
        for i, (_, _, kind) in enumerate(shares)
    ]
    lane = np.repeat(np.arange(len(parts)), [len(start) for start, _ in parts])
    columns = {
        "ts_ns": np.concatenate([start for start, _ in parts]) + 1_796_000_000_000_000_000,
        "dur_ns": np.concatenate([dur for _, dur in parts]),
        "lane": lane,
        "name": random.integers(0, 500, len(lane)),
        "kind": np.where(lane < 2, Kind.OP, Kind.KERNEL),
    }
    return Window(Events.from_columns(columns, [f"name {i}" for i in range(500)], lanes), pid=1)


def group_by(segment: Segment, t0_ns: int, t1_ns: int, pixel_ns: int) -> int:
    """The straightforward way: filter by time, then group by row and pixel. Gives the number of groups."""
    e = segment.events
    shown = np.flatnonzero((e.ts_ns < t1_ns) & (e.ts_ns + e.dur_ns > t0_ns))
    wide = e.dur_ns[shown] >= pixel_ns
    row = segment.lane[shown].astype(np.int64) << 16 | segment.depth[shown]
    key = np.where(wide, -1 - shown, e.ts_ns[shown] // pixel_ns)
    order = np.lexsort((-e.dur_ns[shown], key, row))
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(row[order]) != 0) | (np.diff(key[order]) != 0)
    first = np.flatnonzero(new)
    if len(first):
        np.add.reduceat(e.dur_ns[shown][order], first)
        np.add.reduceat(np.ones(len(order), np.int64), first)
    return len(first)


def view_ms(timeline: Timeline, t0: int, t1: int, lanes: list[int]) -> tuple[tuple[float, float], int]:
    """Milliseconds that a view takes, of the thread and on the wall, and how many rectangles it has."""
    began_wall, began = time.perf_counter(), time.thread_time()
    shown = timeline.view(t0, t1, PX, lanes).num_rows
    return ((time.thread_time() - began) * 1000, (time.perf_counter() - began_wall) * 1000), shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=10_000_000)
    events = parser.parse_args().events
    print(f"{machine()}, numpy {np.__version__}")
    window = capture(events)
    began = time.perf_counter()
    timeline = Timeline(Given(window))
    opened = time.perf_counter() - began
    (segment,) = timeline._windows
    lanes = [lane["id"] for lane in timeline.tree()["lanes"]]
    print(
        f"{len(window.events):,} events, {len(segment.row_lane)} rows, laid out and opened in {opened:.2f} s,", end=" "
    )
    print(f"{timeline.nbytes / 1e6:.0f} MB")
    first_ms, shown = view_ms(timeline, 0, SPAN_NS, lanes)
    print(f"first view: {first_ms[0]:.1f} ms, wall {first_ms[1]:.1f} ms, {shown:,} rectangles")
    random = np.random.default_rng(1)
    print(f"{'zoom':>8} {'median ms':>10} {'max ms':>8} {'wall ms':>8} {'rectangles':>11} {'group-by / ours':>16}")
    all_ms, all_wall = [first_ms[0]], [first_ms[1]]
    for zoom in (1, 10, 100, 1_000, 10_000, 100_000):
        ours, ratios, wall, size = [], [], [], []
        for _ in range(VIEWS // 6):
            span = SPAN_NS // zoom
            t0 = int(random.integers(0, SPAN_NS - span + 1))
            (cpu_ms, wall_ms), shown = view_ms(timeline, t0, t0 + span, lanes)
            ours.append(cpu_ms)
            wall.append(wall_ms)
            size.append(shown)
            if len(ratios) < PAIRS:
                middle = time.thread_time()
                group_by(segment, t0 + timeline.origin_ns, t0 + span + timeline.origin_ns, max(1, span // PX))
                ratios.append((time.thread_time() - middle) * 1000 / ours[-1])
        ratio = statistics.median(ratios)
        numbers = f"{statistics.median(ours):>10.1f} {max(ours):>8.1f} {statistics.median(wall):>8.1f}"
        print(f"{zoom:>8,} {numbers} {statistics.median(size):>11,.0f} {ratio:>16.1f}")
        all_ms += ours
        all_wall += wall
    print(
        f"all {len(all_ms)}: median {statistics.median(all_ms):.1f} ms, max {max(all_ms):.1f} ms; "
        f"wall median {statistics.median(all_wall):.1f} ms, max {max(all_wall):.1f} ms"
    )


if __name__ == "__main__":
    main()
