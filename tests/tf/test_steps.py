"""Counting the steps of an execution and giving each its share."""

from hypothesis import given
from hypothesis import strategies as st

from stepscope_tf.steps import logical_steps, split_evenly


def test_one_batch_an_execution():
    assert [logical_steps(b, b, 3) for b in range(3)] == [1, 1, 1]
    assert logical_steps(7, 7, None) == 1


def test_the_last_execution_of_an_epoch_announces_more_than_is_left():
    # 8 batches, 3 an execution: announced 0-2, 3-5, 6-8
    assert [logical_steps(b, b + 2, 8) for b in (0, 3, 6)] == [3, 3, 2]


def test_the_optimizer_knows_where_keras_does_not():
    assert logical_steps(6, 8, None, counted=2) == 2  # the first epoch of a dataset of unknown length
    assert logical_steps(6, 8, 8, counted=3) == 3  # steps_per_epoch=8 of a dataset that goes on
    assert logical_steps(6, 8, None) == 3


def test_a_count_that_cannot_be_is_not_believed():
    assert logical_steps(0, 2, None, counted=0) == 3
    assert logical_steps(0, 2, None, counted=40) == 3


def test_steps_that_loss_scaling_skipped_are_steps():
    assert logical_steps(0, 9, 100, counted=8) == 10


def test_shares_touch():
    assert split_evenly(100, 110, 3) == [(100, 103), (103, 106), (106, 110)]


@given(st.integers(0, 10**18), st.integers(0, 10**12), st.integers(1, 1000))
def test_shares_fill_the_execution(start, dur, parts):
    shares = split_evenly(start, start + dur, parts)
    assert len(shares) == parts
    assert sum(b - a for a, b in shares) == dur
    lengths = {b - a for a, b in shares}
    assert max(lengths) - min(lengths) <= 1
