"""Phases of traces without a hook, and micro batches (times in us unless the names say ns)."""

from stepscope.analysis.autograd import link_backward
from stepscope.analysis.capture import merge
from stepscope.analysis.launches import link
from stepscope.analysis.phase_markers import marked_phases
from stepscope.analysis.phases import micro_steps, partition, recorded_phases
from stepscope.analysis.steps import find_steps
from stepscope.schema import NONE, PHASES, Events
from tests.analysis.table import Table
from tests.builders import TraceBuilder


def op(trace, name, ts, dur, number):
    return trace.op(name, ts, dur, **{"Sequence number": number, "Fwd thread id": 0})


def node(trace, ts, dur, number, tid=9):
    told = {} if number is None else {"Sequence number": number, "Fwd thread id": 1}
    return trace.op("autograd::engine::evaluate_function: X", ts, dur, tid=tid, **told)


def one_step(trace, at=0, number=1, tid=9):
    """Fetch 0..100, copy 110..120, forward 150..300, nodes 320..600, update 700..750; the step is 0..800."""
    trace.step(number, at, 800).dataloader(at, 100)
    trace.op("aten::to", at + 110, 10).launch(at + 112, 3, number * 10, name="cudaMemcpyAsync")
    trace.memcpy("HtoD", at + 120, 5, 1000, correlation=number * 10)
    op(trace, "aten::linear", at + 150, 50, 10 * number)
    trace.op("aten::detach", at + 220, 10)
    op(trace, "aten::nll_loss", at + 280, 20, 10 * number + 1)
    node(trace, at + 320, 80, 10 * number + 1, tid)
    node(trace, at + 450, 100, 10 * number, tid)
    node(trace, at + 560, 40, None, tid)
    trace.annotation("Optimizer.step#SGD.step", at + 700, 50)
    return trace


def analysed(trace):
    capture = merge([trace.window().events])
    links = link(capture.events)
    steps = find_steps(Events.empty(), capture, links)
    rows = marked_phases(capture.events, steps, links, link_backward(capture.events))
    return partition(rows, steps), micro_steps(rows, steps), steps


def phases(trace):
    found, _, steps = analysed(trace)
    assert sum(found.ns.values()).tolist() == steps.host_ns.tolist()
    return {name: (ns // 1000).tolist() for name, ns in found.ns.items()}


class TestMarkers:
    def test_each_phase_of_a_step(self):
        assert phases(one_step(one_step(TraceBuilder()), 1000, 2)) == {
            "input_wait": [100, 100],
            "h2d": [10, 10],
            "forward": [150, 150],
            "backward": [280, 280],
            "optimizer": [50, 50],
            "other": [210, 210],
        }

    def test_a_backward_pass_on_the_training_thread(self):
        assert phases(one_step(TraceBuilder(), tid=4117))["backward"] == [280]

    def test_calls_of_modules_are_forward_outside_of_loading_and_the_backward_pass(self):
        trace = TraceBuilder().step(1, 0, 800).dataloader(0, 100).python("nn.Module: Resize_0", 10, 50)
        trace.python("nn.Module: Net_0", 200, 100).python("nn.Module: Linear_0", 210, 50)
        assert phases(trace) == {"input_wait": [100], "forward": [100], "other": [600]}

    def test_a_module_in_the_backward_pass_stays_backward(self):
        trace = one_step(TraceBuilder(), tid=4117).python("nn.Module: Recomputed_0", 460, 50)
        assert phases(trace)["backward"] == [280]
        assert phases(trace)["forward"] == [150]

    def test_two_passes_in_a_step(self):
        trace = TraceBuilder().step(1, 0, 1000)
        op(trace, "aten::a", 0, 100, 1)
        node(trace, 150, 100, 1)
        op(trace, "aten::b", 300, 50, 2)
        node(trace, 400, 200, 2)
        assert phases(trace) == {"forward": [150], "backward": [300], "other": [550]}

    def test_what_nothing_marks_is_unknown(self):
        found, _, _ = analysed(TraceBuilder().step(1, 0, 100).op("aten::mm", 10, 10).step(2, 200, 100))
        assert set(found.ns) == {"other"}
        assert found.measured.tolist() == [False, False]

    def test_a_step_without_a_mark_beside_others_is_unknown(self):
        found, _, _ = analysed(one_step(TraceBuilder()).step(9, 5000, 100))
        assert found.measured.tolist() == [True, False]

    def test_phases_of_other_threads_than_the_steps_do_not_count(self):
        trace = TraceBuilder().step(1, 0, 800).dataloader(10, 100, tid=77)
        assert phases(trace) == {"other": [800]}


class TestMicroSteps:
    def live(self, *rows):
        table = Table().step(0, 0, 1000).step(1, 1000, 1000)
        for name, ts, dur in rows:
            table.phase(name, ts, dur)
        events = table.events()
        steps = find_steps(events, merge([]), link(Events.empty()))
        micro = micro_steps(recorded_phases(events), steps)
        assert [int(micro.duration_ns[micro.step == i].sum()) for i in range(2) if micro.count[i] != NONE] == [
            int(steps.host_ns[i]) for i in range(2) if micro.count[i] != NONE
        ]
        return micro

    def test_a_micro_batch_begins_where_the_loop_waits_for_it(self):
        micro = self.live(
            ("input_wait", 0, 50), ("backward", 100, 50), ("input_wait", 300, 50), ("input_wait", 700, 50),
            ("optimizer", 900, 50), ("input_wait", 1010, 50),
        )  # fmt: skip
        assert micro.count.tolist() == [3, 1]
        assert micro.step.tolist() == [0, 0, 0, 1]
        assert micro.start_ns.tolist() == [0, 300, 700, 1000]
        assert micro.duration_ns.tolist() == [300, 400, 300, 1000]

    def test_without_waits_it_ends_with_its_backward_pass(self):
        micro = self.live(("backward", 100, 50), ("backward", 400, 100), ("optimizer", 800, 50), ("backward", 1500, 9))
        assert micro.count.tolist() == [2, 1]
        assert micro.duration_ns.tolist() == [150, 850, 1000]

    def test_neither_is_unknown(self):
        micro = self.live(("forward", 100, 50))
        assert micro.count.tolist() == [NONE, NONE]
        assert len(micro.duration_ns) == 0

    def test_waits_outside_of_steps_do_not_count(self):
        micro = self.live(("input_wait", 10, 50), ("input_wait", 2500, 50), ("input_wait", 1100, 5))
        assert micro.count.tolist() == [1, 1]

    def test_imported_traces_have_them_too(self):
        trace = TraceBuilder().step(3, 0, 900)
        for at in (0, 400):
            trace.dataloader(at, 50)
            op(trace, "aten::a", at + 60, 100, at + 1)
            node(trace, at + 200, 100, at + 1)
        _, micro, _ = analysed(trace)
        assert micro.count.tolist() == [2]
        assert micro.duration_ns.tolist() == [400_000, 500_000]


def test_phases_of_the_schema_are_all_known():
    assert set(recorded_phases(Table().events(), PHASES).visible) == set(PHASES)


def test_the_forward_pass_of_a_wrapper_begins_before_the_models_operators():
    trace = TraceBuilder().step(1, 0, 500).annotation("DistributedDataParallel.forward", 10, 200)
    op(trace, "aten::a", 100, 50, 1)
    op(trace, "aten::loss", 220, 30, 2)
    node(trace, 300, 20, 2)
    node(trace, 330, 50, 1)
    assert phases(trace) == {"forward": [240], "backward": [80], "other": [180]}
