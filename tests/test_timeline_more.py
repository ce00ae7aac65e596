"""Areas, search, neighbours, arrows, groupings, other ranks and exports of a timeline."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path

import numpy as np
import pytest

from stepscope.importers import import_file
from stepscope.runs import open_run
from stepscope.schema import DEVICE_WORK, Events, Kind, Lane, Window
from stepscope.summary import summarize
from stepscope.timeline import LIVE_BASE, Timeline
from stepscope.timeline import export as export_module
from stepscope.timeline.area import area
from stepscope.timeline.arrows import arrows
from stepscope.timeline.export import TooMuch, chrome_trace, table_csv
from stepscope.timeline.grouping import with_groups
from stepscope.timeline.neighbours import neighbour
from stepscope.timeline.one_slice import slice_of
from stepscope.timeline.peers import peer
from stepscope.timeline.search import BadPattern, search
from tests.builders import T0_NS, TraceBuilder
from tests.recorded import RecordedRun


def timeline_of(tmp_path: Path, source: TraceBuilder | Window | None, *more: TraceBuilder | Window) -> Timeline:
    run = RecordedRun(tmp_path / "run", started_us=0)
    for window in (source, *more):
        if window is not None:
            run.window(window)
    return Timeline(open_run(run.path).workers[0])


def lane_of(timeline: Timeline, name: str) -> int:
    return next(
        lane["id"] for lane in timeline.tree()["lanes"] if name in (lane["type"], lane["name"]) or name in lane["name"]
    )


def two_kernels() -> TraceBuilder:
    """linear [0, 100) launches gemm at 10 and relu at 20; they run [50, 90) and [90, 140)."""
    trace = TraceBuilder(rank=0, world_size=2).step(1, 0, 200).op("aten::linear", 0, 100, external_id=1)
    trace.launch(10, 5, correlation=1, external_id=1).kernel("gemm", 50, 40, correlation=1)
    return trace.launch(20, 5, correlation=2, external_id=1).kernel("relu", 90, 50, correlation=2)


# -- areas ------------------------------------------------------------------------------------------


def test_an_area_counts_what_lies_inside(tmp_path: Path) -> None:
    timeline = timeline_of(tmp_path, two_kernels())
    found = area(timeline, 60_000, 100_000, [lane_of(timeline, "stream 7")])
    assert (found["span"], found["busy"], found["idle"]) == (40_000, 40_000, 0)
    assert (found["count"], found["total"], found["self"]) == (2, 40_000, 40_000)
    names = found["names"]
    assert list(zip(names["name"], names["count"], names["total"], strict=True)) == [
        ("gemm", 1, 30_000),
        ("relu", 1, 10_000),
    ]


def test_an_area_of_a_group_is_that_of_all_below(tmp_path: Path) -> None:
    timeline = timeline_of(tmp_path, two_kernels())
    every = area(timeline, 0, 200_000, None)
    root = next(lane["id"] for lane in timeline.tree()["lanes"] if lane["type"] == "host")
    assert area(timeline, 0, 200_000, [root]) == every
    assert every["count"] == 6
    # The host thread: the step's 200 us, each moment of it once.
    thread = area(timeline, 0, 200_000, [lane_of(timeline, "thread")])
    assert (thread["total"], thread["self"], thread["busy"]) == (310_000, 200_000, 200_000)
    own = dict(zip(thread["names"]["name"], thread["names"]["self"], strict=True))
    assert own == {"ProfilerStep#1": 100_000, "aten::linear": 90_000, "cudaLaunchKernel": 10_000}


def test_an_area_without_slices(tmp_path: Path) -> None:
    timeline = timeline_of(tmp_path, two_kernels())
    found = area(timeline, 500_000, 700_000, None)
    assert (found["count"], found["busy"], found["idle"]) == (0, 0, 200_000)
    assert found["names"]["name"] == found["kinds"]["kind"] == found["lanes"]["lane"] == []


def test_always_on_steps_have_their_phases_inside(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "run", started_us=0)
    run.step(0, 0, 100, forward=(10, 60)).step(1, 100, 100, forward=(110, 20)).flush()
    timeline = Timeline(open_run(run.path).workers[0])
    names = area(timeline, 0, 200_000, None)["names"]
    steps = names["kind"].index(Kind.STEP)
    assert (names["total"][steps], names["self"][steps]) == (200_000, 120_000)
    for row in (LIVE_BASE, LIVE_BASE + 1, LIVE_BASE + 2, LIVE_BASE + 3):
        told = slice_of(timeline, row)
        if told["kind"] == "step":
            begin, end = told["start"], told["start"] + told["dur"]
            assert area(timeline, begin, end, [told["lane"]])["self"] == told["self"]


def random_window(rng: random.Random, base_ns: int) -> Window:
    """Two threads of nested operators and a stream whose kernels overlap at times."""
    columns: dict[str, list[int]] = {k: [] for k in ("ts_ns", "dur_ns", "lane", "name", "kind")}

    def add(ts: int, dur: int, lane: int, kind: int) -> None:
        values = (T0_NS + base_ns + ts, dur, lane, rng.randrange(5), kind)
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)

    def nest(begin: int, end: int, lane: int, level: int) -> None:
        at = begin
        while at < end:
            dur = rng.randrange(0, max(1, (end - begin) // 3 + 1))
            dur = min(dur, end - at)
            add(at, dur, lane, rng.choice([Kind.OP, Kind.RUNTIME, Kind.ANNOTATION]))
            if level < 3 and dur > 20:
                nest(at + 1, at + dur - 1, lane, level + 1)
            at += dur + rng.randrange(1, 40)

    nest(0, 1000, 0, 0)
    nest(200, 700, 1, 0)
    for _ in range(40):
        add(rng.randrange(1000), rng.randrange(60), 2, rng.choice(DEVICE_WORK))
    lanes = [
        Lane("thread", "TA", "1", "1"),
        Lane("thread", "TB", "1", "2"),
        Lane("stream", "SS", "0", "7", "GPU 0", 0, 7),
    ]
    names = ["n0", "n1", "n2", "n3", "n4"]
    return Window(Events.from_columns({k: np.array(v) for k, v in columns.items()}, names, lanes))


@pytest.mark.parametrize("seed", range(25))
def test_an_area_equals_one_slice_at_a_time(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    timeline = timeline_of(tmp_path, random_window(rng, 1_000), random_window(rng, 2_200))
    t0, t1 = rng.randrange(900, 1900), rng.randrange(1900, 3400)
    picked = [None, [lane_of(timeline, "TA")], [lane_of(timeline, "SS"), lane_of(timeline, "TB")]]
    lanes = picked[seed % 3]
    seen = []

    def inside(slice_: dict) -> int | None:
        """The part of a slice within the area, None outside; an instant takes up 1 ns."""
        begin, end = slice_["start"], slice_["start"] + slice_["dur"]
        if begin >= t1 or begin + max(slice_["dur"], 1) <= t0:
            return None
        return max(min(end, t1) - max(begin, t0), 0)

    for segment in timeline.segments():
        for event in range(len(segment.events)):
            about = timeline.place(segment, event) | {"kind": int(segment.events.kind[event])}
            picked_lane = lanes is None or about["lane"] in lanes
            if picked_lane and inside(about) is not None:
                children = [] if about["kind"] in DEVICE_WORK else segment.children(event).tolist()
                about["inside"] = inside(about)
                about["self"] = about["inside"] - sum(inside(timeline.place(segment, c)) or 0 for c in children)
                seen.append(about)
    found = area(timeline, t0, t1, lanes)

    def covered(slices: list[dict]) -> int:
        return sum(any(s["start"] <= t < s["start"] + s["dur"] for s in slices) for t in range(t0, t1))

    assert found["count"] == len(seen) > 0
    assert found["busy"] == covered(seen)
    assert found["busy"] + found["idle"] == t1 - t0
    assert found["total"] == sum(s["inside"] for s in seen)
    assert found["self"] == sum(s["self"] for s in seen)
    names = found["names"]
    for i, (name, kind) in enumerate(zip(names["name"], names["kind"], strict=True)):
        mine = [s for s in seen if (s["name"], s["kind"]) == (name, kind)]
        times = [s["inside"] for s in mine]
        assert [names[k][i] for k in ("count", "total", "self", "min", "max")] == [
            len(mine),
            sum(times),
            sum(s["self"] for s in mine),
            min(times),
            max(times),
        ]
    assert sum(names["count"]) == len(seen)
    for key, group in (("kind", found["kinds"]), ("lane", found["lanes"])):
        for i, value in enumerate(group[key]):
            mine = [s for s in seen if s[key] == value]
            assert (group["count"][i], group["busy"][i]) == (len(mine), covered(mine))


def test_few_slices_of_very_many_names(tmp_path: Path) -> None:
    names = [f"name {i}" for i in range(30_000)]
    columns = {"ts_ns": T0_NS + 10 * np.arange(30_000), "dur_ns": np.full(30_000, 5), "name": np.arange(30_000)}
    events = Events.from_columns({**columns, "kind": np.full(30_000, Kind.OP)}, names, [Lane("thread", "a", "1", "1")])
    timeline = timeline_of(tmp_path, Window(events))
    assert area(timeline, 100, 125, None)["names"]["name"] == ["name 10", "name 11", "name 12"]
    every = area(timeline, 0, 300_000, None)
    assert (every["name_count"], len(every["names"]["name"]), every["total"]) == (30_000, 1000, 150_000)


# -- search -----------------------------------------------------------------------------------------


def test_a_search_finds_names_and_args(tmp_path: Path) -> None:
    trace = TraceBuilder().op("aten::add", 0, 10).op("aten::Add_", 20, 10).op("aten::mul", 40, 10, dtype="bfloat16")
    timeline = timeline_of(tmp_path, trace)
    assert search(timeline, "ADD")["count"] == 2
    assert search(timeline, "Add", match_case=True)["start"] == [20_000]
    assert search(timeline, "add|mul$", regex=True)["count"] == 3
    assert search(timeline, "add|mul")["count"] == 0
    assert search(timeline, "bfloat16")["count"] == 0
    assert search(timeline, "bfloat16", in_names=False, in_args=True)["start"] == [40_000]
    found = search(timeline, "aten::add", exact=True, buckets=5)
    assert (found["count"], found["marks"], found["names"], found["counts"]) == (1, [1, 0, 0, 0, 0], ["aten::add"], [1])


def test_hits_come_in_pages_in_order_of_start(tmp_path: Path) -> None:
    trace = TraceBuilder()
    for i in (5, 3, 9, 1, 7):
        trace.op("x", 10 * i, 5, tid=i)
    timeline = timeline_of(tmp_path, trace)
    assert search(timeline, "x")["start"] == [10_000, 30_000, 50_000, 70_000, 90_000]
    page = search(timeline, "x", offset=3, limit=1)
    assert (page["count"], page["offset"], page["start"]) == (5, 3, [70_000])


@pytest.mark.parametrize("pattern", ["(", "(?=x)", r"(x)\1", "((((x{900}){900}){900}){900})", "[z-a]"])
def test_no_pattern_is_a_crash(tmp_path: Path, pattern: str) -> None:
    timeline = timeline_of(tmp_path, two_kernels())
    with pytest.raises(BadPattern, match="regular expression"):
        search(timeline, pattern, regex=True)
    assert search(timeline, pattern)["count"] == 0


def test_a_pattern_that_explodes_elsewhere_is_answered(tmp_path: Path) -> None:
    """With backtracking this takes 2**5000 steps."""
    timeline = timeline_of(tmp_path, TraceBuilder().op("a" * 5000, 0, 10))
    assert search(timeline, "(a+)+b", regex=True)["count"] == 0
    with pytest.raises(BadPattern, match="1 to 500"):
        search(timeline, "a" * 501)


# -- neighbours, arrows, connections ----------------------------------------------------------------


def test_neighbours_go_through_a_row_and_over_windows(tmp_path: Path) -> None:
    first = TraceBuilder().op("outer", 0, 50).op("in1", 10, 5).op("in2", 20, 5).op("next", 60, 5)
    timeline = timeline_of(tmp_path, first, TraceBuilder().op("later", 500, 5))

    def walk(name: str, by: int) -> str | None:
        found = neighbour(timeline, timeline.find(name)["rows"][0], by)
        return None if found is None else found["name"]

    assert [walk("outer", 1), walk("next", 1), walk("later", 1)] == ["next", "later", None]
    assert [walk("later", -1), walk("in2", -1), walk("in1", 1), walk("in1", -1)] == ["next", "in1", "in2", None]


def with_backward() -> TraceBuilder:
    trace = two_kernels().op("aten::mm", 30, 10, **{"Sequence number": 7, "Fwd thread id": 0})
    node = "autograd::engine::evaluate_function: MmBackward0"
    trace.op(node, 120, 30, tid=9, **{"Sequence number": 7, "Fwd thread id": 1})
    return trace.op("MmBackward0", 121, 20, tid=9, **{"Sequence number": 7, "Fwd thread id": 1})


def test_forward_and_backward_lead_to_each_other(tmp_path: Path) -> None:
    timeline = timeline_of(tmp_path, with_backward())

    def links(name: str) -> list[tuple[str, str]]:
        told = slice_of(timeline, timeline.find(name)["rows"][0])["connections"]
        return [(c["type"], c["name"]) for c in told if c["type"] in ("forward", "backward")]

    assert links("aten::mm") == [("backward", "autograd::engine::evaluate_function: MmBackward0")]
    assert links("MmBackward0") == [("forward", "aten::mm")]
    assert links("autograd::engine::evaluate_function: MmBackward0") == [("forward", "aten::mm")]


def test_all_arrows_in_view(tmp_path: Path) -> None:
    timeline = timeline_of(tmp_path, with_backward())

    def seen(t0: int, t1: int, lanes: list[int] | None = None) -> list[tuple]:
        found = arrows(timeline, t0 * 1000, t1 * 1000, lanes)
        names = [[timeline.place(*timeline.locate(r))["name"] for r in found[k]] for k in ("from_row", "to_row")]
        return list(zip(found["type"], *names, [t // 1000 for t in found["from_t"]], strict=True))

    first, second = ("run", "cudaLaunchKernel", "gemm", 15), ("run", "cudaLaunchKernel", "relu", 25)
    back = ("backward", "aten::mm", "autograd::engine::evaluate_function: MmBackward0", 30)
    assert seen(0, 200) == [first, second, back]
    assert seen(0, 20) == [first]
    assert seen(60, 70) == [second, back]  # they cross the view
    assert seen(0, 200, [lane_of(timeline, "stream 7")]) == []
    assert arrows(timeline, 0, 200_000, None, limit=1)["count"] == 3


def test_work_handed_to_another_thread_leads_back_and_forth(tmp_path: Path) -> None:
    """run [0, 50) hands on to process [10, 30) and done [60, 70) of thread 2."""
    events = Events.from_columns(
        {
            "ts_ns": T0_NS + np.array([0, 10_000, 60_000]),
            "dur_ns": np.array([50_000, 20_000, 10_000]),
            "lane": np.array([0, 1, 1]),
            "name": np.array([0, 1, 2]),
            "kind": np.full(3, Kind.OP),
            "correlation": np.array([5, -1, -1]),
            "external_id": np.array([-1, 5, 5]),
        },
        ["run", "process", "done"],
        [Lane("thread", "python", "1", "1"), Lane("thread", "pool", "1", "2")],
    )
    timeline = timeline_of(tmp_path, Window(events))

    def links(name: str) -> list[tuple[str, str]]:
        told = slice_of(timeline, timeline.find(name)["rows"][0])["connections"]
        return [(c["type"], c["name"]) for c in told]

    assert links("run") == [("consumer", "process"), ("consumer", "done")]
    assert links("process") == links("done") == [("producer", "run")]
    assert [slice_of(timeline, row)["args"] for row in range(3)] == [{}, {}, {}]  # the ids are none of the source's
    found = arrows(timeline, 0, 100_000, None)
    leaves = [t + timeline.origin_ns - T0_NS for t in found["from_t"]]
    assert list(zip(found["type"], leaves, strict=True)) == [("consumer", 10_000), ("consumer", 50_000)]


def test_a_device_shows_what_the_host_does_for_it(tmp_path: Path) -> None:
    trace = two_kernels().op("aten::add", 5, 1, tid=9).annotation("elsewhere", 5, 10, tid=9)
    timeline = timeline_of(tmp_path, trace)
    lane = lane_of(timeline, "launches")
    about = next(entry for entry in timeline.tree()["lanes"] if entry["id"] == lane)
    assert (about["rows"], about["events"], about["busy_ns"]) == (2, 3, 200_000)
    shown = timeline.view(0, 200_000, 1000, [lane]).to_pylist()
    assert [(r["name"], r["depth"], r["start"], r["dur"]) for r in shown] == [
        ("ProfilerStep#1", 0, 0, 200_000),
        ("cudaLaunchKernel", 1, 10_000, 5000),
        ("cudaLaunchKernel", 1, 20_000, 5000),
    ]
    # They are the slices of the thread, under their numbers.
    thread = lane_of(timeline, "thread")
    assert {slice_of(timeline, r["row"])["lane"] for r in shown} == {thread}


def test_what_a_device_shows_of_its_host_counts_once(tmp_path: Path) -> None:
    timeline = timeline_of(tmp_path, two_kernels())
    thread, host, device = (lane_of(timeline, name) for name in ("thread", "launches", "device"))

    def count(lanes: list[int] | None) -> int:
        return area(timeline, 0, 200_000, lanes)["count"]

    assert (count(None), count([device]), count([host])) == (6, 2, 3)
    assert count([thread]) == count([thread, host]) == 4
    assert search(timeline, "cudaLaunchKernel")["count"] == 2
    slices = [e for e in chrome_trace(timeline, 0, 200_000, None)["traceEvents"] if e["ph"] == "X"]
    assert len(slices) == 6


def test_a_kernel_tells_operator_modules_and_stack(tmp_path: Path) -> None:
    trace = TraceBuilder().python("train.py(10): main", 0, 100).python("nn.Module: Net_0", 5, 90)
    trace.python("nn.Module: Linear_0", 10, 50).op("aten::linear", 12, 30, external_id=1)
    trace.launch(15, 5, correlation=1, external_id=1).kernel("gemm", 50, 40, correlation=1)
    timeline = timeline_of(tmp_path, trace)
    told = slice_of(timeline, timeline.find("gemm")["rows"][0])
    assert told["operator"]["name"] == "aten::linear"
    assert told["modules"] == ["nn.Module: Net_0", "nn.Module: Linear_0"]
    assert told["stack"] == ["train.py(10): main", "nn.Module: Net_0", "nn.Module: Linear_0"]


def test_a_stack_in_the_record_goes_first(tmp_path: Path) -> None:
    trace = TraceBuilder().op("aten::mm", 0, 10, **{"Call stack": "inner.py(2): f;outer.py(1): main"})
    timeline = timeline_of(tmp_path, trace)
    assert slice_of(timeline, 0)["stack"] == ["outer.py(1): main", "inner.py(2): f"]


def test_groups_to_colour_by(tmp_path: Path) -> None:
    trace = TraceBuilder().python("nn.Module: Net_0", 0, 60).op("aten::mm", 1, 40)
    trace.launch(10, 5, correlation=1).kernel("gemm", 50, 40, stream=20, correlation=1)
    timeline = timeline_of(tmp_path, trace)
    table = timeline.view(0, 100_000, 1000, list(timeline.lanes.by_id))

    def groups(by: str) -> dict[str, str]:
        grouped = with_groups(timeline, table)
        return dict(zip(grouped.column("name").to_pylist(), grouped.column(by).to_pylist(), strict=True))

    assert groups("stream") == {
        "nn.Module: Net_0": "",
        "aten::mm": "",
        "cudaLaunchKernel": "GPU 0 stream 20",
        "gemm": "GPU 0 stream 20",
    }
    assert set(groups("module").values()) == {"nn.Module: Net_0"}


# -- other ranks ------------------------------------------------------------------------------------


def test_the_lane_of_another_rank(tmp_path: Path) -> None:
    def rank(n: int, streams: tuple[int, ...]) -> Timeline:
        trace = TraceBuilder(rank=n, world_size=2, pid=4000 + n, tid=4000 + n).step(5, 0, 100)
        for i, stream in enumerate(streams):
            trace.launch(10 * i, 5, correlation=i + 1).kernel(f"k{stream}", 20 * i + 10, 10, stream, correlation=i + 1)
        return Timeline(open_run(trace.write(tmp_path / f"r{n}.pt.trace.json")).workers[0])

    a, b = rank(0, (7, 20)), rank(1, (7, 20))
    for name in ("stream 7", "stream 20", "thread"):
        found = peer(a, lane_of(a, name), b)
        assert found["lane"] == lane_of(b, name)
    assert found["steps"]["id"] == [5]
    assert found["rows"] == 2
    alone = rank(2, ())
    assert peer(a, lane_of(a, "stream 7"), alone)["lane"] is None


# -- export -----------------------------------------------------------------------------------------


def test_an_exported_trace_reads_back_the_same(tmp_path: Path) -> None:
    timeline = timeline_of(tmp_path, two_kernels())
    path = tmp_path / "out.pt.trace.json"
    path.write_text(json.dumps(chrome_trace(timeline, 0, 200_000, None)))
    again = import_file(path).events

    def slices(events: Events) -> list[tuple]:  # what is no curve
        return sorted(
            (events.text(i), int(events.kind[i]), int(events.ts_ns[i]), int(events.dur_ns[i]), int(events.stream[i]))
            for i in np.flatnonzero(events.kind != Kind.COUNTER).tolist()
        )

    assert slices(again) == slices(timeline.segments()[0].events)
    arrows_ = [e for e in chrome_trace(timeline, 0, 200_000, None)["traceEvents"] if e["ph"] in "sf"]
    assert sorted((e["ph"], e["id"]) for e in arrows_) == [("f", 1), ("f", 2), ("s", 1), ("s", 2)]


def test_an_exported_trace_has_the_summary_of_its_source(tmp_path: Path) -> None:
    trace = (
        two_kernels()
        .gpu_annotation("region", 50, 90)
        .gpu_annotation("next", 100, 60)
        .kernel("late", 130, 30)
        .memory(2, 512, device=0, total=512)
    )
    trace.event({"ph": "C", "name": "queue", "pid": 4117, "tid": 9}, 5, None, {"length": 3})
    trace.header["distributedInfo"]["pg_config"] = [{"pg_name": "0", "pg_size": 2}]
    source, export = (tmp_path / folder / "one.pt.trace.json" for folder in ("source", "export"))
    for path in (source, export):
        path.parent.mkdir()
    timeline = Timeline(open_run(trace.write(source)).workers[0])
    export.write_text(json.dumps(chrome_trace(timeline, 0, 200_000, None)))
    (before,), (after,) = (summarize(open_run(path))["workers"] for path in (source, export))
    told = [worker.pop("quality") for worker in (before, after)]
    assert [note for note in told[1] if note["code"] != "exported_curves"] == told[0]
    for worker in (before, after):
        del worker["trust"]
    assert after == before

    again = Timeline(open_run(export).workers[0])
    assert again.group_sizes == timeline.group_sizes == {"0": 2}
    names = [{lane["name"] for lane in shown.tree()["lanes"]} for shown in (timeline, again)]
    # Rows are threads of their own for Perfetto, which shows no slices that overlap in one.
    assert names[1] - names[0] == {"stream 7 (row 2)", "stream 7 annotations (row 2)"}
    assert names[0] < names[1]


def test_launches_of_two_windows_with_the_same_ids_stay_apart(tmp_path: Path) -> None:
    """In both windows launch 1 starts a kernel; in an export of both each still starts its own."""

    def window(at: int, name: str) -> TraceBuilder:
        return TraceBuilder().launch(at, 5, correlation=1, external_id=1).kernel(name, at + 10, 20, correlation=1)

    timeline = timeline_of(tmp_path, window(0, "a"), window(1000, "b"))
    path = tmp_path / "out.pt.trace.json"
    path.write_text(json.dumps(chrome_trace(timeline, 0, 2_000_000, None)))
    again = Timeline(open_run(path).workers[0])
    for name, at in (("a", 0), ("b", 1_000_000)):
        found = slice_of(again, again.find(name)["rows"][0])["connections"]
        assert [(c["type"], c["start"]) for c in found if c["type"] == "launch"] == [("launch", at)]


def test_memory_and_synchronisation_read_back_the_same(tmp_path: Path) -> None:
    trace = TraceBuilder().op("aten::empty", 0, 10).memory(2, 512, device=0, total=512).memory(4, -64)
    timeline = timeline_of(tmp_path, trace.sync_record("Stream Sync", 20, 5).runtime("cudaStreamSynchronize", 18, 8))
    path = tmp_path / "out.pt.trace.json"
    path.write_text(json.dumps(chrome_trace(timeline, 0, 200_000, None)))

    def told(events: Events) -> list[tuple]:
        columns = (events.kind, events.ts_ns, events.dur_ns, events.bytes, events.device)
        return sorted(zip(*(column.tolist() for column in columns), strict=True))

    assert told(import_file(path).events) == told(timeline.segments()[0].events)


def test_an_exported_trace_has_the_curves(tmp_path: Path) -> None:
    run = RecordedRun(tmp_path / "run").step(0, 0, 100)
    for at, cpu in ((0, 0.25), (50, 0.5), (200, 1.0)):
        run.sample(at, {("cpu", -1): cpu, ("iowait", -1): 0.0, ("network_send", -1): 1e6})
    timeline = Timeline(open_run(run.flush().path).workers[0])
    counters = [e for e in chrome_trace(timeline, 0, 100_000, None)["traceEvents"] if e["ph"] == "C"]
    assert [(e["name"], e["ts"], e["args"]) for e in counters] == [
        ("CPU (ratio)", 0.0, {"CPU": 0.25}),
        ("CPU (ratio)", 50.0, {"CPU": 0.5}),
        ("CPU (ratio)", 0.0, {"I/O wait": 0.0}),
        ("CPU (ratio)", 50.0, {"I/O wait": 0.0}),
        ("Network (bytes/s)", 0.0, {"Sent": 1e6}),
        ("Network (bytes/s)", 50.0, {"Sent": 1e6}),
    ]
    assert {e["pid"] for e in counters} == {
        p["pid"] for p in process_names(timeline) if p["args"]["name"] == "Resources"
    }
    only = chrome_trace(timeline, 0, 100_000, [lane_of(timeline, "Network")])["traceEvents"]
    assert {e["name"] for e in only if e["ph"] != "M"} == {"Network (bytes/s)"}


def process_names(timeline: Timeline) -> list[dict]:
    return [e for e in chrome_trace(timeline, 0, 100_000, None)["traceEvents"] if e["name"] == "process_name"]


def test_an_exported_part_holds_the_slices_that_meet_it(tmp_path: Path) -> None:
    timeline = timeline_of(tmp_path, two_kernels())
    trace = chrome_trace(timeline, 60_000, 80_000, [lane_of(timeline, "stream 7")])
    assert [e["name"] for e in trace["traceEvents"] if e["ph"] == "X"] == ["gemm"]


def test_slices_that_overlap_on_a_stream_are_threads_of_their_own(tmp_path: Path) -> None:
    trace = TraceBuilder().kernel("a", 0, 50).kernel("b", 20, 50)
    out = chrome_trace(timeline_of(tmp_path, trace), 0, 100_000, None)["traceEvents"]
    assert len({(e["pid"], e["tid"]) for e in out if e["ph"] == "X"}) == 2


def test_a_table_of_hostile_names(tmp_path: Path) -> None:
    timeline = timeline_of(tmp_path, TraceBuilder().op('=cmd|"x"', 1, 5).op("a,b\nc", 10, 5))
    rows = list(csv.DictReader(io.StringIO(table_csv(timeline, 0, 100_000, None))))
    assert [r["name"] for r in rows] == ['\'=cmd|"x"', "a,b\nc"]
    assert rows[0]["duration_ns"] == "5000"
    assert int(rows[1]["start_unix_ns"]) - int(rows[0]["start_unix_ns"]) == 9000


def test_an_export_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    timeline = timeline_of(tmp_path, two_kernels())
    monkeypatch.setattr(export_module, "MAX_SLICES", 5)
    with pytest.raises(TooMuch, match="holds 6 slices and an export at most 5"):
        table_csv(timeline, 0, 200_000, None)
