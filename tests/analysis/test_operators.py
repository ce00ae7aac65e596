"""Operators with their kernels, shapes, call stacks and backward pass (times in us; expected values in ns)."""

from dataclasses import asdict

from stepscope.analysis.autograd import link_backward
from stepscope.analysis.launches import link
from stepscope.analysis.operators import MAX_KERNELS, MAX_SHAPES, operator_calls, operators, operators_by_shape
from stepscope.analysis.stacks import MAX_FRAMES, operator_stacks
from tests.builders import TraceBuilder

F32 = {"Input type": ["float", "float"]}


def parts(trace):
    events = trace.window().events
    links = link(events)
    return events, links, operator_calls(events, links, link_backward(events))


def by_name(trace):
    return {o.name: o for o in operators(*parts(trace))}


def trained():
    """linear > addmm, 2 kernels; its node on another thread with 1 kernel; then a sum without a gradient."""
    trace = TraceBuilder()
    told = {"Sequence number": 4, "Fwd thread id": 0}
    trace.op("aten::linear", 0, 100, **told).op("aten::addmm", 10, 60, **told)
    trace.launch(20, 5, 1).kernel("gemm", 200, 30, correlation=1).launch(30, 5, 2).kernel("add", 230, 7, correlation=2)
    trace.launch(80, 5, 3).kernel("relu", 240, 4, correlation=3)
    trace.op("aten::sum", 120, 10)
    told = {"Sequence number": 4, "Fwd thread id": 1}
    trace.op("autograd::engine::evaluate_function: AddmmBackward0", 300, 50, tid=9, **told)
    trace.op("AddmmBackward0", 310, 30, tid=9, **told).op("aten::mm", 315, 20, tid=9)
    trace.launch(320, 5, 4, tid=9).kernel("gemm_t", 400, 60, correlation=4)
    return trace


class TestOperators:
    def test_device_work_is_counted_where_it_is_launched_and_around(self):
        ops = by_name(trained())
        linear, addmm = ops["aten::linear"], ops["aten::addmm"]
        assert (linear.device_total_ns, linear.device_self_ns, linear.device_count) == (41_000, 4_000, 3)
        assert (addmm.device_total_ns, addmm.device_self_ns, addmm.device_count) == (37_000, 37_000, 2)
        assert linear.host_self_ns == (100 - 60 - 5) * 1000

    def test_kernels_are_those_of_the_innermost_operator(self):
        ops = by_name(trained())
        assert [asdict(k) for k in ops["aten::addmm"].kernels] == [
            {"name": "gemm", "count": 1, "total_ns": 30_000},
            {"name": "add", "count": 1, "total_ns": 7_000},
        ]
        assert [k.name for k in ops["aten::linear"].kernels] == ["relu"]
        assert ops["aten::sum"].kernels == []

    def test_only_the_largest_kernels_are_listed(self):
        trace = TraceBuilder().op("aten::many", 0, 1000)
        for i in range(10):
            trace.launch(10 + i * 10, 5, i + 1).kernel(f"k{i}", 2000 + i * 100, 10 + i, correlation=i + 1)
        kernels = by_name(trace)["aten::many"].kernels
        assert [k.name for k in kernels] == [f"k{i}" for i in range(9, 9 - MAX_KERNELS, -1)]

    def test_the_backward_pass_belongs_to_the_forward_operator_and_those_around_it(self):
        ops = by_name(trained())
        for name in ("aten::linear", "aten::addmm"):
            assert (ops[name].backward_host_ns, ops[name].backward_device_ns) == (50_000, 60_000)
        for name in ("aten::sum", "aten::mm", "AddmmBackward0"):
            assert (ops[name].backward_host_ns, ops[name].backward_device_ns) == (0, 0)

    def test_without_a_linked_node_the_backward_pass_is_unknown(self):
        op = by_name(TraceBuilder().op("aten::mm", 0, 10).launch(2, 2, 1).kernel("k", 20, 5, correlation=1))["aten::mm"]
        assert (op.backward_host_ns, op.backward_device_ns) == (None, None)

    def test_without_device_work_its_times_are_unknown(self):
        trace = TraceBuilder().op("aten::mm", 0, 10, **{"Sequence number": 1, "Fwd thread id": 0})
        trace.op("MmBackward0", 20, 10, **{"Sequence number": 1, "Fwd thread id": 1})
        op = by_name(trace)["aten::mm"]
        assert (op.device_total_ns, op.device_count, op.backward_host_ns, op.backward_device_ns) == (
            None,
            None,
            10_000,
            None,
        )


