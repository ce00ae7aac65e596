"""Kernels, launches, copies, operators and the device timeline, on event tables of a few rows (ns)."""

import numpy as np
import pytest

from stepscope.analysis.annotations import annotation_times
from stepscope.analysis.capture import merge
from stepscope.analysis.device_timeline import device_timeline
from stepscope.analysis.kernel_runs import kernel_runs
from stepscope.analysis.kernels import activity_time, kernels, overlaps_on_queue
from stepscope.analysis.launches import launches, link
from stepscope.analysis.memcpy import Copies, copies, direction
from stepscope.analysis.nesting import nest
from stepscope.analysis.operators import operators
from stepscope.analysis.queues import queue_order
from stepscope.schema import NONE, Events, Kind
from tests.analysis.table import Table


def kernels_of(table):
    return kernels(kernel_runs(table.events()))


def overlaps_of(table):
    events = table.events()
    return overlaps_on_queue(events, queue_order(events, link(events).run))


class TestKernels:
    def test_overlaps_on_one_stream_count_once_in_clipped(self):
        # [10,110] and [60,160] on one stream: raw 100 + 100, together 150.
        (kernel,) = kernels_of(Table().kernel("gemm", 10, 100).kernel("gemm", 60, 100))
        assert (kernel.count, kernel.total_ns, kernel.clipped_ns) == (2, 200, 150)

    def test_streams_and_devices_are_clipped_apart(self):
        table = Table().kernel("a", 0, 100).kernel("a", 0, 100, stream=8).kernel("a", 0, 100, device=1)
        assert kernels_of(table)[0].clipped_ns == 300

    def test_a_record_that_spills_over_later_ones_takes_their_clipped_time(self):
        spill, tiny = kernels_of(Table().kernel("spill", 0, 1000).kernel("tiny", 10, 8).kernel("tiny", 995, 10))
        assert (spill.total_ns, spill.clipped_ns) == (1000, 1000)
        assert (tiny.total_ns, tiny.clipped_ns) == (18, 5)

    def test_order_extremes_and_kind(self):
        table = Table().kernel("a", 0, 10).kernel("a", 20, 40).device(Kind.COLLECTIVE, "ncclDevKernel", 0, 60, stream=9)
        nccl, a = kernels_of(table)
        assert (nccl.name, nccl.kind, a.kind) == ("ncclDevKernel", "communication", "compute")
        assert (a.count, a.total_ns, a.mean_ns, a.min_ns, a.max_ns) == (2, 50, 25.0, 10, 40)

    def test_times_far_apart_do_not_overflow(self):
        far = 1_700_000_000_000_000_000
        table = Table()
        for stream in range(50):
            table.kernel("k", 1, 10, stream=stream).kernel("k", far, 10, stream=stream)
        assert kernels_of(table)[0].clipped_ns == 50 * 20

    @pytest.mark.parametrize(("overlap", "count"), [(0, 0), (1, 0), (2, 1)])
    def test_rounding_is_no_overlap(self, overlap, count):
        table = Table().kernel("a", 0, 100).kernel("b", 100 - overlap, 50).kernel("c", 501, 1)
        assert overlaps_of(table) == count

    def test_rounding_to_microseconds_is_no_overlap(self):
        table = (
            Table().kernel("a", 0, 11_000).kernel("b", 10_000, 5_000).kernel("c", 13_000, 5_000).kernel("d", 21_000, 5)
        )
        assert overlaps_of(table) == 1  # b ends at 15 us, c starts at 13 us; a and b differ by 1 us

    def test_raw_sums(self):
        table = Table().kernel("a", 0, 10).device(Kind.COLLECTIVE, "n", 5, 10).device(Kind.MEMSET, "s", 0, 3)
        table.host(Kind.SYNC, "cudaDeviceSynchronize", 0, 50)
        sums = activity_time(table.events())
        assert (sums.kernel, sums.memcpy, sums.memset, sums.sync) == (20, 0, 3, 50)
        table.device(Kind.SYNC, "Stream Sync", 0, 45)  # the same wait as the device lane saw it
        assert activity_time(table.events()).sync == 45

    def test_without_device_work_device_times_are_unknown(self):
        sums = activity_time(Table().op("mm", 0, 10).events())
        assert (sums.kernel, sums.memcpy, sums.memset, sums.sync) == (None, None, None, None)


