"""Runs of real trainings and a GPU trace, shown by a real TensorBoard in a real Chromium."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from stepscope.cli import main
from tests.browser.opened import PATIENCE_MS, Opened
from tests.browser.timeline_page import TimelinePage, Timelines, write_runs
from tests.builders import TraceBuilder
from tests.tensorboard_server import tensorboard

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

STATIC = Path(__file__).parents[2] / "tb_plugin" / "stepscope_tensorboard" / "static"

_TRAIN_TORCH = """
import sys, time, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
import stepscope
from stepscope.runs import open_run
from stepscope_torch import Profiler

model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
data = TensorDataset(torch.randn(640, 64), torch.randint(0, 10, (640,)))
with Profiler(sys.argv[1], model, monitor_interval_ms=100, overhead_budget=None):
    for x, y in DataLoader(data, batch_size=32):
        with stepscope.annotate("augment"):
            x = x + 0.01 * torch.randn_like(x)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.03)  # the monitor takes several samples however fast the machine is
    # And however slow: on a busy one its process starts late, and the use of a CPU takes two samples.
    (worker,) = open_run(sys.argv[1]).workers
    while (seen := worker.monitor()) is None or seen.column("metric").to_pylist().count("cpu") < 3:
        time.sleep(0.05)
"""

_TRAIN_KERAS = """
import os, sys
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras, numpy
from stepscope_tf import ProfilerCallback

model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(10)])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
x, y = numpy.random.randn(640, 64).astype("float32"), numpy.random.randint(0, 10, 640)
hook = ProfilerCallback(sys.argv[1], monitor_interval_ms=100, overhead_budget=None)
model.fit(x, y, batch_size=32, verbose=0, callbacks=[hook])
"""


def gpu_trace() -> TraceBuilder:
    """Three steps of 10 ms; in each two kernels of 3 and 4 ms that one operator launches."""
    trace = TraceBuilder()
    for i in range(3):
        at = i * 10_000
        trace.step(i, at, 10_000).op("aten::linear", at + 100, 2000, external_id=i + 1)
        for k, (name, start, dur) in enumerate((("gemm", 1000, 3000), ("relu", 4500, 4000))):
            correlation = 10 * i + k + 1
            trace.launch(at + 200 + 100 * k, 50, correlation, external_id=i + 1)
            trace.kernel(name, at + start, dur, correlation=correlation, external_id=i + 1)
    return trace


def _train(code: str, run: Path) -> None:
    done = subprocess.run([sys.executable, "-c", code, str(run)], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture(scope="session")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with the runs ``torch``, ``keras`` and ``gpu``."""
    if not (STATIC / "index.js").is_file():
        pytest.skip("the web UI is not built: run pip install -e .")
    if missing := [m for m in ("tensorboard", "torch", "tensorflow") if importlib.util.find_spec(m) is None]:
        pytest.skip(f"not installed: {', '.join(missing)}")
    logdir = tmp_path_factory.mktemp("logs")
    _train(_TRAIN_TORCH, logdir / "torch")
    _train(_TRAIN_KERAS, logdir / "keras")
    gpu_trace().write(logdir / "gpu" / "worker0.pt.trace.json")
    return logdir


@pytest.fixture(scope="session")
def address(logdir: Path) -> Iterator[str]:
    with tensorboard("--logdir", str(logdir)) as address:
        yield address


@pytest.fixture(scope="session")
def tabs(chromium: Browser) -> Iterator[BrowserContext]:
    context = chromium.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()


@pytest.fixture(scope="session")
def kept() -> dict[str, Opened]:
    """By address: the page that the tests of a TensorBoard share."""
    return {}


@pytest.fixture
def open_page(
    chromium: Browser, tabs: BrowserContext, kept: dict[str, Opened], request: pytest.FixtureRequest
) -> Iterator[Callable[..., Opened]]:
    """Opens the plugin; at the end of the test no page may have had a problem.

    The first page of a test is one that tests share, in which the plugin is loaded anew. A page of the test's own is
    the second one, one that is no TensorBoard's, and what is asked for by ``own=True``: for a test that changes the
    browser (scripts, routes, permissions, what is stored).
    """
    failed_before = request.session.testsfailed
    opened: list[Opened] = []
    contexts: list[BrowserContext] = []

    def of_its_own() -> Opened:
        contexts.append(chromium.new_context(viewport={"width": 1400, "height": 900}))
        contexts[-1].set_default_timeout(PATIENCE_MS)
        return Opened(contexts[-1].new_page())

    def shared(address: str, state: dict[str, str]) -> Opened:
        if (it := kept.get(address)) is not None:
            it.reopen(state)
            return it
        while kept:
            kept.popitem()[1].page.close()
        it = kept[address] = Opened(tabs.new_page())
        it.goto(address, state)
        return it

    def open_it(address: str, own: bool = False, **state: str) -> Opened:
        if not address.startswith("http"):
            opened.append(of_its_own())
            opened[-1].page.goto(address)
        elif own or opened:
            opened.append(of_its_own())
            opened[-1].goto(address, state)
        else:
            opened.append(shared(address, state))
        return opened[-1]

    yield open_it
    problems = [p for it in opened for p in it.problems]
    for context in contexts:
        context.close()
    if problems or request.session.testsfailed > failed_before:
        while kept:  # no test goes on with what a failed one left
            kept.popitem()[1].page.close()
    assert problems == []


@pytest.fixture(scope="session")
def summary(logdir: Path) -> Callable[[str], dict[str, Any]]:
    """What ``stepscope summary RUN --format json`` prints. No run grows once it was asked for."""

    @functools.cache
    def of(run: str) -> dict[str, Any]:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            assert main(["summary", str(logdir / run), "--format", "json"]) == 0
        return json.loads(printed.getvalue())

    return of


@pytest.fixture(scope="session")
def timeline_site(logdir: Path, address: str) -> str:
    write_runs(logdir)
    return address


@pytest.fixture
def timeline(open_page: Callable[..., Opened], timeline_site: str) -> Timelines:
    def open_it(run: str = "pair", **state: Any) -> TimelinePage:
        state = {"worker": "r0.pt.trace.json", **state}
        return TimelinePage(open_page(timeline_site, run=run, tab="timeline", **state))

    return open_it
