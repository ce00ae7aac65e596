"""The input pipeline as TensorFlow's own trace of a loop shows it."""

import time

import pytest

import stepscope_tf
from stepscope.summary import summarize_worker
from tests.tf.conftest import read

#: Far longer than a busy machine lets a thread wait for a core: the loop must be seen to wait for the input.
SLOW_S = 0.05

pytestmark = pytest.mark.usefixtures("tf")


def pipeline_of(run, dataset, steps=6):
    with stepscope_tf.Profiler(run, window=(2, steps), monitor_interval_ms=0, overhead_budget=None):
        for _ in stepscope_tf.data(dataset.take(steps + 4)):
            with stepscope_tf.step():
                pass
    return summarize_worker(read(run).worker)["tf_data"]


def test_a_slow_map_behind_a_prefetch(tmp_path, tf):
    def slow(x):
        return tf.py_function(lambda v: (time.sleep(SLOW_S), v)[1], [x], tf.int64)

    found = pipeline_of(tmp_path / "run", tf.data.Dataset.range(100).map(slow).prefetch(2))
    stages = {stage["stage"]: stage for stage in found["stages"]}
    assert found["slowest"].rpartition("::")[2].startswith("Map")
    assert "num_parallel_calls" in found["advice"]
    assert found["wait_ratio"] > 0.5
    slowest = next(stage for stage in found["stages"] if stage["path"] == found["slowest"])
    assert slowest["in_background"]
    assert slowest["self_ns"] >= SLOW_S * 1e9 * (slowest["calls"] - 1)
    assert stages["Prefetch"]["buffer_size"] == 2
    assert stages["Prefetch"]["empty_ratio"] > 0.5


def test_a_pipeline_without_prefetch(tmp_path, tf):
    def slow():
        for i in range(100):
            time.sleep(SLOW_S)
            yield i

    dataset = tf.data.Dataset.from_generator(slow, output_signature=tf.TensorSpec((), tf.int64))
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    found = pipeline_of(tmp_path / "run", dataset.with_options(options))
    assert not any(stage["in_background"] for stage in found["stages"])
    assert "prefetch(tf.data.AUTOTUNE)" in found["advice"]
    assert 6 <= found["fetches"] <= 8
