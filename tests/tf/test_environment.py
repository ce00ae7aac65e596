"""Rank, world size and devices from what a job says about itself."""

import json
from types import SimpleNamespace

import pytest

from stepscope_tf.environment import Place, devices, place, place_in_cluster

CLUSTER = {"chief": ["a:1"], "worker": ["a:2", "b:1", "b:2"], "ps": ["c:1"]}


def tf_config(job, index):
    return {"TF_CONFIG": json.dumps({"cluster": CLUSTER, "task": {"type": job, "index": index}})}


def test_a_single_process_is_rank_0_of_1():
    assert place(environ={}) == Place(0, 1, 0)


@pytest.mark.parametrize(
    ("job", "index", "rank", "local_rank"),
    [("chief", 0, 0, 0), ("worker", 0, 1, 1), ("worker", 1, 2, 0), ("worker", 2, 3, 1)],
)
def test_tf_config_counts_the_chief_first_and_local_ranks_by_host(job, index, rank, local_rank):
    assert place(environ=tf_config(job, index)) == Place(rank, 4, local_rank)


@pytest.mark.parametrize(("job", "index"), [("ps", 0), ("evaluator", 0)])
def test_a_task_that_does_not_train_has_no_rank(job, index):
    assert place(environ=tf_config(job, index)) == Place(None, 4, None)


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"cluster": {}}', '{"cluster": {}, "task": 3}'])
def test_a_damaged_tf_config_is_as_good_as_none(text):
    assert place(environ={"TF_CONFIG": text}) == Place(0, 1, 0)


def test_the_strategy_is_asked_first():
    resolver = SimpleNamespace(
        task_type="worker", task_id=1, cluster_spec=lambda: SimpleNamespace(as_dict=lambda: {"worker": ["a:1", "b:1"]})
    )
    assert place(SimpleNamespace(cluster_resolver=resolver), tf_config("chief", 0)) == Place(1, 2, 0)
    silent = SimpleNamespace(task_type=None, task_id=None, cluster_spec=lambda: SimpleNamespace(as_dict=dict))
    assert place(SimpleNamespace(cluster_resolver=silent), tf_config("worker", 1)) == Place(2, 4, 0)


def test_launchers_of_horovod():
    environ = {"HOROVOD_RANK": "5", "HOROVOD_SIZE": "8", "HOROVOD_LOCAL_RANK": "1"}
    assert place(environ=environ) == Place(5, 8, 1)
    environ = {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "0"}
    assert place(environ=environ) == Place(2, 4, 0)


def test_an_index_outside_the_cluster_has_no_rank():
    assert place_in_cluster(CLUSTER, "worker", 7).rank is None


def fake_tf(*details, error=None):
    def details_of(gpu):
        if error:
            raise error
        return gpu

    experimental = SimpleNamespace(get_device_details=details_of)
    config = SimpleNamespace(get_visible_devices=lambda kind: list(details), experimental=experimental)
    return SimpleNamespace(config=config)


def test_devices_as_tensorflow_describes_them():
    # what an A100 answers; there is none here
    [device] = devices(fake_tf({"device_name": "NVIDIA A100-SXM4-40GB", "compute_capability": (8, 0)}))
    assert device["id"] == 0
    assert device["name"] == "NVIDIA A100-SXM4-40GB"
    assert device["properties"] == {"compute_capability": "8.0"}
    assert device["memory_bytes"] is None


def test_a_driver_that_does_not_answer_leaves_no_devices():
    assert devices(fake_tf({}, error=RuntimeError("driver"))) == []
