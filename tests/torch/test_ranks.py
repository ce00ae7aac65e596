"""Deep windows of several ranks of a job that runs: asked for from outside, and by one rank's flight recorder."""

from __future__ import annotations

import os
import subprocess

import pytest

from stepscope.cli import main
from stepscope.runs import open_run
from stepscope.schema import Kind
from tests.torch.test_processes import start
from tests.until import wait_until

RANKS = 2
#: Trains until its standard input ends; a line on it makes the next loss no number, on the rank that reads it.
TRAINING = """
import os, sys, threading
import torch
from stepscope.flight import FlightPlan
from stepscope_torch import Profiler
from tests.torch.training import make_loader, make_model, make_optimizer, train_step

torch.set_num_threads(1)
torch.distributed.init_process_group(
    "gloo", init_method="file://" + sys.argv[2], rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"])
)
model = torch.nn.parallel.DistributedDataParallel(make_model())
optimizer = make_optimizer(model)
bad, ended = threading.Event(), torch.zeros(1)
pause = threading.Event()

def listen():
    for _ in sys.stdin:
        bad.set()
    ended.fill_(1)

threading.Thread(target=listen, daemon=True).start()
flight_recorder = FlightPlan(time_ratio=0)  # it opens no window after a slow step, of which a busy machine has many
options = {"schedule": False, "flight_recorder": flight_recorder, "monitor_interval_ms": None, "overhead_budget": None}
with Profiler(sys.argv[1], model, **options) as prof:
    while True:
        for x, y in make_loader(20):
            pause.wait(0.01)
            loss = train_step(model, optimizer, x, y)
            prof.loss(float("nan") if bad.is_set() else loss)
        over = ended.clone()  # the ranks end together
        torch.distributed.all_reduce(over, torch.distributed.ReduceOp.MAX)
        if over.item():
            break
torch.distributed.destroy_process_group()
"""


@pytest.fixture
def job(tmp_path):
    """The ranks of a job that trains, until the test is over."""
    environment = {**os.environ, "WORLD_SIZE": str(RANKS)}
    ranks = [
        start(
            *(TRAINING, tmp_path / "run", tmp_path / "ranks"),
            env={**environment, "RANK": str(i), "LOCAL_RANK": str(i)},
            stdin=subprocess.PIPE,
        )
        for i in range(RANKS)
    ]
    wait_until(lambda: [steps_of(worker) for worker in workers(tmp_path / "run")] == [True] * RANKS)
    yield ranks
    end(ranks)


def end(ranks):
    """The training ends, and with it the conversions of its windows."""
    for rank in ranks:
        if rank.returncode is None:
            rank.communicate()
        assert rank.returncode == 0


def workers(run):
    return sorted(open_run(run).workers, key=lambda worker: worker.rank) if (run / "plugins").exists() else []


def steps_of(worker):
    """Whether it knows its rank and has ended steps."""
    return worker.world_size == RANKS and worker.live().of_kind(Kind.STEP).any()


def windows(run):
    """The windows of each rank: the steps in it, and why it was taken."""
    found = []
    for rank, worker in enumerate(workers(run)):
        taken = list(worker.windows())
        assert {(window.rank, window.world_size) for window in taken} <= {(rank, RANKS)}
        found.append([(step_numbers(window.events), window.header["stepscope"]["reason"]) for window in taken])
    return found


def recorded(run):
    """The windows of each rank, those that are still to be converted too."""
    folders = [run / "plugins/stepscope/workers" / worker.id for worker in workers(run)]
    return [
        {path.name.lstrip(".")[:6] for of in ("windows/0*", ".0*.pt.trace.json") for path in folder.glob(of)}
        for folder in folders
    ]


def step_numbers(events):
    return events.step[events.of_kind(Kind.STEP)].tolist()


def test_windows_of_several_ranks_hold_the_same_steps(job, tmp_path, capsys):
    run = tmp_path / "run"
    assert main(["capture", str(run), "--steps", "3", "--rank", "0,1"]) == 0
    assert capsys.readouterr().out.count(": window 000001, 3 steps from step ") == RANKS
    (first,), (other,) = windows(run)
    assert first == other
    assert (len(first[0]), first[1]) == (3, {"why": "on_demand"})

    assert main(["capture", str(run), "--steps", "2", "--rank", "1"]) == 0
    assert [len(taken) for taken in windows(run)] == [1, 2]

    job[1].stdin.write("\n")  # the loss of this rank alone
    job[1].stdin.flush()
    wait_until(lambda: [len(taken) for taken in recorded(run)] == [2, 3])
    end(job)  # nobody waits for this window: it is not converted before, where all cores are busy
    (*_, first), (*_, other) = windows(run)
    assert first == other
    assert len(first[0]) == 3
    assert (first[1]["why"], first[1]["rank"]) == ("loss_not_finite", 1)
    assert first[0][0] > first[1]["step"]
