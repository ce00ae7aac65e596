"""What needs a process of its own: a killed training, one that ends without stop(). Ranks: test_ranks.py."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from itertools import pairwise
from pathlib import Path

from stepscope.schema import Kind
from tests.torch.training import read

ROOT = Path(__file__).parents[2]

SCRIPT = """
    import sys, time
    import torch
    from stepscope_torch import Profiler
    from tests.torch.training import make_loader, make_model, make_optimizer, train_step

    model = make_model()
    optimizer = make_optimizer(model)
    prof = Profiler(sys.argv[1], model, monitor_interval_ms=None, schedule=False, overhead_budget=None)
    prof.start()
    def steps(count):
        for x, y in make_loader(count):
            train_step(model, optimizer, x, y)
"""

FOREVER = """
    for i in range(10**9):
        steps(5)
        print(5 * i + 5, time.time_ns(), flush=True)
        time.sleep(0.01)
"""

FORGETS_TO_STOP = """
    steps(5)
"""


def start(code, *arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        **options,
    )


def test_a_killed_training_leaves_a_readable_run_that_lacks_a_second_at_most(tmp_path):
    training = start(SCRIPT + FOREVER, tmp_path)
    said: list[tuple[int, int]] = []
    for line in training.stdout:
        said.append(tuple(map(int, line.split())))
        if said[-1][1] - said[0][1] > 2_000_000_000:
            break
    os.kill(training.pid, signal.SIGKILL)
    said += [tuple(map(int, line.split())) for line in training.stdout]
    training.wait()
    recording = read(tmp_path)
    steps = recording.complete_steps()
    assert steps == list(range(len(steps)))
    last_end = max(end for _, _, end, _ in recording.rows(Kind.STEP))
    lost = [last_end, *(at for _, at in said if at > last_end)]
    # longer pauses between two lines are time in which the process was given no core, and neither was its writer thread
    assert sum(min(at - before, 100_000_000) for before, at in pairwise(lost)) < 1_000_000_000
    assert recording.meta["ended_ns"] is None
    for step in steps[:-1]:
        assert recording.phases_of(step) == ["input_wait", "forward", "backward", "optimizer"]


def test_a_script_that_never_stops_the_profiler_leaves_a_whole_run(tmp_path):
    training = start(SCRIPT + FORGETS_TO_STOP, tmp_path)
    training.communicate()
    assert training.returncode == 0
    recording = read(tmp_path)
    assert recording.complete_steps() == [0, 1, 2, 3, 4]
    assert recording.meta["ended_ns"] is not None
