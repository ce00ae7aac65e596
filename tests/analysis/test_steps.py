"""Steps, their activity and their phases, on event tables of a few rows (ns)."""

import json

import numpy as np
import pytest

from stepscope.analysis.activity import activity_by_step
from stepscope.analysis.capture import merge
from stepscope.analysis.gpu import gpus
from stepscope.analysis.kernel_runs import kernel_runs
from stepscope.analysis.launches import link
from stepscope.analysis.phases import partition, recorded_phases
from stepscope.analysis.steps import find_steps
from stepscope.schema import ACTIVITIES, NONE, PHASES, Events, Kind
from tests.analysis.table import Table


def steps_of(*windows, live=None):
    capture = merge([w.events() for w in windows])
    return find_steps(live.events() if live else Events.empty(), capture, link(capture.events))


def spans(steps):
    return list(zip(steps.id.tolist(), steps.start_ns.tolist(), steps.end_ns.tolist(), strict=True))


def classes(table):
    """Non-zero classes of each step."""
    events = table.events()
    capture = merge([events])
    steps = find_steps(Events.empty(), capture, link(events))
    classes = activity_by_step(events, steps)
    assert list(classes) == list(ACTIVITIES)
    assert sum(classes.values()).tolist() == steps.duration_ns.tolist()
    return [{n: int(v[i]) for n, v in classes.items() if v[i]} for i in range(len(steps))]


class TestSteps:
    def test_a_step_ends_with_the_device_work_launched_in_it_and_the_next_starts_there(self):
        # Host steps [0,100] and [100,200]; kernels [10,400] and [400,500].
        table = Table().step(10, 0, 100).step(11, 100, 100)
        table.launch(5, 3, 1).launch(105, 3, 2).kernel("a", 10, 390, 1).kernel("b", 400, 100, 2)
        steps = steps_of(table)
        assert spans(steps) == [(10, 0, 400), (11, 400, 500)]
        assert steps.host_ns.tolist() == [100, 100]

    def test_a_step_whose_work_ends_before_that_of_the_one_before_has_no_time_of_its_own(self):
        table = Table().step(0, 0, 100).step(1, 100, 100).launch(5, 3, 1).launch(105, 3, 2)
        table.kernel("long", 10, 490, 1, stream=20).kernel("short", 110, 20, 2)
        assert spans(steps_of(table)) == [(0, 0, 500), (1, 500, 500)]

    def test_launches_of_other_threads_extend_the_step_in_whose_time_they_start(self):
        table = Table().step(0, 0, 100, tid=1).launch(99, 3, 1, tid=2).kernel("k", 150, 50, 1)
        assert spans(steps_of(table)) == [(0, 0, 200)]

    def test_a_launch_at_the_boundary_belongs_to_the_later_step(self):
        table = Table().step(0, 0, 100).step(1, 100, 100).launch(100, 3, 1).kernel("k", 110, 190, 1)
        assert spans(steps_of(table)) == [(0, 0, 100), (1, 100, 300)]

    def test_markers_on_device_lanes_are_no_steps(self):
        table = Table().step(0, 0, 100).device(Kind.STEP, "ProfilerStep#0", 10, 80)
        assert spans(steps_of(table)) == [(0, 0, 100)]

    def test_the_outermost_of_nested_markers_counts(self):
        table = Table().step(7, 0, 100).step(70, 10, 20).step(71, 40, 60)
        steps = steps_of(table)
        assert spans(steps) == [(7, 0, 100)]
        assert steps.nested == 2

    def test_markers_of_two_threads_that_overlap_share_no_time(self):
        table = Table().step(0, 0, 100, tid=1).step(0, 60, 100, tid=2)
        assert spans(steps_of(table)) == [(0, 0, 100), (0, 100, 160)]

    def test_one_id_twice_and_gaps_in_ids_are_kept(self):
        assert spans(steps_of(Table().step(3, 0, 10).step(3, 50, 10).step(9, 60, 10))) == [
            (3, 0, 10),
            (3, 50, 60),
            (9, 60, 70),
        ]

    def test_labels_carry_the_number(self):
        table = Table().step(5, 0, 10).host(Kind.STEP, "train", 10, 10, step=6).host(Kind.STEP, "ProfilerStep*", 20, 10)
        steps = steps_of(table)
        assert steps.label == ["ProfilerStep#5", "train 6", "ProfilerStep*"]
        assert steps.id.tolist() == [5, 6, NONE]

    def test_nothing(self):
        assert len(steps_of(Table())) == 0
        assert len(steps_of()) == 0


