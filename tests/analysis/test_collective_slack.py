"""Slack of collectives: what waits for them, when it could have begun, and the bandwidth that would hide them."""

import numpy as np
import pytest

from stepscope.analysis.capture import merge
from stepscope.analysis.collective_slack import SOURCES
from stepscope.analysis.collectives import collective_runs, communication
from stepscope.analysis.launches import link
from stepscope.schema import NONE, Kind
from tests.analysis.table import Table

US = 1000
TOLD = {
    "Collective name": "allreduce",
    "In msg nelems": 1000,
    "Out msg nelems": 1000,
    "dtype": "Float",
    "Group size": 2,
}


def step(dur=50, issued=True, wait=True, needed_at=30):
    """An all_reduce [100,100+dur] us on stream 20, compute of stream 7 up to ``needed_at`` us behind its begin and,
    launched behind a wait for it, again from its end on."""
    table = Table()
    if issued:
        table.op("c10d::allreduce_", 10 * US, 20 * US)
        table.host(Kind.SYNC, "cudaStreamWaitEvent", 11 * US, 100)  # its own stream waits for its input
        table.host(Kind.SYNC, "cudaStreamWaitEvent", 25 * US, 100)
    table.launch(20 * US, US, 1)
    table.launch(40 * US, US, 2)
    if wait:
        table.host(Kind.SYNC, "cudaStreamWaitEvent", 50 * US, 100)
    table.launch(60 * US, US, 3)
    table.device(Kind.COLLECTIVE, "ncclDevKernel_AllReduce", 100 * US, dur * US, stream=20, correlation=1).told(**TOLD)
    table.device(Kind.KERNEL, "gemm", 90 * US, (10 + needed_at) * US, correlation=2)
    end = max(100 + dur, 100 + needed_at)
    return table.device(Kind.KERNEL, "sgd", (end + 3) * US, 10 * US, correlation=3)


def slack(table):
    """(slack, stall in us, what they are known from) of each run."""
    events = table.events()
    found = collective_runs(events, link(events)).slack
    return [
        (None if ns == NONE else ns / US, None if stall == NONE else stall / US, SOURCES[source])
        for ns, stall, source in zip(found.ns.tolist(), found.stall_ns.tolist(), found.source.tolist(), strict=True)
    ]


def record(table, recorded, waits, number, stream=7, source=20):
    """A record of a stream that waits for an event of another; ``recorded`` and ``waits`` are begins of host calls."""
    table.host(Kind.RUNTIME, "cudaEventRecord", recorded, 100, correlation=number)
    table.host(Kind.SYNC, "cudaStreamWaitEvent", waits, 100, correlation=number + 1)
    table.device(Kind.SYNC, "Stream Wait Event", waits, 100, stream=stream, correlation=number + 1)
    return table.told(
        cuda_sync_kind="Stream Wait Event", wait_on_stream=source, wait_on_cuda_event_record_corr_id=number
    )


class TestCalls:
    def test_other_work_hides_the_first_part(self):
        assert slack(step()) == [(30, 20, "calls")]  # gemm ends 30 us behind its begin, sgd waits for the other 20

    def test_work_that_goes_on_longer_hides_all(self):
        assert slack(step(needed_at=80)) == [(80, 0, "calls")]

    def test_a_device_without_other_work_gives_no_slack(self):
        assert slack(step(needed_at=-5)) == [(0, 50, "calls")]

    def test_work_launched_late_is_no_stall(self):
        table = step().launch(190 * US, US, 4)  # the host is slow: nothing else was there to begin
        table.device(Kind.KERNEL, "late", 192 * US, US, stream=8, correlation=4)
        assert slack(table) == [(30, 20, "calls")]
        table = Table().op("c10d::allreduce_", 10 * US, 20 * US).launch(20 * US, US, 1)
        table.host(Kind.SYNC, "cudaStreamWaitEvent", 50 * US, 100).launch(190 * US, US, 4)
        table.device(Kind.COLLECTIVE, "ncclDevKernel_AllReduce", 100 * US, 50 * US, stream=20, correlation=1)
        assert slack(table.device(Kind.KERNEL, "late", 192 * US, US, correlation=4)) == [(91, 0, "calls")]

    def test_waits_inside_the_issuing_operator_are_of_its_own_stream(self):
        table = step(wait=False)  # without another wait nothing is known to wait for it
        assert slack(table) == [(None, None, None)]

    def test_what_began_before_its_end_did_not_wait_for_it(self):
        table = step().launch(55 * US, US, 4)
        assert slack(table.device(Kind.KERNEL, "side", 110 * US, 90 * US, stream=8, correlation=4)) == [
            (30, 20, "calls")
        ]

    def test_what_began_behind_other_work_waited_for_that(self):
        # stream 8 goes on at 203 us, when stream 9 has ended, not at 150 us, when the all_reduce has
        table = step(needed_at=110).launch(45 * US, US, 4).launch(55 * US, US, 5)
        table.device(Kind.KERNEL, "other", 95 * US, 105 * US, stream=9, correlation=4)
        table.device(Kind.KERNEL, "side", 203 * US, US, stream=8, correlation=5)
        assert slack(table) == [(103, 0, "calls")]

    def test_the_host_that_waits_for_the_device(self):
        table = Table().op("c10d::allreduce_", 10 * US, 20 * US).launch(20 * US, US, 1).launch(40 * US, US, 2)
        table.host(Kind.SYNC, "cudaDeviceSynchronize", 60 * US, 92 * US)
        table.device(Kind.COLLECTIVE, "ncclDevKernel_AllReduce", 100 * US, 50 * US, stream=20, correlation=1)
        table.device(Kind.KERNEL, "gemm", 90 * US, 40 * US, correlation=2)
        assert slack(table) == [(30, 20, "calls")]


