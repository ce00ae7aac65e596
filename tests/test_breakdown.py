"""The Step breakdown: which steps, their bars and statistics, and what sets one apart (times in us, answers in ns)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.breakdown import Chosen, Work, bars, chosen_rows, comparison, partition_of, statistics
from stepscope.breakdown.selection import ordered
from stepscope.runs import open_run
from stepscope.summary import Analysis, analyse_worker
from stepscope.tables.source import Source
from stepscope.timeline import Timeline
from tests.builders import TraceBuilder
from tests.recorded import RecordedRun

KERNEL_US = (300, 300, 700, 300)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Analysis, Work]:
    """Four steps of 1000 us, each with a module that launches a kernel; the third one also waits for 150 us.

    The kernel of a step starts 100 us into it. The last one has a kernel more, which ends 200 us after the step.
    """
    trace = TraceBuilder()
    for i, dur in enumerate(KERNEL_US):
        at = 1000 * i
        trace.step(i, at, 1000).python("nn.Module: Net_0", at + 10, 50).op("aten::mm", at + 20, 30)
        trace.launch(at + 30, 5, correlation=10 + i).kernel("gemm", at + 100, dur, correlation=10 + i)
        if i == 2:
            trace.runtime("cudaStreamSynchronize", at + 800, 150)
        if i == 3:
            trace.launch(at + 900, 5, correlation=20).kernel("late", at + 950, 250, correlation=20)
    path = tmp_path_factory.mktemp("steps") / "rank0.pt.trace.json"
    trace.write(path)
    (worker,) = open_run(path.parent).workers
    analysis = analyse_worker(worker)
    assert analysis.steps is not None
    return analysis, Work(Source(Timeline(worker)), analysis.steps)


def test_a_step_beside_the_usual_one(found: tuple[Analysis, Work]) -> None:
    told = comparison(*found, step=2, most=10)
    assert told["duration"] == {"ns": 1_000_000, "median_ns": 1_000_000}
    assert told["activity"]["kernel"] == {"ns": 700_000, "median_ns": 300_000}
    (gemm,) = told["device_work"]["rows"]
    assert gemm | {"row": 0} == {
        "name": "gemm",
        "ns": 700_000,
        "median_ns": 300_000,
        "delta_ns": 400_000,
        "count": 1,
        "median_count": 1,
        "row": 0,
    }
    (wait,) = told["host_work"]["rows"]
    assert (wait["name"], wait["delta_ns"], wait["count"], wait["median_count"]) == (
        "cudaStreamSynchronize",
        150_000,
        1,
        0,
    )


def test_the_longest_one_in_the_step_can_be_opened(found: tuple[Analysis, Work]) -> None:
    analysis, work = found
    (gemm,) = comparison(analysis, work, step=2, most=10)["device_work"]["rows"]
    events = work.events
    assert events.dur_ns[gemm["row"]] == 700_000
    assert events.names[events.name[gemm["row"]]] == "gemm"


def test_what_is_not_listed_is_summed(found: tuple[Analysis, Work]) -> None:
    host = comparison(*found, step=2, most=1)["host_work"]
    assert host["delta_ns"] == sum(row["delta_ns"] for row in host["rows"]) + host["rest_ns"]


def test_host_time_leaves_the_device_s_tail_out(found: tuple[Analysis, Work]) -> None:
    analysis, work = found
    whole = partition_of(analysis, "activity")
    on_host = partition_of(analysis, "activity", work.host_activity)
    assert (whole.whole_ns[3], on_host.whole_ns[3]) == (1_200_000, 1_000_000)
    assert (whole.columns["kernel"][3], on_host.columns["kernel"][3]) == (550_000, 350_000)
    for partition in (whole, on_host):
        assert np.array_equal(np.sum(list(partition.columns.values()), axis=0), partition.whole_ns)


def test_modules_of_a_stretch(found: tuple[Analysis, Work]) -> None:
    analysis, work = found
    steps = analysis.steps
    assert steps is not None
    everything = work.modules(None, None)
    third = work.modules(int(steps.host_start_ns[2]), int(steps.host_end_ns[2]))
    assert everything is not None
    assert third is not None
    assert [(m.path, m.calls) for m in third] == [(["Net_0"], 1), ([], None)]
    assert third[0].forward_device_total_ns == 700_000
    assert everything[0].forward_device_total_ns == sum(KERNEL_US) * 1000
    assert everything[1].forward_device_total_ns == sum(KERNEL_US) * 1000 + 250_000


def recorded(path: Path, durations_us: list[int]) -> Analysis:
    run, at = RecordedRun(path), 0
    for i, dur in enumerate(durations_us):
        run.step(i, at, dur, forward=(at, dur // 2))
        at += dur
    run.end()
    (worker,) = open_run(path).workers
    return analyse_worker(worker)


def test_statistics_of_a_stretch(tmp_path: Path) -> None:
    analysis = recorded(tmp_path / "run", [100, 100, 100, 400, 100, 5000])
    assert analysis.steps is not None
    rows = chosen_rows(analysis, Chosen(last=4))
    told = statistics(analysis.steps, rows, partition_of(analysis, "phase"))
    assert (told["steps"], told["first"], told["last"]) == (5, 0, 4)
    assert told["time_ns"]["max"] == 400_000
    assert (told["outlier_above_ns"], told["outlier_count"]) == (150_000, 1)
    assert told["outliers"] == [{"index": 3, "id": 3, "label": "step 3", "ns": 400_000}]
    assert told["parts"]["forward"] == {"total_ns": 400_000, "median_ns": 50_000}
    assert told["slowest"] == {
        "index": 3,
        "id": 3,
        "label": "step 3",
        "ns": 400_000,
        "median_ns": 100_000,
        "part": {"name": "forward", "more_ns": 150_000},
    }


def test_no_step_is_no_statistics(tmp_path: Path) -> None:
    analysis = recorded(tmp_path / "run", [100])
    assert analysis.steps is not None
    rows = chosen_rows(analysis, Chosen(first=5))
    told = statistics(analysis.steps, rows, partition_of(analysis, "phase"))
    assert (told["steps"], told["time_ns"], told["histogram"], told["slowest"]) == (0, None, None, None)
    assert told["parts"]["forward"] == {"total_ns": None, "median_ns": None}


def test_steps_in_an_interval_and_their_order(tmp_path: Path) -> None:
    analysis = recorded(tmp_path / "run", [100, 300, 200])
    assert analysis.steps is not None
    start = int(analysis.steps.start_ns[1])
    rows = chosen_rows(analysis, Chosen(t0_ns=start, t1_ns=start + 300_001))
    assert rows.tolist() == [1, 2]
    assert ordered(analysis, np.arange(3), "duration", True).tolist() == [1, 2, 0]
    assert ordered(analysis, np.arange(3), "phase:forward", False).tolist() == [0, 2, 1]
    assert ordered(analysis, np.arange(3), "kernel", True).tolist() == [0, 1, 2]  # not measured


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=40), st.data())
def test_bars_are_means_of_what_they_stand_for(durations: list[int], data: Any) -> None:
    steps, partition = fake(durations, data.draw(st.lists(st.booleans(), min_size=40, max_size=40)))
    begin = data.draw(st.integers(0, len(durations)))
    end = data.draw(st.integers(begin, len(durations)))
    most = data.draw(st.integers(1, 50))
    rows = np.arange(len(durations))
    told = bars(steps, rows, partition, False, begin, end, most)
    width = told["width"]
    assert len(told["first"]) <= most + 1
    assert told["begin"] % width == 0
    if begin < end:
        assert told["begin"] <= begin
        assert told["last"][-1] >= end - 1
    for i, (first, last) in enumerate(zip(told["first"], told["last"], strict=True)):
        own = slice(first, last + 1)
        assert told["steps"][i] == last - first + 1
        assert told["mean"][i] == pytest.approx(np.mean(durations[own]))
        assert told["longest"][i] == max(durations[own])
        assert told["divided"][i] == partition.measured[own].sum()
        part = np.where(partition.measured[own], partition.columns["forward"][own], 0)
        assert told["parts"]["forward"][i] == pytest.approx(part.mean())


def fake(durations: list[int], measured: list[bool]) -> tuple[Any, Any]:
    from stepscope.breakdown.selection import Partition

    class Steps:
        id = np.arange(len(durations))
        label = [str(i) for i in range(len(durations))]

    whole = np.array(durations)
    return Steps(), Partition(("forward",), {"forward": whole // 2}, np.array(measured[: len(durations)]), whole)
