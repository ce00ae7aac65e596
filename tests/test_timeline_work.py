"""The curves of device work in the timeline: lanes, windows and gaps, what is absent, and their export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepscope.runs import open_run
from stepscope.timeline import Timeline
from stepscope.timeline.export import chrome_trace
from tests.builders import TraceBuilder
from tests.recorded import RecordedRun

BLOCKS = "blocks per SM"
UNTOLD = "neither the records of the kernels nor their launch calls tell every grid"


def blocks(per_sm: float) -> dict[str, Any]:
    return {BLOCKS: per_sm}


def two_windows(tmp_path: Path) -> RecordedRun:
    """[0, 100) us: gemm [20, 80) fills half of GPU 0, a copy moves 8000 bytes [80, 90). [200, 300): relu [200, 225)."""
    run = RecordedRun(tmp_path / "run", started_us=0)
    first = TraceBuilder().step(1, 0, 100).launch(0, 5, correlation=1)
    first.kernel("gemm", 20, 60, correlation=1, **blocks(0.5)).memcpy("HtoD", 80, 10, 8000)
    second = TraceBuilder().step(2, 200, 100).kernel("relu", 200, 25, **blocks(2))
    return run.window(first).window(second)


def timeline_of(run: RecordedRun | Path) -> Timeline:
    path = run.path if isinstance(run, RecordedRun) else run
    return Timeline(open_run(path).workers[0])


def curves(timeline: Timeline, *edges_us: float) -> dict[str, Any]:
    """By name the values of each curve of the only device, null where nothing was captured; why, if it is not there."""
    lanes = [lane["id"] for lane in timeline.tree()["lanes"]]
    found = timeline.curves(np.array(edges_us) * 1000, lanes)
    return {
        curve.label: curve.why or [None if np.isnan(v) else round(v, 6) for v in curve.mean.tolist()]
        for of_lane in found.values()
        for curve in of_lane
    }


def test_the_means_of_two_windows_and_nothing_between_them(tmp_path: Path) -> None:
    timeline = timeline_of(two_windows(tmp_path))
    # A bin that begins or ends in a window holds the mean over the part of it that was captured.
    assert curves(timeline, -50, 0, 40, 100, 150, 200, 250, 290, 350, 400) == {
        "Busy": [None, 0.5, pytest.approx(40 / 60, abs=1e-5), None, None, 0.5, 0, 0, None],
        "SM efficiency, estimated": [None, 0.25, pytest.approx(20 / 60, abs=1e-5), None, None, 0.5, 0, 0, None],
        "HtoD": [None, 0, pytest.approx(8000 / 60e-6), None, None, 0, 0, 0, None],
    }


def test_a_bin_over_all_holds_the_mean_of_what_was_captured(tmp_path: Path) -> None:
    found = curves(timeline_of(two_windows(tmp_path)), -1e6, 1e6)
    assert found["Busy"] == [pytest.approx(85 / 200, abs=1e-5)]
    assert found["SM efficiency, estimated"] == [pytest.approx(55 / 200, abs=1e-5)]
    assert found["HtoD"] == [pytest.approx(8000 / 200e-6)]


def test_the_lanes_stand_first_below_their_device(tmp_path: Path) -> None:
    tree = timeline_of(two_windows(tmp_path)).tree()["lanes"]
    (device,) = [lane["id"] for lane in tree if lane["type"] == "device"]
    below = [lane for lane in tree if lane["parent"] == device]
    assert [lane["name"] for lane in below] == ["Utilisation", "Copies", "Host launches", "stream 7"]
    assert [lane.get("series") for lane in below[:2]] == [["busy", "sm_efficiency"], ["copies HtoD"]]
    assert [lane.get("of_work") for lane in below] == [True, True, None, None]


def test_the_ids_of_the_lanes_are_those_of_the_next_server(tmp_path: Path) -> None:
    run = two_windows(tmp_path)
    ids = [[lane["id"] for lane in timeline_of(run).tree()["lanes"]] for _ in range(2)]
    assert ids[0] == ids[1]


def test_a_window_that_comes_later_brings_its_curves(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "run", started_us=0).window(TraceBuilder().step(1, 0, 100).kernel("gemm", 0, 50))
    timeline = timeline_of(run)
    assert curves(timeline, 0, 100, 200) == {"Busy": [0.5, None], "SM efficiency, estimated": UNTOLD}
    run.window(TraceBuilder().step(2, 100, 100).kernel("gemm", 100, 20, **blocks(0.5)).memcpy("DtoH", 150, 10, 100))
    assert timeline.refresh(open_run(run.path).workers[0])
    # The first window does not tell the grid, which is not known there then; copies it had none.
    found = curves(timeline, 0, 100, 200)
    assert found == {"Busy": [0.5, 0.2], "SM efficiency, estimated": [None, 0.1], "DtoH": [0, 1e6]}


def test_a_window_without_any_device_work_tells_nothing(tmp_path: Path) -> None:
    run = two_windows(tmp_path).window(TraceBuilder().step(3, 400, 100).op("aten::mm", 410, 20))
    assert curves(timeline_of(run), 400, 500)["Busy"] == [None]


def test_devices_have_their_own(tmp_path: Path) -> None:
    trace = TraceBuilder(devices=2).step(1, 0, 100).kernel("a", 0, 50).kernel("b", 0, 25, stream=20, device=1)
    timeline = timeline_of(trace.write(tmp_path / "t.pt.trace.json"))
    tree = timeline.tree()["lanes"]
    names = {lane["id"]: lane["name"][:5] for lane in tree}
    found = timeline.curves(np.array([0.0, 100_000]), [lane["id"] for lane in tree])
    parents = {lane["id"]: lane["parent"] for lane in tree}
    assert {names[parents[lane]]: one[0].mean.tolist() for lane, one in found.items()} == {
        "GPU 0": [0.5],
        "GPU 1": [0.25],
    }


def test_a_maker_that_has_compute_units(tmp_path: Path) -> None:
    trace = TraceBuilder().step(1, 0, 100).kernel("gemm", 0, 50, **blocks(1))
    trace.header["deviceProperties"][0]["name"] = "AMD Instinct MI300X"
    assert "CU efficiency, estimated" in curves(timeline_of(trace.write(tmp_path / "t.pt.trace.json")), 0, 100)


def test_an_exported_trace_has_them_as_counters(tmp_path: Path) -> None:
    timeline = timeline_of(two_windows(tmp_path))
    events = chrome_trace(timeline, 0, 250_000, None)["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    counters = [e for e in events if e["ph"] == "C"]
    assert {names[e["pid"]][:5] for e in counters} == {"GPU 0"}
    assert {e["name"] for e in counters} == {"Utilisation (ratio)", "Copies (bytes/s)"}
    busy = [(e["ts"], e["args"]["Busy"]) for e in counters if "Busy" in e["args"]]
    assert busy == [(0, 0), (20, 1), (80, 0), (200, 1), (225, 0)]
    only = [lane["id"] for lane in timeline.tree()["lanes"] if lane["name"] == "stream 7"]
    assert not [e for e in chrome_trace(timeline, 0, 300_000, only)["traceEvents"] if e["ph"] == "C"]
    assert not [e for e in chrome_trace(timeline, 400_000, 500_000, None)["traceEvents"] if e["ph"] == "C"]
