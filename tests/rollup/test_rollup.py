"""Rollups on disk: what they hold, when they hold still, and where they may lie."""

import os
import random

import pytest

from stepscope import rollup
from stepscope.report.ranks import ranks
from stepscope.rollup import build, files
from stepscope.runs import find_runs, open_run
from stepscope.schema import NONE, Kind
from stepscope.summary import analyse_worker, overview, summarize
from stepscope.summary.rollup import rollup_of
from tests.builders import TraceBuilder
from tests.generated import Training
from tests.recorded import RecordedRun


def record(path, rank=0, steps=4, step_us=100, window=None, **meta):
    run = RecordedRun(path, rank=rank, pid=4000 + rank, phases=["input_wait", "forward"], **meta)
    for i in range(steps):
        run.step(i, i * step_us, step_us, input_wait=(i * step_us, 10), forward=(i * step_us + 20, 40 + rank))
    if window is not None:
        run.flush().window(window)
    return run.end()


def kept(path):
    return sorted(p.name for p in path.rglob("rollup.arrow*"))


class TestSameNumbers:
    @pytest.mark.parametrize("seed", range(6))
    def test_of_a_run_from_rollups_and_from_the_full_analysis(self, tmp_path, seed):
        chance = random.Random(seed)
        for rank in range(chance.randrange(2, 5)):
            training = Training(chance.randrange(10**6), steps=chance.randrange(1, 5), rank=rank)
            run = RecordedRun(tmp_path / "run", rank=rank, pid=4000 + rank, world_size=6, phases=["input_wait"])
            for i in range(chance.randrange(4)):
                run.step(100 + i, 10**6 + i * 50, 40 + chance.randrange(9), input_wait=(10**6 + i * 50, 5))
            run.sample(7, {("cpu", -1): chance.random()}).flush().window(training.trace).end()
        run = open_run(tmp_path / "run")
        full = summarize(run)
        rollup.rollups(run.workers)  # the first time they are made, the second time read
        short = overview(run, rollup.rollups(open_run(tmp_path / "run").workers))
        for name in ("run", "step_time_ns", "micro_step_time_ns", "across_workers", "problems"):
            assert short[name] == full[name], name
        for mine, theirs in zip(short["workers"], full["workers"], strict=True):
            shared = mine.keys() & theirs.keys() - {"memory", "communication", "resources"}
            assert {n: mine[n] for n in shared} == {n: theirs[n] for n in shared}

    def test_of_a_worker_as_it_is_stored(self, tmp_path):
        record(tmp_path / "run", window=Training(3).trace)
        (worker,) = open_run(tmp_path / "run").workers
        made = rollup_of(analyse_worker(worker))
        rollup.make(worker)
        read = rollup.read(worker)
        assert (read.kernels, read.labels) == (made.kernels, made.labels)
        assert read.about | {"resources": {}} == made.about
        assert {n: v.tolist() for n, v in read.steps.items()} == {n: v.tolist() for n, v in made.steps.items()}
        for name in ("collective_step", "collective", "collective_ns", "micro_step", "micro_ns"):
            assert getattr(read, name).tolist() == getattr(made, name).tolist(), name


