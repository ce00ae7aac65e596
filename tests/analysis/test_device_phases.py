"""Phases as a device went through them (times in ns)."""

from __future__ import annotations

import numpy as np
import pytest

from stepscope.analysis.capture import merge
from stepscope.analysis.device_phases import device_phases
from stepscope.analysis.launches import link
from stepscope.analysis.steps import find_steps
from stepscope.schema import Events, Kind
from tests.analysis.table import Table


def found(table: Table):
    live = table.events()
    return device_phases(live, find_steps(live, merge([]), link(Events.empty())))


def phase(table: Table, step: int, name: str, ts: int, dur: int, queue_ns: object = 50) -> None:
    table.host(Kind.DEVICE_ANNOTATION, name, ts, dur, tid=0, step=step).told(queue_ns=queue_ns)


def test_a_step_reaches_to_the_first_phase_of_the_next_one() -> None:
    table = Table().step(7, 0, 100).step(8, 100, 100).step(9, 200, 100)
    for step, at in ((7, 40), (8, 150)):
        phase(table, step, "forward", at, 20, queue_ns=at)
        phase(table, step, "backward", at + 20, 40, queue_ns=at)
        phase(table, step, "optimizer", at + 70, 10, queue_ns=at)
    told = found(table)
    assert told.measured.tolist() == [True, True, False]
    assert told.whole_ns.tolist() == [110, 80, 0]  # 40 to 150, and 150 to the end at 230
    assert {name: ns.tolist() for name, ns in told.ns.items()} == {
        "forward": [20, 20, 0],
        "backward": [40, 40, 0],
        "optimizer": [10, 10, 0],
        "other": [40, 10, 0],
    }
    assert told.queue_p50_ns == 40
    assert np.array_equal(np.sum(list(told.ns.values()), axis=0), told.whole_ns)


def test_micro_batches_sum_and_rows_of_no_step_are_left_out() -> None:
    table = Table().step(1, 0, 100)
    phase(table, 1, "forward", 10, 5)
    phase(table, 1, "forward", 20, 5)
    phase(table, 2, "forward", 90, 5)
    told = found(table)
    assert (told.ns["forward"].tolist(), told.whole_ns.tolist()) == ([10], [15])


def test_nothing_where_none_were_recorded_or_numbers_repeat() -> None:
    assert found(Table().step(1, 0, 100)) is None
    table = Table().step(1, 0, 100).step(1, 100, 100)
    phase(table, 1, "forward", 10, 5)
    assert found(table) is None


@pytest.mark.parametrize("odd", [None, "5", -3, 1.5, [1]])
def test_an_odd_lag_is_not_known(odd: object) -> None:
    table = Table().step(1, 0, 100)
    phase(table, 1, "forward", 10, 5, queue_ns=odd)
    assert found(table).queue_p50_ns is None
