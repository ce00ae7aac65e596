"""Requests of inference: what counts as one, what its latency consists of, and the batches that it waits for."""

import numpy as np
import pytest

from stepscope.analysis.capture import merge
from stepscope.analysis.inference import inference
from stepscope.analysis.launches import link
from stepscope.analysis.requests import find_requests
from stepscope.schema import Events, Kind
from tests.analysis.table import Table

NOTHING = Table().events()


def served(*windows: Table, live: Table | None = None):
    capture = merge([table.events() for table in windows])
    always_on = NOTHING if live is None else live.events()
    return inference(always_on, capture.events, capture.bounds, link(capture.events))


def region(table: Table, name: str, ts: int, dur: int, tid: int = 1) -> Table:
    return table.host(Kind.ANNOTATION, name, ts, dur, tid)


def parts(found) -> dict[str, float]:
    return {part.part: part.mean_ns for part in found.parts}


def test_what_is_called_a_request():
    table = Table()
    for i, name in enumerate(("request", "Request 17", "request#3f-2a", "ModelServerRequest_a", "request: 5")):
        region(table, name, 100 * i, 10)
    for i, name in enumerate(("requests", "request handler", "request_queue", "prerequest 3", "step 3")):
        region(table, name, 1000 + 100 * i, 10)
    table.op("request", 5000, 10)
    assert served(table).count == 5
    assert served(Table().step(0, 0, 10).op("aten::mm", 0, 5)) is None


def test_only_the_outermost_of_a_thread_counts():
    table = region(region(region(Table(), "request 1", 0, 100), "request 1", 10, 50), "request 2", 20, 50, tid=2)
    assert served(table).count == 2


def test_batches_of_a_window_without_requests_are_of_none_of_the_always_on_stream():
    found = served(batched(annotated=False), live=region(Table(), "request", 10_000, 100))
    assert (found.source, found.count, found.deep, found.parts) == ("annotation", 1, 0, None)
    assert found.batches.count == 1


def test_requests_of_an_event_loop_overlap_on_its_thread():
    """Each of the four begins in the one before and outlives it; the fifth lies in the fourth."""
    table = Table()
    for i in range(4):
        region(table, f"request {i}", 100_000 * i, 250_000)
    region(table, "request 4", 400_000, 10_000)
    found = served(table)
    assert (found.count, found.span_ns, found.latency_ns["min"]) == (4, 550_000, 250_000)
    assert sum(part.mean_ns for part in found.parts) == 250_000


def test_latency_throughput_and_requests_in_flight():
    table = Table()
    for i in range(10):
        region(table, "request", 100 * i, 10 * (i + 1), tid=i)  # 10 to 100 long; the last one ends at 1000
    found = served(table)
    assert found.latency_ns == {"mean": 55, "p50": 50, "p90": 90, "p95": 100, "p99": 100, "min": 10, "max": 100}
    assert (found.span_ns, found.requests_per_s, found.in_flight) == (1000, 10 * 1e9 / 1000, 0.55)
    assert (found.source, found.deep, found.late, found.batches) == ("annotation", 10, 0, None)


def test_the_gap_between_windows_is_in_no_throughput():
    first, second = region(Table(), "request", 0, 100), region(Table(), "request", 10_000, 100)
    assert served(first, second).span_ns == 200


def gpu_request(at: int = 0, more: int = 0) -> Table:
    """From 0 to 100 on the host: launches at 10, 20, 30; on the device from 25 a copy in of 5, a kernel of 40 (longer
    by ``more``), a copy out of 10."""
    table = region(Table(), "request", at, 100)
    for k, start in enumerate((10, 20, 30)):
        table.launch(at + start, 5, correlation=k + 1)
    table.device(Kind.MEMCPY, "Memcpy HtoD (Pinned -> Device)", at + 25, 5, correlation=1)
    table.kernel("gemm", at + 30, 40 + more, correlation=2)
    return table.device(Kind.MEMCPY, "Memcpy DtoH (Device -> Pinned)", at + 70 + more, 10, correlation=3)


def test_parts_of_a_request_with_device_work():
    found = served(gpu_request())
    device = {"to_device": 5, "device": 40, "from_device": 10}
    assert parts(found) == {"host_before": 25, **device, "host": 0, "host_after": 20}
    assert {part.part: part.share for part in found.parts}["device"] == 0.4


def test_device_work_after_the_request_is_told_and_not_counted():
    found = served(gpu_request(more=1000))
    assert found.late == 1
    assert parts(found)["device"] == 70
    assert found.latency_ns["mean"] == 100