class TestState:
    def test_holds_while_the_files_stay_and_survives_a_copy(self, tmp_path):
        record(tmp_path / "run")
        (worker,) = open_run(tmp_path / "run").workers
        assert rollup.read(worker) is None
        rollup.make(worker)
        for path in (tmp_path / "run").rglob("*"):
            os.utime(path, (1, 1))
        os.rename(tmp_path / "run", tmp_path / "copied")
        assert len(rollup.read(open_run(tmp_path / "copied").workers[0])) == 4

    def test_ends_when_something_comes_in(self, tmp_path):
        run = record(tmp_path / "run")
        (worker,) = open_run(tmp_path / "run").workers
        rollup.make(worker)
        run.step(9, 900, 100).flush()
        assert rollup.read(worker) is None
        assert len(files.read_any(worker, files.state_of(worker))[1]) == 4
        rollup.make(worker)
        assert len(rollup.read(worker)) == 5
        run.window(TraceBuilder().step(9, 900, 100))
        assert rollup.read(worker) is None

    def test_of_two_places_the_one_with_the_present_state_counts(self, tmp_path, monkeypatch):
        """A folder that cannot be written keeps its old one; what is made since lies in the user's cache."""
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        run = record(tmp_path / "run")
        (worker,) = open_run(tmp_path / "run").workers
        rollup.make(worker)
        kept_here = worker.folder.path / files.FILE_NAME
        old = kept_here.read_bytes()
        run.step(9, 900, 100).flush()
        rollup.make(worker)
        (elsewhere, *_) = files.kept._places(worker)[1:]
        elsewhere.mkdir(parents=True)
        os.rename(kept_here, elsewhere / files.FILE_NAME)
        kept_here.write_bytes(old)
        assert len(rollup.read(worker)) == 5

    def test_a_damaged_or_foreign_one_is_made_anew(self, tmp_path):
        record(tmp_path / "run")
        (worker,) = open_run(tmp_path / "run").workers
        rollup.make(worker)
        path = worker.folder.path / "rollup.arrow"
        whole = path.read_bytes()
        for broken in (b"", b"nothing", whole[: len(whole) // 2], whole[:-9]):
            path.write_bytes(broken)
            assert rollup.read(worker) is None
        assert len(rollup.rollups([worker])[0]) == 4
        assert path.read_bytes() == whole


class TestPlaces:
    def test_a_folder_that_cannot_be_written(self, tmp_path, monkeypatch):
        record(tmp_path / "run")
        (worker,) = open_run(tmp_path / "run").workers
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        (worker.folder.path / "rollup.arrow").mkdir()  # what even root cannot replace by a file
        rollup.make(worker)
        assert kept(tmp_path / "run") == ["rollup.arrow"]  # and nothing half written
        assert kept(tmp_path / "cache") == ["rollup.arrow"]
        assert len(rollup.read(worker)) == 4

    def test_of_a_trace_file_lies_in_its_cache_entry(self, tmp_path):
        trace = TraceBuilder(rank=0).step(1, 0, 100).write(tmp_path / "run" / "a.pt.trace.json")
        (plain,) = open_run(trace.parent).workers
        assert not rollup.is_kept(plain)
        assert len(rollup.make(plain)) == 1
        assert kept(tmp_path) == []  # nobody asked for a cache
        ((cached,),) = (run.workers for run in find_runs(tmp_path))
        rollup.make(cached)
        assert len(kept(tmp_path / "run" / ".stepscope")) == 1
        assert len(rollup.read(cached)) == 1


def test_a_worker_that_cannot_be_read_has_no_steps_and_says_why(tmp_path):
    TraceBuilder(rank=0).step(1, 0, 100).write(tmp_path / "a.pt.trace.json")
    (tmp_path / "b.pt.trace.json").write_text("no trace")
    run = open_run(tmp_path)
    good, bad = rollup.rollups(run.workers)
    assert (len(good), len(bad)) == (1, 0)
    short, full = overview(run, [good, bad]), summarize(run)
    assert short["workers"][1]["quality"] == full["workers"][1]["quality"]
    assert short["across_workers"] == full["across_workers"]


def test_the_process_that_makes_what_is_missing(tmp_path, capsys):
    for rank in (0, 1):
        record(tmp_path / "run", rank)
    assert build.main([str(tmp_path / "run")]) == 0
    assert all(rollup.read(worker) is not None for worker in open_run(tmp_path / "run").workers)
    assert build.main([str(tmp_path / "absent")]) == 2
    assert "no such file" in capsys.readouterr().err


def test_steps_that_only_the_stream_saw_have_no_activity(tmp_path):
    record(tmp_path / "run", window=TraceBuilder().step(2, 200, 100).op("aten::mm", 210, 50))
    (made,) = rollup.rollups(open_run(tmp_path / "run").workers)
    assert made.steps["activity.cpu"].tolist() == [-1, -1, 50_000, -1]
    assert made.steps["phase.input_wait"].tolist() == [10_000] * 4


def test_ranks_that_are_missing(tmp_path):
    for rank in (0, 2):
        record(tmp_path / "run", rank, world_size=5)
    across = summarize(open_run(tmp_path / "run"))["across_workers"]
    assert (across["missing_ranks"], across["missing_rank_count"]) == ([1, 3, 4], 3)


def test_a_job_that_was_started_again(tmp_path):
    """Rank 1 is slow both times; the second attempt computes longer, which makes none of its ranks a straggler."""
    for attempt in (0, 1):
        for rank in (0, 1):
            pid, begin = 4000 + 10 * attempt + rank, attempt * 10**6
            run = RecordedRun(tmp_path / "run", rank, pid, started_us=begin, world_size=2, phases=[])
            for i in range(25):
                run.step(i, begin + i * 1000, (100 + 100 * rank) * (1 + 4 * attempt))
            run.end(begin + 30_000)
    summary = summarize(open_run(tmp_path / "run"))
    assert [n for w in summary["workers"] for n in w["quality"]] == []  # no rank was there twice at a time
    across = summary["across_workers"]
    assert (across["attempts"], across["steps"], across["shared_steps"]) == (2, 50, 50)
    assert [(r["rank"], r["attempt"], r["slowest"], r["delta_ns"]) for r in across["ranks"]] == [
        (0, 1, 0, -50_000),
        (0, 2, 0, -250_000),
        (1, 1, 25, 50_000),
        (1, 2, 25, 250_000),
    ]
    (told,) = (f for f in summary["findings"] if f["rule"] == "straggler")
    assert told["message"].startswith(
        "Rank 1 on node1 holds up the other 1 worker: it is the slowest in 100.0 % of the steps"
    )
    assert told["workers"] == [r["worker"] for r in across["ranks"][2:]]
    assert "2 attempts of the job; only workers of the same one are compared" in "\n".join(ranks(summary))


@pytest.mark.parametrize(("busy", "is_told"), [(0.99, True), (0.5, False)])
def test_a_slow_rank_on_a_host_whose_cpus_are_all_busy(tmp_path, busy, is_told):
    for rank in (0, 1):
        run = RecordedRun(tmp_path / "run", rank, 4000 + rank, world_size=2, phases=[])
        for i in range(25):
            run.step(i, i * 1000, 100 + 100 * rank).sample(i * 1000, {("cpu", NONE): 0.1 if i < 10 else busy})
        run.end()
    workers = open_run(tmp_path / "run").workers
    found = [summarize(open_run(tmp_path / "run")), overview(open_run(tmp_path / "run"), rollup.rollups(workers))]
    for summary in found:
        (told,) = (f for f in summary["findings"] if f["rule"] == "straggler")
        assert told["workers"] == [summary["workers"][1]["worker"]]
        assert told["confidence"] == ("medium" if is_told else "high")
        assert [line.split(":")[0] for line in told["counter_evidence"]] == (
            ["All CPUs of node1 are busy (median 99.0 %), which 2 workers of the run use"] if is_told else []
        )
        assert told["evidence"].get("workers_on_host") == (2 if is_told else None)
        assert any("OMP_NUM_THREADS" in line for line in told["fix"]) == is_told


def test_a_world_of_absurd_size(tmp_path):
    for rank in (0, 1):
        record(tmp_path / "run", rank, world_size=2**62)
    across = summarize(open_run(tmp_path / "run"))["across_workers"]
    assert across["missing_rank_count"] == 2**62 - 2
    assert across["missing_ranks"][:3] == [2, 3, 4]


def test_the_wait_for_others_in_the_collectives_of_a_run(tmp_path):
    for rank, (start, dur) in enumerate(((50, 45), (90, 5))):  # rank 1 comes late, both end together
        trace = TraceBuilder(rank=rank).step(1, 0, 100).launch(10, 5, 1)
        trace.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", start, dur, correlation=1)
        trace.write(tmp_path / f"r{rank}.pt.trace.json")
    ranks = summarize(open_run(tmp_path))["across_workers"]["ranks"]
    assert [r["collective_wait_ns"] for r in ranks] == [40_000, 0]
    assert [r["waited_for"] for r in ranks] == [0, 1]
    assert [r["slowest"] for r in ranks] == [0, 1]
    assert [r["delta_ns"] for r in ranks] == [-20_000, 20_000]
    assert Kind.COLLECTIVE in open_run(tmp_path).workers[0].window("").events.kind


def test_what_is_cut_off_a_file_does_not_make_its_rank_the_slow_one(tmp_path):
    """Device work is the last part of a file: without its collectives all of a step would be the rank's own."""
    for rank in range(3):
        trace = TraceBuilder(rank=rank).step(1, 0, 100).step(2, 100, 100).launch(10, 5, 1).launch(20, 5, 2)
        trace.kernel("gemm", 20, 20 + rank, correlation=1)
        trace.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 50, 45, correlation=2)
        file = trace.write(tmp_path / f"r{rank}.pt.trace.json")
        if rank == 0:
            file.write_text(file.read_text().partition("ncclDevKernel")[0])
    summary = summarize(open_run(tmp_path))
    across = summary["across_workers"]
    assert [r["ends_early"] for r in across["ranks"]] == [True, False, False]
    assert [(r["steps"], r["p50_ns"]) for r in across["ranks"]] == [(1, 100_000), (2, 100_000), (2, 100_000)]
    for compared in ("own_ns", "delta_ns", "activity_ns", "excess", "collective_wait_ns"):
        assert across["ranks"][0][compared] is None, compared
    assert [r["own_ns"] for r in across["ranks"][1:]] == [77_500, 77_500]
    assert across["imbalance"] == {"measure": "own", "steps": 2, "excess_ns": 0, "ratio": 0}
    assert "straggler" not in {f["rule"] for f in summary["findings"]}
    assert any("files that end early: r0.pt.trace.json" in line for line in ranks(summary))


def test_the_collectives_of_all_workers(tmp_path):
    told = {"Collective name": "allreduce", "In msg nelems": 1000, "dtype": "Float", "Group size": 2}
    for rank, compute in enumerate((20, 60)):  # the all_reduce of 40 us is behind 20 us of compute, or behind all of it
        trace = TraceBuilder(rank=rank).step(1, 0, 200).launch(10, 1, 1).launch(12, 1, 2).launch(14, 1, 3)
        trace.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", 50, 40, stream=20, correlation=1, **told)
        trace.kernel("gemm", 45, 5 + compute, correlation=2).kernel("sgd", max(90, 50 + compute), 5, correlation=3)
        trace.write(tmp_path / f"r{rank}.pt.trace.json")
    summary = summarize(open_run(tmp_path))
    (found,) = summary["across_workers"]["collectives"]
    assert (found["name"], found["group_size"], found["workers"], found["count"]) == ("all_reduce", 2, 2, 2)
    assert (found["slack_ns"], found["stall_ns"], found["in_slack"]) == (80_000, 20_000, 1)
    assert (found["slack_from"], found["most_stalled"]) == ("order", summary["workers"][0]["worker"])
    assert found["needed_busbw_bytes_per_s"] == pytest.approx(4000 / 20e-6)
    assert found["busbw_bytes_per_s"] == pytest.approx(4000 / 40e-6)
    assert (
        overview(open_run(tmp_path), rollup.rollups(open_run(tmp_path).workers))["across_workers"]
        == (summary["across_workers"])
    )