class TestOrder:
    def test_without_the_operator_all_that_follows_may_wait(self):
        assert slack(step(issued=False)) == [(30, 20, "order")]

    def test_without_calls_too(self):
        assert slack(step(issued=False, wait=False)) == [(30, 20, "order")]

    def test_the_next_work_of_its_own_stream(self):
        table = Table().launch(20 * US, US, 1).launch(30 * US, US, 2)
        table.device(Kind.COLLECTIVE, "ncclDevKernel_AllGather", 100 * US, 50 * US, stream=7, correlation=1)
        assert slack(table.device(Kind.KERNEL, "gemm", 151 * US, US, correlation=2)) == [(0, 50, "order")]

    def test_nothing_follows(self):
        table = Table().launch(20 * US, US, 1)
        table.device(Kind.COLLECTIVE, "ncclDevKernel_AllGather", 100 * US, 50 * US, stream=7, correlation=1)
        assert slack(table) == [(None, None, None)]

    def test_other_devices_do_not_wait(self):
        table = step().launch(61 * US, US, 4)
        table.device(Kind.KERNEL, "elsewhere", 151 * US, US, device=1, correlation=4)
        assert slack(table) == [(30, 20, "calls")]

    def test_nothing_is_known_inside_a_graph_or_without_a_launch(self):
        table = step()
        table.device(Kind.COLLECTIVE, "ncclDevKernel_AllReduce", 300 * US, US, stream=20)
        table.launch(70 * US, US, 5).device(Kind.COLLECTIVE, "ncclDevKernel_AllReduce", 310 * US, US, 20, correlation=5)
        table.device(Kind.KERNEL, "in the same graph", 312 * US, US, correlation=5)
        assert slack(table)[1:] == [(None, None, None)] * 2


class TestRecords:
    def test_the_stream_that_waits_and_the_event_are_known(self):
        table = step(wait=False).launch(36 * US, US, 4)  # stream 8 waits for nothing, though launched behind it
        table.device(Kind.KERNEL, "side", 152 * US, US, stream=8, correlation=4)
        assert slack(record(table, 30 * US, 50 * US, 90)) == [(30, 20, "records")]

    def test_an_event_of_before_the_launch_is_of_another_run(self):
        assert slack(record(step(wait=False), 15 * US, 50 * US, 90)) == [(None, None, None)]

    def test_ids_in_records_are_those_of_their_window(self):
        one = record(step(wait=False), 30 * US, 50 * US, 90).events()
        events = merge([one, one]).events
        found = collective_runs(events, link(events), windows=[one, one]).slack
        assert (found.ns.tolist(), [SOURCES[s] for s in found.source]) == ([30 * US] * 2, ["records"] * 2)

    @pytest.mark.parametrize("damage", ["20", -1, None, True, 2.5, 1 << 70])
    def test_damaged_records_tell_nothing(self, damage):
        table = record(step(issued=False, wait=False), 30 * US, 50 * US, 90, source=damage)
        assert slack(table) == [(30, 20, "order")]


class TestSums:
    def of(self, *tables):
        events = merge([table.events() for table in tables]).events
        windows = [table.events() for table in tables]
        return communication(events, collective_runs(events, link(events), windows=windows))

    def test_needed_bandwidth_is_that_of_the_runs_that_are_too_long(self):
        # 4000 bytes in 50 us with a slack of 30 us, and in 50 us with one of 80 us
        found = self.of(step(), step(needed_at=80))
        (row,) = found.collectives
        assert (row.slack_ns, row.slack_known, row.slack_from, row.in_slack) == (110 * US, 2, "calls", 1)
        assert (row.stall_ns, found.stall_ns) == (20 * US, 20 * US)
        assert row.algbw_bytes_per_s == pytest.approx(8000 / 100e-6)
        assert row.needed_algbw_bytes_per_s == pytest.approx(4000 / 30e-6)
        assert row.needed_busbw_bytes_per_s == pytest.approx(4000 / 30e-6)  # 2 * (2 - 1) / 2

    def test_of_hidden_runs_it_is_what_keeps_them_so(self):
        assert self.of(step(needed_at=80)).collectives[0].needed_algbw_bytes_per_s == pytest.approx(4000 / 80e-6)

    def test_without_slack_no_bandwidth_hides_it(self):
        (row,) = self.of(step(needed_at=-5)).collectives
        assert (row.slack_ns, row.stall_ns, row.needed_algbw_bytes_per_s) == (0, 50 * US, None)

    def test_on_the_host_nothing_is_known(self):
        found = self.of(Table().host(Kind.ANNOTATION, "gloo:all_reduce", 0, 50, tid=9))
        assert (found.stall_ns, found.collectives[0].slack_ns, found.collectives[0].slack_from) == (None, None, None)

    def test_slack_and_stall_make_up_at_least_the_run(self):
        rng = np.random.default_rng(7)
        for _ in range(30):
            dur, needed_at = rng.integers(1, 90, 2).tolist()
            ((ns, stall, _),) = slack(step(dur=dur, needed_at=needed_at))
            assert ns + stall >= dur
            assert stall == max(dur - ns, 0)


@pytest.mark.parametrize("megascale", ["collective", "recv-done", "send", {}, [1], None, 7])
def test_args_that_only_look_like_those_of_megascale_are_ignored(megascale):
    """An operation without its ``recv-done``, and args of others under that name, in a trace of PyTorch too."""
    table = step().told(megascale=megascale, note={"megascale": 1})
    table.device(Kind.COLLECTIVE, "ncclDevKernel_AllReduce", 900 * US, US, stream=21).told(megascale=megascale)
    assert slack(table)[0] == slack(step())[0]
