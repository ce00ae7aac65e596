"""``stepscope summary --micro``: the micro batches of each step (gradient accumulation)."""

import json

from stepscope.cli import main
from tests.builders import T0_NS, TraceBuilder


def accumulated() -> TraceBuilder:
    """Two steps of 1000 us, each of two batches: waits at 0 and 400 us."""
    trace = TraceBuilder(rank=0)
    for i, start in enumerate((0, 1000)):
        trace.step(i, start, 1000)
        for at in (start, start + 400):
            trace.dataloader(at, 50).op("aten::mm", at + 60, 100)
    return trace


def summary(path, capsys, *arguments):
    assert main(["summary", str(path), *arguments]) == 0
    return capsys.readouterr().out


def test_micro_batches_are_listed_on_request(tmp_path, capsys):
    path = accumulated().write(tmp_path / "x.pt.trace.json")
    found = json.loads(summary(path, capsys, "--format", "json", "--micro"))
    steps = found["workers"][0]["steps"]
    assert [s["micro_steps"] for s in steps] == [2, 2]
    assert steps[1]["micro"] == [
        {"start_ns": T0_NS + 1_000_000, "host_ns": 400_000},
        {"start_ns": T0_NS + 1_400_000, "host_ns": 600_000},
    ]
    for times in (found["micro_step_time_ns"], found["workers"][0]["micro_step_time_ns"]):
        assert (times["count"], times["p50"], times["max"], times["mean"]) == (4, 400_000, 600_000, 500_000)
    assert found["step_time_ns"]["count"] == 2


def test_the_steps_stay_short_without_it(tmp_path, capsys):
    path = accumulated().write(tmp_path / "x.pt.trace.json")
    steps = json.loads(summary(path, capsys, "--format", "json"))["workers"][0]["steps"]
    assert all("micro" not in s and s["micro_steps"] == 2 for s in steps)


def test_the_report_counts_them(tmp_path, capsys):
    path = accumulated().write(tmp_path / "x.pt.trace.json")
    assert "4 micro batches of p50 400 µs" in summary(path, capsys)


def test_steps_whose_batches_are_unknown(tmp_path, capsys):
    path = TraceBuilder(rank=0).step(1, 0, 100).write(tmp_path / "x.pt.trace.json")
    found = json.loads(summary(path, capsys, "--format", "json", "--micro"))
    (step,) = found["workers"][0]["steps"]
    assert (step["micro_steps"], step["micro"], found["micro_step_time_ns"]) == (None, None, None)
