"""Distribution strategies: two replicas in one process, and two workers by TF_CONFIG. Processes of their own."""

import contextlib
import json
import os
import random
import socket
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from stepscope.runs import open_run
from stepscope.schema import Kind
from tests.tf.conftest import read

SCRIPT = Path(__file__).with_name("strategy_training.py")

pytestmark = [pytest.mark.usefixtures("tf"), pytest.mark.slow]


def start(run, kind, **env):
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", **env}
    return subprocess.Popen([sys.executable, SCRIPT, run, kind], stdout=subprocess.PIPE, text=True, env=env)


def told(process):
    out, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return json.loads(out.splitlines()[-1])


def test_two_replicas_in_one_process(tmp_path):
    assert told(start(tmp_path / "run", "mirrored")) == {"replicas": 2, "same": True}
    run = read(tmp_path / "run")
    assert run.meta["world_size"] == 1
    assert [s.step for s in run.steps] == list(range(8))
    assert all(a.end <= b.start for a, b in pairwise(run.steps))
    assert all({p.name for p in run.of_step(s.step)} == {"input_wait", "compute"} for s in run.steps)
    assert len(run.validation) == 2
    [window] = run.worker.windows()
    assert sorted(window.events.step[window.events.of_kind(Kind.STEP)].tolist()) == [2, 3]


def free_ports(count):
    """Below those that the kernel gives to whoever asks for any: TensorFlow takes them seconds later only."""
    ports = []
    for port in random.sample(range(20_000, 32_000), 1000):
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("localhost", port))
            ports.append(port)
        if len(ports) == count:
            return ports
    raise AssertionError("no free port")


def test_two_workers(tmp_path):
    cluster = {"worker": [f"localhost:{port}" for port in free_ports(2)]}
    configs = [json.dumps({"cluster": cluster, "task": {"type": "worker", "index": i}}) for i in range(2)]
    processes = [start(tmp_path / "run", "workers", TF_CONFIG=config) for config in configs]
    try:
        assert [told(process) for process in processes] == [{"replicas": 2, "same": True}] * 2
    finally:
        for process in processes:
            process.kill()
    workers = open_run(tmp_path / "run").workers
    assert sorted((w.rank, w.world_size) for w in workers) == [(0, 2), (1, 2)]
    for worker in workers:
        live = worker.live()
        assert live.step[live.of_kind(Kind.STEP)].tolist() == list(range(4))
        phases = {live.names[n] for n in np.unique(live.name[live.of_kind(Kind.PHASE)]).tolist()}
        assert phases == {"input_wait", "compute"}
        assert len(list(worker.windows())) == 1
