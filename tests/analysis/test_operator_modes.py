"""How operators ran: eager, as a graph, compiled; on the host and on a device."""

import pytest

from stepscope.analysis.launches import link
from stepscope.analysis.operator_modes import operator_modes
from tests.analysis.table import Table


def modes(table: Table, framework: str) -> dict[str, int | None]:
    events = table.events()
    found = operator_modes(events, link(events), framework)
    return {} if found is None else {name.removesuffix("_ns"): ns for name, ns in vars(found).items() if ns != 0}


def eager_operator(table: Table, at: int, *, function: bool = False) -> Table:
    """A call of 100 ns from Python that runs for 60 of them."""
    table.op("EagerExecute", at, 100).told(eager_op="x", is_func=int(function))
    return table.op("EagerKernelExecute", at + 20, 60)


NO_DEVICE = dict.fromkeys(("device_eager", "device_graph", "device_compiled", "device_unknown"))


def test_tensorflow_runs_single_operators_and_functions():
    table = eager_operator(Table(), 0)
    eager_operator(table, 200, function=True)
    table.op("ExecutorState::Process", 230, 40, tid=2)
    table.op("model/dense/MatMul:_MklMatMul", 232, 20, tid=2).op("model/Add:AddV2", 255, 5, tid=2)
    assert modes(table, "tensorflow") == {"host_eager": 60, "host_graph": 25} | NO_DEVICE


def test_what_an_eager_operator_runs_is_part_of_it():
    table = eager_operator(Table(), 0).op("range:Range", 30, 10)
    assert modes(table, "tensorflow") == {"host_eager": 60} | NO_DEVICE


def test_operations_that_xla_compiled_claim_the_operator_around_them():
    table = Table().op("StatefulPartitionedCall:StatefulPartitionedCall", 0, 100)
    table.op("fusion.1", 10, 30).told(hlo_op="fusion.1", hlo_module="step").op("end: fusion.1", 40, 1)
    assert modes(table, "tensorflow") == {"host_graph": 70, "host_compiled": 30} | NO_DEVICE


def test_threads_add_up_and_a_moment_of_one_counts_once():
    table = Table()
    for thread in (1, 2):
        table.op("fusion", 0, 50, tid=thread).told(hlo_op="fusion").op("inner", 10, 20, tid=thread).told(hlo_op="inner")
    assert modes(table, "jax") == {"host_compiled": 100} | NO_DEVICE


def test_device_work_is_as_eager_as_the_operator_that_launched_it():
    table = eager_operator(Table(), 0).launch(30, 5, 1).kernel("a", 100, 7, correlation=1)
    table.op("model/Add:AddV2", 200, 50).launch(210, 5, 2).kernel("b", 220, 11, correlation=2)
    table.launch(300, 5, 3).kernel("fused", 320, 13, correlation=3).told(hlo_op="fusion.3")
    table.kernel("lost", 400, 17)
    assert modes(table, "tensorflow") == {
        "host_eager": 60,
        "host_graph": 50,
        "device_eager": 7,
        "device_graph": 11,
        "device_compiled": 13,
        "device_unknown": 17,
    }


def test_device_calls_on_a_lane_of_their_own_belong_to_their_thread():
    table = eager_operator(Table(), 0).launch(30, 5, 1).kernel("a", 100, 7, correlation=1)
    events = table.events()
    [call] = (events.kind == 7).nonzero()[0]
    events.lanes.append(type(events.lanes[0])("thread", "Host Threads/1", "/host:CUPTI", "1"))
    events.lane[call] = len(events.lanes) - 1
    assert operator_modes(events, link(events), "tensorflow").device_eager_ns == 7


@pytest.mark.parametrize("region", ["Torch-Compiled Region: 0/0", "CompiledFunctionBackward"])
def test_pytorch_operators_in_a_compiled_region_and_outside(region):
    table = Table().op("aten::mm", 0, 30).op("aten::copy_", 5, 10).op(region, 50, 40).op("aten::mm", 60, 10)
    table.launch(62, 2, 1).kernel("triton_fused", 100, 9, correlation=1)
    table.launch(10, 2, 2).kernel("gemm", 200, 4, correlation=2)
    assert modes(table, "pytorch") == {"host_eager": 30, "host_compiled": 40, "device_eager": 4, "device_compiled": 9}


def test_without_operators_and_device_work_there_is_nothing():
    assert modes(Table().step(0, 0, 10), "tensorflow") == {}


def test_host_operators_that_are_not_recorded_are_not_zero():
    table = Table().kernel("fusion", 0, 10).told(hlo_op="fusion")
    assert modes(table, "jax") == {"host_eager": None, "host_graph": None, "host_compiled": None, "device_compiled": 10}