class TestLaunches:
    def of(self, table):
        events = table.events()
        links = link(events)
        return launches(events, links, queue_order(events, links.run))

    def test_latency_is_from_the_end_of_the_call_to_the_first_run(self):
        table = Table().launch(10, 20, 1, name="cudaGraphLaunch")
        for i in range(100):
            table.kernel("node", 40 + 4 * i, 3, 1)
        found = self.of(table)
        assert (found.count, found.linked, found.without_run, found.runs_without_launch) == (1, 1, 0, 0)
        assert found.latency_ns == {"p50": 10, "p90": 10, "p99": 10, "max": 10, "total": 10}

    def test_a_run_that_starts_before_its_call_ended_waited_0_and_is_counted(self):
        found = self.of(Table().launch(0, 5, 1).kernel("k", 3, 10, 1).launch(20, 5, 2).kernel("k", 18, 10, 2))
        assert found.latency_ns["max"] == 0
        assert (found.negative, found.before_call) == (2, 1)

    def test_what_does_not_meet_is_counted_on_both_sides(self):
        table = Table().launch(0, 5, 1).launch(10, 5, 2).kernel("k", 8, 10, 1).kernel("k", 30, 10, 9).kernel("k", 50, 1)
        found = self.of(table)
        assert (found.count, found.linked, found.without_run, found.runs_without_launch) == (2, 1, 1, 2)

    def test_any_runtime_call_that_work_points_to_is_a_launch(self):
        table = Table().host(Kind.RUNTIME, "hipSomethingNew", 0, 5, correlation=4).kernel("k", 8, 10, 4)
        table.host(Kind.RUNTIME, "cudaMalloc", 20, 5, correlation=5)
        assert (self.of(table).count, self.of(table).linked) == (1, 1)

    def test_id_0_is_none_unless_a_single_launch_has_it(self):
        one = Table().launch(0, 5, 0).kernel("k", 8, 10, 0)
        assert self.of(one).linked == 1
        assert self.of(one.launch(20, 5, 0).kernel("k", 28, 10, 0)).linked == 0

    def test_nothing(self):
        found = self.of(Table())
        assert (found.count, found.latency_ns) == (0, None)


class TestWindows:
    def test_ids_of_one_window_do_not_meet_those_of_another(self):
        first = Table().launch(0, 5, 1).kernel("k", 10, 5, 1).events()
        second = Table().kernel("k", 1010, 5, 1).launch(1000, 5, 1).events()
        capture = merge([first, second])
        links = link(capture.events)
        found = launches(capture.events, links, queue_order(capture.events, links.run))
        assert (found.linked, found.runs_without_launch, found.latency_ns["max"]) == (2, 0, 5)
        assert capture.extent_ns.tolist() == [[0, 15], [1000, 1015]]
        assert capture.window_of(np.arange(4)).tolist() == [0, 0, 1, 1]

    def test_names_and_lanes_are_joined(self):
        first = Table().op("mm", 0, 5).op("add", 5, 5, tid=2).events()
        second = Table().op("add", 10, 5, tid=2).op("mm", 15, 5, tid=3).events()
        merged = merge([first, second]).events
        assert [merged.text(i) for i in range(4)] == ["mm", "add", "add", "mm"]
        assert [merged.lanes[i].tid for i in merged.lane] == ["1", "2", "2", "3"]

    def test_args_keep_their_texts(self):
        first, second = Table().op("mm", 0, 5).events(), Table().op("mm", 5, 5).op("mm", 9, 1).events()
        first.args_values, first.args = ['{"a": 1}'], np.array([0], np.int32)
        second.args_values, second.args = ['{"a": 2}'], np.array([0, NONE], np.int32)
        merged = merge([first, second]).events
        assert [merged.args_of(i) for i in range(3)] == [{"a": 1}, {"a": 2}, {}]


