"""`stepscope demo` as a new user runs it: a real training with each framework, read back through the summary."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from stepscope.cli import demo as demo_command
from stepscope.cli import main
from stepscope.cli.demo import INTERRUPTED
from tests.until import wait_until

STEPS = 300  # of each example: 3 epochs of 100


def stepscope(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "stepscope", *arguments], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module", params=["pytorch", "tensorflow"])
def demo(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, dict]:
    """(framework, what the demo printed, the summary of its run)."""
    module = {"pytorch": "torch", "tensorflow": "tensorflow"}[request.param]
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    logdir = tmp_path_factory.mktemp("demo") / "runs"
    demo = stepscope("demo", "--framework", request.param, "--logdir", str(logdir))
    assert demo.returncode == 0, demo.stdout + demo.stderr
    (run,) = logdir.iterdir()
    summary = stepscope("summary", str(run), "--format", "json")
    assert summary.returncode == 0, summary.stderr
    return request.param, demo.stdout, json.loads(summary.stdout)


def test_it_trains_and_says_what_it_found(demo: tuple[str, str, dict]) -> None:
    framework, printed, _ = demo
    training, brief, hint = printed.strip().split("\n\n")
    assert training.startswith(f"Training a small {framework} model")
    assert [line.split()[0] for line in brief.splitlines()] == ["run", "verdict", "steps", "time", "busy", "quality"]
    assert f"steps    {STEPS}," in brief
    assert " view " in hint  # no terminal here: TensorBoard is named, not started


def test_every_step_is_recorded_and_its_parts_add_up(demo: tuple[str, str, dict]) -> None:
    framework, _, summary = demo
    (worker,) = summary["workers"]
    assert worker["framework"] == framework
    assert len(worker["steps"]) == STEPS
    divided = [step for step in worker["steps"] if step["phase_ns"] is not None]
    if not any(note["code"] == "overhead_shed" for note in worker["quality"]):  # as the budget may on a busy machine
        assert len(divided) == STEPS
    assert divided
    for step in divided:
        assert sum(ns or 0 for ns in step["phase_ns"].values()) == step["host_ns"]
        assert step["phase_ns"]["input_wait"] > 0
    for step in worker["steps"]:
        if step["activity_ns"] is not None:
            assert sum(step["activity_ns"].values()) == step["duration_ns"]


def test_there_is_a_deep_window_an_annotation_and_a_monitor(demo: tuple[str, str, dict]) -> None:
    _, _, summary = demo
    (worker,) = summary["workers"]
    assert any(step["activity_ns"] is not None for step in worker["steps"])
    assert worker["operators"]
    assert "augment" in {annotation["name"] for annotation in worker["annotations"]}
    (host,) = summary["resources"].values()
    assert 0 <= host["cpu"]["p50"] <= 1
    assert host["memory_used"]["max"] > 0


def test_a_framework_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # Python's own way to say that there is no such module
    assert main(["demo", "--logdir", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "needs the Python package torch" in line
    assert 'pip install "stepscope[torch]"' in line
    assert not list(tmp_path.iterdir())


def test_ctrl_c_ends_the_training_without_a_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "stepscope", "demo", "--logdir", str(tmp_path / "runs")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as demo:
        wait_until(lambda: list(tmp_path.glob("runs/*/*")), "the training")
        children = psutil.Process(demo.pid).children()
        demo.send_signal(signal.SIGINT)
        out, err = demo.communicate(timeout=300)
    assert (demo.returncode, err) == (INTERRUPTED, "")
    assert out.splitlines()[-1] == "The demo was interrupted."
    assert not any(child.is_running() for child in children)


def test_ctrl_c_while_the_training_is_started_ends_it_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    script = tmp_path / "training.py"
    script.write_text("import time; time.sleep(300)")
    started = []

    class Interrupted(subprocess.Popen):
        """The process is there when the signal comes, and nobody has been told its id yet."""

        def __init__(self, *args: object, **kwargs: object) -> None:
            super().__init__(*args, **kwargs)
            started.append(psutil.Process(self.pid))
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        demo_command.train(script, tmp_path / "run")
    (process,) = started
    assert not process.is_running()
    assert signal.getsignal(signal.SIGINT) is before
    assert capsys.readouterr().out == "\nThe demo was interrupted.\n"


def test_examples_draw_the_same_picture_for_the_same_number() -> None:
    path = demo_command.example_path("shapes.py")
    spec = importlib.util.spec_from_file_location("shapes", path)
    assert spec is not None
    assert spec.loader is not None
    shapes = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(shapes)
    first, label = shapes.draw(7)
    again, _ = shapes.draw(7)
    assert first.shape == (shapes.SIZE, shapes.SIZE)
    assert (first == again).all()
    assert label == 7 % 4
