"""``distinct`` equals ``np.unique``."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analysis.distinct import distinct


@given(st.lists(st.integers(-5, 5)))
def test_the_distinct_values_ascending(values: list[int]) -> None:
    assert distinct(np.array(values, np.int64)).tolist() == sorted(set(values))
