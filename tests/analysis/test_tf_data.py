"""The stages of tf.data pipelines: times, buffers, the slowest one, and what to tune."""

import pytest

from stepscope.analysis.tf_data import tf_data
from stepscope.schema import Kind
from tests.analysis.table import Table

MAP = "Iterator::Root::Prefetch::Map"


def pipeline() -> Table:
    """Two steps of 100 ns that wait 30 ns each; thread 2 prefetches by a map of 90 ns, 10 of them reading."""
    table = Table().step(0, 0, 100).step(1, 100, 100)
    for at, ready in ((0, 0), (100, 1)):
        table.host(Kind.DATALOADER, "IteratorGetNextOp::DoCompute", at, 30)
        table.op("Iterator::Root", at + 1, 28)
        table.op("Iterator::Root::Prefetch", at + 2, 20)
        told = {"buffer_limit": 4, "autotune": "false"}
        table.told(**told, **({"buffered_elements": ready} if ready else {}))
        table.op(MAP, at, 90, tid=2)
        table.op(f"{MAP}::TFRecord", at + 5, 10, tid=2)
    return table


def stage(found, name):
    [one] = [s for s in found.stages if s.stage == name]
    return one


def test_without_a_pipeline_there_is_nothing():
    assert tf_data(Table().step(0, 0, 10).op("aten::mm", 0, 5).events()) is None


def test_stages_from_the_training_to_the_source():
    found = tf_data(pipeline().events())
    assert [s.stage for s in found.stages] == ["Root", "Prefetch", "Map", "TFRecord"]
    assert [s.depth for s in found.stages] == [0, 1, 2, 3]
    assert [s.calls for s in found.stages] == [2, 2, 2, 2]
    assert [s.total_ns for s in found.stages] == [56, 40, 180, 20]
    assert [s.self_ns for s in found.stages] == [16, 40, 160, 20]
    assert [s.in_background for s in found.stages] == [False, False, True, False]


def test_self_times_of_a_thread_sum_to_what_it_spent():
    found = tf_data(pipeline().events())
    ahead = [s for s in found.stages if s.depth >= 2]
    assert sum(s.self_ns for s in ahead) == 2 * 90


def test_a_call_that_tells_of_no_element_found_the_buffer_empty():
    prefetch = stage(tf_data(pipeline().events()), "Prefetch")
    assert (prefetch.buffer_size, prefetch.buffered_calls, prefetch.empty_ratio) == (4, 1, 0.5)
    assert prefetch.autotuned is False
    assert prefetch.parallelism is None
    source = stage(tf_data(pipeline().events()), "TFRecord")
    assert (source.buffered_calls, source.empty_ratio, source.autotuned) == (None, None, None)


def test_where_no_stage_counts_its_elements_emptiness_is_unknown():
    table = Table().op("Iterator::Root::Prefetch", 0, 20).told(buffer_limit=2)
    prefetch = stage(tf_data(table.events()), "Prefetch")
    assert (prefetch.buffer_size, prefetch.empty_ratio) == (2, None)


def test_a_buffer_that_was_always_empty():
    table = Table().op("Iterator::Root", 0, 30).told(algorithm="DEFAULT")
    table.op("Iterator::Root::Prefetch", 1, 20).told(buffer_limit=2)
    prefetch = stage(tf_data(table.events()), "Prefetch")
    assert (prefetch.buffered_calls, prefetch.empty_ratio) == (0, 1.0)


def test_the_wait_of_the_training():
    found = tf_data(pipeline().events())
    assert (found.fetches, found.wait_ns, found.loop_ns, found.wait_ratio) == (2, 60, 200, 0.3)


def test_a_wait_between_the_steps_belongs_to_the_loop():
    table = Table().step(0, 30, 70).host(Kind.DATALOADER, "IteratorGetNext", 0, 20).op("Iterator::Root", 0, 20)
    found = tf_data(table.events())
    assert (found.wait_ns, found.loop_ns) == (20, 90)


def test_the_slowest_stage_is_what_the_others_wait_for():
    found = tf_data(pipeline().events())
    assert found.slowest == "Root::Prefetch::Map"
    assert "num_parallel_calls=tf.data.AUTOTUNE" in found.advice


def test_of_two_inputs_the_slower_one_is_followed():
    table = Table().step(0, 0, 100).host(Kind.DATALOADER, "IteratorGetNext", 0, 50).op("Iterator::Root", 0, 50)
    table.op("Iterator::Root::Zip", 1, 48).op("Iterator::Root::Zip[0]::Range", 2, 2)
    table.op("Iterator::Root::Zip::Cache", 2, 3).op("Iterator::Root::Zip::Generator", 6, 40)
    assert tf_data(table.events()).slowest == "Root::Zip::Generator"


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("ParallelMapV2", "num_parallel_calls=tf.data.AUTOTUNE"),
        ("MapAndBatch", "num_parallel_calls=tf.data.AUTOTUNE"),
        ("Generator", "runs Python"),
        ("TFRecord", "several files at once"),
        ("Shuffle", "buffer_size"),
        ("Unheard", "cache()"),
    ],
)
def test_what_to_tune(name, advice):
    table = Table().step(0, 0, 100).host(Kind.DATALOADER, "IteratorGetNext", 0, 50)
    table.op("Iterator::Root::Prefetch", 0, 50).op(f"Iterator::Root::Prefetch::{name}", 0, 90, tid=2)
    assert advice in tf_data(table.events()).advice


def test_a_pipeline_that_never_works_ahead_is_told_to_prefetch():
    table = Table().step(0, 0, 100).host(Kind.DATALOADER, "IteratorGetNext", 0, 50)
    table.op("Iterator::Root::Map", 1, 48)
    assert "prefetch(tf.data.AUTOTUNE)" in tf_data(table.events()).advice


def test_a_wait_below_5_percent_is_not_worth_tuning():
    table = Table().step(0, 0, 1000).host(Kind.DATALOADER, "IteratorGetNext", 0, 49).op("Iterator::Root::Map", 0, 49)
    found = tf_data(table.events())
    assert found.wait_ratio == 0.049
    assert found.advice is None
    table = Table().host(Kind.DATALOADER, "IteratorGetNext", 0, 49).op("Iterator::Root::Map", 0, 49)
    assert (tf_data(table.events()).loop_ns, tf_data(table.events()).advice) == (None, None)
