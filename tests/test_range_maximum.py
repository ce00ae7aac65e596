"""The largest of any range against numpy's argmax of that range."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.range_maximum import RangeMaximum


@pytest.mark.parametrize("size", [1, 15, 16, 17, 255, 256, 4099])
@pytest.mark.parametrize("largest", [0, 3, 10**18], ids=["all equal", "many equals", "all distinct"])
def test_any_range_gives_its_first_maximum(size: int, largest: int) -> None:
    random = np.random.default_rng(size)
    values = random.integers(0, largest, size, endpoint=True)
    bounds = np.sort(random.integers(0, size + 1, (2000, 2)), axis=1)
    # Ranges that begin and end at the blocks' edges are few among random ones.
    near = np.array([(a, b) for a in range(min(size, 40)) for b in range(max(a, size - 40), size + 1)])
    bounds = np.concatenate((bounds, near))
    first, last = bounds[bounds[:, 0] < bounds[:, 1]].T
    expected = [a + int(values[a:b].argmax()) for a, b in zip(first, last, strict=True)]
    assert RangeMaximum(values).positions(first, last).tolist() == expected


def test_what_is_at_least_some_value() -> None:
    random = np.random.default_rng(0)
    values = random.integers(0, 100, 1000)
    column = RangeMaximum(values)
    for _ in range(200):
        first, last = sorted(random.integers(0, 1001, 2).tolist())
        limit = int(random.integers(0, 102))
        expected = first + np.flatnonzero(values[first:last] >= limit)
        assert column.at_least(limit, first, last).tolist() == expected.tolist()


def test_a_column_without_values_and_one_of_many_blocks() -> None:
    assert RangeMaximum(np.empty(0, np.int64)).positions(np.empty(0, np.int64), np.empty(0, np.int64)).tolist() == []
    values = np.zeros(16 * 5000 + 3, np.int64)  # more blocks than are built at once
    values[[16 * 4096 - 1, 16 * 4096, len(values) - 1]] = 7
    first, last = np.array([0, 16 * 4096, 16 * 4096 + 1]), np.full(3, len(values))
    assert RangeMaximum(values).positions(first, last).tolist() == [16 * 4096 - 1, 16 * 4096, len(values) - 1]
