"""Collectives: names, messages, bandwidths, and what computation hid."""

import math

import pytest

from stepscope.analysis.capture import merge
from stepscope.analysis.collectives import collective_runs, communication
from stepscope.analysis.launches import link
from stepscope.analysis.step_collectives import step_collectives
from stepscope.analysis.steps import find_steps
from stepscope.runs import open_run
from stepscope.schema import Events, Kind
from stepscope.summary import summarize
from tests.analysis.table import Table
from tests.builders import TraceBuilder

GB = 1e9


def runs_of(table, **group_sizes):
    events = table.events()
    return collective_runs(events, link(events), group_sizes)


def of(table, **group_sizes):
    events = table.events()
    return communication(events, collective_runs(events, link(events), group_sizes))


def metadata(name, sent, received, dtype="Float", group="0", size=8):
    told = {"Collective name": name, "In msg nelems": sent, "Out msg nelems": received}
    return told | {
        k: v for k, v in (("dtype", dtype), ("Process Group Name", group), ("Group size", size)) if v is not None
    }


def nccl(ts, dur, what="AllReduce", **told):
    return Table().device(Kind.COLLECTIVE, f"ncclDevKernel_{what}_Sum_f32_RING_LL", ts, dur).told(**told)


class TestBandwidth:
    """BF16 over 8 ranks in 100 us: a message of 8388608 * 2 = 16777216 bytes is 167.77216 GB/s."""

    def trace(self):
        big, part = 8_388_608, 1_048_576
        trace = TraceBuilder(rank=0, world_size=8).step(2, 0, 1300)
        cases = [
            ("AllGather", metadata("_allgather_base", part, big, "BFloat16"), 100),
            ("AllReduce", metadata("allreduce", big, big, "BFloat16"), 100),
            ("Broadcast", metadata("broadcast", big, big, "BFloat16"), 100),
            ("AllReduce", metadata("allreduce", big, big, "BFloat16", size=None), 100),
            ("AllReduce", metadata("allreduce", big, big, None), 100),
            ("AllReduce", metadata("allreduce", big, big, "BFloat16"), 0),
        ]
        for i, (what, told, dur) in enumerate(cases):
            trace.launch(80 + 200 * i, 5, correlation=101 + i)
            trace.kernel(f"ncclDevKernel_{what}_RING_LL", 100 + 200 * i, dur, stream=20, correlation=101 + i, **told)
        return trace

    def test_of_every_run(self):
        events = self.trace().window().events
        found = collective_runs(events, link(events))
        told = [found.messages[i] for i in found.message]
        assert [m.name for m in told] == ["all_gather", "all_reduce", "broadcast", *["all_reduce"] * 3]
        assert [None if math.isnan(m.bytes) else m.bytes for m in told] == [16_777_216] * 4 + [None, 16_777_216]
        message = 16_777_216 / 100e-6
        assert message == pytest.approx(167.77216 * GB)
        unknown = pytest.approx(math.nan, nan_ok=True)
        assert found.algbw.tolist() == [*[pytest.approx(message)] * 4, unknown, unknown]
        assert found.busbw.tolist() == [
            pytest.approx(146.80064 * GB),  # * 7 / 8
            pytest.approx(293.60128 * GB),  # * 2 * 7 / 8
            pytest.approx(167.77216 * GB),
            unknown,  # the size of the group is not told
            unknown,
            unknown,
        ]

    def test_of_each_collective_and_group(self, tmp_path):
        file = self.trace().write(tmp_path / "rank0.pt.trace.json")
        found = summarize(open_run(file))["workers"][0]["communication"]
        assert (found["total_ns"], found["exposed_ns"], found["overlapped_ns"]) == (500_000, 500_000, 0)
        assert found["collective_count"] == 4
        rows = {(c["name"], c["group_size"]): c for c in found["collectives"]}
        reduce = rows["all_reduce", 8]  # one in 100 us, one of unknown size, one that took no time
        assert (reduce["count"], reduce["bytes"], reduce["bytes_known"]) == (3, 2 * 16_777_216, 2)
        assert reduce["algbw_bytes_per_s"] == pytest.approx(167.77216 * GB)
        assert reduce["busbw_bytes_per_s"] == pytest.approx(293.60128 * GB)
        assert rows["all_reduce", None]["busbw_bytes_per_s"] is None
        assert rows["all_reduce", None]["algbw_bytes_per_s"] == pytest.approx(167.77216 * GB)
        assert rows["all_gather", 8]["busbw_bytes_per_s"] == pytest.approx(146.80064 * GB)

    @pytest.mark.parametrize(
        ("name", "share"),
        [
            ("allreduce", 2 * 3 / 4),
            ("reduce_scatter_tensor_coalesced", 3 / 4),
            ("_reduce_scatter_base", 3 / 4),
            ("all_to_allv", 3 / 4),
            ("gather", 3 / 4),
            ("reduce", 1),
            ("send", 1),
        ],
    )
    def test_share_that_crosses_the_bus(self, name, share):
        found = runs_of(nccl(0, 1000, **metadata(name, 250, 1000, size=4)))
        assert found.algbw.tolist() == [1000 / 1e-6]  # In, 4 bytes each
        assert found.busbw.tolist() == [pytest.approx(1000 / 1e-6 * share)]

    @pytest.mark.parametrize(
        ("dtype", "size"),
        [
            ("Byte", 1),
            ("Bool", 1),
            ("Float8_e4m3fn", 1),
            ("Half", 2),
            ("BFloat16", 2),
            ("Int", 4),
            ("Long", 8),
            ("ComplexFloat", 8),
            ("Fraction", None),
            (None, None),
        ],
    )
    def test_sizes_of_elements(self, dtype, size):
        (collective,) = of(nccl(0, 10, **metadata("allreduce", 100, 100, dtype))).collectives
        assert collective.bytes == (None if size is None else 100 * size)

    @pytest.mark.parametrize("damage", ["8", -1, None, True, 2.5, [1], 10**40])
    def test_damaged_metadata_are_unknown(self, damage):
        (collective,) = of(nccl(0, 10, **(metadata("allreduce", 5, 5) | {"In msg nelems": damage}))).collectives
        assert (collective.bytes, collective.algbw_bytes_per_s) == (None, None)
        (collective,) = of(nccl(0, 10, **(metadata("allreduce", 5, 5) | {"Group size": damage}))).collectives
        assert (collective.group_size, collective.busbw_bytes_per_s) == (None, None)

    def test_the_header_tells_the_size_of_a_group_that_the_record_only_names(self):
        table = nccl(0, 10, **metadata("allreduce", 5, 5, group="3", size=None))
        assert of(table, **{"3": 16}).collectives[0].group_size == 16
        assert of(table, **{"4": 16}).collectives[0].group_size is None


