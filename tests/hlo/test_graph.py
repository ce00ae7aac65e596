"""The neighbourhood of an HLO instruction."""

import pytest

from stepscope.hlo import graph as of
from stepscope.hlo import read_module
from stepscope.hlo.graph import Graphs
from tests.hlo.programs import computation, dense_layer, instruction, parameter, program


def drawn(graph):
    nodes = {n.instruction.name: (n.steps, n.hidden_operands, n.hidden_users) for n in graph.nodes}
    return nodes, {(e.source, e.target) for e in graph.edges}


def line(length: int) -> bytes:
    """``i0``, a parameter, and functions ``i1`` to ``i<length>``, each of the one before."""
    functions = [instruction(10 + i, f"i{i}", "negate", "f32[4]", [9 + i]) for i in range(1, length + 1)]
    return program(
        "line", computation(1, "main", parameter(10, "i0", "f32[4]", 0), *functions, root=10 + length), entry=1
    )


def test_neighbours_up_to_a_number_of_steps_and_how_many_are_hidden():
    graphs = Graphs(read_module(line(6)))
    nodes, edges = drawn(graphs.around("i3", 1))
    assert nodes == {"i2": (1, 1, 0), "i3": (0, 0, 0), "i4": (1, 0, 1)}
    assert edges == {("i2", "i3"), ("i3", "i4")}
    assert set(drawn(graphs.around("i3", 2))[0]) == {"i1", "i2", "i3", "i4", "i5"}


def test_a_fusion_is_one_node_until_it_is_opened():
    graphs = Graphs(read_module(dense_layer()))
    nodes, edges = drawn(graphs.around("dot.1", 1))
    assert nodes == {"x": (1, 0, 0), "w": (1, 0, 0), "dot.1": (0, 0, 0), "add_maximum_fusion": (1, 1, 0)}
    assert edges == {("x", "dot.1"), ("w", "dot.1"), ("dot.1", "add_maximum_fusion")}


def test_inside_an_opened_fusion_operands_stand_for_parameters():
    graph = Graphs(read_module(dense_layer())).around("dot.1", 2, opened=["add_maximum_fusion"])
    inside = {n.instruction.name for n in graph.nodes if n.within == "add_maximum_fusion"}
    assert inside == {"bias", "sum", "zero", "zeros", "relu"}
    _, edges = drawn(graph)
    assert {("dot.1", "sum"), ("b", "bias"), ("bias", "sum"), ("sum", "relu"), ("zeros", "relu")} <= edges
    assert "add_maximum_fusion" not in {name for edge in edges for name in edge}


def test_inside_a_fused_computation_the_callers_lead_out():
    module = read_module(dense_layer())
    graphs = Graphs(module)
    nodes, _ = drawn(graphs.around("sum", 1))
    assert set(nodes) == {"p0", "bias", "sum", "relu"}
    computation_of_sum = module.by_name["sum"][0]
    assert graphs.callers[computation_of_sum.id] == ["add_maximum_fusion"]


def test_too_many_neighbours_are_counted(monkeypatch):
    monkeypatch.setattr(of, "MOST_NODES", 3)
    users = [instruction(20 + i, f"u{i}", "negate", "f32[4]", [10]) for i in range(5)]
    module = read_module(
        program("star", computation(1, "m", parameter(10, "x", "f32[4]", 0), *users, root=24), entry=1)
    )
    graph = Graphs(module).around("x", 6)
    assert (len(graph.nodes), graph.left_out) == (3, 3)


def test_an_instruction_with_many_neighbours_is_drawn_but_not_walked_through():
    users = [instruction(20 + i, f"u{i}", "negate", "f32[4]", [10]) for i in range(of.MOST_NEIGHBOURS + 1)]
    module = read_module(
        program("star", computation(1, "m", parameter(10, "x", "f32[4]", 0), *users, root=20), entry=1)
    )
    graph = Graphs(module).around("u0", 6)
    assert drawn(graph)[0] == {"x": (1, 0, len(users) - 1), "u0": (0, 0, 0)}
    assert len(Graphs(module).around("x", 1).nodes) == len(users) + 1


def test_an_operand_that_is_read_twice_is_one_arrow():
    square = instruction(11, "square", "multiply", "f32[4]", [10, 10])
    module = read_module(program("p", computation(1, "m", parameter(10, "x", "f32[4]", 0), square, root=11), entry=1))
    assert len(Graphs(module).around("x", 1).edges) == 1


def test_a_name_that_is_not_there():
    with pytest.raises(KeyError):
        Graphs(read_module(line(1))).around("none", 1)
