"""Backward nodes and the forward operators that they go back to (times in us from T0)."""

from stepscope.analysis.autograd import ENGINE, link_backward
from stepscope.schema import NONE
from tests.builders import T0_NS, TraceBuilder

MAIN, ENGINE_THREAD = 4117, 9


def forward(trace, name, ts, dur, number, tid=MAIN):
    return trace.op(name, ts, dur, tid=tid, **{"Sequence number": number, "Fwd thread id": 0})


def node(trace, name, ts, dur, number, thread=1, tid=ENGINE_THREAD):
    """A node of the graph as the engine runs it: its own row inside the engine's."""
    told = {} if number is None else {"Sequence number": number, "Fwd thread id": thread}
    trace.op(f"{ENGINE}: {name}", ts, dur, tid=tid, **told)
    return trace.op(name, ts + 1, dur - 2, tid=tid, **told)


def links(trace):
    """(node's start in us, name of its forward operator)."""
    events = trace.window().events
    found = link_backward(events)
    names = [None if f == NONE else events.text(f) for f in found.forward.tolist()]
    return dict(zip(((events.ts_ns[found.node] - T0_NS) // 1000).tolist(), names, strict=True)), found.guessed


def test_of_several_operators_with_a_number_the_last_one_made_the_node():
    trace = TraceBuilder()
    forward(trace, "aten::empty", 0, 2, 7)
    forward(trace, "aten::linear", 5, 20, 7)
    forward(trace, "aten::addmm", 8, 10, 7)
    forward(trace, "aten::relu", 30, 5, 8)
    node(trace, "ReluBackward0", 100, 10, 8)
    node(trace, "AddmmBackward0", 120, 10, 7)
    assert links(trace) == ({100: "aten::relu", 120: "aten::addmm"}, 0)


def test_nodes_without_a_number_go_back_to_nothing():
    trace = forward(TraceBuilder(), "aten::relu", 0, 5, 8)
    node(trace, "torch::autograd::AccumulateGrad", 100, 10, None)
    assert links(trace) == ({100: None}, 0)


def test_older_traces_have_only_the_nodes_own_rows():
    trace = forward(TraceBuilder(), "aten::relu", 0, 5, 8)
    trace.op("ReluBackward", 100, 10, tid=9, **{"Sequence number": 8, "Fwd thread id": 1})
    assert links(trace) == ({100: "aten::relu"}, 0)


def test_what_runs_inside_a_node_is_no_forward_operator_of_the_loop():
    """A checkpoint computes its part of the forward pass again inside its node."""
    trace = forward(TraceBuilder(), "CheckpointFunction", 0, 50, 3)
    node(trace, "CheckpointFunctionBackward", 100, 60, 3)
    forward(trace, "aten::relu", 110, 5, 9, tid=ENGINE_THREAD)
    node(trace, "ReluBackward0", 120, 20, 9, thread=2)
    events = trace.window().events
    found = link_backward(events)
    assert [events.text(r) for r in found.grad_op.tolist()] == ["CheckpointFunction"]
    # The inner node lies in the outer one: its time is the outer one's.
    assert links(trace) == ({100: "CheckpointFunction"}, 0)


def test_each_thread_counts_for_itself():
    trace = TraceBuilder()
    for tid, op in ((21, "aten::a"), (22, "aten::b")):
        for i in range(3):
            forward(trace, op, 10 * i, 5, i + (0 if tid == 21 else 1), tid=tid)
    # Thread 1 made the nodes 0, 1, 2 (all on thread 21), thread 2 the nodes 1, 2, 3 (all on thread 22).
    for i in range(3):
        node(trace, "ABackward", 100 + 20 * i, 10, i, thread=1)
        node(trace, "BBackward", 200 + 20 * i, 10, i + 1, thread=2)
    found, guessed = links(trace)
    assert [found[100 + 20 * i] for i in range(3)] == ["aten::a"] * 3
    assert [found[200 + 20 * i] for i in range(3)] == ["aten::b"] * 3
    assert guessed == 6  # numbers 1 and 2 occur on both threads: told by most matches


def test_an_operator_cannot_make_a_node_that_ran_before():
    trace = node(TraceBuilder(), "ReluBackward0", 10, 10, 8)
    forward(trace, "aten::relu", 50, 5, 8)
    assert links(trace) == ({10: None}, 0)


def test_damaged_numbers_link_nothing():
    trace = TraceBuilder()
    trace.op("aten::relu", 0, 5, **{"Sequence number": "8", "Fwd thread id": 0})
    trace.op("aten::relu", 10, 5, **{"Sequence number": 2**80, "Fwd thread id": None})
    trace.op("ReluBackward0", 20, 5, tid=9, **{"Sequence number": 8, "Fwd thread id": 1})
    assert links(trace) == ({20: None}, 0)


def test_nothing():
    assert links(TraceBuilder().step(1, 0, 10)) == ({}, 0)