class TestCompleteness:
    def test_launches_beyond_the_last_one_that_ran_cut_the_step(self):
        table = Table().step(0, 0, 100).step(1, 100, 100)
        for i, ts in enumerate((10, 20, 110, 120), start=1):
            table.launch(ts, 2, i)
        table.kernel("k", 30, 5, 1).kernel("k", 40, 5, 2).kernel("k", 130, 5, 3)
        assert steps_of(table).complete.tolist() == [True, False]

    def test_launches_before_the_first_one_that_ran_cut_the_step(self):
        table = Table().step(0, 0, 100).step(1, 100, 100).launch(10, 2, 1).launch(20, 2, 2).launch(110, 2, 3)
        table.kernel("k", 30, 5, 2).kernel("k", 130, 5, 3)
        assert steps_of(table).complete.tolist() == [False, True]

    def test_a_lost_run_in_between_cuts_nothing(self):
        table = Table().step(0, 0, 100).launch(10, 2, 1).launch(20, 2, 2).launch(30, 2, 3)
        table.kernel("k", 30, 5, 1).kernel("k", 50, 5, 3)
        assert steps_of(table).complete.tolist() == [True]

    def test_calls_that_start_no_kernel_cut_nothing(self):
        table = Table().step(0, 0, 100).launch(10, 2, 1).launch(20, 2, 2, name="cudaMemsetAsync").kernel("k", 30, 5, 1)
        assert steps_of(table).complete.tolist() == [True]

    def test_each_window_has_its_own_edges(self):
        first = Table().step(0, 0, 100).launch(10, 2, 1).launch(20, 2, 2).kernel("k", 30, 5, 1)
        second = Table().step(5, 500, 100).launch(510, 2, 1).kernel("k", 530, 5, 1)
        assert steps_of(first, second).complete.tolist() == [False, True]

    def test_the_hook_tells_cut_and_averaged_steps(self):
        events = Table().step(0, 0, 10).step(1, 10, 10).step(2, 20, 10).events()
        events.args_values = [json.dumps({"complete": False}), json.dumps({"averaged": 5})]
        events.args = np.array([0, 1, NONE], np.int32)
        steps = find_steps(events, merge([]), link(Events.empty()))
        assert steps.complete.tolist() == [False, True, True]
        assert steps.averaged.tolist() == [1, 5, 1]


class TestAlwaysOnStream:
    def live(self):
        table = Table()
        for number in range(4):
            table.host(Kind.STEP, "step", number * 1000, 1000, step=number)
        return table

    def test_its_steps_win_and_markers_in_windows_are_copies(self):
        window = Table().step(1, 1002, 995).step(2, 2001, 998).op("mm", 1005, 10)
        steps = steps_of(window, live=self.live())
        assert spans(steps) == [(0, 0, 1000), (1, 1000, 2000), (2, 2000, 3000), (3, 3000, 4000)]
        assert steps.deep.tolist() == [False, True, True, False]
        assert steps.from_live.all()

    def test_a_step_that_the_window_covers_in_part_is_not_deep(self):
        window = Table().op("mm", 1500, 600)
        assert steps_of(window, live=self.live()).deep.tolist() == [False] * 4

    def test_a_marker_after_the_end_of_the_stream_is_a_step(self):
        window = Table().step(3, 3001, 998).step(4, 4001, 998)
        steps = steps_of(window, live=self.live())
        assert spans(steps)[3:] == [(3, 3000, 4000), (4, 4001, 4999)]
        assert steps.from_live.tolist() == [True] * 4 + [False]

    def test_windows_are_told_apart(self):
        first = Table().op("mm", 1000, 1000)
        second = Table().op("mm", 3000, 1000)
        assert steps_of(first, second, live=self.live()).window.tolist() == [NONE, 0, NONE, 1]


class TestActivity:
    def test_a_device_that_is_always_busy_leaves_nothing_to_other_classes(self):
        table = Table().step(5, 0, 100).op("mm", 0, 50).launch(0, 5, 1).launch(15, 3, 2)
        table.kernel("sgemm", 0, 100, 1).device(Kind.MEMCPY, "Memcpy HtoD", 20, 10, stream=9, correlation=2)
        assert classes(table) == [{"kernel": 100}]

    def test_each_class_takes_what_no_earlier_one_took(self):
        # kernel [10,20], collective [15,30] -> 10, copy [28,40] -> 10, fill [40,45] -> 5, launch [0,12] -> 10,
        # loader [50,60] -> 10, operator [40,70] -> [45,50] + [60,70] = 15, rest [70,100] = 30
        table = Table().step(0, 0, 100).kernel("k", 10, 10)
        table.device(Kind.COLLECTIVE, "nccl", 15, 15, stream=8).device(Kind.MEMCPY, "c", 28, 12).launch(0, 12, 1)
        table.device(Kind.MEMSET, "s", 40, 5).host(Kind.DATALOADER, "next", 50, 10).op("mm", 40, 30)
        assert classes(table) == [
            {
                "kernel": 10,
                "communication": 10,
                "memcpy": 10,
                "memset": 5,
                "runtime": 10,
                "dataloader": 10,
                "cpu": 15,
                "other": 30,
            }
        ]

    @pytest.mark.parametrize("kind", [Kind.ANNOTATION, Kind.PYTHON, Kind.MODULE, Kind.PHASE, Kind.OVERHEAD])
    def test_frames_around_work_are_not_work(self, kind):
        assert classes(Table().step(0, 0, 100).host(kind, "x", 0, 100)) == [{"other": 100}]

    @pytest.mark.parametrize("kind", [Kind.RUNTIME, Kind.LAUNCH, Kind.SYNC])
    def test_calls_of_the_device_runtime(self, kind):
        assert classes(Table().step(0, 0, 100).host(kind, "call", 10, 30)) == [{"runtime": 30, "other": 70}]

    def test_synchronisation_records_of_a_device_are_not_its_work(self):
        assert classes(Table().step(0, 0, 100).device(Kind.SYNC, "Stream Sync", 10, 30)) == [{"other": 100}]


