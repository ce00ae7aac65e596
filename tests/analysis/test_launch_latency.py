"""Launch latency in its parts, short kernels and CUDA graphs, on event tables of a few rows (ns)."""

import pytest

from stepscope.analysis.launches import EDGES_NS, launches, link
from stepscope.analysis.queues import queue_order
from stepscope.schema import Kind
from tests.analysis.table import Table


def of(table):
    events = table.events()
    links = link(events)
    return launches(events, links, queue_order(events, links.run))


def parts(table):
    """Total latency, queue wait and overhead."""
    found = of(table)
    return tuple(d["total"] for d in (found.latency_ns, found.queue_wait_ns, found.overhead_ns))


class TestParts:
    def test_the_wait_behind_the_kernel_before_is_queue_wait_and_the_rest_overhead(self):
        # calls end at 5 and 10; k1 runs [8,108]; k2 starts at 110: latency 3 + 100, queue 0 + (108 - 10), rest 3 + 2
        table = Table().launch(0, 5, 1).launch(5, 5, 2).kernel("k1", 8, 100, 1).kernel("k2", 110, 10, 2)
        assert parts(table) == (103, 98, 5)

    def test_a_free_stream_leaves_only_overhead(self):
        table = Table().launch(0, 5, 1).kernel("k1", 8, 10, 1).launch(50, 5, 2).kernel("k2", 61, 10, 2)
        assert parts(table) == (3 + 6, 0, 9)

    def test_another_stream_is_no_queue_to_wait_in(self):
        table = Table().launch(0, 5, 1).launch(5, 5, 2).kernel("k1", 8, 100, 1).kernel("k2", 110, 10, 2, stream=8)
        assert parts(table) == (103, 0, 103)

    def test_copies_and_fills_occupy_the_stream_too(self):
        table = Table().device(Kind.MEMCPY, "c", 0, 40).launch(10, 5, 1).kernel("k", 45, 5, 1)
        assert parts(table) == (30, 25, 5)

    def test_the_longest_of_all_earlier_records_counts(self):
        table = Table().kernel("long", 0, 40).kernel("short", 5, 5).launch(10, 5, 1).kernel("k", 45, 5, 1)
        assert parts(table) == (30, 25, 5)

    def test_a_record_that_spills_over_the_run_makes_all_of_it_queue_wait(self):
        table = Table().kernel("spill", 0, 100).launch(10, 5, 1).kernel("k", 45, 5, 1)
        assert parts(table) == (30, 30, 0)

    def test_a_run_before_the_end_of_its_call_waited_for_nothing(self):
        table = Table().kernel("long", 0, 40).launch(30, 50, 1).kernel("k", 41, 5, 1)
        assert parts(table) == (0, 0, 0)
        assert of(table).negative == 1

    def test_a_graph_waits_for_the_stream_of_its_first_node(self):
        table = Table().kernel("k", 0, 50).launch(10, 10, 1, name="cudaGraphLaunch")
        table.kernel("n1", 53, 5, 1).kernel("n2", 60, 5, 1).kernel("n3", 58, 5, 1, stream=8)
        assert parts(table) == (33, 30, 3)

    def test_of_nodes_that_start_together_the_stream_that_was_free_last_counts(self):
        table = Table().kernel("k", 0, 50, stream=8).launch(10, 10, 1, name="cudaGraphLaunch")
        table.kernel("n1", 53, 5, 1).kernel("n2", 53, 5, 1, stream=8)
        assert parts(table) == (33, 30, 3)


class TestHistogram:
    def test_edges_are_1_2_5_in_each_decade(self):
        assert EDGES_NS[:5] == (0, 1_000, 2_000, 5_000, 10_000)
        assert EDGES_NS[-2:] == (5_000_000_000, 10_000_000_000)

    @pytest.mark.parametrize(
        ("latency", "edge"),
        [(0, 0), (999, 0), (1_000, 1_000), (1_999, 1_000), (2_000, 2_000), (30_000, 20_000), (60 * 10**9, 10**10)],
    )
    def test_a_value_on_an_edge_is_in_the_bin_that_begins_there(self, latency, edge):
        found = of(Table().launch(0, 5, 1).kernel("k", 5 + latency, 1, 1)).histogram
        assert {e: n for e, n in zip(found.edges_ns, found.latency, strict=True) if n} == {edge: 1}

    def test_none_without_a_linked_launch(self):
        assert of(Table().launch(0, 5, 1)).histogram is None


class TestCalls:
    def test_kernels_that_take_less_time_than_their_call(self):
        table = Table().launch(0, 8, 1).kernel("short", 10, 7, 1).launch(20, 8, 2).kernel("as long", 30, 8, 2)
        table.launch(40, 9, 3, name="cudaMemsetAsync").device(Kind.MEMSET, "fill", 50, 2, correlation=3)
        found = of(table)
        assert (found.short_kernels, found.short_kernel_ns, found.short_call_ns) == (1, 7, 8)

    def test_the_runs_of_a_graph_count_together(self):
        table = Table().launch(0, 10, 1, name="cudaGraphLaunch").kernel("n", 20, 6, 1).kernel("n", 30, 6, 1)
        assert of(table).short_kernels == 0

    def test_one_graph_launch_has_many_runs(self):
        table = Table().launch(0, 5, 9).kernel("k", 6, 2, 9).launch(10, 20, 1, name="cudaGraphLaunch")
        for i in range(100):
            table.kernel("node", 40 + 4 * i, 3, 1)
        table.launch(600, 20, 2, name="cudaGraphLaunch")
        found = of(table)
        assert (found.count, found.linked, found.graph_launches, found.graph_runs) == (3, 2, 2, 100)
        graph, kernel = found.by_call
        assert (graph.name, graph.count, graph.linked, graph.runs) == ("cudaGraphLaunch", 2, 1, 100)
        assert (graph.host_ns, graph.device_ns) == (40, 300)
        assert (kernel.name, kernel.count, kernel.runs, kernel.host_ns, kernel.device_ns) == (
            "cudaLaunchKernel",
            1,
            1,
            5,
            2,
        )
