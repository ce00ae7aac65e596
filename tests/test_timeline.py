"""The timeline of a worker: lanes, viewports, slices and their connections, and what comes while it is open."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from stepscope.errors import StepscopeError
from stepscope.runs import open_run
from stepscope.schema import Events, Kind, Lane, Window
from stepscope.timeline import LIVE_BASE, NoSuchSlice, Timeline
from stepscope.timeline.area import area
from stepscope.timeline.one_slice import slice_of
from stepscope.timeline.rectangles import VIEW_SCHEMA
from stepscope.workers import FileWorker, Worker
from tests.builders import T0_NS, TraceBuilder
from tests.recorded import RecordedRun


def worker_of(run: RecordedRun) -> Worker:
    return open_run(run.path).workers[0]


def timeline_of(tmp_path: Path, source: TraceBuilder | Window) -> Timeline:
    """The timeline of one deep window, in a run that recorded nothing else."""
    return Timeline(worker_of(RecordedRun(tmp_path / "run", started_us=0).window(source)))


def outline(timeline: Timeline) -> list[str]:
    """The tree, a line a lane: its name indented, and its rows and events if it has any."""
    level: dict[int | None, int] = {None: -1}
    lines = []
    for lane in timeline.tree()["lanes"]:
        level[lane["id"]] = level[lane["parent"]] + 1
        size = f" {lane['rows']}x{lane['events']}" if lane["events"] else ""
        lines.append("  " * level[lane["id"]] + f"{lane['type']} {lane['name']}{size}")
    return lines


def lanes_of(timeline: Timeline) -> dict[str, int]:
    return {lane["name"]: lane["id"] for lane in timeline.tree()["lanes"]}


def rectangles(timeline: Timeline, t0_us: int, t1_us: int, px: int, lanes: list[int] | None = None) -> list[tuple]:
    """(lane name, depth, start us, duration us, count, busy us, name) of each rectangle."""
    names = {v: k for k, v in lanes_of(timeline).items()}
    table = timeline.view(t0_us * 1000, t1_us * 1000, px, list(names) if lanes is None else lanes)
    assert table.schema.equals(VIEW_SCHEMA)
    return [
        (names[r["lane"]], r["depth"], r["start"] / 1000, r["dur"] / 1000, r["count"], r["busy"] / 1000, r["name"])
        for r in table.to_pylist()
    ]


def row_of(timeline: Timeline, name: str, which: int = 0) -> int:
    return timeline.find(name)["rows"][which]


def connections(timeline: Timeline, name: str, which: int = 0) -> list[tuple[str, str, int | None]]:
    """(type, name of the other slice, latency in us) of each connection."""
    found = slice_of(timeline, row_of(timeline, name, which))["connections"]
    return [(c["type"], c["name"], None if c["latency"] is None else c["latency"] // 1000) for c in found]


# -- lanes ------------------------------------------------------------------------------------------


def test_the_lanes_of_a_trace(tmp_path: Path) -> None:
    trace = TraceBuilder(rank=1, world_size=2, devices=2).step(1, 0, 100)
    for i in range(3):
        trace.op("aten::add", 10 * i, 5, tid=77)
    trace.launch(50, 5, correlation=1).kernel("gemm", 60, 20, stream=7, correlation=1)
    trace.kernel("nccl", 60, 30, stream=20, device=1).gpu_annotation("forward", 55, 40, stream=7)
    path = trace.write(tmp_path / "t.pt.trace.json")
    assert outline(Timeline(open_run(path).workers[0])) == [
        "host host",
        "  process rank 1 · pid 4117",
        "    thread thread 4117 (python3) 2x2",  # the training thread goes before busier ones
        "    thread thread 77 (python3) 1x3",
        "    device GPU 0 · NVIDIA A100-SXM4-40GB",
        "      counter Utilisation",
        "      launches Host launches 2x2",
        "      stream stream 7 1x1",
        "      stream stream 7 annotations 1x1",
        "    device GPU 1 · NVIDIA A100-SXM4-40GB",
        "      counter Utilisation",
        "      stream stream 20 1x1",
    ]


def test_always_on_rows_and_deep_windows_of_a_process_stand_in_one_tree(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "run")
    run.step(0, 0, 100, input_wait=(0, 40), forward=(40, 60)).span(Kind.ANNOTATION, "augment", 5, 20)
    run.span(Kind.ANNOTATION, "decode", 0, 50, tid=4200).span(Kind.OVERHEAD, "profiler_stall", 100, 30)
    run.flush().sample(0, {("cpu", -1): 0.5, ("iowait", -1): 0.0, ("cpu_core", 0): 0.4, ("gpu", 0): 0.9})
    for start in (200, 400):
        run.window(TraceBuilder().step(1, start, 100).op("aten::mm", start + 10, 20))
    timeline = Timeline(worker_of(run.end()))
    assert outline(timeline) == [
        "host node1",
        "  process rank 0 · pid 4117",
        "    group Training loop",
        "      thread Steps 1x2",  # the step and the stall behind it
        "      thread Phases 1x2",
        "      thread Annotations 1x1",
        "      thread Annotations (thread 4200) 1x1",
        "    thread MainThread (4117) 2x4",  # both windows
        "  group Resources",
        "    counter CPU",
        "    counter GPU 0",
        "    group CPU cores",
        "      counter Core 0",
    ]
    series = {lane["name"]: lane["series"] for lane in timeline.tree()["lanes"] if "series" in lane}
    assert series == {"CPU": ["cpu", "iowait"], "GPU 0": ["gpu.0"], "Core 0": ["cpu_core.0"]}


def test_a_window_of_several_processes_has_a_node_for_each(tmp_path: Path) -> None:
    trace = TraceBuilder().op("aten::add", 0, 10)
    trace.event({"ph": "X", "cat": "cpu_op", "name": "child", "pid": 999, "tid": 1}, 0, 5)
    assert outline(timeline_of(tmp_path, trace))[1:] == [
        "  process rank 0 · pid 4117",
        "    thread MainThread (4117) 1x1",
        "  process pid 999",
        "    thread thread 1 1x1",
    ]


def test_kernels_below_a_region_on_their_stream_begin_at_its_first_row(tmp_path: Path) -> None:
    trace = TraceBuilder().gpu_annotation("region", 0, 100).kernel("a", 10, 20).kernel("b", 40, 20)
    timeline = timeline_of(tmp_path, trace)
    rows = {lane["name"]: (lane["rows"], lane["events"]) for lane in timeline.tree()["lanes"] if lane["events"]}
    assert rows == {"stream 7": (1, 2), "stream 7 annotations": (1, 1)}


def test_what_covers_a_lane_counts_once(tmp_path: Path) -> None:
    trace = TraceBuilder().op("outer", 0, 10).op("inner", 2, 5).op("later", 20, 7)
    trace.kernel("a", 0, 10).kernel("b", 5, 10)  # overlap: 15 us covered
    lanes = {lane["name"]: lane for lane in timeline_of(tmp_path, trace).tree()["lanes"]}
    assert lanes["MainThread (4117)"]["busy_ns"] == 17_000
    assert lanes["stream 7"]["busy_ns"] == 15_000
    assert lanes["rank 0 · pid 4117"]["busy_ns"] is None


def test_a_lane_with_python_frames_tells_where_its_operators_begin(tmp_path: Path) -> None:
    trace = TraceBuilder()
    for depth in range(6):
        trace.python(f"main.py(1): f{depth}", depth, 1000 - 2 * depth)
    trace.op("aten::linear", 100, 300).op("aten::addmm", 120, 250)  # below six frames: depth 6
    trace.python("autograd.py(1): apply", 130, 200).op("aten::mul", 140, 150)  # in an operator: counts with it
    trace.python("data.py(1): next", 1100, 300).op("aten::stack", 1150, 200)  # depth 1, in less time
    trace.op("aten::add", 0, 500, tid=77)  # a thread without frames
    lanes = {lane["name"]: lane for lane in timeline_of(tmp_path, trace).tree()["lanes"]}
    assert lanes["MainThread (4117)"]["operators"] == 6
    assert "operators" not in lanes["thread 77 (python3)"]


def test_idle_lanes_stay_and_come_last(tmp_path: Path) -> None:
    window = TraceBuilder().op("aten::add", 0, 10).window()
    window.events.lanes.insert(0, Lane("thread", "idle", pid="4117", tid="5"))
    window.events.lane = window.events.lane + 1
    assert outline(timeline_of(tmp_path, window))[2:] == ["    thread MainThread (4117) 1x1", "    thread idle"]


def test_threads_of_a_pool_stand_in_a_group(tmp_path: Path) -> None:
    names = [*(f"tf_data/{n}" for n in (-7, 8, 9, 10)), *(f"pool_{n}" for n in range(3)), *["thread"] * 5]
    lanes = [Lane("thread", f"{name} {i}" if name == "thread" else name, "1", str(i)) for i, name in enumerate(names)]
    n = len(lanes)
    columns = {"ts_ns": T0_NS + np.arange(n), "dur_ns": np.full(n, 5), "lane": np.arange(n), "name": np.zeros(n, int)}
    run = RecordedRun(tmp_path / "run").window(Window(Events.from_columns(columns, ["op"], lanes), pid=1))
    timeline = Timeline(open_run(run.path).workers[0])
    tree = timeline.tree()["lanes"]
    (pool,) = (lane for lane in tree if lane["type"] == "pool")
    assert pool["name"] == "tf_data/*"
    inside = [lane["name"] for lane in tree if lane["parent"] == pool["id"]]
    assert sorted(inside) == sorted(names[:4])
    assert area(timeline, 0, 100, [pool["id"]])["count"] == 4


def test_threads_that_only_annotate_stand_in_a_group(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "run").step(0, 0, 100)
    for tid in range(50, 55):
        run.span(Kind.ANNOTATION, "map", 10, 5, tid=tid)
    run.span(Kind.ANNOTATION, "augment", 1, 5)
    lines = outline(Timeline(open_run(run.flush().path).workers[0]))
    assert [line for line in lines if "nnotations" in line] == [
        "      thread Annotations 1x1",
        "      pool Annotations (thread *)",
        *(f"        thread Annotations (thread {tid}) 1x1" for tid in range(50, 55)),
    ]


def test_lane_ids_do_not_depend_on_what_was_seen_first(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "run").step(0, 0, 100).flush()
    early = Timeline(worker_of(run))
    run.window(TraceBuilder().op("aten::mm", 10, 20))
    early.refresh(worker_of(run))
    assert lanes_of(early) == lanes_of(Timeline(worker_of(run)))


def test_thousands_of_lanes(tmp_path: Path) -> None:
    n = 5000
    lanes = [Lane("thread", f"t{i}", pid="4117", tid=str(i + 1)) for i in range(n)]
    columns = {"ts_ns": np.arange(n) + T0_NS, "dur_ns": np.full(n, 10), "lane": np.arange(n), "name": np.zeros(n)}
    timeline = timeline_of(tmp_path, Window(Events.from_columns(columns, ["x"], lanes), pid=4117))
    ids = [lane["id"] for lane in timeline.tree()["lanes"] if lane["type"] == "thread"]
    assert len(ids) == len(set(ids)) == n
    assert timeline.view(0, n + 10, 1000, ids).num_rows == n


# -- the extent and the steps ------------------------------------------------------------------------


def test_times_count_from_the_start_of_the_recording(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "run", started_us=-500).step(3, 100, 50).step(4, 150, 60).end()
    tree = Timeline(worker_of(run)).tree()
    assert tree["origin_ns"] == str(T0_NS - 500_000)
    assert (tree["t0"], tree["t1"]) == (600_000, 710_000)
    assert tree["steps"] == {"offset": 0, "id": [3, 4], "start": [600_000, 650_000], "end": [650_000, 710_000]}


def test_times_of_a_file_count_from_its_first_event(tmp_path: Path) -> None:
    trace = TraceBuilder().step(7, 40, 100).launch(60, 5, correlation=1).kernel("gemm", 100, 80, correlation=1)
    tree = Timeline(open_run(trace.write(tmp_path / "t.pt.trace.json")).workers[0]).tree()
    assert tree["origin_ns"] == str(T0_NS + 40_000)
    assert (tree["t0"], tree["t1"]) == (0, 140_000)
    # the step is extended over the kernel that it launched, as everywhere else
    assert tree["steps"] == {"offset": 0, "id": [7], "start": [0], "end": [140_000]}


def test_a_worker_that_recorded_nothing_yet_has_an_empty_timeline(tmp_path: Path) -> None:
    timeline = Timeline(worker_of(RecordedRun(tmp_path / "run")))
    tree = timeline.tree()
    assert (tree["lanes"], tree["steps"]) == ([], {"offset": 0, "id": [], "start": [], "end": []})
    assert timeline.view(0, 100, 100, [1, 2]).num_rows == 0
    assert timeline.find("x") == {"count": 0, "rows": []}
    with pytest.raises(NoSuchSlice):
        slice_of(timeline, 0)


def test_where_there_are_only_resource_samples_they_give_the_extent(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "run").sample(10, {("cpu", -1): 0.1}).sample(90, {("cpu", -1): 0.2})
    tree = Timeline(worker_of(run)).tree()
    assert (tree["t0"], tree["t1"]) == (10_000, 90_000)


# -- viewports ----------------------------------------------------------------------------------------


def test_a_view_shows_slices_of_the_lanes_asked_for(tmp_path: Path) -> None:
    trace = TraceBuilder().op("outer", 0, 50).op("inner", 10, 20).op("later", 60, 10).kernel("gemm", 20, 40)
    timeline = timeline_of(tmp_path, trace)
    thread, stream = lanes_of(timeline)["MainThread (4117)"], lanes_of(timeline)["stream 7"]
    assert rectangles(timeline, 0, 100, 1000, [stream]) == [("stream 7", 0, 20, 40, 1, 40, "gemm")]
    assert rectangles(timeline, 25, 55, 1000, [thread]) == [
        ("MainThread (4117)", 0, 0, 50, 1, 50, "outer"),
        ("MainThread (4117)", 1, 10, 20, 1, 20, "inner"),
    ]
    assert rectangles(timeline, 0, 100, 1000, []) == []
    assert timeline.view(0, 100_000, 1000, [123]).num_rows == 0


def test_what_is_below_a_pixel_is_merged_under_the_name_of_its_longest(tmp_path: Path) -> None:
    # A pixel is 100 us. The trace's own times are multiples of 100 us of Unix time, so pixels begin at 0.
    assert T0_NS % 100_000 == 0
    trace = TraceBuilder().op("a", 0, 20).op("b", 20, 30).op("c", 60, 10).op("d", 110, 100)
    assert rectangles(timeline_of(tmp_path, trace), 0, 1000, 10) == [
        ("MainThread (4117)", 0, 0, 70, 3, 60, "b"),
        ("MainThread (4117)", 0, 110, 100, 1, 100, "d"),
    ]


def test_what_one_pixel_shows_of_two_windows_is_one_rectangle(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "run")
    run.window(TraceBuilder().op("a", 0, 20)).window(TraceBuilder().op("b", 30, 30).op("c", 100, 100))
    timeline = Timeline(worker_of(run))
    assert rectangles(timeline, 0, 1000, 10) == [
        ("MainThread (4117)", 0, 0, 60, 2, 50, "b"),
        ("MainThread (4117)", 0, 100, 100, 1, 100, "c"),
    ]
    (merged, _) = timeline.view(0, 1_000_000, 10, lanes_of(timeline).values()).to_pylist()
    assert merged["row"] == row_of(timeline, "b")


def test_rows_of_a_view_are_those_of_slice_and_find(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "run").step(0, 0, 100, forward=(10, 40)).flush()
    run.window(TraceBuilder().op("x", 5, 10).kernel("gemm", 20, 40).gpu_annotation("region", 10, 60))
    timeline = Timeline(worker_of(run))
    for r in timeline.view(0, 100_000, 1000, lanes_of(timeline).values()).to_pylist():
        found = slice_of(timeline, r["row"])
        assert (found["name"], found["lane"], found["depth"]) == (r["name"], r["lane"], r["depth"])
        assert (found["start"], found["dur"], found["kind"]) == (r["start"], r["dur"], Kind(r["kind"]).name.lower())
        assert timeline.find(r["name"]) == {"count": 1, "rows": [r["row"]]}


def test_a_view_over_windows_and_stream_equals_a_look_at_every_slice(tmp_path: Path) -> None:
    """Counts, busy times and names of random views, against plain Python over what the store holds."""
    random = np.random.default_rng(5)
    run = RecordedRun(tmp_path / "run")
    for w in range(3):
        trace = TraceBuilder()
        at = w * 20_000
        for i in range(400):
            dur = int(random.integers(2, 60))
            trace.op(f"op{int(random.integers(5))}", at, dur)
            if dur > 10:
                trace.op(f"inner{i % 3}", at + 2, dur - 5)
            trace.kernel(f"k{i % 4}", at + int(random.integers(0, 9)), int(random.integers(1, 80)))  # overlaps
            at += dur + int(random.integers(0, 5))
        run.window(trace)
    for i in range(300):
        run.step(i, i * 200, 180, input_wait=(i * 200, 50), forward=(i * 200 + 60, 90))
    worker = worker_of(run.end())
    timeline = Timeline(worker)
    slices = stored_slices(worker)
    names = {v: k for k, v in lanes_of(timeline).items()}
    for _ in range(80):
        t0, t1 = sorted(int(t) for t in random.integers(-1000, 62_000_000, 2))
        px = int(random.choice([1, 10, 300, 2000]))
        lanes = [lane for lane in names if random.random() < 0.7]
        shown = [
            (names[r["lane"]], r["depth"], r["start"], r["dur"], r["count"], r["busy"], r["name"])
            for r in timeline.view(t0, t1, px, lanes).to_pylist()
        ]
        assert sorted(shown) == brute_force(slices, {names[lane] for lane in lanes}, t0, t1, px)


def stored_slices(worker: Worker) -> dict[tuple[str, int], list[tuple[int, int, str]]]:
    """(start, duration, name) of each row (lane, depth), in order, without the timeline's own code."""
    rows: dict[tuple[str, int], list[tuple[int, int, str]]] = {}
    for window in worker.windows():
        e = window.events
        for i in range(len(e)):
            lane = e.lanes[e.lane[i]]
            name = lane.name if lane.type == "stream" else "MainThread (4117)"
            key = (name, int(e.depth[i]))
            rows.setdefault(key, []).append((int(e.ts_ns[i]) - T0_NS, int(e.dur_ns[i]), e.text(i)))
    live = worker.live()
    for i in range(len(live)):
        name = "Steps" if live.kind[i] == Kind.STEP else "Phases"
        rows.setdefault((name, 0), []).append((int(live.ts_ns[i]) - T0_NS, int(live.dur_ns[i]), live.text(i)))
    return {key: sorted(slices) for key, slices in rows.items()}