class TestTimeline:
    def test_each_class_is_what_no_class_before_it_covers(self):
        # compute [0,10] and [40,50]; collective [5,30]; copy [28,35]; fill [60,70]; idle [35,40] and [50,60]
        table = Table().kernel("k", 0, 10).kernel("k", 40, 10).device(Kind.COLLECTIVE, "n", 5, 25, stream=8)
        table.device(Kind.MEMCPY, "c", 28, 7, stream=9).device(Kind.MEMSET, "s", 60, 10)
        found = device_timeline(table.events())
        assert (found.total, found.compute, found.exposed_communication) == (70, 20, 20)
        assert (found.exposed_memcpy, found.exposed_memset, found.idle) == (5, 10, 15)
        assert (found.communication, found.memcpy) == (25, 7)

    def test_windows_add_up_without_the_time_between_them(self):
        first, second = (
            Table().kernel("k", 0, 10).events(),
            Table().kernel("k", 1000, 10).kernel("k", 1030, 10).events(),
        )
        both = device_timeline(first) + device_timeline(second)
        assert (both.total, both.compute, both.idle) == (50, 30, 20)

    def test_none_without_device_work(self):
        assert device_timeline(Table().op("mm", 0, 10).events()) is None


class TestCopies:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("Memcpy HtoD (Pageable -> Device)", "HtoD"),
            ("Memcpy DtoH (Device -> Pinned)", "DtoH"),
            ("Memcpy DtoD (Device -> Device)", "DtoD"),
            ("Memcpy PtoP (Device -> Device)", "PtoP"),
            ("CopyHostToDevice", "HtoD"),
            ("CopyDeviceToDevice", "DtoD"),
            ("MemcpyH2D", "HtoD"),
            ("MEMCPYDtoH", "DtoH"),
            ("MemcpyD2D", "DtoD"),
            ("Memcpy", "unknown"),
            ("hipMemcpyAsync", "unknown"),
        ],
    )
    def test_direction(self, name, expected):
        assert direction(name) == expected

    def test_bytes_and_rate_count_copies_of_known_size(self):
        table = Table().device(Kind.MEMCPY, "Memcpy HtoD (Pinned -> Device)", 0, 10, size=1000)
        table.device(Kind.MEMCPY, "Memcpy HtoD (Pageable -> Device)", 20, 30, size=2000)
        table.device(Kind.MEMCPY, "Memcpy HtoD (Pageable -> Device)", 60, 50)
        table.device(Kind.MEMCPY, "Memcpy DtoH (Device -> Pinned)", 200, 10)
        assert copies(table.events()) == {
            "HtoD": Copies(count=3, bytes=3000, time_ns=90, bytes_per_s=3000 / 40e-9),
            "DtoH": Copies(count=1, bytes=None, time_ns=10, bytes_per_s=None),
        }


class TestNesting:
    def test_parents_across_lanes(self):
        table = (
            Table().op("a", 0, 100).op("b", 10, 50).op("c", 20, 10).op("d", 70, 30).op("other thread", 30, 10, tid=2)
        )
        events = table.events()
        tree = nest(events, np.arange(5))
        parent = {events.text(r): tree.parent[i] for i, r in enumerate(tree.rows.tolist())}
        names = [events.text(r) for r in tree.rows.tolist()]
        assert {n: names[p] if p != NONE else None for n, p in parent.items()} == {
            "a": None,
            "b": "a",
            "c": "b",
            "d": "a",
            "other thread": None,
        }

    def test_slices_that_overlap_without_nesting_keep_only_what_lies_inside(self):
        events = Table().op("a", 0, 10).op("b", 5, 20).events()
        tree = nest(events, np.arange(2))
        assert tree.parent.tolist() == [NONE, 0]
        assert tree.inside_ns.tolist() == [10, 5]