def test_without_a_device_nothing_is_told_of_one():
    assert parts(served(region(Table(), "request", 0, 100))) == {"host_before": 0, "host": 100, "host_after": 0}


def test_the_slowest_tenth_is_told_apart():
    table = region(region(Table(), "request", 0, 100), "request", 200, 300)
    [_, host, _] = served(table).parts
    assert (host.mean_ns, host.slowest_mean_ns) == (200, 300)


def batched(annotated: bool = True) -> Table:
    """Two requests of two threads that hand their input to a pool, which puts it into one queue; the batch begins at
    200 on a thread of its own and has a kernel from 220 to 250."""
    table = Table()
    for i in range(2):
        at = 50 * i
        if annotated:
            region(table, f"request {i}", at, 300, tid=i)
        table.host(Kind.OP, "FunctionRun", at + 10, 5, tid=i, correlation=10 + i)
        table.host(Kind.OP, "ExecutorState::Process", at + 20, 20, tid=7, external_id=10 + i)
        table.op("ScheduleWithEagerSplit", at + 25, 10, tid=7).told(batching_input_task_size=3)
        table.host(Kind.OP, "ScheduleOutputTask", at + 26, 2, tid=7, correlation=99).told(size=3)
    table.host(Kind.OP, "ProcessBatch", 200, 60, tid=8, external_id=99).told(batch_size_before_padding=6)
    table.op("ConcatInputTensors", 202, 5, tid=8).told(batch_size_after_padding=8, padding_amount=2)
    table.launch(210, 5, correlation=500, tid=8).kernel("gemm", 220, 30, correlation=500)
    return table


def test_a_batch_far_off_in_time_spoils_no_device_time():
    table, far = batched(), 2**62
    for i in range(3):
        table.host(Kind.OP, "ProcessBatch", far + 100 * i, 60, tid=8)
        table.launch(far + 100 * i + 10, 5, correlation=600 + i, tid=8)
        table.kernel("gemm", far + 100 * i + 20, 30, correlation=600 + i)
    table.kernel("gemm", 0, 10, correlation=600)
    assert served(table).batches.device_ns == (3 * 30 + 30 + 10) / 4


def test_parts_of_requests_in_a_batch():
    found = served(batched())
    assert found.count == 2
    # Put at 26 and 76, begun at 200, done at 260; the second request ends at 350.
    waits = [200 - 26, 200 - 76]
    assert parts(found) == {
        "host_before": 26,
        "batch_wait": np.mean(waits),
        "batch": 60 - 30,
        "to_device": 0,
        "device": 30,
        "from_device": 0,
        "host": 0,
        "host_after": np.mean([300 - 260, 350 - 260]),
    }
    batches = found.batches
    assert (batches.count, batches.batches_per_s, batches.device_ns) == (1, 1e9 / 60, 30)
    assert batches.wait_ns["mean"] == np.mean(waits)
    assert (batches.tasks_mean, batches.size_mean, batches.padded_mean, batches.padding_ratio) == (2, 6, 8, 0.25)


@pytest.mark.parametrize(
    ("before", "after", "padding"), [(2**62, 8, None), (9, 8, 0), (-3, 8, 9), ("6", 8, "2"), (6, 2**62, 2)]
)
def test_sizes_that_no_batch_has_are_not_told(before, after, padding):
    table = Table().host(Kind.OP, "ProcessBatch", 0, 60, tid=8).told(batch_size_before_padding=before)
    table.op("ConcatInputTensors", 2, 5, tid=8).told(batch_size_after_padding=after, padding_amount=padding)
    found = served(region(table, "request", 0, 100)).batches
    assert found.padding_ratio is None
    assert found.size_mean in (None, 6)
    assert found.padded_mean in (None, 8)


def test_without_regions_what_was_put_into_the_queue_is_a_request():
    found = served(batched(annotated=False))
    assert (found.source, found.count) == ("batch task", 2)
    assert found.latency_ns["max"] == 260 - 25
    assert parts(found)["host_after"] == 0


def test_windows_keep_their_batches_apart():
    """Profilers count ids anew in each window, for tasks and batches alike."""
    later = Table()
    for row in batched().rows:
        later.rows.append((row[0] + 10_000, *row[1:]))
    source = batched()
    later.names, later.lanes, later.args = source.names, source.lanes, source.args
    found = served(batched(), later)
    assert (found.count, found.batches.count, found.batches.tasks_mean) == (4, 2, 2)


