"""Counters to rates: resets, new counters and missing ones."""

from itertools import pairwise

import pytest

from stepscope.monitor.rates import CpuTimes, cpu_shares, rate


def test_growth_of_all_counters_over_the_time_between():
    assert rate({"eth0": 1000, "eth1": 50}, {"eth0": 3000, "eth1": 150}, 0.5) == (2000 + 100) / 0.5


def test_a_counter_that_falls_gives_no_rate_and_the_next_pair_does():
    readings = [4_294_000_000, 4_294_500_000, 4_294_900_000, 200_000, 700_000]
    rates = [rate({"eth0": a}, {"eth0": b}, 1.0) for a, b in pairwise(readings)]
    assert rates == [500_000, 400_000, None, 500_000]


def test_a_new_counter_counts_from_its_second_reading():
    assert rate({"eth0": 0}, {"eth0": 100, "ib0": 10**12}, 1.0) == 100
    assert rate({}, {"eth0": 100}, 1.0) is None


def test_a_counter_that_is_gone_is_left_out():
    assert rate({"eth0": 0, "ib0": 10**12}, {"eth0": 100}, 1.0) == 100


@pytest.mark.parametrize("dur_s", [0.0, -1.0])
def test_no_time_no_rate(dur_s):
    assert rate({"eth0": 0}, {"eth0": 100}, dur_s) is None


def test_cpu_shares_of_one_second():
    # 1 s: 0.5 s idle, 0.1 s waiting for I/O, so 0.4 s busy
    shares = cpu_shares(CpuTimes(10.0, 4.0, 1.0), CpuTimes(11.0, 4.5, 1.1))
    assert shares.busy == pytest.approx(0.4)
    assert shares.iowait == pytest.approx(0.1)


def test_cpu_shares_where_the_system_does_not_tell_iowait():
    shares = cpu_shares(CpuTimes(10.0, 4.0, None), CpuTimes(12.0, 5.5, None))
    assert (shares.busy, shares.iowait) == (0.25, None)


@pytest.mark.parametrize(
    "after",
    [
        CpuTimes(10.0, 4.0, 1.0),  # stood still
        CpuTimes(11.0, 3.0, 1.0),  # idle went back
        CpuTimes(11.0, 4.5, 0.9),  # iowait went back
    ],
)
def test_no_shares_from_counters_that_did_not_grow(after):
    assert cpu_shares(CpuTimes(10.0, 4.0, 1.0), after) is None


def test_cores_add_up():
    assert CpuTimes(1.0, 0.5, 0.25) + CpuTimes(2.0, 1.0, 0.25) == CpuTimes(3.0, 1.5, 0.5)
    assert (CpuTimes(1.0, 0.5, None) + CpuTimes(2.0, 1.0, 0.25)).iowait is None
