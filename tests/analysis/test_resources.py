"""Distributions of monitor samples, weighted by time."""

import numpy as np
import pyarrow as pa
import pytest

from stepscope.analysis.percentiles import nearest_rank, weighted
from stepscope.analysis.resources import resources, sample_weights
from stepscope.schema import MONITOR_SCHEMA, NONE

MS = 1_000_000


def table(*rows):
    """(ms, metric, index, value)"""
    columns = list(zip(*rows, strict=True))
    columns[0] = [t * MS for t in columns[0]]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, MONITOR_SCHEMA, strict=True)], schema=MONITOR_SCHEMA)


def test_samples_count_as_long_as_they_stand_for():
    # 10 samples of 0.2 at 100 ms (1 s), then 10 of 0.8 at 1 s (10 s): mean (1 * 0.2 + 10 * 0.8) / 11
    rows = [(100 * i, "cpu", NONE, 0.2) for i in range(1, 11)]
    rows += [(1000 + 1000 * i, "cpu", NONE, 0.8) for i in range(1, 11)]
    cpu = resources([table(*rows)])["cpu"]
    assert (cpu.p50, cpu.min, cpu.max, cpu.samples) == (0.8, 0.2, 0.8, 20)
    assert cpu.mean == pytest.approx((1 * 0.2 + 10 * 0.8) / 11)


def test_a_gap_stands_for_nothing():
    assert sample_weights(np.array([0, 100, 200, 3300, 3400])).tolist() == [100, 100, 100, 100, 100]


def test_a_new_interval_is_no_gap():
    assert sample_weights(np.array([0, 100, 200, 1200, 2200])).tolist() == [100, 100, 100, 1000, 1000]


def test_one_sample_is_a_distribution():
    assert resources([table((5, "cpu", NONE, 0.5))])["cpu"].p99 == 0.5


def test_the_total_counts_where_there_is_one_else_all_devices():
    rows = [(t, "gpu", i, 0.5 * i) for t in (0, 100) for i in (0, 1)]
    rows += [(t, "cpu", i, v) for t in (0, 100) for i, v in ((NONE, 0.3), (0, 0.0), (1, 0.6))]
    found = resources([table(*rows)])
    assert (found["gpu"].min, found["gpu"].max) == (0.0, 0.5)
    assert (found["cpu"].min, found["cpu"].max) == (0.3, 0.3)


def test_order_and_repeated_records_change_nothing():
    rows = [(100 * i, "cpu", NONE, i / 10) for i in range(8)]
    assert resources([table(*rows)]) == resources([table(*reversed(rows + rows[3:5]))])


def test_active_is_the_share_of_the_time_above_0():
    # GPU 0: 4 samples of 100 ms, one of them 0; GPU 1: never; then GPU 0 at 1 s, twice above 0
    rows = [(100 * i, "gpu", 0, v) for i, v in enumerate((0.5, 0.0, 0.2, 1.0), start=1)]
    rows += [(1400, "gpu", 0, 0.1), (2400, "gpu", 0, 0.1)]
    rows += [(100 * i, "gpu", 1, 0.0) for i in range(1, 5)]
    gpu = resources([table(*rows)])["gpu"]
    assert gpu.active_by_index == {"0": pytest.approx(2300 / 2400), "1": 0.0}
    # 0.5, 0.0, 0.2 and 1.0 for 100 ms each; after the gap 0.1 for 1 s twice; of 2.4 s in all
    assert gpu.mean_by_index == {"0": pytest.approx((50 + 20 + 100 + 200) / 2400), "1": 0.0}
    assert gpu.active == pytest.approx(2300 / 2800)
    assert gpu.active + gpu.idle == 1


def test_a_total_has_no_indices():
    found = resources([table((0, "cpu", NONE, 0.0), (100, "cpu", NONE, 0.5), (0, "cpu", 0, 1.0))])["cpu"]
    assert (found.active, found.idle, found.active_by_index, found.mean_by_index) == (0.5, 0.5, None, None)


def test_nearest_rank_is_a_value_that_occurred():
    assert nearest_rank(np.array([15, 20, 35, 40, 50]), 5, 30, 40, 50, 100) == [15, 20, 20, 35, 50]
    assert nearest_rank(np.arange(1, 201), 99) == [198]


def test_equal_weights_are_nearest_rank():
    values = np.arange(1.0, 101.0)
    assert weighted(values, np.full(100, 0.1), 50, 95, 99) == [50.0, 95.0, 99.0]
