"""The sampling loop without a process: deadlines, failing sources, batches."""

import json
import time

import pytest

from stepscope.monitor.sampler import Control, Sampler, next_deadline
from stepscope.schema import MONITOR_SCHEMA, Notes
from stepscope.store import read_stream


@pytest.mark.parametrize(
    ("now", "due"),
    [
        (1000, 1100),  # on time: the next
        (1003, 1100),  # a little late: still the same grid, no drift
        (1049, 1100),
        (1051, 1200),  # so late that 1100 is all but there
        (1730, 1800),  # 7 deadlines missed: none of them made up for
    ],
)
def test_deadlines_stay_on_the_grid_of_the_start(now, due):
    assert next_deadline(1000, 100, now) == due


class Counting:
    def __init__(self):
        self.count = 0

    def sample(self, now_ns):
        self.count += 1
        return [("cpu", -1, self.count / 10), ("cpu_core", 0, 0.5)]


class Failing:
    def sample(self, now_ns):
        raise RuntimeError("no such counter")


def sampler(tmp_path, *sources):
    return Sampler(sources, tmp_path / "monitor.arrows", tmp_path / "notes.json", Notes())


def test_a_sample_is_one_time_for_all_metrics(tmp_path):
    it = sampler(tmp_path, Counting())
    before = time.time_ns()
    it.sample()
    it.flush()
    after = time.time_ns()
    table = read_stream(tmp_path / "monitor.arrows", MONITOR_SCHEMA)
    assert table.column("metric").to_pylist() == ["cpu", "cpu_core"]
    assert table.column("index").to_pylist() == [-1, 0]
    assert table.column("value").to_pylist() == [0.1, 0.5]
    [ts] = set(table.column("ts_ns").to_pylist())
    assert before - 1_000_000 <= ts <= after + 1_000_000  # the clocks' anchor is within a millisecond
    assert not (tmp_path / "notes.json").exists()


def test_a_failing_source_is_left_out_with_a_note_and_the_others_go_on(tmp_path):
    it = sampler(tmp_path, Failing(), Counting())
    it.sample()
    it.sample()
    it.flush()
    assert read_stream(tmp_path / "monitor.arrows", MONITOR_SCHEMA).num_rows == 4
    [note] = json.loads((tmp_path / "notes.json").read_text())["notes"]
    assert (note["code"], note["count"]) == ("monitor_source_failed", 1)
    assert "Failing" in note["detail"]
    assert "no such counter" in note["detail"]


def test_what_is_pending_is_written_at_the_end(tmp_path):
    control = Control(60_000_000_000)
    control.ended.set()
    sampler(tmp_path, Counting()).run(control, orphaned=lambda: False)
    assert read_stream(tmp_path / "monitor.arrows", MONITOR_SCHEMA).column("value").to_pylist() == [0.1, 0.5]
