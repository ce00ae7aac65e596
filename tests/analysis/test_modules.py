"""Modules: forward and backward, host and device (times in us; expected values in ns)."""

import numpy as np
import pytest

from stepscope.analysis.autograd import link_backward
from stepscope.analysis.launches import link
from stepscope.analysis.modules import MAX_MODULES, module_owners, modules
from stepscope.analysis.name_scopes import scope_of
from stepscope.analysis.operators import operator_calls
from stepscope.schema import Kind
from tests.analysis.table import Table
from tests.builders import TraceBuilder


def analysed(events):
    links = link(events)
    autograd = link_backward(events)
    return modules(events, links, operator_calls(events, links, autograd), module_owners(events, autograd))


def by_path(trace):
    found, _ = analysed(trace.window().events)
    return {"/".join(m.path): m for m in found}


def times(module, what):
    return getattr(module, f"{what}_total_ns"), getattr(module, f"{what}_self_ns")


def op(trace, name, ts, dur, number, tid=4117):
    return trace.op(name, ts, dur, tid=tid, **{"Sequence number": number, "Fwd thread id": 0})


def node(trace, name, ts, dur, number):
    return trace.op(name, ts, dur, tid=9, **{"Sequence number": number, "Fwd thread id": 1})


def trained():
    """Net (0..100) calls Linear_0 (10..40) and Linear_1 (50..90); kernels of 30, 20 and, in Net itself, 5 us."""
    trace = TraceBuilder()
    trace.python("nn.Module: Net_0", 0, 100).python("nn.Module: Linear_0", 10, 30).python("nn.Module: Linear_1", 50, 40)
    op(trace, "aten::addmm", 15, 20, 1).launch(20, 2, 1).kernel("a", 200, 30, correlation=1)
    op(trace, "aten::addmm", 55, 20, 2).launch(60, 2, 2).kernel("b", 230, 20, correlation=2)
    op(trace, "aten::relu", 92, 5, 3).launch(93, 2, 3).kernel("c", 250, 5, correlation=3)
    node(trace, "ReluBackward0", 300, 10, 3).launch(302, 2, 4, tid=9).kernel("c_", 400, 6, correlation=4)
    node(trace, "AddmmBackward0", 320, 20, 2).launch(322, 2, 5, tid=9).kernel("b_", 410, 40, correlation=5)
    node(trace, "AddmmBackward0", 350, 30, 1).launch(352, 2, 6, tid=9).kernel("a_", 450, 60, correlation=6)
    trace.launch(390, 2, 7).kernel("optimizer", 600, 9, correlation=7)
    return trace


class TestTorch:
    def test_forward_is_what_the_calls_run(self):
        found = by_path(trained())
        assert times(found["Net_0"], "forward_host") == (100_000, 30_000)
        assert times(found["Net_0/Linear_0"], "forward_host") == (30_000, 30_000)
        assert times(found["Net_0"], "forward_device") == (55_000, 5_000)
        assert times(found["Net_0/Linear_0"], "forward_device") == (30_000, 30_000)
        assert times(found["Net_0/Linear_1"], "forward_device") == (20_000, 20_000)
        assert found["Net_0"].calls == found["Net_0/Linear_1"].calls == 1

    def test_backward_is_what_the_nodes_of_their_operators_run(self):
        found = by_path(trained())
        assert times(found["Net_0"], "backward_host") == (60_000, 10_000)
        assert times(found["Net_0/Linear_0"], "backward_host") == (30_000, 30_000)
        assert times(found["Net_0"], "backward_device") == (106_000, 6_000)
        assert times(found["Net_0/Linear_1"], "backward_device") == (40_000, 40_000)

    def test_what_belongs_to_no_module_completes_the_whole(self):
        rest = by_path(trained())[""]
        assert times(rest, "forward_device") == (64_000, 9_000)  # 55 + 9 of the optimizer
        assert times(rest, "backward_device") == (106_000, 0)
        assert times(rest, "forward_host") == (None, None)
        assert rest.calls is None

    def test_one_class_at_two_places_and_one_place_called_twice(self):
        trace = TraceBuilder()
        for at in (0, 100):
            trace.python("nn.Module: A_0", at, 50).python("nn.Module: Norm_0", at + 10, 10)
        trace.python("nn.Module: B_0", 200, 50).python("nn.Module: Norm_0", 210, 15)
        found = by_path(trace)
        assert (found["A_0/Norm_0"].calls, found["A_0/Norm_0"].forward_host_total_ns) == (2, 20_000)
        assert (found["B_0/Norm_0"].calls, found["B_0/Norm_0"].forward_host_total_ns) == (1, 15_000)

    def test_what_a_checkpoint_computes_again_is_backward_of_its_module(self):
        trace = TraceBuilder().python("nn.Module: Block_0", 0, 50)
        op(trace, "CheckpointFunction", 10, 30, 5).launch(12, 2, 1).kernel("f", 100, 10, correlation=1)
        node(trace, "CheckpointFunctionBackward", 200, 80, 5)
        trace.python("nn.Module: Linear_0", 210, 20, tid=9)
        trace.launch(215, 2, 2, tid=9).kernel("f", 300, 10, correlation=2)
        found = by_path(trace)
        assert set(found) == {"", "Block_0"}
        assert times(found["Block_0"], "forward_device") == (10_000, 10_000)
        assert times(found["Block_0"], "backward_device") == (10_000, 10_000)
        assert times(found["Block_0"], "backward_host") == (80_000, 80_000)

    def test_nodes_that_cannot_be_linked_leave_the_backward_pass_unknown(self):
        trace = TraceBuilder().python("nn.Module: Net_0", 0, 50)
        trace.op("autograd::engine::evaluate_function: MulBackward0", 100, 20, tid=9)
        trace.launch(105, 2, 1, tid=9).kernel("k", 200, 10, correlation=1)
        found = by_path(trace)
        assert times(found["Net_0"], "backward_device") == (None, None)
        assert times(found[""], "backward_device") == (10_000, 10_000)
        assert times(found[""], "backward_host") == (20_000, 20_000)

    def test_work_whose_launch_is_lost_goes_by_its_operator(self):
        trace = TraceBuilder().python("nn.Module: Net_0", 0, 50).op("aten::mm", 10, 10, external_id=77)
        trace.kernel("k", 200, 10, external_id=77)
        assert times(by_path(trace)["Net_0"], "forward_device") == (10_000, 10_000)

    def test_the_list_is_bounded_and_says_how_many_there_are(self):
        trace = TraceBuilder()
        for i in range(MAX_MODULES + 20):
            trace.python(f"nn.Module: M_{i}", 2000 * i, i + 1)
        found, total = analysed(trace.window().events)
        assert (len(found), total) == (MAX_MODULES + 1, MAX_MODULES + 20)  # and the rest
        assert found[0].path == []
        assert found[1].path == [f"M_{MAX_MODULES + 19}"]

    def test_without_modules_nothing_is_known(self):
        assert analysed(TraceBuilder().op("aten::mm", 0, 10).window().events) is None


