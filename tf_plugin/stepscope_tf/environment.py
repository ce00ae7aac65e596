"""Where this process runs: its place among the workers, its GPUs, the versions of what it uses."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from stepscope.schema import Device

#: Jobs of a cluster whose tasks train, in the order of their ranks. Parameter servers and evaluators have no rank.
_TRAINING_JOBS = ("chief", "master", "worker")
#: Launchers that Horovod and the like use: (rank, world size, local rank). The first with a rank wins.
_LAUNCHERS = (
    ("HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
)


@dataclass(frozen=True)
class Place:
    """``rank`` is None for a task that does not train; ``local_rank`` counts the ranks of one host."""

    rank: int | None = 0
    world_size: int | None = 1
    local_rank: int | None = 0


def place(strategy: Any = None, environ: Mapping[str, str] = os.environ) -> Place:
    """The place that the strategy's cluster resolver gives, else TF_CONFIG, else the launcher's variables.

    Where nothing says otherwise this is a single process: rank 0 of 1.
    """
    return _of_resolver(strategy) or _of_tf_config(environ.get("TF_CONFIG")) or _of_launcher(environ) or Place()


def place_in_cluster(cluster: Mapping[str, Sequence[str]], job: str, index: int) -> Place:
    """The place of task ``index`` of ``job``; chief first, then the workers.

    Args:
        cluster: addresses (``host:port``) of the tasks of each job.
    """
    tasks = [(name, i) for name in _TRAINING_JOBS for i in range(len(cluster.get(name, ())))]
    if (job, index) not in tasks:
        return Place(None, len(tasks), None)
    rank = tasks.index((job, index))
    hosts = [cluster[name][i].rpartition(":")[0] for name, i in tasks]
    return Place(rank, len(tasks), hosts[:rank].count(hosts[rank]))


def _of_resolver(strategy: Any) -> Place | None:
    try:
        resolver = strategy.cluster_resolver
        job, index = resolver.task_type, resolver.task_id
        cluster = resolver.cluster_spec().as_dict()
        # In a single-process MultiWorkerMirroredStrategy the resolver is there and all it gives is None or empty.
        return place_in_cluster(cluster, job, index) if job is not None and index is not None and cluster else None
    except Exception:  # no strategy, no resolver, or one that cannot tell
        return None


def _of_tf_config(text: str | None) -> Place | None:
    try:
        config = json.loads(text or "")
        task = config["task"]
        return place_in_cluster(config["cluster"], task["type"], int(task["index"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _of_launcher(environ: Mapping[str, str]) -> Place | None:
    for rank_name, size_name, local_name in _LAUNCHERS:
        rank, size = _number(environ, rank_name), _number(environ, size_name)
        if rank is not None:
            return Place(rank, size, _number(environ, local_name))
    return None


def _number(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name, "").strip()
    return int(text) if text.isdecimal() else None


def devices(tf: Any) -> list[dict[str, Any]]:
    """The GPUs that TensorFlow uses, as ``schema.Device`` fields; none where it cannot say. Initialises none."""
    found = []
    try:
        for index, gpu in enumerate(tf.config.get_visible_devices("GPU")):
            details = tf.config.experimental.get_device_details(gpu)
            capability = details.get("compute_capability")
            properties = {} if capability is None else {"compute_capability": ".".join(map(str, capability))}
            found.append(asdict(Device(index, details.get("device_name"), properties=properties)))
    except Exception:  # a driver that does not answer
        pass
    return found


def versions(tf: Any = None, keras: Any = None) -> dict[str, str]:
    """TensorFlow, Keras and what TensorFlow was built with; only what is there."""
    found: dict[str, Any] = {"keras": getattr(keras, "__version__", None)}
    if tf is not None:
        build = tf.sysconfig.get_build_info()
        found.update(tensorflow=tf.__version__, cuda=build.get("cuda_version"), cudnn=build.get("cudnn_version"))
    return {name: str(version) for name, version in found.items() if version}
