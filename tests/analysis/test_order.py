"""Orders and codes against numpy's own."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.analysis.groups import Groups
from stepscope.analysis.order import by_first, coded, stable_order

RANGES = [(0, 3), (-2, 4), (0, 70_000), (-(10**17), 10**17)]


@pytest.mark.parametrize("size", [0, 1, 2, 300])
@pytest.mark.parametrize("lowest_and_highest", RANGES, ids=str)
def test_they_are_those_of_numpy(size: int, lowest_and_highest: tuple[int, int]) -> None:
    random = np.random.default_rng(size)
    keys = random.integers(*lowest_and_highest, size)
    assert stable_order(keys).tolist() == np.argsort(keys, kind="stable").tolist()
    expected = np.unique(keys, return_inverse=True)
    assert [a.tolist() for a in coded(keys)] == [a.reshape(-1).tolist() for a in expected]
    others = random.integers(0, 3, (2, size))
    assert by_first(keys, *others).tolist() == np.lexsort((others[1], others[0], keys)).tolist()


def test_percentiles_of_groups_are_by_nearest_rank() -> None:
    keys = np.array([7, 3, 7, 7, 3, 7])
    values = np.array([40, 9, 10, 30, 5, 20])  # of 3: 5, 9; of 7: 10, 20, 30, 40
    middle, highest = Groups(keys).nearest_rank(values, 50, 100)
    assert (middle.tolist(), highest.tolist()) == ([5, 20], [9, 40])