def gpus_of(capture):
    links = link(capture.events)
    return gpus(capture.events, find_steps(Events.empty(), capture, links), kernel_runs(capture.events, links))


class TestGpu:
    def test_both_denominators(self):
        # Steps [0,100] and [150,250], kernels [10,90] and [150,190]; work between the steps does not count.
        table = Table().step(0, 0, 100).step(1, 150, 100).kernel("k", 10, 80).kernel("k", 150, 40).kernel("k", 110, 20)
        capture = merge([table.events()])
        (gpu,) = gpus_of(capture)
        assert (gpu.busy_ns, gpu.utilization_steps, gpu.utilization_window) == (120, 120 / 200, 120 / 250)

    def test_copies_alone_make_a_device_that_is_not_busy(self):
        capture = merge([Table().step(0, 0, 100).device(Kind.MEMCPY, "c", 0, 50, device=3).events()])
        (gpu,) = gpus_of(capture)
        assert (gpu.device, gpu.busy_ns, gpu.utilization_steps) == (3, 0, 0.0)

    def test_without_steps_nothing_is_known(self):
        capture = merge([Table().kernel("k", 0, 50).events()])
        (gpu,) = gpus_of(capture)
        assert (gpu.busy_ns, gpu.utilization_steps, gpu.utilization_window) == (None, None, None)


class TestPhases:
    def phases(self, table, visible=None):
        events = table.events()
        steps = find_steps(events, merge([]), link(Events.empty()))
        found = partition(recorded_phases(events, visible), steps)
        assert sum(found.ns.values()).tolist() == steps.host_ns.tolist()
        return found

    def test_the_innermost_phase_has_the_time(self):
        # optimizer [50,90] with a closure: forward [55,60], backward [60,75]
        table = Table().step(0, 0, 100).phase("input_wait", 0, 10).phase("forward", 20, 20).phase("optimizer", 50, 40)
        table.phase("forward", 55, 5).phase("backward", 60, 15)
        found = self.phases(table)
        assert {n: v.tolist() for n, v in found.ns.items()} == {
            "input_wait": [10],
            "forward": [25],
            "backward": [15],
            "optimizer": [20],
            "other": [30],
        }

    def test_phases_of_other_threads_do_not_count(self):
        table = Table().step(0, 0, 100, tid=1).phase("forward", 0, 50, tid=2).phase("backward", 50, 20, tid=1)
        assert {n: v.tolist() for n, v in self.phases(table).ns.items()} == {
            "forward": [0],
            "backward": [20],
            "other": [80],
        }

    def test_a_phase_across_a_boundary_is_shared(self):
        table = Table().step(0, 0, 100).step(1, 100, 100).phase("forward", 90, 30)
        assert self.phases(table).ns["forward"].tolist() == [10, 20]

    def test_a_step_without_a_phase_was_not_measured(self):
        table = Table().step(0, 0, 100).step(1, 100, 100).phase("forward", 100, 30)
        assert self.phases(table).measured.tolist() == [False, True]

    def test_phases_that_the_hook_cannot_see_are_absent_and_those_it_can_are_0(self):
        table = Table().step(0, 0, 100).phase("compute", 10, 80)
        assert set(self.phases(table).ns) == {"compute", "other"}
        found = self.phases(table, visible=("input_wait", "compute"))
        assert {n: v.tolist() for n, v in found.ns.items()} == {"input_wait": [0], "compute": [80], "other": [20]}

    def test_unknown_names_are_other(self):
        found = self.phases(Table().step(0, 0, 100).phase("forward", 0, 100).phase("checkpoint", 20, 30))
        assert {n: v.tolist() for n, v in found.ns.items()} == {"forward": [70], "other": [30]}

    def test_names_are_those_of_the_schema(self):
        assert PHASES[-1] == "other"
