"""What holds for any events on the host side: parts sum to wholes; row order, time and idle lanes do not matter."""

import json
from dataclasses import asdict, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.analysis.autograd import link_backward
from stepscope.analysis.capture import merge
from stepscope.analysis.inferred_steps import inferred_steps
from stepscope.analysis.launches import link
from stepscope.analysis.memory import memory
from stepscope.analysis.modules import module_owners, modules
from stepscope.analysis.operators import operator_calls, operators, operators_by_shape
from stepscope.analysis.phase_markers import marked_phases
from stepscope.analysis.phases import micro_steps, partition
from stepscope.analysis.stacks import operator_stacks
from stepscope.analysis.steps import find_steps
from stepscope.schema import NONE, Events, Kind, Lane
from tests.analysis.table import Table

SCOPES = ("net/dense/MatMul:MatMul", "gradient_tape/net/dense/MatMul:MatMul", "net/out/Add:Add")
OPS = ("aten::linear", "aten::empty", "autograd::engine::evaluate_function: X", "Optimizer.step#SGD.step")
MODULES = ("nn.Module: Net_0", "nn.Module: Linear_0", "nn.Module: Linear_1")
FETCH = "enumerate(DataLoader)#x.__next__"

time, length, thread = st.integers(0, 300), st.integers(0, 80), st.integers(1, 3)
numbers = st.fixed_dictionaries(
    {},
    optional={
        "Sequence number": st.integers(-1, 4),
        "Fwd thread id": st.integers(0, 2),
        "Input Dims": st.sampled_from([[[1, 2]], [[3]], []]),
        "Call stack": st.sampled_from(["f;g", ""]),
    },
)
op_row = st.tuples(st.sampled_from(OPS), time, length, thread, numbers)
module_row = st.tuples(st.sampled_from(MODULES), time, length, thread)
memory_row = st.tuples(time, st.integers(-50, 50), thread, st.integers(-1, 1), st.integers(0, 4), st.booleans())


@st.composite
def captures(draw, scopes=False):
    """Rows that nest, overlap and carry damaged numbers; lanes, names and args as an importer leaves them."""
    table, args = Table(), []

    def told(value):
        args.append(value)

    for number, (ts, dur, tid) in enumerate(draw(st.lists(st.tuples(time, length, thread), max_size=3))):
        table.step(number, ts, dur, tid)
        told(None)
    names = SCOPES if scopes else OPS
    for i, (name, ts, dur, tid, arg) in enumerate(draw(st.lists(op_row, max_size=20))):
        table.op(names[OPS.index(name) % len(names)], ts, dur, tid, external_id=i)
        told(arg or None)
    for name, ts, dur, tid in draw(st.lists(module_row, max_size=0 if scopes else 12)):
        table.host(Kind.MODULE, name, ts, dur, tid)
        told(None)
    for ts, tid in draw(st.lists(st.tuples(time, thread), max_size=6)):
        table.host(Kind.DATALOADER, FETCH, ts, 4, tid)
        told(None)
    for i, (ts, tid, run, dur) in enumerate(draw(st.lists(st.tuples(time, thread, time, length), max_size=10))):
        table.launch(ts, 3, i + 1, tid)
        told(None)
        table.kernel("k", run, dur, i + 1)
        told(None)
    for ts, size, tid, device, address, with_total in draw(st.lists(memory_row, max_size=15)):
        lane = table._lane(("thread", tid, NONE, NONE))
        table._add(Kind.MEMORY, "[memory]", ts, 0, lane, NONE, NONE, device, NONE, size, NONE)
        told({"Addr": address} | ({"Total Allocated": 100 + size} if with_total else {}))
    events = table.events()
    texts = {json.dumps(a): None for a in args if a is not None}
    events.args_values = list(texts)
    events.args = np.array([NONE if a is None else list(texts).index(json.dumps(a)) for a in args], np.int32)
    return events


def analyse(events, origin=0):
    """Every result as plain data, times relative to ``origin``."""
    capture = merge([events])
    links = link(events)
    autograd = link_backward(events)
    calls = operator_calls(events, links, autograd)
    owners = module_owners(events, autograd)
    steps = find_steps(Events.empty(), capture, links)
    rows = marked_phases(events, steps, links, autograd)
    phases, micro = partition(rows, steps), micro_steps(rows, steps)
    inferred = inferred_steps(capture)
    found = {
        "operators": operators(events, links, calls),
        "shapes": operators_by_shape(events, calls),
        "stacks": operator_stacks(events, calls),
        "modules": modules(events, links, calls, owners),
        "memory": [asdict(m) for m in memory(capture, owners) or ()],
        "phases": ({n: v.tolist() for n, v in phases.ns.items()}, phases.measured.tolist()),
        "micro": (micro.count.tolist(), (micro.start_ns - origin).tolist(), micro.duration_ns.tolist()),
        "inferred": inferred and (inferred.rule, (inferred.start_ns - origin).tolist(), inferred.complete.tolist()),
        "guessed": (autograd.guessed, calls.overlapping),
    }
    for one in found["memory"]:
        one["peak_ns"] -= origin
        one["curve"]["ts_ns"] = [t - origin for t in one["curve"]["ts_ns"]]
        for allocation in one["largest"]:
            allocation["ts_ns"] -= origin
            allocation["freed_ns"] = allocation["freed_ns"] and allocation["freed_ns"] - origin
    return found


