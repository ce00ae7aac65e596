"""The Timeline tab as tests use it, and the runs that they look at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.opened import PATIENCE_MS
from tests.builders import TraceBuilder


def rank_trace(rank: int) -> TraceBuilder:
    """Three steps of 10 ms (of 11 on rank 1); in each an operator inside a module launches gemm [1, 4) and relu
    [4.5, 8.5). Rank 1 began 2 ms later."""
    pitch = 10_000 + 1000 * rank
    trace = TraceBuilder(rank=rank, world_size=2, pid=4000 + rank, tid=4000 + rank)
    for i in range(3):
        at = 2000 * rank + i * pitch
        trace.step(i + 5, at, pitch).python("nn.Module: Net_0", at + 50, 3000)
        trace.op("aten::linear", at + 100, 2000, external_id=i + 1, **{"Input Dims": [[8, 16]], "Sequence number": i})
        for k, (name, start, dur) in enumerate((("gemm", 1000, 3000), ("relu", 4500, 4000))):
            correlation = 10 * i + k + 1
            trace.launch(at + 200 + 100 * k, 50, correlation, external_id=i + 1)
            trace.kernel(name, at + start, dur, correlation=correlation, external_id=i + 1)
    return trace


HOSTILE = "<b>x</b>\u202e(37) \u05e9\u05dc\u05d1 \U0001f600" + "n" * 300


def hostile_trace() -> TraceBuilder:
    """A counter has -4 from 0 on, and 8 from 500 us on."""
    trace = TraceBuilder(rank=0).step(0, 0, 1000).op(HOSTILE, 100, 800)
    for at, depth in ((0, -4), (500, 8)):
        trace.event({"ph": "C", "name": "queue", "pid": 4117, "tid": 4117}, at, None, {HOSTILE: depth})
    return trace


def many_threads(threads: int, dur_us: int) -> TraceBuilder:
    """A busy thread and many others with one slice each."""
    trace = TraceBuilder(rank=0).step(0, 0, 100_000)
    for i in range(threads):
        trace.op(f"work {i}", 10 + i, dur_us, tid=100_000 + i)
    return trace


def write_runs(logdir: Path) -> None:
    for rank in (0, 1):
        rank_trace(rank).write(logdir / "pair" / f"r{rank}.pt.trace.json")
    many_threads(30, 5).write(logdir / "idle" / "r0.pt.trace.json")
    many_threads(12_000, 500).write(logdir / "crowd" / "r0.pt.trace.json")
    hostile_trace().write(logdir / "odd-name" / "r0.pt.trace.json")


class TimelinePage:
    """The tab, opened; lanes are known by the test id of their name, times are in us from the start of the trace."""

    def __init__(self, opened: Any) -> None:
        self.opened = opened
        self.page = opened.page
        self.frame = opened.frame
        self.canvas = self.frame.get_by_test_id("timeline-canvas")
        self.canvas.wait_for()
        self.lanes().first.wait_for()

    def lanes(self) -> Any:
        return self.frame.locator(".labels-body .label")

    def names(self) -> list[str]:
        return [text.split("\n")[0] for text in self.lanes().all_inner_texts()]

    def shown(self) -> tuple[float, float]:
        element = self.frame.get_by_test_id("timeline-range")
        t0, t1 = (float(element.get_attribute(name) or "nan") for name in ("data-t0", "data-t1"))
        return t0 / 1000, t1 / 1000

    def wait_for_range(self, t0: float, t1: float) -> None:
        for _ in range(PATIENCE_MS // 100):
            if self.shown() == pytest.approx((t0, t1), abs=0.01):
                return
            self.page.wait_for_timeout(100)
        assert self.shown() == pytest.approx((t0, t1), abs=0.01)

    def at(self, lane: Any, t_us: float, depth: int = 0) -> tuple[float, float]:
        """Where a time of a lane is on the page."""
        box, name = self.canvas.bounding_box(), lane.bounding_box()
        t0, t1 = self.shown()
        return box["x"] + (t_us - t0) / (t1 - t0) * box["width"], name["y"] + 3 + 17 * depth + 8

    def click(self, lane: Any, t_us: float, depth: int = 0) -> None:
        self.opened.settle()  # rectangles come a moment after the lanes
        self.page.mouse.click(*self.at(lane, t_us, depth))

    def mark(self, lane: Any, from_us: float, to_us: float) -> None:
        """Shift and drag along a lane; the numbers of the marked part have come then."""
        self.opened.settle()
        self.page.mouse.move(*self.at(lane, from_us))
        self.page.keyboard.down("Shift")
        self.page.mouse.down()
        self.page.mouse.move(*self.at(lane, (from_us + to_us) / 2))
        self.page.mouse.move(*self.at(lane, to_us))
        self.page.mouse.up()
        self.page.keyboard.up("Shift")
        self.opened.settle()

    def key(self, key: str) -> None:
        self.canvas.focus()
        self.page.keyboard.press(key)

    def selected(self, name: str) -> None:
        self.frame.get_by_test_id("slice-name").get_by_text(name, exact=True).wait_for()

    @property
    def stream(self) -> Any:
        return self.frame.get_by_test_id("lane-stream").first

    @property
    def thread(self) -> Any:
        return self.frame.get_by_test_id("lane-thread").first


#: What the fixture ``timeline`` is: opens the tab of a run.
Timelines = Callable[..., TimelinePage]