class TestShapes:
    def test_calls_are_told_apart_by_shapes_and_types(self):
        trace = TraceBuilder()
        trace.op("aten::mm", 0, 10, **{"Input Dims": [[2, 3], [3, 4]], **F32})
        trace.op("aten::mm", 20, 15, **{"Input Dims": [[2, 3], [3, 4]], "Input type": ["c10::Half", "c10::Half"]})
        trace.op("aten::mm", 40, 20, **{"Input Dims": [[2, 3], [3, 4]], "Ev Idx": 5, "Sequence number": 7, **F32})
        trace.op("aten::mm", 70, 5)
        events, _, calls = parts(trace)
        found, total = operators_by_shape(events, calls)
        assert total == 3
        assert [(o.input_shapes, o.input_types, o.count, o.host_total_ns) for o in found] == [
            ([[2, 3], [3, 4]], ["float", "float"], 2, 30_000),
            ([[2, 3], [3, 4]], ["c10::Half", "c10::Half"], 1, 15_000),
            (None, None, 1, 5_000),
        ]

    def test_nothing_recorded_is_not_an_empty_list(self):
        events, _, calls = parts(TraceBuilder().op("aten::mm", 0, 10))
        assert operators_by_shape(events, calls) is None

    def test_the_list_is_bounded_and_says_how_many_there_are(self):
        trace = TraceBuilder()
        for i in range(MAX_SHAPES + 50):
            trace.op("aten::mm", 1000 * i, i + 1, **{"Input Dims": [[i, 1]], "Input type": ["float"]})
        events, _, calls = parts(trace)
        found, total = operators_by_shape(events, calls)
        assert (len(found), total) == (MAX_SHAPES, MAX_SHAPES + 50)
        assert found[0].input_shapes == [[MAX_SHAPES + 49, 1]]


class TestStacks:
    def test_frames_around_the_call_outermost_first(self):
        trace = TraceBuilder().python("train.py(1): main", 0, 500).python("train.py(9): step", 10, 200)
        trace.python("nn.Module: Net_0", 20, 100).op("aten::mm", 30, 10).op("aten::mm", 150, 20)
        events, _, calls = parts(trace)
        assert [(o.stack, o.count, o.host_total_ns) for o in operator_stacks(events, calls)] == [
            (["train.py(1): main", "train.py(9): step"], 1, 20_000),
            (["train.py(1): main", "train.py(9): step", "nn.Module: Net_0"], 1, 10_000),
        ]

    def test_frames_of_other_threads_do_not_count(self):
        trace = TraceBuilder().python("train.py(1): main", 0, 500).op("aten::mm", 30, 10, tid=9)
        events, _, calls = parts(trace)
        assert operator_stacks(events, calls) is None

    def test_a_stack_in_the_record_wins(self):
        trace = TraceBuilder().python("frame", 0, 500)
        trace.op("aten::mm", 30, 10, **{"Call stack": "conv.py(3): forward;train.py(1): main"})
        events, _, calls = parts(trace)
        assert [o.stack for o in operator_stacks(events, calls)] == [["train.py(1): main", "conv.py(3): forward"]]

    def test_of_deep_stacks_the_innermost_frames_are_kept(self):
        trace = TraceBuilder()
        for i in range(2000):
            trace.python(f"f{i}", i, 10_000 - 2 * i)
        events, _, calls = parts(trace.op("aten::mm", 5000, 10))
        (found,) = operator_stacks(events, calls)
        assert found.stack == [f"f{i}" for i in range(2000 - MAX_FRAMES, 2000)]
