"""Samples on common columns of time: cores as rows, hosts and processes as bands; steps and phases as strips."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from stepscope.resource_grid import across, columns_of, cores, on_grid
from stepscope.resources import ResourceHistory
from stepscope.schema import MONITOR_SCHEMA, NONE, Kind
from stepscope.step_strips import strip
from tests.analysis.table import Table


def history(*rows: tuple[int, str, int, float]) -> ResourceHistory:
    out = ResourceHistory()
    out.append(pa.table([list(column) for column in zip(*rows, strict=True)], schema=MONITOR_SCHEMA))
    return out


def of(values: np.ndarray) -> list[float | None]:
    return [None if np.isnan(v) else float(v) for v in values]


def test_a_column_is_the_mean_of_its_samples() -> None:
    ts = np.arange(0, 80, 10)
    assert of(on_grid(ts, ts / 10.0, np.array([0.0, 40.0, 80.0]))) == [1.5, 5.5]


def test_a_column_without_a_sample_is_told_by_the_one_that_ends_its_time_and_a_gap_by_none() -> None:
    ts = np.array([0, 10, 20, 120, 130])
    edges = np.array([2.0, 8.0, 12.0, 50.0, 60.0, 122.0])
    assert of(on_grid(ts, np.array([1.0, 2, 3, 4, 5]), edges)) == [2, 2, 3, None, 4]


def test_columns_are_no_narrower_than_the_samples_lie_apart() -> None:
    found = history(*((10 * i, "cpu", NONE, 0.5) for i in range(5)))
    assert columns_of(found, 0, 40, 100).tolist() == [0, 10, 20, 30, 40]
    assert columns_of(found, 0, 40, 2).tolist() == [0, 20, 40]


def test_each_core_is_a_row() -> None:
    found = history((0, "cpu_core", 0, 0.1), (0, "cpu_core", 3, 0.9), (0, "cpu", NONE, 0.5))
    assert {core: of(mean) for core, mean in cores(found, np.array([0.0, 1.0])).items()} == {0: [0.1], 3: [0.9]}


def test_what_is_of_a_host_counts_once_and_what_is_of_a_process_each_time() -> None:
    def worker(cpu: float, process: float, gpu: float) -> ResourceHistory:
        return history((0, "cpu", NONE, cpu), (0, "process_cpu", NONE, process), (0, "gpu", 0, gpu))

    workers = [("a", worker(0.2, 1, 0.5)), ("a", worker(0.3, 2, 0.5)), ("b", worker(0.6, 6, 0.9))]
    bands = {band.info.id: band for band in across(workers, np.array([0.0, 1.0]))}
    told = {id: (b.of, b.members, of(b.min), of(b.mean), of(b.max)) for id, b in bands.items()}
    assert told == {
        "cpu": ("hosts", 2, [0.2], [0.4], [0.6]),
        "process_cpu": ("processes", 3, [1], [3], [6]),
        "gpu": ("GPUs", 2, [0.5], [0.7], [0.9]),
    }


def test_a_host_without_samples_in_a_column_is_not_0() -> None:
    late = history((100, "cpu", NONE, 0.4), (110, "cpu", NONE, 0.4))
    early = history((0, "cpu", NONE, 0.2), (10, "cpu", NONE, 0.2))
    (band,) = across([("a", early), ("b", late)], np.array([0.0, 20.0, 60.0, 120.0]))
    assert (of(band.mean), of(band.min)) == ([0.2, None, 0.4], [0.2, None, 0.4])


def test_steps_below_a_pixel_are_one_rectangle_that_tells_the_first_and_the_last() -> None:
    table = Table()
    for i in range(10):
        table.step(i, 100 * i, 100)
    found = strip(table.events(), Kind.STEP, 0, 1000, 2)  # a pixel is 500 ns
    assert (found.count.tolist(), found.first.tolist(), found.last.tolist()) == ([5, 5], [0, 5], [4, 9])
    assert strip(table.events(), Kind.STEP, 200, 300, 100).first.tolist() == [2]


def test_only_the_outermost_phases_are_in_a_strip() -> None:
    table = Table().phase("forward", 0, 100).phase("inner", 10, 20).phase("other thread", 50, 100, tid=2)
    found = strip(table.phase("backward", 100, 50).events(), Kind.PHASE, 0, 200, 200)
    assert found.name == ["forward", "backward"]


def test_without_steps_a_strip_is_empty() -> None:
    assert len(strip(Table().op("aten::mm", 0, 10).events(), Kind.STEP, 0, 100, 10).start_ns) == 0
