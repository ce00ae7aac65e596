"""Interval sets against the definition: one flag a nanosecond."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analysis import intervals

SPAN = 40
pairs = st.lists(st.tuples(st.integers(0, SPAN), st.integers(0, SPAN)), max_size=12)


def made(pairs):
    """The union of [start, start + length) for each pair."""
    start = np.array([a for a, _ in pairs], dtype=np.int64)
    return intervals.union(start, start + np.array([b for _, b in pairs], dtype=np.int64))


def moments(a):
    return {t for start, end in a.tolist() for t in range(start, end)}


def is_well_formed(a):
    flat = a.ravel().tolist()
    return a.dtype == np.int64 and a.shape[1:] == (2,) and all(x < y for x, y in pairwise(flat))


def test_union_joins_what_touches_and_drops_what_is_empty():
    a = intervals.union(np.array([30, 0, 10, 50]), np.array([40, 10, 20, 50]))
    assert a.tolist() == [[0, 20], [30, 40]]


def test_subtract_cuts_a_hole():
    a, b = made([(0, 100)]), made([(20, 10)])
    assert intervals.subtract(a, b).tolist() == [[0, 20], [30, 100]]
    assert intervals.length(intervals.subtract(a, b)) == 90


def test_length_within_windows_that_overlap():
    a = made([(10, 10), (30, 10)])
    assert intervals.length_within(a, np.array([0, 15, 15, 50]), np.array([50, 35, 15, 60])).tolist() == [20, 10, 0, 0]


@given(pairs)
def test_union_covers_what_its_intervals_cover(some):
    a = made(some)
    assert is_well_formed(a)
    assert moments(a) == {t for start, length in some for t in range(start, start + length)}
    assert intervals.length(a) == len(moments(a))


@given(pairs, pairs)
def test_two_sets(some, others):
    a, b = made(some), made(others)
    for result, expected in (
        (intervals.intersect(a, b), moments(a) & moments(b)),
        (intervals.subtract(a, b), moments(a) - moments(b)),
        (intervals.unite((a, b)), moments(a) | moments(b)),
    ):
        assert is_well_formed(result)
        assert moments(result) == expected


@given(st.lists(pairs, max_size=5))
def test_exclusive_sets_are_disjoint_and_lose_nothing(many):
    sets = [made(some) for some in many]
    taken = set()
    for own, whole in zip(intervals.exclusive(sets), sets, strict=True):
        assert moments(own) == moments(whole) - taken
        taken |= moments(whole)


@given(pairs, st.integers(0, 2 * SPAN), st.integers(0, SPAN))
def test_length_within_counts_moments(some, start, length):
    a = made(some)
    within = intervals.length_within(a, np.array([start]), np.array([start + length]))
    assert within.tolist() == [len(moments(a) & set(range(start, start + length)))]
