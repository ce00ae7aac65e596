"""What the page asks of a training that runs: the button opens a deep window in it, another its sampling interval."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stepscope.runs import open_run
from stepscope.schema import Kind
from tests.browser.opened import Opened

#: Two ranks that train until the standard input of the first ends, without a deep window of their own.
TRAINING = """
import os, sys, threading, torch
from torch import distributed, nn
from torch.utils.data import DataLoader, TensorDataset
from stepscope_torch import Profiler

rank = 1 if os.fork() == 0 else 0
torch.set_num_threads(1)
distributed.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank, world_size=2)
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
parallel = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
data = TensorDataset(torch.randn(640, 64), torch.randint(0, 10, (640,)))
ended = torch.zeros(1)
pause = threading.Event()
if rank == 0:
    threading.Thread(target=lambda: (sys.stdin.read(), ended.fill_(1)), daemon=True).start()
with Profiler(sys.argv[1], parallel, schedule=False, overhead_budget=None):
    distributed.barrier()
    if rank == 0:
        print("started", flush=True)
    while True:
        for x, y in DataLoader(data, batch_size=32):
            pause.wait(0.005)
            loss = nn.functional.cross_entropy(parallel(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        over = ended.clone()  # they end together
        distributed.all_reduce(over)
        if over.item():
            break
distributed.destroy_process_group()
if rank == 0:
    os.wait()
"""


@pytest.fixture
def training(logdir: Path, tmp_path: Path) -> Iterator[Path]:
    """The run of a training that goes on until the test is over."""
    run = logdir / "goes-on"
    with subprocess.Popen(
        [sys.executable, "-c", TRAINING, run, tmp_path / "ranks"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        yield run
        process.stdin.close()
        process.wait(300)


def test_capture_now_go_to_the_window_and_sample_more_often(
    training: Path, open_page: Callable[..., Opened], address: str
) -> None:
    it = open_page(address, run=training.name)
    frame = it.frame
    frame.get_by_test_id("capture-button").click()
    frame.get_by_role("menuitem", name="3 steps of all 2 workers", exact=True).click()
    frame.get_by_test_id("capture").get_by_text(re.compile(r"^Captured steps \d+ to \d+ in 2 workers$")).wait_for()
    frame.get_by_role("button", name="Show it", exact=True).click()
    frame.get_by_role("tab", name="Timeline", selected=True).wait_for()
    frame.get_by_test_id("capture-button").wait_for()
    frame.get_by_role("tab", name="Resources").click()
    frame.get_by_test_id("sampled").click()
    frame.get_by_role("menuitem", name="every 100 ms", exact=True).click()
    it.expect("sampled").to_have_text(re.compile(r"every [1-4]\d\d ms"))  # by the samples; it was 500
    it.reopen({"run": training.name, "workers": "all", "tab": "resources"})
    frame.get_by_test_id("sampled").click()
    frame.get_by_role("menuitem", name="every 1 s", exact=True).click()
    it.expect("interval-told").to_have_text("Samples come every 1 s from now on by 2 monitors.")
    first, other = (worker.window("000001").events for worker in open_run(training).workers)
    steps = [events.step[events.of_kind(Kind.STEP)].tolist() for events in (first, other)]
    assert steps[0] == steps[1]
    assert len(steps[0]) == 3
