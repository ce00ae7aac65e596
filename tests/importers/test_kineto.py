"""What a well-formed Kineto trace becomes: columns, lanes, args, pairs, and what is left out."""

import json
from pathlib import Path

import pytest

from stepscope.importers import import_file, is_trace_name
from stepscope.schema import EXPORTED_CURVE, NONE, Device, Kind, Window
from tests.builders import T0_NS, TraceBuilder

pytestmark = pytest.mark.usefixtures("both_readers")


def names(window: Window) -> list[str]:
    return [window.events.text(row) for row in range(len(window.events))]


def codes(window: Window) -> dict[str, int]:
    return {note.code: note.count for note in window.notes}


def test_ids_have_columns() -> None:
    trace = TraceBuilder()
    trace.op("aten::mm", 0, 50, external_id=3).launch(1, 5, correlation=101, external_id=3)
    trace.kernel("sgemm", 10, 80, stream=7, correlation=101, external_id=3)
    trace.memcpy("HtoD", 20, 10, bytes=1048576, stream=9, correlation=102)
    events = trace.window().events
    assert events.kind.tolist() == [Kind.OP, Kind.LAUNCH, Kind.KERNEL, Kind.MEMCPY]
    assert events.ts_ns.tolist() == [T0_NS, T0_NS + 1000, T0_NS + 10_000, T0_NS + 20_000]
    assert events.dur_ns.tolist() == [50_000, 5_000, 80_000, 10_000]
    assert events.correlation.tolist() == [NONE, 101, 101, 102]
    assert events.external_id.tolist() == [3, 3, 3, NONE]
    assert events.device.tolist() == [NONE, NONE, 0, 0]
    assert events.stream.tolist() == [NONE, NONE, 7, 9]
    assert events.bytes.tolist() == [NONE, NONE, NONE, 1048576]


def test_lanes_are_threads_and_streams() -> None:
    trace = TraceBuilder(pid=10, tid=11).op("a", 0, 1).op("b", 1, 1, tid=12).kernel("k", 0, 1, stream=7, device=2)
    lanes = trace.window().events.lanes
    assert [(lane.type, lane.pid, lane.tid, lane.device, lane.stream) for lane in lanes] == [
        ("thread", "10", "11", NONE, NONE),
        ("thread", "10", "12", NONE, NONE),
        ("stream", "2", "7", 2, 7),
    ]
    assert [lane.name for lane in lanes] == ["thread 11 (python3)", "thread 12 (python3)", "stream 7"]
    assert [lane.process for lane in lanes] == ["python3", "python3", "GPU 2"]


def test_host_and_device_lanes_of_one_pid_and_tid_stay_apart() -> None:
    trace = TraceBuilder(pid=0, tid=0).python("threading.py(1032): _bootstrap", 0, 9).kernel("k", 1, 2, stream=0)
    lanes = trace.window().events.lanes
    assert [(lane.type, lane.name) for lane in lanes] == [("thread", "thread 0"), ("stream", "stream 0")]


def test_pids_and_tids_as_text_are_the_same_lane() -> None:
    trace = TraceBuilder(pid=5, tid=6).op("a", 0, 1)
    trace.event({"ph": "X", "cat": "Operator", "name": "b", "pid": "5", "tid": "6"}, 1, 1)
    trace.event({"ph": "X", "cat": "Kernel", "name": "k", "pid": 0, "tid": "stream 7"}, 1, 1)
    events = trace.window().events
    assert events.lane.tolist() == [0, 0, 1]
    assert (events.device[2], events.stream[2]) == (0, 7)


def test_sort_indices_order_threads() -> None:
    trace = TraceBuilder(pid=1, tid=1).op("a", 0, 1)
    trace.event({"ph": "M", "name": "thread_sort_index", "pid": 1, "tid": 1, "args": {"sort_index": 33}})
    assert trace.window().events.lanes[0].sort == 33


def test_other_args_are_kept_once() -> None:
    trace = TraceBuilder()
    for i in range(3):
        trace.kernel("k", 10 * i, 5, correlation=i, grid=[2, 1, 1], **{"registers per thread": 32, "note": "}, {"})
    events = trace.window().events
    assert events.args_values == ['{"grid":[2,1,1],"registers per thread":32,"note":"}, {"}']
    assert events.args_of(2) == {"grid": [2, 1, 1], "registers per thread": 32, "note": "}, {"}