class TestSources:
    def test_the_operator_around_the_launch_tells_what_an_older_record_does_not(self):
        table = Table().op("c10d::allreduce_", 0, 50)
        table.op("record_param_comms", 5, 40).told(**metadata("allreduce", 10, 10))
        table.launch(20, 5, 1).device(Kind.COLLECTIVE, "ncclKernel_AllReduce_RING", 60, 10, correlation=1)
        (found,) = of(table).collectives
        assert (found.name, found.group, found.bytes) == ("all_reduce", "0", 40)

    def test_the_annotation_of_the_library_tells_by_its_input_shapes(self):
        table = Table().host(Kind.ANNOTATION, "nccl:all_to_all", 0, 50)
        table.told(**{"Input Dims": [[2, 1024, 10]], "Input type": ["float"]})
        table.op("record_param_comms", 5, 40).told(**{"Input Dims": [[], []]}).launch(20, 5, 1)
        table.device(Kind.COLLECTIVE, "ncclKernel_SendRecv_RING", 60, 10, correlation=1)
        (found,) = of(table).collectives
        assert (found.name, found.group, found.bytes) == ("all_to_all", None, 2 * 1024 * 10 * 4)

    def test_an_input_is_not_the_message_of_an_all_gather(self):
        table = Table().host(Kind.ANNOTATION, "nccl:_all_gather_base", 0, 50)
        table.told(**{"Input Dims": [[10]], "Input type": ["float"]}).launch(20, 5, 1)
        table.device(Kind.COLLECTIVE, "ncclKernel_AllGather_RING", 60, 10, correlation=1)
        (found,) = of(table).collectives
        assert (found.name, found.bytes) == ("all_gather", None)

    @pytest.mark.parametrize(
        ("kernel", "name"),
        [
            ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "reduce_scatter"),
            ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", "send_recv"),
            ("ncclDevKernel_Generic(ncclDevComm*)", "ncclDevKernel_Generic(ncclDevComm*)"),
        ],
    )
    def test_else_the_name_of_the_device_function(self, kernel, name):
        (found,) = of(Table().device(Kind.COLLECTIVE, kernel, 0, 10)).collectives
        assert (found.name, found.bytes, found.bytes_known) == (name, None, 0)

    def test_a_library_on_the_host_has_time_and_bytes_and_nothing_to_hide_behind(self):
        table = Table().host(Kind.ANNOTATION, "gloo:all_reduce", 0, 50, tid=9)
        table.told(**{"Input Dims": [[10, 10]], "Input type": ["double"]}).host(Kind.ANNOTATION, "load", 0, 9)
        found = of(table)
        assert (found.total_ns, found.overlap) == (0, None)
        (collective,) = found.collectives
        assert (collective.name, collective.device, collective.total_ns) == ("all_reduce", False, 50)
        assert (collective.bytes, collective.exposed_ns) == (800, None)

    def test_a_step_tells_those_of_the_host_from_those_of_devices(self):
        table = Table().host(Kind.STEP, "step", 0, 100, step=1).host(Kind.ANNOTATION, "gloo:all_reduce", 0, 50, tid=9)
        capture = merge([table.device(Kind.COLLECTIVE, "ncclDevKernel_AllReduce", 10, 20).events()])
        events, links = capture.events, link(capture.events)
        steps = find_steps(Events.empty(), capture, links)
        found = step_collectives(events, collective_runs(events, links), steps)
        assert [found.labels[i][3] for i in found.label.tolist()] == [False, True]

    def test_none(self):
        assert of(Table().kernel("gemm", 0, 10)) is None


