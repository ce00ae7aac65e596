"""Scripts in the style of the SageMaker Profiler's documentation, run as they are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import stepscope
from stepscope import smprof
from stepscope.runs import open_run
from stepscope.schema import Kind
from stepscope.summary import summarize_worker

#: A training loop as the documentation has it; nothing in it knows of stepscope.
TORCH = """
import torch
from torch import nn
try:
    import smprof
except ImportError:
    import smppy as smprof

SMProf = smprof.SMProfiler.instance()
config = smprof.Config()
config.profiler = {"EnableCuda": "1"}
SMProf.configure(config)

torch.manual_seed(1)
net = nn.Linear(8, 1)
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.arange(128.0).reshape(16, 8) / 128
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, x[:, :1]), batch_size=1)

@smprof.annotate("augment")
def augment(batch):
    return batch * 1.0

SMProf.start_profiling()
for epoch in range(2):
    for i, (inputs, labels) in enumerate(loader):
        with smprof.annotate("step_" + str(i)):
            inputs = augment(inputs)
            optimizer.zero_grad()
            with smprof.annotate("Forward"):
                outputs = net(inputs)
            with smprof.annotate("Loss"):
                loss = criterion(outputs, labels)
            with smprof.annotate("Backward"):
                loss.backward()
            handle = smprof.annotation_begin("Optimizer")
            optimizer.step()
            smprof.annotation_end(handle)
SMProf.stop_profiling()
print([p.tolist() for p in net.parameters()])
"""

TENSORFLOW = """
import smppy as smprof
import tensorflow as tf

SMProf = smprof.SMProfiler.instance()
config = smprof.Config()
config.profiler = {"EnableCuda": "0"}
SMProf.configure(config)
w = tf.Variable(tf.ones((8, 1)))
SMProf.start_profiling()
for i in range(4):
    with smprof.annotate("step_" + str(i)):
        with tf.GradientTape() as tape:
            with smprof.annotate("Forward"):
                y = tf.ones((2, 8)) @ w
            with smprof.annotate("Loss"):
                loss = tf.reduce_mean(y ** 2)
        with smprof.annotate("Backward"):
            gradient = tape.gradient(loss, w)
        with smprof.annotate("Optimizer"):
            w.assign_sub(0.01 * gradient)
SMProf.stop_profiling()
"""


def run_script(folder: Path, text: str, *before: str):
    script = folder / "train.py"
    script.write_text(text)
    env = {**os.environ, "STEPSCOPE_LOGDIR": str(folder / "logs"), "TF_CPP_MIN_LOG_LEVEL": "2"}
    return subprocess.run(
        [sys.executable, *before, str(script)], capture_output=True, text=True, env=env, cwd=folder, check=False
    )


def worker_of(folder: Path):
    [run] = (folder / "logs").iterdir()
    assert run.name.startswith("train-")
    [worker] = open_run(run).workers
    return worker


@pytest.fixture(scope="module")
def torch_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("torch")
    return run_script(folder, TORCH, "-m", "stepscope.smprof"), folder


def test_an_unchanged_pytorch_script_runs_and_gives_the_same_results(torch_run, tmp_path):
    done, _ = torch_run
    assert done.returncode == 0, done.stderr
    without = TORCH.replace("SMProf.start_profiling()", "")
    plain = run_script(tmp_path, without, "-m", "stepscope.smprof")
    assert plain.stdout == done.stdout
    assert not (tmp_path / "logs").exists()


def test_annotated_steps_are_the_steps(torch_run):
    worker = worker_of(torch_run[1])
    steps = summarize_worker(worker)["steps"]
    assert [step["id"] for step in steps] == list(range(32))
    assert all(step["complete"] for step in steps)
    for step in steps:
        phases = step["phase_ns"]
        assert all(phases[name] > 0 for name in ("input_wait", "forward", "backward", "optimizer"))
        assert sum(ns for ns in phases.values() if ns is not None) == step["host_ns"]


def test_the_loss_counts_as_forward(torch_run):
    live = worker_of(torch_run[1]).live()
    loss = live.of_kind(Kind.ANNOTATION) & (live.name == live.names.index("Loss"))
    forward = live.of_kind(Kind.PHASE) & (live.name == live.names.index("forward"))
    starts = set(live.ts_ns[forward].tolist())
    assert int(loss.sum()) == 32
    assert int(forward.sum()) == 64
    assert len(starts) == 64


def test_other_regions_are_annotations_of_their_step(torch_run):
    worker = worker_of(torch_run[1])
    found = {a["name"]: a["count"] for a in summarize_worker(worker)["annotations"]}
    names = {name: count for name, count in found.items() if "#" not in name}  # torch's own, in the window
    assert names == {"augment": 32, "Forward": 32, "Loss": 32, "Backward": 32, "Optimizer": 32}


def test_enable_cuda_asks_for_a_deep_window(torch_run):
    [window] = worker_of(torch_run[1]).windows()
    steps = window.events.step[window.events.of_kind(Kind.STEP)]
    assert sorted(steps.tolist()) == [10, 11, 12]


def test_an_unchanged_tensorflow_script(tmp_path):
    pytest.importorskip("tensorflow")
    done = run_script(tmp_path, TENSORFLOW, "-m", "stepscope.smprof")
    assert done.returncode == 0, done.stderr
    worker = worker_of(tmp_path)
    assert list(worker.windows()) == []
    steps = summarize_worker(worker)["steps"]
    assert [step["id"] for step in steps] == [0, 1, 2, 3]
    for step in steps:
        assert all(step["phase_ns"][name] > 0 for name in ("forward", "backward", "optimizer"))


def test_without_a_framework_it_says_so_and_goes_on(tmp_path):
    script = """
