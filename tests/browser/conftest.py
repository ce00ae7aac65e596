"""Runs of real trainings and a GPU trace, shown by a real TensorBoard in a real Chromium."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from tests.builders import TraceBuilder
from tests.tensorboard_server import tensorboard

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FrameLocator, Page

STATIC = Path(__file__).parents[2] / "tb_plugin" / "stepscope_tensorboard" / "static"

_TRAIN_TORCH = """
import sys, time, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
import stepscope
from stepscope_torch import Profiler

model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
data = TensorDataset(torch.randn(640, 64), torch.randint(0, 10, (640,)))
with Profiler(sys.argv[1], model, monitor_interval_ms=100):
    for x, y in DataLoader(data, batch_size=32):
        with stepscope.annotate("augment"):
            x = x + 0.01 * torch.randn_like(x)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.03)  # the monitor takes several samples however fast the machine is
"""

_TRAIN_KERAS = """
import os, sys
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras, numpy
from stepscope_tf import ProfilerCallback

model = keras.Sequential([keras.layers.Dense(64, activation="relu"), keras.layers.Dense(10)])
model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
x, y = numpy.random.randn(640, 64).astype("float32"), numpy.random.randint(0, 10, 640)
model.fit(x, y, batch_size=32, verbose=0, callbacks=[ProfilerCallback(sys.argv[1], monitor_interval_ms=100)])
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
    done = subprocess.run([sys.executable, "-c", code, str(run)], capture_output=True, text=True, timeout=300)
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


class Opened:
    """The plugin in a page of its own. ``problems`` collects what a console or a failed request said."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        page.on("console", lambda m: self.problems.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: self.problems.append(str(e)))
        page.on("response", lambda r: self.problems.append(f"{r.status} {r.url}") if r.status >= 400 else None)

    @property
    def frame(self) -> FrameLocator:
        return self.page.frame_locator("iframe[src*='stepscope'], iframe")

    def number(self, test_id: str) -> float:
        """The exact number behind a figure of the page; waits until it is there."""
        element = self.frame.get_by_test_id(test_id).first
        element.wait_for()
        exact = element.get_attribute("data-value") or element.get_attribute("data-ns")
        assert exact is not None, f"{test_id} shows {element.inner_text()!r}"
        return float(exact)

    def text(self, test_id: str) -> str:
        return self.frame.get_by_test_id(test_id).first.inner_text()

    def hint(self, test_id: str, which: int = 0) -> str:
        """The tooltip of a cell, which tells the exact value."""
        element = self.frame.get_by_test_id(test_id).nth(which)
        element.wait_for()
        return element.get_attribute("title") or ""


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Callable[..., Opened]]:
    """Opens the plugin; at the end of the test no page may have had a problem."""
    context = chromium.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(60_000)
    opened: list[Opened] = []

    def open_it(address: str, **state: str) -> Opened:
        it = Opened(context.new_page())
        opened.append(it)
        values = "".join(f"&p.stepscope.{key}={quote(value, safe='')}" for key, value in state.items())
        it.page.goto(f"{address}/#stepscope{values}")
        return it

    yield open_it
    problems = [p for it in opened for p in it.problems]
    context.close()
    assert problems == []


@pytest.fixture(scope="session")
def summary(logdir: Path) -> Callable[[str], dict[str, Any]]:
    """What ``stepscope summary RUN --format json`` prints."""

    def of(run: str) -> dict[str, Any]:
        command = [sys.executable, "-c", "from stepscope.cli import main; raise SystemExit(main())"]
        done = subprocess.run(
            [*command, "summary", str(logdir / run), "--format", "json"], capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return of