@settings(max_examples=40)
@given(captures(), captures(scopes=True))
def test_modules_and_the_rest_sum_to_all_device_work(with_modules, with_scopes):
    for events in (with_modules, with_scopes):
        links = link(events)
        autograd = link_backward(events)
        found = modules(events, links, operator_calls(events, links, autograd), module_owners(events, autograd))
        if found is None:
            continue
        rest, *listed = found[0]
        work = int(events.dur_ns[links.run].sum())
        device = [(m.forward_device_self_ns or 0) + (m.backward_device_self_ns or 0) for m in (rest, *listed)]
        assert sum(device) == work
        assert (rest.forward_device_total_ns or 0) + (rest.backward_device_total_ns or 0) == work
        for module in listed:
            for part in ("forward_host", "forward_device", "backward_host", "backward_device"):
                total, own = getattr(module, f"{part}_total_ns"), getattr(module, f"{part}_self_ns")
                inner = [m for m in listed if m.path[:-1] == module.path]
                assert (total is None) == (own is None)
                if total is not None:
                    assert total == own + sum(getattr(m, f"{part}_total_ns") for m in inner)
                    assert own >= 0


@settings(max_examples=40)
@given(captures())
def test_memory_ends_where_allocations_less_frees_end(events):
    for found in memory(merge([events])) or ():
        assert found.peak_bytes >= max(found.curve.allocated) == found.peak_bytes
        assert sum(s.bytes for s in found.operators) == found.allocated_bytes
        assert sum(s.count for s in found.operators) == found.allocations
        if not found.is_absolute:
            assert found.end_bytes == found.start_bytes + found.allocated_bytes - found.freed_bytes
            assert min(found.start_bytes, *found.curve.allocated) >= 0
        if found.at_peak:
            assert found.at_peak.earlier_bytes + sum(s.bytes for s in found.at_peak.operators) == found.peak_bytes


@settings(max_examples=40)
@given(captures())
def test_phases_and_micro_batches_sum_to_the_step(events):
    capture, links = merge([events]), link(events)
    steps = find_steps(Events.empty(), capture, links)
    rows = marked_phases(events, steps, links, link_backward(events))
    phases = partition(rows, steps)
    assert sum(phases.ns.values()).tolist() == steps.host_ns.tolist()
    assert all((v >= 0).all() for v in phases.ns.values())
    micro = micro_steps(rows, steps)
    known = micro.count != NONE
    assert np.bincount(micro.step, minlength=len(steps))[known].tolist() == micro.count[known].tolist()
    sums = np.bincount(micro.step, micro.duration_ns, len(steps)).astype(np.int64)
    assert sums[known].tolist() == steps.host_ns[known].tolist()
    assert (micro.duration_ns >= 0).all()


@settings(max_examples=40)
@given(captures())
def test_shapes_and_names_hold_the_same_calls(events):
    links = link(events)
    calls = operator_calls(events, links, link_backward(events))
    shapes = operators_by_shape(events, calls)
    by_name = {o.name: o for o in operators(events, links, calls)}
    assert all(sum(k.total_ns for k in o.kernels) <= (o.device_self_ns or 0) for o in by_name.values())
    for name in by_name if shapes else ():
        same = [s for s in shapes[0] if s.name == name]
        assert sum(s.count for s in same) == by_name[name].count
        assert sum(s.host_self_ns for s in same) == by_name[name].host_self_ns
        assert sum(s.device_total_ns or 0 for s in same) == (by_name[name].device_total_ns or 0)


@settings(max_examples=40)
@given(captures(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(events, random):
    order = list(range(len(events)))
    random.shuffle(order)
    assert analyse(events.take(np.array(order, dtype=np.int64))) == analyse(events)


@settings(max_examples=40)
@given(captures(), st.sampled_from([1, 999, 1_751_410_836_000_000_000]))
def test_the_time_of_day_does_not_matter(events, shift):
    assert analyse(replace(events, ts_ns=events.ts_ns + shift), origin=shift) == analyse(events)


@settings(max_examples=40)
@given(captures())
def test_lanes_without_events_do_not_matter(events):
    lanes = [*events.lanes, Lane("thread", "idle", tid="9"), Lane("stream", "s", device=3, stream=1)]
    assert analyse(replace(events, lanes=lanes)) == analyse(events)