class TestOverlap:
    def test_what_runs_beside_compute_kernels_is_overlapped(self):
        # collectives [0,30] and [20,60], kernel [10,25], copy [40,50]: exposed [0,10] + [25,60]
        table = nccl(0, 30, **metadata("allreduce", 5, 5))
        table.device(Kind.COLLECTIVE, "ncclDevKernel_AllReduce", 20, 40, stream=21).told(
            **metadata("allreduce", 5, 5, group="1")
        )
        table.kernel("gemm", 10, 15).device(Kind.MEMCPY, "c", 40, 10, stream=9)
        found = of(table)
        assert (found.total_ns, found.exposed_ns, found.overlapped_ns, found.overlap) == (60, 45, 15, 15 / 60)
        rows = {c.group: c for c in found.collectives}
        assert rows["0"].exposed_ns == 15  # [0,10] and [25,30]
        assert rows["1"].exposed_ns == 35  # [25,60]

    def test_groups_are_apart_and_the_longest_first(self):
        table = nccl(0, 30, **metadata("allreduce", 5, 5))
        table.device(Kind.COLLECTIVE, "ncclDevKernel_AllReduce", 50, 40).told(
            **metadata("allreduce", 5, 5, group="tp"), **{"Process Group Description": "tensor"}
        )
        found = of(table).collectives
        assert [(c.group, c.group_description, c.total_ns) for c in found] == [("tp", "tensor", 40), ("0", None, 30)]
