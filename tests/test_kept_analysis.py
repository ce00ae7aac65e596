"""The analysis of a worker that is kept beside it: the same numbers, and only as long as they hold."""

import json

import pytest

from stepscope.runs import open_run
from stepscope.summary import analyse_worker, keeping, run_resources
from stepscope_tensorboard import sessions
from tests.generated import Training
from tests.recorded import RecordedRun
from tests.tb.test_api import api_of


@pytest.fixture
def run(tmp_path):
    recorded = RecordedRun(tmp_path / "run", phases=["input_wait"])
    for i in range(3):
        recorded.step(i, i * 100, 90, input_wait=(i * 100, 10))
    recorded.sample(7, {("cpu", -1): 0.5}).flush().window(Training(3, steps=2).trace).end()
    return tmp_path / "run"


def opened(path):
    (worker,) = open_run(path).workers
    return worker


def keep(path):
    worker = opened(path)
    found = keeping.Kept(keeping.state_of(worker), analyse_worker(worker), run_resources([worker]))
    assert keeping.write(worker, found)
    return found


def plain(analysis):
    return json.dumps(analysis.to_dict(micro=True))


def test_what_is_read_is_what_was_kept(run):
    made = keep(run)
    read = keeping.read(opened(run))
    assert plain(read.analysis) == plain(made.analysis)
    assert read.resources == made.resources
    assert read.analysis.collectives.dur_ns.tolist() == made.analysis.collectives.dur_ns.tolist()


def test_it_holds_for_the_files_that_it_was_made_of(run):
    keep(run)
    about = next(run.rglob("worker.json"))
    about.write_bytes(about.read_bytes() + b"\n")
    assert keeping.read(opened(run)) is None


@pytest.mark.parametrize(
    "damage", [lambda b: b"", lambda b: b[:-9], lambda b: b[:8] + b"x" * 40, lambda b: b"\xff" * 99]
)
def test_a_damaged_one_is_as_good_as_none(run, damage):
    keep(run)
    path = next(run.rglob(keeping.FILE_NAME))
    path.write_bytes(damage(path.read_bytes()))
    assert keeping.read(opened(run)) is None


def test_none_is_kept_of_a_running_job(tmp_path):
    RecordedRun(tmp_path / "run").step(0, 0, 90).flush()
    worker = opened(tmp_path / "run")
    assert worker.is_live
    assert keeping.state_of(worker) is None


def test_the_viewer_reads_what_another_one_kept(run, monkeypatch):
    first, second = (api_of(run.parent) for _ in range(2))
    query = {"run": "run", "worker": opened(run).id}
    made = first.answer("summary", query).body
    monkeypatch.setattr(sessions, "analyse_worker", None)
    assert second.answer("summary", query).body == made