import stepscope.smprof as smprof
profiler = smprof.SMProfiler.instance()
profiler.start_profiling()
with smprof.annotate("step_0"):
    print("ran")
profiler.stop_profiling()
"""
    done = run_script(tmp_path, script)
    assert done.stdout == "ran\n"
    assert "import torch or tensorflow" in done.stderr
    assert not (tmp_path / "logs").exists()


def test_where_a_job_is_recorded(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/code/train.py"])
    job = {"SM_TRAINING_ENV": '{"job_name": "job-7"}', "WORLD_SIZE": "16"}
    assert smprof.run_folder(job) == Path("/opt/ml/output/tensorboard/job-7")
    assert smprof.run_folder({**job, "TRAINING_JOB_NAME": "job-8"}).name == "job-8"
    assert smprof.run_folder({**job, "STEPSCOPE_LOGDIR": "/logs"}) == Path("/logs/job-7")
    assert smprof.run_folder({"WORLD_SIZE": "2"}) == Path("runs/train")
    assert smprof.run_folder({"SM_TRAINING_ENV": "{"}).parent == Path("/opt/ml/output/tensorboard")
    assert smprof.run_folder({}).name.startswith("train-2")


def test_a_step_that_raises_is_not_complete(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("STEPSCOPE_LOGDIR", str(tmp_path))
    profiler = smprof.SMProfiler()
    monkeypatch.setattr(smprof.SMProfiler, "_instance", profiler)
    profiler.start_profiling()
    with smprof.annotate("step_0"), smprof.annotate("work"):
        pass
    with pytest.raises(ZeroDivisionError), smprof.annotate("step_1"), smprof.annotate("work"):
        _ = 1 / 0
    profiler.stop_profiling()
    profiler.stop_profiling()
    [run] = tmp_path.iterdir()
    [worker] = open_run(run).workers
    live = worker.live()
    assert live.step[live.of_kind(Kind.STEP)].tolist() == [0]
    assert int(live.of_kind(Kind.ANNOTATION).sum()) == 2


def test_one_region_in_two_threads_and_a_handle_of_nobody():
    region = smprof.annotate("x")
    with region, region:
        pass
    assert region._open == []
    smprof.annotation_end(None)
    assert smprof.annotate is not stepscope.annotate


def test_a_missing_script_is_one_sentence():
    done = subprocess.run([sys.executable, "-m", "stepscope.smprof"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("usage: python -m stepscope.smprof")