def brute_force(rows: dict, lanes: set[str], t0: int, t1: int, px: int) -> list[tuple]:
    t1 = max(t1, t0 + 1)
    pixel = max(1, (t1 - t0) // px)
    out = []
    for (lane, depth), slices in rows.items():
        groups: list[list[tuple[int, int, str]]] = []
        for start, dur, name in slices if lane in lanes else []:
            if start >= t1 or start + max(dur, 1) <= t0:
                continue
            last = groups[-1][-1] if groups else (0, pixel, "")
            same_pixel = (last[0] + T0_NS) // pixel == (start + T0_NS) // pixel
            if last[1] < pixel and dur < pixel and same_pixel:
                groups[-1].append((start, dur, name))
            else:
                groups.append([(start, dur, name)])
        for group in groups:
            start, end = group[0][0], group[-1][0] + group[-1][1]
            longest = max(group, key=lambda s: s[1])
            out.append((lane, depth, start, end - start, len(group), sum(s[1] for s in group), longest[2]))
    return sorted(out)


# -- one slice -----------------------------------------------------------------------------------------


def linked_trace() -> TraceBuilder:
    """An operator within another one that launches two kernels, 3 and 30 us after the calls end."""
    trace = TraceBuilder().step(5, 0, 200).op("aten::linear", 10, 80, external_id=1)
    trace.op("aten::addmm", 20, 50, external_id=2, **{"Input Dims": [[8, 8]]})
    trace.launch(25, 5, correlation=101, external_id=2).launch(40, 6, correlation=102, external_id=2)
    trace.kernel("gemm", 33, 20, correlation=101, external_id=2, grid=[4, 1, 1])
    return trace.kernel("bias", 76, 9, correlation=102, external_id=2)


def test_a_slice_tells_its_exact_numbers(tmp_path: Path) -> None:
    timeline = timeline_of(tmp_path, linked_trace())
    addmm = slice_of(timeline, row_of(timeline, "aten::addmm"))
    expected: dict[str, Any] = {
        "origin_ns": str(T0_NS),
        "name": "aten::addmm",
        "kind": "op",
        "lane_name": "MainThread (4117)",
        "depth": 2,
        "start": 20_000,
        "dur": 50_000,
        "self": 50_000 - 5_000 - 6_000,  # without both launches
        "step": 5,
    }
    assert {k: addmm[k] for k in expected} == expected
    assert addmm["args"] == {"Input Dims": [[8, 8]], "external id": 2}
    linear = slice_of(timeline, row_of(timeline, "aten::linear"))
    assert linear["self"] == 80_000 - 50_000  # the launches are grandchildren
    gemm = slice_of(timeline, row_of(timeline, "gemm"))
    assert (gemm["kind"], gemm["step"], gemm["self"]) == ("kernel", 5, 20_000)
    assert gemm["args"] == {"grid": [4, 1, 1], "device": 0, "stream": 7, "correlation": 101, "external id": 2}


def test_launches_runs_and_operators_are_connected(tmp_path: Path) -> None:
    timeline = timeline_of(tmp_path, linked_trace())
    assert connections(timeline, "gemm") == [("launch", "cudaLaunchKernel", 3), ("operator", "aten::addmm", None)]
    assert connections(timeline, "cudaLaunchKernel", 1) == [("run", "bias", 30), ("operator", "aten::addmm", None)]
    assert connections(timeline, "aten::addmm") == [
        ("run", "gemm", 3),
        ("run", "bias", 30),
        ("operator", "aten::linear", None),
    ]
    assert connections(timeline, "aten::linear") == [("run", "gemm", 3), ("run", "bias", 30)]
    end = slice_of(timeline, row_of(timeline, "gemm"))["connections"][0]
    assert slice_of(timeline, end["row"])["start"] == end["start"] == 25_000


def test_a_kernel_without_a_launch_finds_its_operator_by_id(tmp_path: Path) -> None:
    trace = TraceBuilder().op("aten::mm", 0, 50, external_id=9).kernel("gemm", 10, 20, external_id=9)
    timeline = timeline_of(tmp_path, trace.kernel("stray", 40, 5, correlation=77))
    assert connections(timeline, "gemm") == [("operator", "aten::mm", None)]
    assert connections(timeline, "stray") == []
    assert slice_of(timeline, row_of(timeline, "stray"))["step"] is None


def test_correlation_ids_of_two_windows_do_not_meet(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "run")
    run.window(TraceBuilder().launch(0, 5, correlation=1, name="first call").kernel("first run", 10, 5, correlation=1))
    run.window(TraceBuilder().launch(100, 5, correlation=1, name="second call"))
    timeline = Timeline(worker_of(run))
    assert connections(timeline, "first call") == [("run", "first run", 5)]
    assert connections(timeline, "second call") == []


def test_forward_and_backward_operators_are_connected(tmp_path: Path) -> None:
    forward = {"Sequence number": 12, "Fwd thread id": 0}
    backward = {"Sequence number": 12, "Fwd thread id": 1}
    trace = TraceBuilder().op("aten::empty", 0, 5, **forward).op("aten::addmm", 10, 50, **forward)
    trace.op("evaluate_function: AddmmBackward0", 100, 40, tid=9, **backward)
    trace.op("AddmmBackward0", 110, 20, tid=9, **backward)
    timeline = timeline_of(tmp_path, trace)
    # empty makes no node of the graph: it carries the number of the next one
    assert connections(timeline, "aten::empty") == []
    assert connections(timeline, "aten::addmm") == [("backward", "evaluate_function: AddmmBackward0", None)]
    assert connections(timeline, "AddmmBackward0") == [
        ("forward", "aten::addmm", None),
        ("operator", "evaluate_function: AddmmBackward0", None),
    ]


def test_the_self_time_of_an_always_on_step_is_in_no_phase(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "run")
    run.step(8, 0, 100, input_wait=(0, 30), forward=(40, 50)).step(9, 100, 70, forward=(100, 70)).end()
    timeline = Timeline(worker_of(run))
    steps = [slice_of(timeline, row) for row in timeline.find("step")["rows"]]
    assert [(s["step"], s["self"]) for s in steps] == [(8, 20_000), (9, 0)]
    assert slice_of(timeline, row_of(timeline, "input_wait"))["self"] == 30_000


def test_large_integers_are_text_for_browsers(tmp_path: Path) -> None:
    trace = TraceBuilder().op("x", 0, 10, Addr=137877241462784123, small=5)
    timeline = timeline_of(tmp_path, trace)
    args = slice_of(timeline, row_of(timeline, "x"))["args"]
    assert (args["Addr"], args["small"]) == ("137877241462784123", 5)


def test_an_unknown_row_is_one_sentence(tmp_path: Path) -> None:
    timeline = timeline_of(tmp_path, linked_trace())
    for row in (-1, 7, LIVE_BASE, 1 << 40):
        with pytest.raises(NoSuchSlice, match=f"no slice {row}"):
            slice_of(timeline, row)


def test_find_lists_slices_by_time_and_counts_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepscope.timeline.MAX_FOUND", 3)
    trace = TraceBuilder()
    for i in range(5):
        trace.op("aten::add", 100 - 20 * i, 10, tid=i + 1)
    found = (timeline := timeline_of(tmp_path, trace)).find("aten::add")
    assert found["count"] == 5
    assert [slice_of(timeline, row)["start"] for row in found["rows"]] == [20_000, 40_000, 60_000]
    assert timeline.find("aten::a") == {"count": 0, "rows": []}


# -- while it is open ------------------------------------------------------------------------------------


def test_new_data_is_added_and_what_was_seen_keeps_its_number(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "run").step(0, 0, 100, forward=(10, 50)).flush()
    timeline = Timeline(worker_of(run))
    version = timeline.version
    assert not timeline.refresh(worker_of(run))
    assert timeline.version == version
    seen = {name: timeline.find(name)["rows"] for name in ("step", "forward")}

    # An evaluation that spans the steps so far ends last: it begins before rows that are there already.
    run.step(1, 100, 100, forward=(110, 50)).span(Kind.PHASE, "validation", 0, 200).flush()
    run.window(TraceBuilder().op("aten::mm", 210, 30))
    assert timeline.refresh(worker_of(run))
    assert timeline.version > version
    for name, rows in seen.items():
        assert timeline.find(name)["rows"][: len(rows)] == rows
    assert timeline.tree()["steps"]["id"] == [0, 1]
    assert timeline.tree()["t1"] == 240_000
    shown = [r[:4] + r[6:] for r in rectangles(timeline, 0, 300, 3000) if r[0] == "Phases"]
    assert shown == [
        ("Phases", 0, 0, 200, "validation"),
        ("Phases", 1, 10, 50, "forward"),
        ("Phases", 1, 110, 50, "forward"),
    ]


def test_steps_that_are_known_are_not_told_again(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "run", started_us=0)
    for i in range(3):
        run.step(i, 100 * i, 90)
    timeline = Timeline(worker_of(run.flush()))
    run.step(3, 300, 90).flush()
    timeline.refresh(worker_of(run))

    def told(*known: int) -> tuple[int, list[int]]:
        steps = timeline.tree(*known)["steps"]
        assert len(steps["id"]) == len(steps["start"]) == len(steps["end"])
        return steps["offset"], steps["id"]

    assert told(3, 200_000) == (3, [3])
    assert told(4, 300_000) == (4, [])
    assert told() == told(3, 199_999) == told(5, 400_000) == (0, [0, 1, 2, 3])


def test_the_origin_stays_when_earlier_data_comes(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "run", started_us=None).step(0, 100, 50).flush()
    timeline = Timeline(worker_of(run))
    run.window(TraceBuilder().op("early", 20, 10))
    timeline.refresh(worker_of(run))
    assert timeline.tree()["origin_ns"] == str(T0_NS + 100_000)
    assert timeline.tree()["t0"] == -80_000


def test_a_damaged_window_hides_nothing_else(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "run").step(0, 0, 100).flush()
    run.window(TraceBuilder().op("a", 0, 10)).window(TraceBuilder().op("b", 20, 10))
    (run.folder.path / "windows" / "000001" / "events.parquet").write_bytes(b"")
    timeline = Timeline(worker_of(run))
    assert [timeline.find(name)["count"] for name in ("a", "b", "step")] == [0, 1, 1]
    assert len(timeline.problems) == 1
    assert "000001" in timeline.problems[0]


def test_a_file_that_is_no_trace_has_no_timeline(tmp_path: Path) -> None:
    (tmp_path / "t.pt.trace.json").write_text("no trace")
    with pytest.raises(StepscopeError, match=r"t\.pt\.trace\.json"):
        Timeline(FileWorker(tmp_path / "t.pt.trace.json", "t"))


def test_views_while_data_is_added_show_one_state_or_the_other(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "run").step(0, 0, 100).flush()
    timeline = Timeline(worker_of(run))
    lane = lanes_of(timeline)["Steps"]
    failures: list[BaseException] = []
    stop = threading.Event()

    def watch() -> None:
        known = 1
        try:
            while not stop.is_set():
                now = int(pa.compute.sum(timeline.view(0, 10**9, 100, [lane]).column("count")).as_py())
                assert known <= now
                known = now
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=watch) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(1, 40):
        run.step(i, i * 100, 90).flush()
        timeline.refresh(worker_of(run))
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sum(r[4] for r in rectangles(timeline, 0, 10_000, 10, [lane])) == 40
