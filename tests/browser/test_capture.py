"""A capture from the page: a real training runs, and the button opens a deep window in it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stepscope.runs import open_run
from stepscope.schema import Kind
from tests.browser.opened import Opened

#: Trains until its standard input ends, without a deep window of its own.
TRAINING = """
import sys, threading, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from stepscope_torch import Profiler

torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
data = TensorDataset(torch.randn(640, 64), torch.randint(0, 10, (640,)))
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
with Profiler(sys.argv[1], model, schedule=False, overhead_budget=None):
    print("started", flush=True)
    while not ended.is_set():
        for x, y in DataLoader(data, batch_size=32):
            ended.wait(0.005)
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


@pytest.fixture
def training(logdir: Path) -> Iterator[Path]:
    """The run of a training that goes on until the test is over."""
    run = logdir / "goes-on"
    with subprocess.Popen(
        [sys.executable, "-c", TRAINING, run], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        yield run
        process.stdin.close()
        process.wait(60)


def test_capture_now_and_go_to_the_window(training: Path, open_page: Callable[..., Opened], address: str) -> None:
    frame = open_page(address, run=training.name).frame
    frame.get_by_test_id("capture-button").click()
    frame.get_by_role("menuitem", name="3 steps", exact=True).click()
    frame.get_by_role("button", name="Captured from step").click()
    frame.get_by_role("tab", name="Timeline", selected=True).wait_for()
    frame.get_by_test_id("capture-button").wait_for()
    (worker,) = open_run(training).workers
    steps = worker.window("000001").events
    assert int(steps.of_kind(Kind.STEP).sum()) == 3