def test_counters_of_the_recorder_are_not_args_but_links_are() -> None:
    trace = TraceBuilder()
    link = {"Sequence number": 7, "Fwd thread id": 1, "Input Dims": [[2, 2]]}
    trace.op("aten::mm", 0, 5, external_id=1, **{"Ev Idx": 4, "Record function id": 9}, **link)
    trace.python("f", 0, 5, **{"Python id": 3, "Python parent id": None, "Python module id": 2, "Ev Idx": 1})
    trace.op("plain", 0, 5, external_id=2, **{"Ev Idx": 5})
    events = trace.window().events
    assert events.args_of(0) == link
    assert events.args_of(1) == {"Python module id": 2}
    assert events.args[2] == NONE


def test_members_of_nested_args_are_no_columns() -> None:
    nested = {"config": {"stream": 5, "bytes": 6}, "list": [{"correlation": 8}]}
    events = TraceBuilder().kernel("k", 0, 1, stream=7, correlation=3, **nested).window().events
    assert (events.stream[0], events.correlation[0]) == (7, 3)
    assert events.args_of(0) == nested


def test_text_in_args_that_looks_like_a_member_stays() -> None:
    text = {"Call stack": 'f("stream": 7, "correlation": 9)'}
    events = TraceBuilder().kernel("k", 0, 1, correlation=3, **text).window().events
    assert events.args_of(0) == text


def test_arguments_of_other_types_than_objects_are_kept() -> None:
    trace = TraceBuilder().kernel("k", 0, 1, correlation=3)
    trace.event({"ph": "X", "name": "a", "pid": 1, "tid": 1, "args": ["x", {"stream": 2}]}, 0, 1)
    trace.event({"ph": "X", "name": "b", "pid": 1, "tid": 1, "args": None}, 0, 1)
    events = trace.window().events
    assert events.correlation.tolist() == [3, NONE, NONE]
    assert events.args_of(1) == {"args": ["x", {"stream": 2}]}
    assert events.args_of(2) == {}


def test_old_spellings() -> None:
    trace = TraceBuilder(base_ns=None)
    where = {"pid": 1, "tid": "1"}
    trace.event({"ph": "X", "cat": "Operator", "name": "aten::mm"} | where, 0, 5, {"External id": 2})
    args = {"correlation": 9, "external id": 2, "external ts": 5}
    trace.event({"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel"} | where, 1, 1, args)
    events = trace.window().events
    assert events.kind.tolist() == [Kind.OP, Kind.LAUNCH]
    assert events.external_id.tolist() == [2, 2]
    assert events.args.tolist() == [NONE, NONE]


def test_streams_as_rocm_writes_them() -> None:
    events = TraceBuilder().kernel("k", 0, 1, stream=3).window().events
    assert events.stream.tolist() == [3]
    trace = TraceBuilder().event(
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 2, "tid": 0}, 0, 1, {"device": 2, "stream": "0x0"}
    )
    events = trace.window().events
    assert (events.device[0], events.stream[0]) == (2, 0)


def test_memory_events_keep_everything() -> None:
    events = TraceBuilder().memory(5, 1024, total=4096).memory(6, -1024, device=1).window().events
    assert events.kind.tolist() == [Kind.MEMORY, Kind.MEMORY]
    assert events.dur_ns.tolist() == [0, 0]
    assert events.bytes.tolist() == [1024, -1024]
    assert events.device.tolist() == [NONE, 1]
    assert events.args_of(0) == {"Device Type": 0, "Device Id": -1, "Bytes": 1024, "Total Allocated": 4096}


def test_counters_have_a_track() -> None:
    trace = TraceBuilder().event({"ph": "C", "name": "queue", "pid": 1, "tid": 1}, 5, None, {"value": 3})
    events = trace.window().events
    assert events.kind.tolist() == [Kind.COUNTER]
    assert events.args_of(0) == {"value": 3}
    assert events.lanes[0].type == "track"


def test_curves_of_an_export_are_counted_and_left_out() -> None:
    trace = TraceBuilder().event({"ph": "C", "name": "queue", "pid": 1, "tid": 1}, 5, None, {"value": 3})
    for at in (6, 7):
        trace.event({"ph": "C", "cat": EXPORTED_CURVE, "name": "CPU (ratio)", "pid": 2}, at, None, {"CPU": 0.5})
    window = trace.event({"ph": "X", "cat": EXPORTED_CURVE, "name": "no curve", "pid": 1, "tid": 1}, 7, 1).window()
    assert names(window) == ["queue", "no curve"]
    assert codes(window) == {"exported_curves": 2, "rank_unknown": 1}