class TestNameScopes:
    @pytest.mark.parametrize(
        ("name", "scope"),
        [
            ("sequential_1/hidden_1/Relu:_MklNativeFusedMatMul", (("sequential_1", "hidden_1"), False)),
            ("sequential_1/hidden_1/BiasAdd/ReadVariableOp:ReadVariableOp", (("sequential_1", "hidden_1"), False)),
            ("gradient_tape/sequential_1/out/MatMul/MatMul:MatMul", (("sequential_1", "out"), True)),
            ("jit(step)/jvp(Model)/Dense_0/dot_general", (("Model", "Dense_0"), False)),
            ("jit(step)/transpose(jvp(Model))/Dense_0/dot_general", (("Model", "Dense_0"), True)),
            ("jit(step)/jit(main)/add", None),
            ("ReadVariableOp:ReadVariableOp", None),
            ("Relu/MatMul:MatMul", None),
            ("aten::linear", None),
            ("C:/Users/x", None),
        ],
    )
    def test_names(self, name, scope):
        assert scope_of(name) == scope

    def test_layers_of_operators_and_the_work_that_they_launch(self):
        table = Table()
        table.op("net/dense/MatMul:MatMul", 0, 100).launch(10, 5, 1).kernel("k", 200, 30, 1)
        table.op("gradient_tape/net/dense/MatMul:MatMul", 300, 40).launch(310, 5, 2).kernel("k", 400, 50, 2)
        table.op("ExecutorState::Process", 500, 10)
        found, total = analysed(table.events())
        assert total == 2
        dense = next(m for m in found if m.path == ["net", "dense"])
        assert dense.calls is None
        assert (dense.forward_host_self_ns, dense.backward_host_self_ns) == (100, 40)
        assert (dense.forward_device_self_ns, dense.backward_device_self_ns) == (30, 50)
        net = next(m for m in found if m.path == ["net"])
        assert times(net, "forward_device") == (30, 0)
        assert times(net, "backward_host") == (40, 0)

    def test_kernels_that_name_their_origin(self):
        events = Table().kernel("fusion.1", 0, 30).kernel("fusion.2", 50, 20).kernel("copy", 80, 5).events()
        events.args_values = [
            '{"name":"jit(f)/jvp(Model)/Dense_0/dot_general"}',
            '{"name":"jit(f)/transpose(jvp(Model))/Dense_0/dot_general"}',
        ]
        events.args = np.array([0, 1, -1], np.int32)
        found, _ = analysed(events)
        dense = next(m for m in found if m.path == ["Model", "Dense_0"])
        assert (dense.forward_device_self_ns, dense.backward_device_self_ns) == (30, 20)
        assert (found[0].path, found[0].forward_device_self_ns) == ([], 5)


def test_python_frames_alone_are_no_modules():
    assert analysed(Table().host(Kind.PYTHON, "forward", 0, 10).events()) is None
