"""The curves of device work: exact in any bins, and over the steps what the summary tells of the device."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from stepscope.analysis.capture import merge
from stepscope.analysis.gpu import gpus
from stepscope.analysis.kernel_runs import kernel_runs
from stepscope.analysis.launches import link
from stepscope.analysis.steps import find_steps
from stepscope.analysis.work_curves import Integral, WorkCurves, work_curves
from stepscope.schema import Events, Kind, Window
from tests.builders import T0_NS, TraceBuilder

BLOCKS = "blocks per SM"


def blocks(per_sm: float) -> dict[str, Any]:
    return {BLOCKS: per_sm}


def curves_of(window: Window) -> WorkCurves:
    events = window.events
    kernels = np.flatnonzero(events.of_kind(Kind.KERNEL, Kind.COLLECTIVE))
    copies = np.flatnonzero(events.of_kind(Kind.MEMCPY))
    return work_curves(events, kernels, copies, T0_NS, link(events), window.devices)


def in_us(integral: Integral | None, *edges_us: float) -> list[float]:
    assert integral is not None
    return (integral.over(np.array(edges_us) * 1000) / 1000).round(6).tolist()


def random_trace(seed: int) -> TraceBuilder:
    """Kernels on three streams of one device and copies in two directions; some touch, some take no time."""
    random = np.random.default_rng(seed)
    trace = TraceBuilder().step(0, 10, 60).step(1, 80, 50)
    for stream in (7, 8, 9):
        at = 0
        for _ in range(int(random.integers(0, 12))):
            at += int(random.integers(0, 12))
            dur = int(random.integers(0, 9))
            filled = float(random.choice([0.0, 0.2, 0.6, 2.5]))
            trace.kernel("gemm" if stream < 9 else "ncclAllReduce", at, dur, stream=stream, **blocks(filled))
            at += dur
    for i in range(int(random.integers(0, 8))):
        size = None if i == 3 else int(random.integers(0, 5000))
        trace.memcpy("HtoD" if i % 2 else "DtoH", int(random.integers(0, 150)), int(random.integers(0, 20)), size, 11)
    return trace


def by_hand(window: Window, begin_us: int, end_us: int) -> tuple[float, float, dict[str, float]]:
    """Busy us, us of full multiprocessors and bytes by direction, summed microsecond by microsecond."""
    events, busy, filled, moved = window.events, 0.0, 0.0, dict[str, float]()
    for us in range(begin_us, end_us):
        at = T0_NS + us * 1000
        runs = np.flatnonzero((events.ts_ns <= at) & (at < events.end_ns) & (events.device >= 0))
        kernels = [i for i in runs.tolist() if events.kind[i] in (Kind.KERNEL, Kind.COLLECTIVE)]
        busy += bool(kernels)
        filled += min(1.0, sum(events.args_of(i)[BLOCKS] for i in kernels))
        for i in runs.tolist():
            if events.kind[i] == Kind.MEMCPY and events.bytes[i] >= 0:
                direction = events.text(i).split()[1]
                moved[direction] = moved.get(direction, 0.0) + int(events.bytes[i]) * 1000 / int(events.dur_ns[i])
    return busy, filled, moved


@pytest.mark.parametrize("seed", range(12))
def test_any_bins_hold_what_runs_in_them(seed: int) -> None:
    window = random_trace(seed).window()
    curves = curves_of(window)
    edges = np.unique(np.random.default_rng(seed).integers(-5, 180, 7)).tolist()
    for begin, end in pairwise(edges):
        busy, filled, moved = by_hand(window, begin, end)
        assert in_us(curves.busy, begin, end) == [busy]
        assert in_us(curves.sm_efficiency, begin, end) == pytest.approx([filled])
        for direction, size in moved.items():
            assert curves.bytes_per_s is not None
            told = float(curves.bytes_per_s[direction].over(np.array([begin, end]) * 1000.0)[0])
            # Copies that take no time move all at once, which no sum over microseconds sees.
            assert told == pytest.approx(size) or told > size
    whole = np.array([-1.0, 1.0]) * 1e9
    sized = (window.events.kind == Kind.MEMCPY) & (window.events.bytes >= 0)
    total = sum(float(one.over(whole)[0]) for one in (curves.bytes_per_s or {}).values())
    assert total == pytest.approx(int(window.events.bytes[sized].sum()))


@pytest.mark.parametrize("seed", range(6))
def test_over_the_steps_they_are_what_the_summary_tells(seed: int) -> None:
    window = random_trace(seed).kernel("gemm", 20, 3, **blocks(0.4)).window()
    curves, capture = curves_of(window), merge([window.events])
    links = link(capture.events)
    steps = find_steps(Events.empty(), capture, links)
    (gpu,) = gpus(capture.events, steps, kernel_runs(capture.events, links, window.devices))
    edges = (np.column_stack((steps.start_ns, steps.end_ns)).ravel() - T0_NS).astype(np.float64)
    in_steps = slice(None, None, 2)
    steps_ns = np.diff(edges)[in_steps].sum()
    assert gpu.busy_ns == curves.busy.over(edges)[in_steps].sum()
    assert curves.sm_efficiency is not None
    assert curves.sm_efficiency.over(edges)[in_steps].sum() / steps_ns == pytest.approx(gpu.sm_efficiency)


def test_what_no_record_tells_is_not_there() -> None:
    trace = TraceBuilder().kernel("gemm", 0, 10, **blocks(1)).memcpy("HtoD", 20, 10, 4000).memcpy("HtoD", 40, 10)
    told = curves_of(trace.window())
    assert in_us(told.sm_efficiency, 0, 5, 20) == [5, 5]
    assert told.bytes_per_s is not None
    assert in_us(told.bytes_per_s["HtoD"], 20, 25, 60) == [2, 2]  # of the copy whose size is known
    untold = curves_of(TraceBuilder().kernel("gemm", 0, 10).memcpy("HtoD", 20, 10).window())
    assert (untold.sm_efficiency, untold.bytes_per_s) == (None, None)
    assert in_us(untold.busy, 0, 5, 20) == [5, 5]
    none = curves_of(TraceBuilder().kernel("gemm", 0, 10).window())
    assert none.bytes_per_s == {}  # no copies: nothing was moved, and that is known


def test_rounding_leaves_nothing_behind() -> None:
    """Sums of a third and a tenth of a block do not cancel; while nothing runs it is 0 all the same."""
    trace = TraceBuilder()
    for i in range(50):
        trace.kernel("a", 10 * i, 5, 7, **blocks(1 / 3)).kernel("b", 10 * i + 1, 5, 8, **blocks(0.1))
    curves = curves_of(trace.window())
    edges = [0.0, *(e for i in range(50) for e in (10 * i + 6, 10 * i + 10))]
    assert set(in_us(curves.sm_efficiency, *edges)[1::2]) == {0.0}
