"""Requests that TensorFlow's own batching serves, as its profiler records them."""

import threading

import pytest

from stepscope.runs import open_run
from stepscope.summary import summarize_worker
from stepscope.tables import Tables
from stepscope.timeline import Timeline
from tests.tables.build import rows_of

CLIENTS, EACH, ITEMS = 3, 4, 2
#: Tasks in batches: those of the requests, and perhaps the last one.
TASKS = (CLIENTS * EACH, CLIENTS * EACH + 1)

pytestmark = pytest.mark.usefixtures("tf")


@pytest.fixture(scope="module")
def worker(tf, tmp_path_factory):
    """Three clients that send four requests of two items each, in batches that are padded to eight."""
    weights = tf.random.normal((64, 64))

    @tf.nondifferentiable_batch_function(
        num_batch_threads=1, max_batch_size=8, batch_timeout_micros=2000, allowed_batch_sizes=[8]
    )
    def model(x):
        return tf.matmul(x, weights)

    @tf.function(input_signature=[tf.TensorSpec((None, 64))])
    def serve(x):
        return model(x) + 1.0

    def client(number):
        for i in range(EACH):
            with tf.profiler.experimental.Trace("request", request_id=EACH * number + i):
                serve(tf.zeros((ITEMS, 64)))

    serve(tf.zeros((ITEMS, 64)))
    folder = tmp_path_factory.mktemp("served")
    tf.profiler.experimental.start(str(folder))
    clients = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    # The answers are out before the event of their batch ends, and what has not ended is not recorded. The only thread
    # begins this batch after the one before; whether this one is recorded, nobody knows.
    serve(tf.zeros((ITEMS, 64)))
    tf.profiler.experimental.stop()
    (worker,) = open_run(folder).workers
    return worker


def test_latency_and_its_parts(worker):
    found = summarize_worker(worker)["inference"]
    assert (found["source"], found["count"], found["deep"]) == ("annotation", CLIENTS * EACH, CLIENTS * EACH)
    parts = {part["part"]: part["mean_ns"] for part in found["parts"]}
    assert list(parts) == ["host_before", "batch_wait", "batch", "host", "host_after"]
    assert sum(parts.values()) == pytest.approx(found["latency_ns"]["mean"])
    assert min(parts[name] for name in ("host_before", "batch_wait", "batch", "host_after")) > 0


def test_batches(worker):
    found = summarize_worker(worker)["inference"]["batches"]
    assert EACH <= found["count"] <= TASKS[1]
    assert round(found["tasks_mean"] * found["count"]) in TASKS
    assert found["size_mean"] == pytest.approx(ITEMS * found["tasks_mean"])
    assert found["padded_mean"] == 8
    assert found["padding_ratio"] == pytest.approx(1 - found["size_mean"] / 8)
    assert found["wait_ns"]["min"] >= 0


def test_tables(worker):
    """They add up to what the summary says."""
    found = summarize_worker(worker)["inference"]
    tables = Tables(Timeline(worker))
    requests = rows_of(tables, "requests", "none")
    assert sorted(row["id"] for row in requests) == sorted(map(str, range(CLIENTS * EACH)))
    for row in requests:
        assert (row["name"], row["items"], row["batches"]) == ("request", ITEMS, 1)
        told = ("host_before", "batch_wait", "batch", "host", "host_after")
        assert sum(row[f"{part}_ns"] for part in told) == row["dur_ns"]
    [group] = rows_of(tables, "requests", "name")
    assert (group["count"], group["p99_ns"]) == (found["count"], found["latency_ns"]["p99"])
    assert group["batch_wait_ns"] == pytest.approx(sum(row["batch_wait_ns"] for row in requests) / len(requests))
    batches = rows_of(tables, "batches", "none")
    assert sum(row["tasks"] for row in batches) in TASKS
    assert max(row["wait_ns"] for row in batches) == found["batches"]["wait_ns"]["max"]
    [group] = rows_of(tables, "batches", "size")
    assert (group["name"], group["count"]) == ("8 items", found["batches"]["count"])
    assert group["padding_ratio"] == pytest.approx(found["batches"]["padding_ratio"])