class TestOperators:
    def of(self, table):
        events = table.events()
        return {o.name: o for o in operators(events, link(events))}

    def test_host_self_is_without_operators_and_calls_inside(self):
        # linear [0,100] > addmm [10,90] > launch [20,50]
        found = self.of(Table().op("linear", 0, 100).op("addmm", 10, 80).launch(20, 30, 1).kernel("k", 60, 7, 1))
        assert (found["linear"].host_total_ns, found["linear"].host_self_ns) == (100, 20)
        assert (found["addmm"].host_total_ns, found["addmm"].host_self_ns) == (80, 50)
        assert (found["linear"].device_total_ns, found["linear"].device_self_ns) == (7, 0)
        assert (found["addmm"].device_total_ns, found["addmm"].device_self_ns) == (7, 7)

    def test_annotations_and_calls_in_between_hide_nothing(self):
        table = Table().op("mm", 0, 100).host(Kind.ANNOTATION, "region", 5, 80)
        table.host(Kind.RUNTIME, "cudaLaunchKernelExC", 10, 50).launch(20, 10, 1, name="cuLaunchKernel")
        found = self.of(table.kernel("k", 60, 7, 1))
        assert (found["mm"].device_self_ns, found["mm"].host_self_ns) == (7, 50)

    def test_work_launched_by_another_thread_is_not_the_operators(self):
        table = Table().op("mm", 0, 100).launch(20, 10, 1, tid=2).kernel("k", 60, 7, 1)
        assert self.of(table)["mm"].device_total_ns is None  # nobody's: the trace does not tell
        found = self.of(table.op("add", 0, 100, tid=3).launch(20, 10, 2, tid=3).kernel("k", 70, 5, 2))
        assert (found["mm"].device_total_ns, found["add"].device_total_ns) == (0, 5)

    def test_the_external_id_stands_in_for_a_lost_launch(self):
        table = Table().op("linear", 0, 100).op("mm", 10, 50, external_id=5).kernel("k", 60, 7, external_id=5)
        found = self.of(table)
        assert (found["mm"].device_self_ns, found["linear"].device_total_ns) == (7, 7)

    def test_an_external_id_that_two_operators_have_says_nothing(self):
        table = Table().op("a", 0, 10, external_id=5).op("b", 10, 10, external_id=5).kernel("k", 60, 7, external_id=5)
        assert {o.device_total_ns for o in self.of(table).values()} == {None}

    def test_a_graph_launch_brings_all_its_runs(self):
        table = Table().op("replay", 0, 100).launch(20, 10, 1).kernel("k", 60, 7, 1).kernel("k", 70, 5, 1)
        assert self.of(table)["replay"].device_self_ns == 12

    def test_without_a_device_its_times_are_unknown(self):
        found = self.of(Table().op("mm", 0, 100))
        assert (found["mm"].device_total_ns, found["mm"].device_self_ns) == (None, None)


class TestAnnotations:
    def test_durations_by_name(self):
        table = Table()
        for i, dur in enumerate((30, 10, 20)):
            table.host(Kind.ANNOTATION, "load", 100 * i, dur)
        (found,), *_ = annotation_times(Events.empty(), table.events())
        assert (found.count, found.total_ns, found.p50_ns, found.p99_ns) == (3, 60, 20, 30)

    def test_a_name_of_the_always_on_stream_is_not_counted_again_in_windows(self):
        live = Table().host(Kind.ANNOTATION, "load", 0, 10).host(Kind.ANNOTATION, "load", 100, 10).events()
        deep = Table().host(Kind.ANNOTATION, "load", 100, 9).host(Kind.ANNOTATION, "torch's own", 100, 50).events()
        assert [(a.name, a.count) for a in annotation_times(live, deep)[0]] == [("torch's own", 1), ("load", 2)]
