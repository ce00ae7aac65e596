"""The monitor's samples as series of some width."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from stepscope.resources import ResourceHistory, series_info
from stepscope.schema import MONITOR_SCHEMA, NONE


def samples(*rows: tuple[int, str, int, float]) -> pa.Table:
    return pa.table([list(column) for column in zip(*rows, strict=True)], schema=MONITOR_SCHEMA)


def history(*rows: tuple[int, str, int, float]) -> ResourceHistory:
    out = ResourceHistory()
    out.append(samples(*rows))
    return out


def test_series_are_named_by_metric_and_index() -> None:
    total, core = series_info("cpu", NONE), series_info("cpu_core", 3)
    assert (total.id, total.label, total.unit, total.lane) == ("cpu", "CPU", "ratio", "CPU")
    assert (core.id, core.label, core.group, core.lane) == ("cpu_core.3", "Core 3", "CPU cores", "Core 3")
    assert series_info("iowait", NONE).lane == total.lane  # one pair of axes


def test_a_metric_of_a_later_version_is_shown_by_its_name() -> None:
    info = series_info("fan {speed}", 1)
    assert (info.id, info.label, info.group) == ("fan {speed}.1", "fan {speed}.1", "Other")


def test_series_come_in_the_order_in_which_they_are_drawn() -> None:
    found = history(
        (0, "cpu_core", 1, 0.1), (0, "new", NONE, 1), (0, "gpu", 0, 0.2), (0, "cpu_core", 0, 0.3), (0, "cpu", NONE, 1)
    )
    assert [info.id for info in found.infos()] == ["cpu", "gpu.0", "cpu_core.0", "cpu_core.1", "new"]


def test_few_samples_are_points_as_they_are() -> None:
    found = history(*((10 * i, "cpu", NONE, i / 10) for i in range(5))).points(0, 50, 5)["cpu"]
    assert found.t_ns.tolist() == [0, 10, 20, 30, 40]
    assert found.mean.tolist() == found.min.tolist() == found.max.tolist() == [0, 0.1, 0.2, 0.3, 0.4]


def test_many_samples_become_as_many_points_as_asked_for() -> None:
    found = history(*((10 * i, "cpu", NONE, float(i % 4)) for i in range(100))).points(0, 1000, 25)["cpu"]
    # 991 ns in 25 stretches of 40: four samples each
    assert found.t_ns.tolist() == [40 * i + 15 for i in range(25)]
    assert set(found.mean.tolist()) == {1.5}
    assert (set(found.min.tolist()), set(found.max.tolist())) == ({0.0}, {3.0})


def test_the_samples_just_outside_are_included_so_that_lines_reach_the_edge() -> None:
    found = history(*((10 * i, "cpu", NONE, float(i)) for i in range(10))).points(35, 55, 100)["cpu"]
    assert found.t_ns.tolist() == [30, 40, 50, 60]


def test_a_pause_is_a_gap_also_between_merged_points() -> None:
    times = [*range(0, 100, 10), *range(500, 600, 10)]
    found = history(*((t, "cpu", NONE, 1.0) for t in times)).points(0, 600, 6)["cpu"]
    gap = np.flatnonzero(np.isnan(found.mean)).tolist()
    assert [found.t_ns[i] for i in gap] == [(90 + 500) // 2]
    assert found.t_ns.tolist() == sorted(found.t_ns.tolist())


def test_another_interval_from_some_moment_on_is_no_gap() -> None:
    found = history(*((t, "cpu", NONE, 1.0) for t in [*range(0, 100, 10), *range(190, 500, 100)]))
    assert not np.isnan(found.points(0, 500, 100)["cpu"].mean).any()
    assert (found.interval_ns(), found.latest_interval_ns()) == (10, 100)


def test_samples_that_are_no_numbers_are_left_out() -> None:
    found = history((0, "cpu", NONE, 0.5), (10, "cpu", NONE, float("nan")), (20, "cpu", NONE, 0.7)).points(0, 30, 9)[
        "cpu"
    ]
    assert found.t_ns.tolist() == [0, 20]


def test_samples_come_in_batches_and_the_clock_may_be_set_back() -> None:
    found = history((100, "cpu", NONE, 0.1), (110, "cpu", NONE, 0.2))
    found.append(samples((90, "cpu", NONE, 0.3), (120, "cpu", NONE, 0.4)))
    assert found.version == 2
    assert found.points(0, 200, 9)["cpu"].t_ns.tolist() == [90, 100, 110, 120]
    assert (found.extent_ns(), found.interval_ns()) == ((90, 120), 10)


@pytest.mark.parametrize(("t0", "t1"), [(0, 0), (1000, 2000), (-50, -10)])
def test_where_there_is_nothing_at_most_the_nearest_samples_are_given(t0: int, t1: int) -> None:
    found = history((10, "cpu", NONE, 0.5), (20, "cpu", NONE, 0.5)).points(t0, t1, 5)["cpu"]
    assert len(found.t_ns) <= 2


def test_no_samples() -> None:
    nothing = ResourceHistory()
    assert (nothing.infos(), nothing.points(0, 1, 1), nothing.extent_ns()) == ([], {}, None)
    assert (nothing.interval_ns(), nothing.latest_interval_ns()) == (None, None)
