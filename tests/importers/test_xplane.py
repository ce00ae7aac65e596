"""XPlane files: TensorFlow on a CPU, JAX on AMD, NVIDIA's collector; cut and damaged ones."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.errors import StepscopeError
from stepscope.importers import import_file
from stepscope.importers.xplane_wire import looks_like_xspace
from stepscope.schema import NONE, Kind, Window
from tests.importers.xspace import PlaneBuilder, Ref, member, varint, xspace

START_NS = 1_771_595_639_214_724_894


def environment() -> PlaneBuilder:
    return PlaneBuilder("Task Environment", profile_start_time=START_NS, profile_stop_time=START_NS + 10**9)


def cpu_plane() -> PlaneBuilder:
    plane = PlaneBuilder("/host:CPU").line(-4773570087456716532, "python", timestamp_ns=14_211)
    plane.event("train", 1_000_000, 900_000_000, step_num=100, _r=1)
    plane.event("FunctionRun", 2_000_000, 800_000_000, _r=1)
    plane.event("IteratorGetNextOp::DoCompute", 3_000_000, 100_000_000, id=-6103567726275716850, iter_num=3)
    plane.event("Iterator::Root::Prefetch", 4_000_000, 50_000_000, id=7, name=Ref("PrefetchDataset:2"))
    plane.line(2, "tf_Compute/2", timestamp_ns=14_211)
    plane.event("ThreadpoolListener::StartRegion", 1_000, 0, _ct=15, _c=29)
    plane.event("Add:AddV2", 5_000_500, 1_999_999, cost=0.5)
    plane.event("MemoryAllocation", 6_000_000, 0, allocation_bytes=4096, addr=139867669397504)
    plane.event("MemoryDeallocation", 6_500_000, 0, allocation_bytes=4096, addr=139867669397504)
    return plane


def nvidia_planes() -> tuple[PlaneBuilder, PlaneBuilder]:
    host = PlaneBuilder("/host:CPU").line(7, "Host Threads/7")
    host.event("cuLaunchKernel", 10_000_000, 5_000_000, correlation_id=101)
    host.event("cuMemcpyHtoDAsync_v2", 20_000_000, 5_000_000, correlation_id=2**64 - 5)
    host.event("cuStreamSynchronize", 30_000_000, 5_000_000, correlation_id=103)
    device = PlaneBuilder("/device:GPU:1", device_vendor="Nvidia", core_count=108, memory_size=42_297_786_368)
    device.line(13, "Stream #13(Compute,Memcpy)")
    details = "regs:32 static_shared:0 dynamic_shared:0 grid:216,1,1 block:128,1,1 occ_pct:12.5"
    device.event(
        "sgemm", 20_000_000, 80_000_000, correlation_id=101, kernel_details=Ref(details), tf_op=Ref("m/MatMul")
    )
    copy = "kind_src:pinned kind_dst:device size:655360 dest:1 async:1"
    device.event("MemcpyH2D", 110_000_000, 10_000_000, correlation_id=2**64 - 5, memcpy_details=copy)
    device.event("Memset", 130_000_000, 1_000_000, memset_details="kind:device num_bytes:4096")
    device.event("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 140_000_000, 9_000_000, kernel_details=Ref(details))
    device.line(90, "XLA Modules").event("jit_step", 0, 200_000_000)
    return host, device


def load(tmp_path: Path, data: bytes, name: str = "vm.xplane.pb") -> Window:
    path = tmp_path / name
    path.write_bytes(data)
    return import_file(path)


def codes(window: Window) -> dict[str, int]:
    return {note.code: note.count for note in window.notes}


def names(window: Window) -> list[str]:
    return [window.events.text(row) for row in range(len(window.events))]


def test_a_tensorflow_cpu_file(tmp_path: Path) -> None:
    window = load(tmp_path, xspace(cpu_plane(), environment(), hostname="node-a"))
    events = window.events
    assert (window.framework, window.host, window.rank) == ("tensorflow", "node-a", None)
    assert events.kind.tolist() == [
        Kind.STEP, Kind.OP, Kind.DATALOADER, Kind.OP, Kind.OP, Kind.MEMORY, Kind.MEMORY,
    ]  # fmt: skip
    assert events.step.tolist() == [100, *[NONE] * 6]
    assert events.ts_ns[0] == START_NS + 14_211 + 1_000
    assert events.dur_ns[0] == 900_000
    assert events.bytes.tolist() == [*[NONE] * 5, 4096, -4096]
    assert events.args_of(3) == {"name": "PrefetchDataset:2"}
    assert events.args_of(4) == {"cost": 0.5}
    assert events.args_of(5) == {"allocation_bytes": 4096, "addr": 139867669397504}
    assert codes(window) == {"dropped_instants": 1, "rank_unknown": 1}
    assert [(lane.type, lane.name, lane.tid) for lane in events.lanes] == [
        ("thread", "python", "-4773570087456716532"),
        ("thread", "tf_Compute/2", "2"),
    ]


def test_start_and_end_are_cut_to_whole_nanoseconds(tmp_path: Path) -> None:
    plane = PlaneBuilder("/host:CPU").line(1, "a").event("outer", 999, 2_002).event("inner", 1_500, 1_501)
    events = load(tmp_path, xspace(plane, environment())).events
    # [0.999, 3.001) ns and [1.5, 3.001) ns: both end in nanosecond 3.
    assert (events.ts_ns - START_NS).tolist() == [0, 1]
    assert (events.end_ns - START_NS).tolist() == [3, 3]


def test_nvidia_planes(tmp_path: Path) -> None:
    window = load(tmp_path, xspace(*nvidia_planes(), environment()))
    events = window.events
    assert events.kind.tolist() == [
        Kind.LAUNCH, Kind.LAUNCH, Kind.SYNC, Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET, Kind.COLLECTIVE,
        Kind.DEVICE_ANNOTATION,
    ]  # fmt: skip
    assert events.correlation.tolist() == [101, -5, 103, 101, -5, NONE, NONE, NONE]
    assert events.device.tolist() == [NONE] * 3 + [1] * 5
    assert events.stream.tolist() == [NONE] * 3 + [13] * 4 + [90]
    assert events.bytes.tolist() == [NONE] * 4 + [655_360, 4096, NONE, NONE]
    assert events.args_of(3)["tf_op"] == "m/MatMul"
    lane = events.lanes[1]
    assert (lane.type, lane.process, lane.device, lane.stream) == ("stream", "GPU 1", 1, 13)
    device = window.devices[0]
    assert (device.id, device.name, device.sm_count, device.memory_bytes) == (1, "Nvidia", 108, 42_297_786_368)


def test_jax_is_told_by_its_runtime(tmp_path: Path) -> None:
    plane = PlaneBuilder("/host:CPU").line(1, "tf_XLAPjRt/1").event("PjRtStreamExecutorLoadedExecutable::Execute", 0, 9)
    assert load(tmp_path, xspace(plane, environment())).framework == "jax"


def test_python_frames_and_metadata_stats(tmp_path: Path) -> None:
    plane = PlaneBuilder("/host:python-tracer").line(1, "python3").event("$train.py:3 main", 0, 9)
    assert load(tmp_path, xspace(plane, environment())).events.kind.tolist() == [Kind.PYTHON]


def test_events_with_equal_stats_share_their_args(tmp_path: Path) -> None:
    plane = PlaneBuilder("/host:CPU").line(1, "a")
    for i in range(300):
        plane.event("op", 1000 * i, 500, program_id=15, module=Ref("jit_f"), id=i, text="same")
        plane.event("other", 1000 * i, 500, program_id=16)
        plane.event("bare", 1000 * i, 500)
    events = load(tmp_path, xspace(plane, environment())).events
    assert sorted(events.args_values) == ['{"program_id":15,"module":"jit_f","text":"same"}', '{"program_id":16}']
    assert [events.args_of(row) for row in (0, 1, 2)] == [
        {"program_id": 15, "module": "jit_f", "text": "same"},
        {"program_id": 16},
        {},
    ]


def test_producers_and_consumers_share_a_number(tmp_path: Path) -> None:
    host = PlaneBuilder("/host:CPU").line(1, "python")
    host.event("FunctionRun", 1_000_000, 9_000_000, _pt=2, _p=2**64 - 3)
    host.event("Enqueue", 20_000_000, 1_000_000, _pt=5, _p=7)
    host.event("Lonely", 30_000_000, 1_000_000, _pt=2, _p=7)
    host.event("cuLaunchKernel", 40_000_000, 1_000_000, correlation_id=1)
    host.line(2, "tf_Compute/2")
    host.event("ExecutorState::Process", 2_000_000, 1_000_000, _ct=2, _c=2**64 - 3)
    host.event("ExecutorDoneCallback", 4_000_000, 1_000_000, _ct=2, _c=2**64 - 3)
    host.event("Execute", 25_000_000, 1_000_000, _ct=5, _c=7)
    events = load(tmp_path, xspace(environment(), host)).events
    ids = {events.text(i): (int(events.correlation[i]), int(events.external_id[i])) for i in range(len(events))}
    function, enqueue = ids["FunctionRun"][0], ids["Enqueue"][0]
    assert len({function, enqueue, ids["cuLaunchKernel"][0]}) == 3
    assert ids == {
        "FunctionRun": (function, NONE),
        "Enqueue": (enqueue, NONE),
        "Lonely": (NONE, NONE),  # the same id of another type is no partner
        "cuLaunchKernel": (1, NONE),
        "ExecutorState::Process": (NONE, function),
        "ExecutorDoneCallback": (NONE, function),
        "Execute": (NONE, enqueue),
    }


def test_a_file_without_a_clock_says_so(tmp_path: Path) -> None:
    window = load(tmp_path, xspace(cpu_plane()))
    assert "clock_unknown" in codes(window)
    assert window.events.ts_ns[0] == 14_211 + 1_000


def test_lines_with_unix_times_need_no_environment(tmp_path: Path) -> None:
    plane = PlaneBuilder("/host:CPU").line(1, "a", timestamp_ns=START_NS).event("op", 2_000, 1_000)
    window = load(tmp_path, xspace(plane, environment()))
    assert window.events.ts_ns.tolist() == [START_NS + 2]


def test_events_without_a_time_of_their_own_are_counted(tmp_path: Path) -> None:
    plane = PlaneBuilder("/host:CPU").line(1, "a").event("op", 0, 9_000)
    plane.raw_event(member(1, 1) + member(5, 17) + member(3, 5_000))  # num_occurrences in place of an offset
    plane.raw_event(member(1, 1) + member(2, 5_000) + member(3, -5_000))
    window = load(tmp_path, xspace(plane, environment()))
    assert len(window.events) == 1
    assert codes(window) == {"invalid_timestamp": 1, "invalid_duration": 1, "rank_unknown": 1}


def test_values_that_are_no_numbers_are_counted(tmp_path: Path) -> None:
    nan, infinity = float("nan"), float("inf")
    plane = PlaneBuilder("/device:GPU:0", clock_rate=nan, core_count=108).line(13, "Stream #13")
    plane.event("fusion", 0, 1_000_000, flops=infinity, bytes_accessed=4)
    plane.event("fusion", 2_000_000, 1_000_000, flops=nan, occupancy=0.5).about("fusion", cost=-infinity, group=1)
    window = load(tmp_path, xspace(environment(), plane))
    args = [window.events.args_of(row) for row in range(len(window.events))]
    assert args == [{"group": 1, "bytes_accessed": 4}, {"group": 1, "occupancy": 0.5}]
    assert (window.devices[0].sm_count, window.devices[0].properties) == (108, {})
    assert codes(window)["unusable_value"] == 4


def test_sizes_that_no_memory_has_are_counted(tmp_path: Path) -> None:
    plane = PlaneBuilder("/device:GPU:0").line(13, "Stream #13")
    for size in (4, 2**50 - 1, 2**50, 10**17):
        plane.event("MemcpyH2D", 0, 1_000_000, memcpy_details=f"kind_src:pinned size:{size} dest:1")
    window = load(tmp_path, xspace(environment(), plane))
    assert window.events.bytes.tolist() == [4, 2**50 - 1, NONE, NONE]
    assert codes(window)["unusable_value"] == 2


def test_a_damaged_event_costs_only_itself(tmp_path: Path) -> None:
    plane = PlaneBuilder("/host:CPU").line(1, "a").event("op", 0, 9_000)
    plane.raw_event(member(1, 1) + varint(4 << 3 | 2) + varint(200) + b"short")
    plane.event("op", 10_000, 5_000)
    window = load(tmp_path, xspace(plane, environment()))
    assert window.events.dur_ns.tolist() == [9, 5]
    assert codes(window)["damaged_event"] == 1


def test_no_events(tmp_path: Path) -> None:
    window = load(tmp_path, xspace(environment(), hostname="node-a"))
    assert len(window.events) == 0
    assert "no_events" in codes(window)
    assert window.header["profile_start_time"] == START_NS


def test_rank_and_host_in_the_name(tmp_path: Path) -> None:
    window = load(tmp_path, xspace(cpu_plane(), environment()), "rank3.xplane.pb")
    assert (window.rank, window.rank_from) == (3, "name")
    assert load(tmp_path, xspace(cpu_plane(), environment()), "node-7.xplane.pb").host == "node-7"


def test_told_by_content_not_by_name(tmp_path: Path) -> None:
    assert len(load(tmp_path, xspace(cpu_plane(), environment()), "trace.json").events) == 7
    assert not looks_like_xspace(b'\n{\n  "traceEvents": []}')
    assert not looks_like_xspace(b"\nnotes about something\n")
    assert not looks_like_xspace(b"")


def test_a_cut_file_keeps_every_event_before_the_cut(tmp_path: Path) -> None:
    data = xspace(environment(), cpu_plane())
    whole = load(tmp_path, data).events.ts_ns.tolist()
    last = 0
    for cut in range(1, len(data)):
        try:
            window = load(tmp_path, data[:cut])
        except StepscopeError:
            assert cut < 10
            continue
        kept = [ts for ts in window.events.ts_ns.tolist() if ts in whole]
        assert len(kept) >= min(last, len(whole))
        last = len(kept)
        assert cut < len(xspace(environment())) + 1 or "truncated" in codes(window)
    assert last == len(whole)


@settings(max_examples=150)
@given(st.data())
def test_no_bytes_raise_anything_but_our_error(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    raw = bytearray(xspace(cpu_plane(), *nvidia_planes(), environment()))
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=5))
    try:
        window = load(tmp_path_factory.mktemp("bytes"), bytes(raw))
    except StepscopeError:
        return
    json.dumps(window.meta(), allow_nan=False)
    for row in range(len(window.events)):
        window.events.args_of(row)
    window.events.to_table()
    assert (window.events.dur_ns >= 0).all()


@pytest.mark.slow
def test_a_file_that_tensorflow_records(tmp_path: Path) -> None:
    tf = pytest.importorskip("tensorflow")

    @tf.function
    def train(x):
        return tf.reduce_sum(tf.matmul(x, x))

    batches = iter(tf.data.Dataset.from_tensor_slices(tf.ones((8, 16, 16))).prefetch(2))
    train(next(batches))
    tf.profiler.experimental.start(str(tmp_path))
    for number in range(100, 103):
        with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
            train(next(batches))
    tf.profiler.experimental.stop()

    window = import_file(next(tmp_path.rglob("*.xplane.pb")))
    events = window.events
    steps = events.of_kind(Kind.STEP)
    assert window.framework == "tensorflow"
    assert events.step[steps].tolist() == [100, 101, 102]
    assert "truncated" not in codes(window)
    start, stop = window.header["profile_start_time"], window.header["profile_stop_time"]
    assert (events.ts_ns[steps] >= start).all()
    assert (events.end_ns[steps] <= stop).all()
    assert events.of_kind(Kind.DATALOADER).any()


def test_regions_that_stand_for_requests(tmp_path: Path) -> None:
    """By their name, or as a root of the user's; 1 marks function roots."""
    plane = PlaneBuilder("/host:CPU").line(1, "python")
    plane.event("request", 0, 1_000_000, request_id=7)
    plane.event("lookup", 2_000_000, 1_000_000, _r=-1, id=8)
    plane.event("FunctionRun", 4_000_000, 1_000_000, _r=1, id=9)
    events = load(tmp_path, xspace(plane, environment())).events
    assert events.kind.tolist() == [Kind.ANNOTATION, Kind.ANNOTATION, Kind.OP]
    assert [events.args_of(row) for row in range(3)] == [{"request_id": 7}, {"_r": -1, "id": 8}, {}]
