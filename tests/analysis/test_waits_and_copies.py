"""Synchronisation by operator, memory operations, and the search for the slice around a moment."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analysis.enclosing import innermost, inside
from stepscope.analysis.memcpy import MemoryOperation, copies, memory_operations
from stepscope.analysis.select import host_rows
from stepscope.analysis.synchronisation import SyncByOperator, SyncCalls, synchronisation
from stepscope.schema import NONE, Kind
from tests.analysis.table import Table


class TestSynchronisation:
    def test_by_call_and_by_the_operator_that_made_it(self):
        table = Table().op("aten::item", 0, 100).op("aten::_local_scalar_dense", 5, 90)
        table.host(Kind.SYNC, "cudaStreamSynchronize", 20, 60).host(Kind.SYNC, "cudaStreamSynchronize", 150, 30)
        table.host(Kind.SYNC, "cudaDeviceSynchronize", 200, 10).op("other thread", 0, 300, tid=2)
        table.device(Kind.SYNC, "Stream Sync", 25, 50)
        found = synchronisation(table.events())
        assert found.calls == [
            SyncCalls("cudaStreamSynchronize", 2, 90, 60),
            SyncCalls("cudaDeviceSynchronize", 1, 10, 10),
        ]
        assert found.by_operator == [
            SyncByOperator("aten::_local_scalar_dense", "cudaStreamSynchronize", 1, 60),
            SyncByOperator(None, "cudaStreamSynchronize", 1, 30),
            SyncByOperator(None, "cudaDeviceSynchronize", 1, 10),
        ]
        assert found.records == [SyncCalls("Stream Sync", 1, 50, 50)]

    def test_a_runtime_call_in_between_hides_no_operator(self):
        table = Table().op("aten::copy_", 0, 100).host(Kind.RUNTIME, "cudaMemcpy", 10, 80)
        table.host(Kind.SYNC, "cudaStreamSynchronize", 20, 60)
        assert synchronisation(table.events()).by_operator[0].operator == "aten::copy_"

    def test_idle_time_that_begins_in_a_wait_is_that_of_the_wait(self):
        table = Table().kernel("k", 0, 100).kernel("k", 130, 70).kernel("k", 240, 60).kernel("k", 400, 10)
        table.op("aten::item", 40, 70).host(Kind.SYNC, "cudaStreamSynchronize", 50, 55)  # a gap of 30 begins at 100
        table.host(Kind.SYNC, "cudaEventQuery", 190, 20)  # does not wait: the gap of 40 at 200 is not its own
        table.host(Kind.SYNC, "cudaDeviceSynchronize", 305, 10)  # began when the gap at 300 had begun
        table.host(Kind.SYNC, "cudaDeviceSynchronize", 405, 10)  # nothing follows
        found = {(s.operator, s.name): s.drained_ns for s in synchronisation(table.events()).by_operator}
        assert found == {
            ("aten::item", "cudaStreamSynchronize"): 30,
            (None, "cudaEventQuery"): 0,
            (None, "cudaDeviceSynchronize"): 0,
        }

    def test_the_time_between_two_windows_is_no_gap(self):
        table = Table().kernel("k", 0, 100).host(Kind.SYNC, "cudaDeviceSynchronize", 50, 60).kernel("k", 900, 10)
        assert synchronisation(table.events()).by_operator[0].drained_ns == 800
        assert synchronisation(table.events(), [0, 2, 3]).by_operator[0].drained_ns == 0

    def test_nothing(self):
        found = synchronisation(Table().events())
        assert (found.calls, found.by_operator, found.records) == ([], [], [])


class TestMemoryOperations:
    def test_by_direction_and_by_the_memory_at_both_ends(self):
        table = Table().device(Kind.MEMCPY, "Memcpy HtoD (Pinned -> Device)", 0, 10, size=1000)
        table.device(Kind.MEMCPY, "Memcpy HtoD (Pageable -> Device)", 20, 30, size=2000)
        table.device(Kind.MEMCPY, "Memcpy HtoD (Pageable -> Device)", 60, 50)
        table.device(Kind.MEMCPY, "Memcpy DtoH (Device -> Unknown)", 120, 5)
        table.device(Kind.MEMSET, "Memset (Device)", 200, 4, size=400).device(Kind.MEMSET, "Memset (Unknown)", 210, 1)
        assert memory_operations(table.events()) == [
            MemoryOperation("memcpy", "HtoD", "pageable", "device", 2, 2000, 80, 2000 * 1e9 / 30),
            MemoryOperation("memcpy", "HtoD", "pinned", "device", 1, 1000, 10, 1000 * 1e9 / 10),
            MemoryOperation("memcpy", "DtoH", "device", None, 1, None, 5, None),
            MemoryOperation("memset", None, None, "device", 1, 400, 4, 400 * 1e9 / 4),
            MemoryOperation("memset", None, None, None, 1, None, 1, None),
        ]

    def test_the_details_of_an_xplane_tell(self):
        table = Table().device(Kind.MEMCPY, "MemcpyH2D", 0, 10)
        table.told(memcpy_details="kind_src:pageable kind_dst:device size:4096 dest:0 async:1")
        table.device(Kind.MEMCPY, "MemcpyH2D", 20, 10)
        table.told(memcpy_details="kind_src:pageable kind_dst:device size:8192 dest:0 async:1")
        table.device(Kind.MEMCPY, "hipMemcpyAsync", 40, 5).told(
            memcpy_details="kind:Unknown size:655360 dest:2 async:1"
        )
        table.device(Kind.MEMSET, "Memset", 60, 2).told(memset_details="kind:device num_bytes:64")
        found = [(m.operation, m.direction, m.source, m.target, m.count) for m in memory_operations(table.events())]
        assert found == [
            ("memcpy", "HtoD", "pageable", "device", 2),
            ("memcpy", "unknown", None, None, 1),
            ("memset", None, None, "device", 1),
        ]

    @given(
        st.lists(
            st.tuples(st.sampled_from(["HtoD", "DtoH"]), st.sampled_from(["Pinned", "Pageable"]), st.integers(0, 9))
        )
    )
    def test_directions_are_sums_of_their_parts(self, rows):
        table = Table()
        for i, (way, memory, dur) in enumerate(rows):
            table.device(Kind.MEMCPY, f"Memcpy {way} ({memory} -> Device)", 10 * i, dur, size=dur * 3)
        events = table.events()
        parts = memory_operations(events)
        for way, whole in copies(events).items():
            own = [p for p in parts if p.direction == way]
            for field in ("count", "bytes", "time_ns"):
                assert sum(getattr(p, field) for p in own) == getattr(whole, field)


@st.composite
def nested_slices(draw):
    """Slices that nest, on two threads, and moments of the same threads."""
    table = Table()

    def fill(low, high, tid, level):
        at = low
        while at < high and level < 4 and draw(st.booleans()):
            start = draw(st.integers(at, high - 1))
            end = draw(st.integers(start + 1, high))
            table.op(f"{level}:{start}", start, end - start, tid)
            fill(start, end, tid, level + 1)
            at = end

    for tid in (1, 2):
        fill(0, 40, tid, 0)
    for tid, ts in draw(st.lists(st.tuples(st.integers(1, 3), st.integers(-2, 42)), max_size=20)):
        table.host(Kind.SYNC, "moment", ts, draw(st.integers(0, 3)), tid)
    return table


class TestInnermost:
    @given(nested_slices())
    def test_is_the_shortest_open_slice(self, table):
        events = table.events()
        slices, rows = host_rows(events, Kind.OP), host_rows(events, Kind.SYNC)
        found = innermost(events, slices, rows)
        assert (inside(events, slices, rows) == (found != NONE)).all()
        for row, got in zip(rows.tolist(), found.tolist(), strict=True):
            ts = events.ts_ns[row]
            around = [
                s
                for s in slices.tolist()
                if events.lane[s] == events.lane[row] and events.ts_ns[s] <= ts < events.end_ns[s]
            ]
            if not around:
                assert got == NONE
            else:
                assert events.dur_ns[got] == min(events.dur_ns[s] for s in around)
                assert got in around

    @pytest.mark.parametrize("at", [9, 10, 12])
    def test_slices_that_overlap_by_rounding_lose_nothing(self, at):
        events = Table().op("a", 0, 10).op("b", 9, 20).host(Kind.SYNC, "moment", at, 1).events()
        assert innermost(events, np.arange(2), np.array([2])).tolist() == [1]

    def test_a_slice_without_length_is_never_open(self):
        events = Table().op("a", 5, 0).host(Kind.SYNC, "moment", 5, 1).events()
        assert innermost(events, np.arange(1), np.array([1])).tolist() == [NONE]
