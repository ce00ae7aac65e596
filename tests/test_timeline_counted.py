"""The curves of counters that a trace samples: their lanes, values between samples, and what stays an instant."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepscope.runs import open_run
from stepscope.schema import Kind, Window
from stepscope.timeline import Timeline, counted
from stepscope.timeline.export import chrome_trace
from tests.analysis.table import Table
from tests.builders import T0_NS, TraceBuilder
from tests.recorded import RecordedRun


def counting(trace: TraceBuilder, name: str, *samples: tuple[int, dict[str, Any]], pid: int = 4117) -> TraceBuilder:
    for at, values in samples:
        trace.event({"ph": "C", "name": name, "pid": pid, "tid": 9}, at, None, values)
    return trace


def timeline_of(tmp_path: Path, *windows: TraceBuilder | Window) -> Timeline:
    run = RecordedRun(tmp_path / "run", started_us=0)
    for window in windows:
        run.window(window)
    return Timeline(open_run(run.path).workers[0])


def lanes_of(timeline: Timeline) -> dict[int, dict[str, Any]]:
    return {lane["id"]: lane for lane in timeline.tree()["lanes"]}


def curves(timeline: Timeline, *edges_us: float) -> dict[tuple[str, str], list[float | None]]:
    """By the names of lane and curve its means, null where nothing is known."""
    lanes = lanes_of(timeline)
    return {
        (lanes[lane]["name"], curve.label): [None if np.isnan(v) else round(v, 6) for v in curve.mean.tolist()]
        for lane, found in timeline.curves(np.array(edges_us) * 1000, lanes).items()
        for curve in found
    }


def test_a_value_holds_until_the_next_one_and_the_last_to_the_end(tmp_path: Path) -> None:
    """waiting: 4 from 10, 8 from 20, 2 from 60 to the step's end at 100 us; running is told at 20 alone."""
    trace = TraceBuilder().step(1, 0, 100)
    counting(trace, "queue", (10, {"waiting": 4}), (20, {"waiting": 8, "running": 1.5}), (60, {"waiting": 2}))
    timeline = timeline_of(tmp_path, trace)
    assert curves(timeline, 0, 10, 15, 40, 80, 100, 110) == {
        ("queue", "waiting"): [None, 4, (5 * 4 + 20 * 8) / 25, (20 * 8 + 20 * 2) / 40, 2, None],
        ("queue", "running"): [None, None, 1.5, 1.5, 1.5, None],
    }
    lanes = lanes_of(timeline)
    (lane,) = (lane for lane in lanes.values() if lane["type"] == "counter")
    assert (lane["events"], lane["of_work"], lane["series"]) == (3, True, ["counter waiting", "counter running"])
    above = lanes[lane["parent"]]
    assert (above["name"], above["type"], lanes[above["parent"]]["type"]) == ("Counters", "group", "process")
    assert timeline.find("queue")["count"] == 3  # each sample can still be looked up


def test_counters_of_two_windows_share_a_lane(tmp_path: Path) -> None:
    windows = [
        counting(TraceBuilder().step(i, at, 100), "queue", (at, {"n": i}), (at + 50, {"n": 2 * i}))
        for i, at in ((1, 0), (2, 200))
    ]
    assert curves(timeline_of(tmp_path, *windows), 0, 100, 200, 300) == {("queue", "n"): [1.5, None, 3]}


def test_what_tells_no_number_or_only_one_stays_an_instant(tmp_path: Path) -> None:
    trace = counting(TraceBuilder().step(1, 0, 100), "once", (5, {"n": 1}))
    counting(trace, "words", (5, {"n": "x"}), (6, {"n": True}), (7, {"n": 1e999}))
    timeline = timeline_of(tmp_path, trace)
    assert curves(timeline, 0, 100) == {}
    (lane,) = (lane for lane in lanes_of(timeline).values() if lane["events"] == 4)
    assert lane["type"] == "thread"


def test_of_very_many_counters_those_with_the_most_samples_are_curves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted, "MOST_COUNTERS", 1)
    trace = counting(TraceBuilder().step(1, 0, 100), "few", (5, {"n": 1}), (6, {"n": 2}))
    counting(trace, "many", (5, {"n": 1}), (6, {"n": 2}), (7, {"n": 3}))
    assert [lane for lane, _ in curves(timeline_of(tmp_path, trace), 0, 100)] == ["many"]


def test_samples_of_a_device_lie_below_it_with_their_unit(tmp_path: Path) -> None:
    """What XLA's sampler of GPUs writes: the name for people, the metric as a stat."""
    table = Table().kernel("gemm", T0_NS, 100)
    for at, value in ((0, 10), (50, 30)):
        table.device(Kind.COUNTER, "Tensor pipe", T0_NS + at, 0, stream=5).told(**{"sm__pipe_tensor.avg.pct": value})
        table.device(Kind.COUNTER, "Read", T0_NS + at, 0, stream=5).told(**{"dram__bytes_read.sum": value})
    timeline = timeline_of(tmp_path, Window(table.events()))
    lanes = lanes_of(timeline)
    ids = [lane["id"] for lane in lanes.values() if lane["name"] in ("Tensor pipe", "Read")]
    assert {lanes[lanes[lanes[lane]["parent"]]["parent"]]["type"] for lane in ids} == {"device"}
    found = timeline.curves(np.array([0, 100]), ids)
    assert {(c.label, c.unit, c.mean.tolist()[0]) for of_lane in found.values() for c in of_lane} == {
        ("sm__pipe_tensor.avg.pct, %", "number", 20.0),
        ("dram__bytes_read.sum", "bytes", 20.0),
    }
    assert "stream 5" not in {lane["name"] for lane in lanes.values()}  # nothing is left on it


def test_an_export_holds_the_samples_and_not_their_curve(tmp_path: Path) -> None:
    trace = counting(TraceBuilder().step(1, 0, 100), "queue", (10, {"n": 4}), (20, {"n": 8}))
    exported = chrome_trace(timeline_of(tmp_path, trace), 0, 100_000, None)
    counters = [event for event in exported["traceEvents"] if event["ph"] == "C"]
    assert [(e["ts"], e["args"], "cat" in e) for e in counters] == [(10, {"n": 4}, False), (20, {"n": 8}, False)]
    path = tmp_path / "out.pt.trace.json"
    path.write_text(json.dumps(exported))
    again = Timeline(open_run(path).workers[0])
    assert curves(again, 10, 20, 100) == {("queue", "n"): [4, 8]}
