"""Workers beside each other: alignment of steps, spread, imbalance, waits in collectives, the map."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analysis.alignment import align
from stepscope.analysis.attempts import attempts
from stepscope.analysis.collective_waits import collective_waits
from stepscope.analysis.rank_map import part_means, rank_map
from stepscope.analysis.ranks import Measures, beyond_median, excesses, imbalance
from stepscope.schema import NONE


def steps_of(duration, complete=None, **parts):
    n = len(duration)
    columns = {"duration_ns": duration, "complete": [True] * n if complete is None else complete}
    columns |= {name.replace("__", "."): values for name, values in parts.items()}
    return {name: np.asarray(values) for name, values in columns.items()}


def numbered(*ids):
    return align([np.array(i, np.int64) for i in ids])


def side_by_side(*workers):
    return Measures(numbered(*(range(len(w["complete"])) for w in workers)), list(workers))


class TestAlignment:
    def test_the_same_number_is_the_same_step(self):
        found = numbered([5, 6, 7], [6, 7, 8])
        assert (found.by, found.id.tolist()) == ("id", [5, 6, 7, 8])
        assert found.worker.tolist() == [0, 0, 0, 1, 1, 1]
        assert found.column.tolist() == [0, 1, 2, 1, 2, 3]

    def test_a_number_that_comes_again_is_another_step(self):
        found = numbered([1, 2, 1, 2], [1, 2])
        assert found.column.tolist() == [0, 1, 2, 3, 0, 1]
        assert found.id.tolist() == [1, 2, 1, 2]

    def test_steps_without_numbers_go_by_position(self):
        found = numbered([7, NONE], [3, 4, 5])
        assert (found.by, found.id.tolist()) == ("position", [0, 1, 2])
        assert found.column.tolist() == [0, 1, 0, 1, 2]

    @pytest.mark.parametrize("by", ["id", "position"])
    def test_steps_of_two_attempts_are_never_the_same(self, by):
        numbers = [0, 1] if by == "id" else [NONE, NONE]
        found = align([np.array(numbers, np.int64)] * 3, np.array([0, 1, 1]))
        assert (found.by, found.id.tolist()) == (by, [0, 1, 0, 1])
        assert found.column.tolist() == [0, 1, 2, 3, 2, 3]

    def test_no_steps_at_all(self):
        assert len(numbered([], []).id) == 0
        assert len(numbered().id) == 0


class TestAttempts:
    def of(self, *workers):
        return attempts([w[0] for w in workers], [w[1] for w in workers]).tolist()

    def test_a_job_whose_ranks_were_all_started_again(self):
        assert self.of((0, (0, 90)), (0, (200, 300)), (1, (5, 80)), (1, (210, 290))) == [0, 1, 0, 1]

    def test_ranks_of_which_none_comes_twice_are_one_attempt_whenever_they_ran(self):
        assert self.of((0, (0, 10)), (1, (500, 510)), (None, (900, 910))) == [0, 0, 0]

    def test_recordings_of_one_rank_are_an_attempt_each(self):
        assert self.of((0, (0, 90)), (0, (0, 90)), (0, (100, 190))) == [0, 1, 2]

    def test_a_rank_of_the_first_attempt_that_recorded_nothing(self):
        assert self.of((0, (0, 90)), (0, (200, 300)), (1, (210, 290))) == [0, 1, 1]

    def test_a_rank_that_comes_back_beside_one_that_ran_on_is_not_compared_with_it(self):
        assert self.of((0, (0, 900)), (1, (0, 90)), (1, (200, 890))) == [0, 0, 1]

    def test_a_worker_without_steps(self):
        assert self.of((0, (0, 90)), (0, (200, 300)), (1, None), (0, None)) == [0, 1, 0, 0]


class TestSpread:
    def test_of_a_step_over_the_workers(self):
        found = side_by_side(steps_of([10, 20, 30]), steps_of([14, 20]), steps_of([12, 20, 36], [True, True, False]))
        spread = found.spread("duration")
        assert spread.workers.tolist() == [3, 3, 1]  # a step that was cut counts as not measured
        assert spread.mean.tolist() == [12, 20, 30]
        assert (spread.min.tolist(), spread.max.tolist()) == ([10, 20, 30], [14, 20, 30])
        assert spread.slowest.tolist() == [1, NONE, NONE]  # nobody where all are equal, or alone

    def test_imbalance_is_what_the_slowest_takes_beyond_the_mean(self):
        found = side_by_side(steps_of([10, 10]), steps_of([20, 10]))
        got = imbalance("duration", found.spread("duration"))
        assert (got.steps, got.excess_ns, got.ratio) == (2, 2.5, 5 / 30)

    def test_workers_of_different_attempts_are_not_compared(self):
        workers = [steps_of([10, 10]), steps_of([20, 20]), steps_of([1000, 1000])]
        found = Measures(align([np.arange(2)] * 3, np.array([0, 0, 1])), workers)
        got = imbalance("duration", found.spread("duration"))
        assert (got.steps, got.excess_ns) == (2, 5)
        assert beyond_median(found.means("duration"), found.alignment.attempt).tolist() == [-5, 5, 0]

    def test_nothing_to_compare_is_not_zero(self):
        got = imbalance("duration", side_by_side(steps_of([10])).spread("duration"))
        assert (got.steps, got.excess_ns, got.ratio) == (0, None, None)


def test_workers_that_wait_for_each_other_are_compared_without_exposed_communication():
    late = steps_of([100], activity__kernel=[90], activity__communication=[10])
    early = steps_of([100], activity__kernel=[60], activity__communication=[40])
    found = side_by_side(early, late)
    assert found.compared_by == "own"
    assert found.values("own").tolist() == [60, 90]
    assert found.spread("own").slowest.tolist() == [1]
    assert found.spread("duration").slowest.tolist() == [NONE]


def test_excess_is_the_part_furthest_beyond_the_median_and_never_the_wait_for_others():
    workers = [
        steps_of([100], activity__kernel=[k], activity__communication=[100 - k], phase__input_wait=[w])
        for k, w in ((50, 1), (50, 1), (60, 1), (50, 31))
    ]
    got = excesses(side_by_side(*workers))
    assert [None if e is None else (e.family, e.part, e.ns) for e in got] == [
        None,
        None,
        ("activity", "kernel", 10),
        ("phase", "input_wait", 30),
    ]


class TestCollectiveWaits:
    LABEL = ("all_reduce", "0", 2, True)

    def waits(self, *runs, label=LABEL):
        alignment = numbered(*([0, 1] for _ in runs))
        columns = [tuple(np.array(c, np.int64) for c in zip(*own, strict=True)) for own in runs]
        return collective_waits(alignment, columns, [[label]] * len(runs))

    def test_the_shortest_run_is_that_of_the_last_to_come(self):
        got = self.waits([(0, 0, 30), (0, 0, 5), (1, 0, 7)], [(0, 0, 10), (0, 0, 9), (1, 0, 9)])
        assert got.wait_ns.tolist() == [20, 4 + 2]
        assert got.last.tolist() == [2, 1]
        assert got.matched.tolist() == [3, 3]
        assert got.steps.tolist() == [2, 2]

    def test_what_only_one_worker_tells_of_is_not_matched(self):
        got = self.waits([(0, 0, 30), (0, 0, 5)], [(0, 0, 10)])
        assert got.wait_ns.tolist() == [20, 0]
        assert got.matched.tolist() == [1, 1]

    def test_more_workers_than_the_group_has_ranks_are_several_groups_of_one_name(self):
        got = self.waits([(0, 0, 30)], [(0, 0, 10)], [(0, 0, 20)])
        assert got.matched.tolist() == [0, 0, 0]

    def test_a_group_whose_size_is_not_told_is_matched(self):
        label = ("all_reduce", None, None, True)
        assert self.waits([(0, 0, 30)], [(0, 0, 10)], [(0, 0, 20)], label=label).wait_ns.tolist() == [20, 0, 10]


class TestMap:
    def test_each_step_by_itself_where_there_is_room(self):
        found = side_by_side(steps_of([10, 20]), steps_of([30, 40]))
        shown = rank_map(found, "duration", 0, 10, 10)
        assert shown.cells.tolist() == [[10, 20], [30, 40]]
        assert (shown.mean.tolist(), shown.slowest.tolist()) == ([20, 30], [1, 1])

    def test_only_steps_that_were_measured_take_room(self):
        worker = steps_of([10] * 4, activity__kernel=[NONE, 5, NONE, 7], phase__forward=[1, 2, 4, 8])
        found = side_by_side(worker, worker)
        shown = rank_map(found, "activity.kernel", 0, 10, 10)
        assert (shown.count, shown.first.tolist()) == (2, [1, 3])
        assert part_means(found, shown)["phase.forward"].tolist() == [2, 8]  # of these very steps

    @given(st.lists(st.lists(st.integers(1, 1000), min_size=1, max_size=9), min_size=1, max_size=4), st.integers(1, 5))
    def test_stretches_hold_what_their_steps_hold(self, durations, columns):
        found = side_by_side(*(steps_of(own) for own in durations))
        shown = rank_map(found, "duration", 0, 100, columns)
        assert shown.first.tolist()[1:] == (shown.last + 1).tolist()[:-1]
        for c, (first, last) in enumerate(zip(shown.first, shown.last, strict=True)):
            inside = [own[first : last + 1] for own in durations]
            every = [ns for own in inside for ns in own]
            assert (shown.min[c], shown.max[c]) == (min(every), max(every))
            assert shown.mean[c] == pytest.approx(sum(every) / len(every))
            for w, own in enumerate(inside):
                assert shown.cells[w, c] == pytest.approx(sum(own) / len(own)) if own else np.isnan(shown.cells[w, c])
