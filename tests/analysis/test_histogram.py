"""Durations in bins (ns)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analysis.histogram import histogram


def test_bins_of_equal_width():
    found = histogram(np.array([0, 9, 10, 19, 20, 30]), bins=3)
    assert found.edges_ns == [0, 10, 20, 30]
    assert found.count == [2, 2, 2]  # the last bin holds its upper edge


@pytest.mark.parametrize(("values", "edges"), [([5], [5, 6]), ([5, 5], [5, 6]), ([5, 6], [5, 6])])
def test_fewer_bins_where_durations_hardly_differ(values, edges):
    found = histogram(np.array(values), bins=30)
    assert found.edges_ns == edges
    assert found.count == [len(values)]


def test_no_durations_have_no_distribution():
    assert histogram(np.empty(0, np.int64)) is None


@given(st.lists(st.integers(0, 10**15), min_size=1, max_size=60), st.integers(1, 40))
def test_every_duration_is_in_one_bin(values, bins):
    found = histogram(np.array(values), bins)
    assert sum(found.count) + found.above == len(values)
    assert len(found.edges_ns) == len(found.count) + 1 <= bins + 1
    assert found.edges_ns == sorted(set(found.edges_ns))
    assert found.edges_ns[0] == min(values)
    assert found.longest_ns == max(values)
    assert (found.edges_ns[-1] >= max(values)) == (found.above == 0)


def test_one_step_that_compiles_lies_above_the_bins():
    found = histogram(np.array([10] * 19 + [12] * 20 + [5000]), bins=7)
    assert found.edges_ns == [10, 12, 14, 16, 18, 20, 22, 24]
    assert found.count == [19, 20, 0, 0, 0, 0, 0]
    assert (found.above, found.longest_ns) == (1, 5000)