def test_a_request_that_was_split_waits_for_each_of_its_batches():
    table = region(Table(), "request", 0, 100)
    table.op("ScheduleWithEagerSplit", 10, 10).told(batching_input_task_size=6)
    for k, (put, begun) in enumerate(((12, 30), (14, 50))):
        table.host(Kind.OP, "ScheduleOutputTask", put, 1, correlation=k + 1)
        table.host(Kind.OP, "ProcessBatch", begun, 30, tid=8 + k, external_id=k + 1)
    found = served(table)
    # One moment in both goes to the wait: 12 to 50; then the batch to 80.
    assert parts(found) == {"host_before": 12, "batch_wait": 38, "batch": 30, "host": 0, "host_after": 20}
    assert found.batches.size_mean is None
    assert found.batches.padding_ratio is None


def test_calls_of_a_server_unless_a_batch_makes_them():
    table = Table().op("BatchingSessionRun", 0, 100).op("SessionRun", 10, 20)
    table.host(Kind.OP, "MergedTask", 5, 1, correlation=1)
    table.host(Kind.OP, "ProcessBatch", 20, 50, tid=2, external_id=1).op("SessionRun", 30, 20, tid=2)
    found = served(table)
    assert (found.source, found.count) == ("BatchingSessionRun", 1)
    del table.rows[0]
    assert served(table).source == "SessionRun"
    assert served(table).count == 1


def test_a_session_that_trains_serves_no_requests():
    assert served(Table().op("SessionRun", 0, 50)).count == 1
    assert served(Table().step(0, 0, 100).op("SessionRun", 0, 50)) is None


def test_regions_of_the_always_on_stream_and_their_copies_in_a_window():
    """The window shows the second and the third of four requests; its clock is 3 us behind."""
    live = Table()
    for i in range(4):
        region(live, "request", 1_000_000 * i, 500_000)
    deep = region(region(Table(), "request", 997_000, 500_000), "request", 1_997_000, 500_000)
    found = served(deep, live=live)
    assert (found.count, found.deep, found.span_ns) == (4, 2, 3_500_000)
    assert served(live=live).parts is None


def test_copies_are_told_one_by_one():
    """Threads that serve at once, a region whose thread lost its core between its two beginnings, and one that the
    window does not show."""
    ms = 1_000_000
    live, deep = Table(), Table()
    for start, end, tid in ((0, 90, 1), (10, 20, 2), (15, 30, 3), (40, 50, 2), (60, 80, 3)):
        region(live, "request", start * ms, (end - start) * ms, tid)
        if start != 60:
            early = 4 if start == 40 else 0
            region(deep, "request", (start - early) * ms, (end - start + early) * ms + 1000, tid)
    found = served(deep, live=live)
    assert (found.count, found.deep) == (5, 4)


def test_names_and_ids():
    table = region(region(Table(), "request 17", 0, 10), "ModelServerRequest_x", 20, 10)
    region(table, "request", 40, 10).told(request_id=5, model_id="bert:1")
    region(table, "lookup", 60, 10).told(_r=-1, id=6)
    names, ids, models = find_requests(NOTHING, as_imported(table)).told
    assert names == ["request", "ModelServerRequest_x", "request", "lookup"]
    assert ids == ["17", None, "5", "6"]
    assert models == [None, None, "bert:1", None]


def as_imported(table: Table) -> Events:
    """The importer writes args without spaces."""
    events = table.events()
    events.args_values[:] = [text.replace(": ", ":").replace(", ", ",") for text in events.args_values]
    return events


@pytest.mark.parametrize("seed", range(5))
def test_parts_sum_to_the_latency(seed: int):
    rng = np.random.default_rng(seed)
    table = Table()
    for k in range(30):
        at = int(rng.integers(0, 1000))
        region(table, "request", at, int(rng.integers(0, 300)), tid=int(rng.integers(0, 3)))
        table.launch(int(rng.integers(0, 1000)), 2, correlation=k + 1, tid=int(rng.integers(0, 3)))
        kind = (Kind.KERNEL, Kind.MEMCPY)[int(rng.integers(0, 2))]
        table.device(kind, "Memcpy HtoD", int(rng.integers(0, 1200)), int(rng.integers(0, 80)), correlation=k + 1)
        table.host(Kind.OP, "ScheduleOutputTask", at, 1, tid=int(rng.integers(0, 3)), correlation=1000 + k // 3)
        if k % 3 == 0:
            begin = int(rng.integers(0, 1000))
            table.host(Kind.OP, "ProcessBatch", begin, int(rng.integers(1, 99)), tid=9 + k, external_id=1000 + k // 3)
    found = served(table)
    assert sum(part.mean_ns for part in found.parts) == pytest.approx(found.latency_ns["mean"])
    assert sum(part.share for part in found.parts) == pytest.approx(1)
