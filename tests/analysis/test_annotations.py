"""Durations of named regions and their distribution (ns)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analysis.annotations import Annotation, annotation_times, distribution, durations_of
from stepscope.schema import Events, Kind
from tests.analysis.table import Table

NOTHING = Events.empty()


def test_distribution_of_each_name():
    table = Table().host(Kind.ANNOTATION, "rare", 0, 7)
    for i in range(100):
        table.host(Kind.ANNOTATION, "load", 100 * i, i + 1)
    assert annotation_times(NOTHING, table.events()) == [
        Annotation("load", 100, 5050, 1, 50, 90, 99, 100),
        Annotation("rare", 1, 7, 7, 7, 7, 7, 7),
    ]


def test_the_always_on_stream_has_all_regions_and_the_windows_some():
    live = Table().host(Kind.ANNOTATION, "load", 0, 5).host(Kind.ANNOTATION, "load", 50, 9).events()
    deep = Table().host(Kind.ANNOTATION, "load", 51, 8).host(Kind.ANNOTATION, "deep", 60, 1).events()
    assert {a.name: (a.count, a.total_ns) for a in annotation_times(live, deep)} == {"load": (2, 14), "deep": (1, 1)}
    assert durations_of("load", live, deep).tolist() == [5, 9]
    assert durations_of("deep", live, deep).tolist() == [1]
    assert durations_of("none", live, deep).tolist() == []


def test_durations_of_other_kinds():
    table = Table().phase("forward", 0, 30).phase("forward", 50, 20).op("forward", 60, 1)
    assert durations_of("forward", NOTHING, table.events(), Kind.PHASE).tolist() == [30, 20]
    assert durations_of("forward", NOTHING, table.events()).tolist() == []


def test_bins_of_equal_width():
    found = distribution(np.array([0, 9, 10, 19, 20, 30]), bins=3)
    assert found.edges_ns == [0, 10, 20, 30]
    assert found.count == [2, 2, 2]  # the last bin holds its upper edge


@pytest.mark.parametrize(("values", "edges"), [([5], [5, 6]), ([5, 5], [5, 6]), ([5, 6], [5, 6])])
def test_fewer_bins_where_durations_hardly_differ(values, edges):
    found = distribution(np.array(values), bins=30)
    assert found.edges_ns == edges
    assert found.count == [len(values)]


def test_no_durations_have_no_distribution():
    assert distribution(np.empty(0, np.int64)) is None


@given(st.lists(st.integers(0, 10**15), min_size=1, max_size=60), st.integers(1, 40))
def test_every_duration_is_in_one_bin(values, bins):
    found = distribution(np.array(values), bins)
    assert sum(found.count) == len(values)
    assert len(found.edges_ns) == len(found.count) + 1 <= bins + 1
    assert found.edges_ns == sorted(set(found.edges_ns))
    assert found.edges_ns[0] == min(values)
    assert found.edges_ns[-1] >= max(values)