def test_begin_and_end_become_slices() -> None:
    trace = TraceBuilder(pid=1, tid=1)
    for phase, name, ts in (
        ("B", "outer", 0),
        ("B", "inner", 2),
        ("E", "inner", 5),
        ("E", "outer", 9),
        ("B", "cut", 10),
    ):
        trace.event({"ph": phase, "cat": "user_annotation", "name": name, "pid": 1, "tid": 1}, ts)
    trace.event({"ph": "E", "pid": 1, "tid": 2}, 4)
    window = trace.window()
    assert names(window) == ["outer", "inner"]
    assert window.events.dur_ns.tolist() == [9000, 3000]
    assert codes(window)["unpaired_event"] == 2


def test_flows_metadata_and_marks_of_the_recorder_are_no_events() -> None:
    trace = TraceBuilder().kernel("k", 0, 1, correlation=5)
    trace.event({"ph": "s", "id": 5, "pid": 1, "tid": 1, "cat": "ac2g", "name": "ac2g"}, 0)
    trace.event({"ph": "f", "id": 5, "pid": 0, "tid": 7, "cat": "ac2g", "name": "ac2g", "bp": "e"}, 0)
    trace.event(
        {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler"}, 0, 9
    )
    trace.event({"ph": "i", "s": "g", "name": "Iteration Start: PyTorch Profiler", "pid": "Traces", "tid": "Trace"}, 0)
    trace.event({"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": ""}, 9)
    window = trace.window()
    assert names(window) == ["k"]
    assert set(codes(window)) == {"rank_unknown"}


def test_phases_that_are_not_read_are_counted() -> None:
    window = TraceBuilder().event({"ph": "b", "id": 1, "name": "x", "pid": 1, "tid": 1}, 0).window()
    assert codes(window)["unsupported_phase"] == 1
    assert codes(window)["no_events"] == 1


@pytest.mark.parametrize("dur", [-20, None, "abc"])
def test_impossible_durations_are_counted(dur: object) -> None:
    trace = TraceBuilder().kernel("good", 0, 1)
    trace.event({"ph": "X", "cat": "kernel", "name": "bad", "pid": 0, "tid": 7, "dur": dur}, 5)
    trace.event({"ph": "X", "cat": "kernel", "name": "bad", "pid": 0, "tid": 7}, 5)
    window = trace.window()
    assert names(window) == ["good"]
    assert codes(window)["invalid_duration"] == 2


def test_a_duration_as_text_is_read() -> None:
    trace = TraceBuilder().event({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "dur": "12"}, 0)
    assert trace.window().events.dur_ns.tolist() == [12_000]


def test_times_that_were_never_filled_in_are_counted() -> None:
    trace = TraceBuilder(base_ns=None).kernel("good", 0, 1)
    for ts in (0, -1, "x"):
        trace.event({"ph": "X", "cat": "kernel", "name": "ghost", "pid": 0, "tid": 7, "ts": ts, "dur": 0})
    trace.event({"ph": "X", "cat": "kernel", "name": "no time", "pid": 0, "tid": 7, "dur": 0})
    window = trace.window()
    assert names(window) == ["good"]
    assert codes(window)["invalid_timestamp"] == 4


def test_a_trace_may_begin_at_zero() -> None:
    trace = TraceBuilder(base_ns=None)
    trace.event({"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": 5})
    trace.event({"ph": "X", "name": "b", "pid": 1, "tid": 1, "ts": 5, "dur": 5})
    assert trace.window().events.ts_ns.tolist() == [0, 5000]


def test_an_event_without_a_name_is_kept() -> None:
    window = TraceBuilder().event({"ph": "X", "cat": "kernel", "pid": 0, "tid": 7}, 0, 4).window()
    assert names(window) == ["(no name)"]
    assert window.events.dur_ns.tolist() == [4000]
    assert codes(window)["missing_field"] == 1


def test_the_legacy_exporter_names_processes_instead_of_categories() -> None:
    trace = TraceBuilder()
    trace.event({"ph": "X", "name": "addmm", "pid": "CPU functions", "tid": 0}, 0, 4)
    trace.event({"ph": "X", "name": "addmm", "pid": "CUDA functions", "tid": 0}, 1, 2)
    assert trace.window().events.kind.tolist() == [Kind.OP, Kind.KERNEL]


def test_devices_come_from_the_header() -> None:
    trace = TraceBuilder()
    trace.header["deviceProperties"] = [
        {"id": 3, "name": "NVIDIA H100", "totalGlobalMem": 85, "numSms": 132, "warpSize": 32},
        {},
    ]
    window = trace.kernel("k", 0, 1).window()
    assert window.devices == [
        Device(id=3, name="NVIDIA H100", sm_count=132, memory_bytes=85, properties={"warpSize": 32}),
        Device(id=1),
    ]
    assert "deviceProperties" not in window.header


def test_a_foreign_chrome_trace_is_read_as_unknown() -> None:
    trace = TraceBuilder(base_ns=None)
    trace.header = {}
    window = trace.event({"ph": "X", "name": "layout", "pid": 1, "tid": 1}, 0, 4).window()
    assert window.framework == "unknown"
    assert window.events.kind.tolist() == [Kind.OTHER]
    assert TraceBuilder().op("aten::mm", 0, 1).window().framework == "pytorch"


@pytest.mark.parametrize(
    ("file_name", "info", "rank", "world_size", "rank_from"),
    [
        ("a.json", {"rank": 3, "world_size": 8}, 3, 8, "metadata"),
        ("a.json", '{"rank":3,"world_size":8}', 3, 8, "metadata"),
        ("rank.0.pt.trace.json", None, 0, None, "name"),
        ("rank2.pt.trace.json", None, 2, None, "name"),
        ("job_rank_3.json", None, 3, None, "name"),
        ("a_rank4.json", {"rank": -1}, 4, None, "name"),
        ("b200_rank0of8.pt.trace.json", None, 0, 8, "name"),
        ("ip-10-0-0-1.1700000000300000000.pt.trace.json", None, None, None, None),
        ("frank2.json", None, None, None, None),
        ("rank.1700000000300000000.json", None, None, None, None),
    ],
)
def test_where_the_rank_comes_from(
    tmp_path: Path, file_name: str, info: object, rank: int | None, world_size: int | None, rank_from: str | None
) -> None:
    trace = TraceBuilder().kernel("k", 0, 1)
    if info is not None:
        trace.header["distributedInfo"] = info
    window = import_file(trace.write(tmp_path / file_name))
    assert (window.rank, window.world_size, window.rank_from) == (rank, world_size, rank_from)
    assert ("rank_unknown" in codes(window)) == (rank is None)


def test_metadata_win_over_the_name_and_the_conflict_is_noted(tmp_path: Path) -> None:
    window = import_file(TraceBuilder(rank=5).kernel("k", 0, 1).write(tmp_path / "rank2.pt.trace.json"))
    assert window.rank == 5
    assert "rank_conflict" in codes(window)


def test_host_and_pid(tmp_path: Path) -> None:
    trace = TraceBuilder(pid=77).op("a", 0, 1)
    window = import_file(trace.write(tmp_path / "node_a_2101.1700000000100000000.pt.trace.json"))
    assert (window.host, window.pid) == ("node_a", 2101)
    trace.header["host_name"] = "node-b"
    window = import_file(trace.write(tmp_path / "trace.json"))
    assert (window.host, window.pid) == ("node-b", 77)


def test_names_of_trace_files() -> None:
    good = ("a.pt.trace.json", "A.JSON", "b.json.gz", "/x/c.xplane.pb", "host.xplane.pb.gz")
    assert all(is_trace_name(name) for name in good)
    assert not any(is_trace_name(name) for name in ("a.pb", "events.parquet", "json", "a.json.tmp"))


@pytest.mark.parametrize("odd", [-1, 0, 10**30, -(10**30), True, "x", None, [], {}, 1.5])
def test_odd_numbers_in_the_header_are_unknown(tmp_path: Path, odd: object) -> None:
    header = {
        "distributedInfo": {"rank": odd, "world_size": odd},
        "deviceProperties": [{"id": odd, "name": "A", "numSms": odd, "totalGlobalMem": odd}],
        "baseTimeNanoseconds": odd,
        "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}],
    }
    (tmp_path / "t.json").write_text(json.dumps(header))
    window = import_file(tmp_path / "t.json")
    assert window.rank in (None, 0)
    assert window.world_size is None
    (device,) = window.devices
    assert (device.id in (-1, 0), device.sm_count, device.memory_bytes) == (True, None, None)
    assert window.events.ts_ns.tolist() == [1000]
