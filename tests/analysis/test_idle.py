"""Idle time of devices and streams by cause, on event tables of a few rows (ns)."""

import pytest

from stepscope.analysis.capture import merge
from stepscope.analysis.idle import idle_by_device, idle_by_stream
from stepscope.analysis.launches import link
from stepscope.schema import NONE, Kind
from tests.analysis.table import Table


def of(*tables, streams=False, threshold=30_000):
    capture = merge([t.events() for t in tables])
    function = idle_by_stream if streams else idle_by_device
    return function(capture, link(capture.events), kernel_wait_threshold_ns=threshold)


def causes(idle):
    return idle.host_wait_ns, idle.kernel_wait_ns, idle.other_ns


class TestCauses:
    def test_a_call_that_begins_after_the_gap_did_is_host_wait(self):
        # k1 ends at 110, the call of k2 starts at 111, k2 at 150: the gap of 40 waited for the host
        table = Table().launch(0, 5, 1).kernel("k1", 10, 100, 1).launch(111, 5, 2).kernel("k2", 150, 10, 2)
        (idle,) = of(table)
        assert (idle.span_ns, idle.busy_ns, idle.idle_ns) == (150, 110, 40)
        assert causes(idle) == (40, 0, 0)

    @pytest.mark.parametrize(("gap", "expected"), [(29_999, (0, 29_999, 0)), (30_000, (0, 0, 30_000))])
    def test_a_short_gap_before_work_that_was_queued_is_kernel_wait(self, gap, expected):
        table = Table().launch(0, 5, 1).launch(5, 5, 2).kernel("k1", 10, 100, 1).kernel("k2", 110 + gap, 10, 2)
        assert causes(of(table)[0]) == expected

    def test_a_call_at_the_moment_when_the_gap_begins_was_not_late(self):
        table = Table().launch(0, 5, 1).kernel("k1", 10, 100, 1).launch(110, 5, 2).kernel("k2", 150, 10, 2)
        assert causes(of(table)[0]) == (0, 40, 0)

    def test_without_a_launch_only_the_length_tells(self):
        table = Table().kernel("a", 0, 10).kernel("b", 15, 10).kernel("c", 50_025, 10)
        assert causes(of(table)[0]) == (0, 5, 50_000)
        assert of(table)[0].unlaunched_ns == 50_000

    def test_long_gaps_are_apart_by_whether_the_launch_is_known(self):
        table = Table().launch(0, 5, 1).kernel("a", 10, 10).kernel("b", 50_020, 10, 1).kernel("c", 90_030, 10)
        (idle,) = of(table)
        assert (idle.other_ns, idle.unlaunched_ns) == (90_000, 40_000)

    def test_the_threshold_is_a_parameter(self):
        table = Table().kernel("a", 0, 10).kernel("b", 15, 10)
        assert causes(of(table, threshold=5)[0]) == (0, 0, 5)

    def test_of_work_that_starts_together_what_was_queued_first_decides(self):
        table = Table().launch(0, 5, 1).launch(6, 3, 2).kernel("k", 10, 10, 1).launch(25, 2, 3)
        table.kernel("late", 30, 5, 3, stream=8).kernel("queued", 30, 5, 2)
        assert causes(of(table)[0]) == (0, 10, 0)


class TestSpans:
    def test_a_gap_begins_where_all_earlier_work_has_ended(self):
        table = Table().kernel("long", 0, 100).kernel("short", 10, 10, stream=8).kernel("next", 120, 10, stream=8)
        (idle,) = of(table)
        assert (idle.busy_ns, idle.idle_ns) == (110, 20)
        seven, eight = of(table, streams=True)
        assert (seven.stream, seven.span_ns, seven.idle_ns) == (7, 100, 0)
        assert (eight.stream, eight.span_ns, eight.idle_ns, eight.events) == (8, 120, 100, 2)

    def test_devices_are_apart(self):
        table = Table().kernel("a", 0, 10).kernel("b", 15, 10, device=1).kernel("c", 20, 10)
        assert [(i.device, i.idle_ns, i.stream) for i in of(table)] == [(0, 10, None), (1, 0, None)]

    def test_copies_and_fills_are_work_and_sync_records_are_not(self):
        table = Table().device(Kind.MEMCPY, "c", 0, 10).device(Kind.MEMSET, "s", 10, 10)
        table.device(Kind.SYNC, "Stream Sync", 20, 10).kernel("k", 30, 10)
        (idle,) = of(table)
        assert (idle.events, idle.busy_ns, idle.idle_ns) == (3, 30, 10)

    def test_between_windows_nothing_is_idle(self):
        first = Table().kernel("a", 0, 10).kernel("b", 15, 5)
        second = Table().kernel("a", 1000, 10).kernel("b", 1020, 5)
        (idle,) = of(first, second)
        assert (idle.span_ns, idle.busy_ns, idle.idle_ns) == (45, 30, 15)

    def test_a_queue_without_a_number_has_a_stream_of_its_own(self):
        table = Table().kernel("a", 0, 10, stream=NONE).kernel("b", 0, 5, stream=7)
        assert [(i.stream, i.span_ns) for i in of(table, streams=True)] == [(None, 10), (7, 5)]

    def test_nothing(self):
        assert of(Table().op("mm", 0, 10)) == []
        assert of(Table(), streams=True) == []
