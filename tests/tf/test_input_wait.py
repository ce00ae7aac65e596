"""The timestamps around the fetch of a batch, in the graph of a train function."""

import pytest

pytestmark = pytest.mark.usefixtures("tf")


def test_what_computes_comes_after_the_stamps(tf):
    """Else a process of one core, where TensorFlow has one thread for operators, may compute first: a wait of all."""
    from stepscope_tf.input_wait import InputProbe

    probe = InputProbe(tf)
    probe.enter()

    @tf.function
    def fetch(iterator):
        return probe.around(iterator.get_next)

    batches = tf.data.Dataset.range(3).map(lambda i: {"x": (i, 2 * i), "y": 3})
    try:
        graph = fetch.get_concrete_function(iter(batches)).graph
    finally:
        probe.leave()
    assert len(graph.outputs) == 3
    for output in graph.outputs:
        fetched = output.op.inputs[0].op  # what the function returns is a copy of it
        assert {op.type for op in fetched.control_inputs} == {"ResourceScatterUpdate", "AssignAddVariableOp"}
        assert fetched.inputs[0].op.type == "IteratorGetNext"
    batch = fetch(iter(batches))
    assert (batch["x"][1].numpy(), batch["y"].numpy()) == (0, 3)
    assert len(probe.take()) == 1
