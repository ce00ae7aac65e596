"""What holds for any events: parts sum to the whole; row order, time of day and idle lanes do not matter."""

from dataclasses import asdict, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stepscope.analysis.activity import activity_by_step
from stepscope.analysis.annotations import annotation_times
from stepscope.analysis.capture import merge
from stepscope.analysis.collectives import collective_runs, communication
from stepscope.analysis.device_timeline import device_timeline
from stepscope.analysis.gpu import gpus
from stepscope.analysis.idle import idle_by_device, idle_by_stream
from stepscope.analysis.kernel_runs import kernel_runs
from stepscope.analysis.kernels import activity_time, kernels, kernels_by_config, overlaps_on_queue, precision
from stepscope.analysis.launches import launches, link
from stepscope.analysis.memcpy import copies, memory_operations
from stepscope.analysis.operators import operators
from stepscope.analysis.phases import partition, recorded_phases
from stepscope.analysis.queues import queue_order
from stepscope.analysis.select import device_of, queue_of
from stepscope.analysis.steps import find_steps
from stepscope.analysis.synchronisation import synchronisation
from stepscope.schema import Events, Kind, Lane
from tests.analysis.table import Table

HOST = [Kind.OP, Kind.LAUNCH, Kind.RUNTIME, Kind.SYNC, Kind.DATALOADER, Kind.ANNOTATION, Kind.PHASE, Kind.PYTHON]
DEVICE = [Kind.KERNEL, Kind.COLLECTIVE, Kind.MEMCPY, Kind.MEMSET, Kind.SYNC]
NAMES = {Kind.PHASE: ("forward", "backward", "optimizer", "sleep"), Kind.MEMCPY: ("Memcpy HtoD", "Memcpy DtoH")}

time = st.integers(0, 200)
host_row = st.tuples(st.sampled_from(HOST), time, st.integers(0, 60), st.integers(1, 3), st.integers(0, 3))
device_row = st.tuples(
    st.sampled_from(DEVICE), time, st.integers(0, 60), st.integers(7, 8), st.integers(0, 1), st.integers(-1, 12)
)
step_row = st.tuples(time, st.integers(0, 80), st.integers(1, 2))


@st.composite
def tables(draw):
    """Rows that nest, overlap, lack partners and carry ids twice: anything a damaged trace may hold."""
    table = Table()
    for number, (ts, dur, tid) in enumerate(draw(st.lists(step_row, max_size=5))):
        table.step(number, ts, dur, tid)
    for i, (kind, ts, dur, tid, which) in enumerate(draw(st.lists(host_row, max_size=25))):
        names = NAMES.get(kind, ("a", "b", "c", "d"))
        table.host(kind, names[which], ts, dur, tid, correlation=i % 14 - 1, external_id=i)
    for kind, ts, dur, stream, device, correlation in draw(st.lists(device_row, max_size=20)):
        name = NAMES.get(kind, ("k", "l"))[correlation % 2]
        table.device(kind, name, ts, dur, stream, device, correlation, external_id=correlation, size=dur * 10)
    return table


def analyse(events, origin=0):
    """Every result as plain data, times relative to ``origin``."""
    capture = merge([events])
    links = link(events)
    steps = find_steps(Events.empty(), capture, links)
    phases = partition(recorded_phases(events), steps)
    runs = kernel_runs(events, links)
    queues = queue_order(events, links.run)
    return {
        "steps": [
            (steps.start_ns - origin).tolist(),
            (steps.host_start_ns - origin).tolist(),
            steps.id.tolist(),
            steps.duration_ns.tolist(),
            steps.host_ns.tolist(),
            steps.complete.tolist(),
            steps.nested,
        ],
        "activity": {n: v.tolist() for n, v in activity_by_step(events, steps).items()},
        "phases": ({n: v.tolist() for n, v in phases.ns.items()}, phases.measured.tolist()),
        "gpus": gpus(events, steps, runs),
        "timeline": device_timeline(events),
        "sums": activity_time(events),
        "kernels": kernels(runs),
        "configs": kernels_by_config(runs),
        "precision": precision(runs),
        "overlaps": overlaps_on_queue(events, queues),
        "memory operations": memory_operations(events),
        "idle": (idle_by_device(capture, links), idle_by_stream(capture, links)),
        "synchronisation": synchronisation(events),
        "communication": communication(events, collective_runs(events, links)),
        "copies": copies(events),
        "launches": launches(events, links, queues),
        "operators": operators(events, links),
        "annotations": annotation_times(Events.empty(), events),
    }


@given(tables())
def test_parts_sum_to_the_whole(table):
    events = table.events()
    steps = find_steps(Events.empty(), merge([events]), link(events))
    classes = activity_by_step(events, steps)
    assert sum(classes.values()).tolist() == steps.duration_ns.tolist()
    assert all((v >= 0).all() for v in classes.values())
    phases = partition(recorded_phases(events), steps).ns
    assert sum(phases.values()).tolist() == steps.host_ns.tolist()
    assert all((v >= 0).all() for v in phases.values())
    assert (steps.start_ns[1:] >= steps.end_ns[:-1]).all()
    timeline = device_timeline(events)
    if timeline is not None:
        parts = ("compute", "exposed_communication", "exposed_memcpy", "exposed_memset", "idle")
        assert sum(asdict(timeline)[p] for p in parts) == timeline.total
        assert all(v >= 0 for v in asdict(timeline).values())


@given(tables())
def test_totals_bound_their_parts(table):
    events = table.events()
    links = link(events)
    found = launches(events, links, queue_order(events, links.run))
    assert found.linked + found.without_run == found.count
    assert all(
        0 <= k.clipped_ns <= k.total_ns and k.min_ns <= k.mean_ns <= k.max_ns for k in kernels(kernel_runs(events))
    )
    ops = operators(events, links)
    assert all(0 <= o.host_self_ns <= o.host_total_ns for o in ops)
    assert all(0 <= (o.device_self_ns or 0) <= (o.device_total_ns or 0) for o in ops)
    work = int(events.dur_ns[links.run].sum())
    assert sum(o.device_self_ns or 0 for o in ops) <= work


@given(tables())
def test_parts_of_the_device_side_sum_to_the_whole(table):
    events = table.events()
    links, capture = link(events), merge([events])
    runs = kernel_runs(events, links)
    for idle in (*idle_by_device(capture, links), *idle_by_stream(capture, links)):
        assert idle.busy_ns + idle.idle_ns == idle.span_ns
        assert idle.host_wait_ns + idle.kernel_wait_ns + idle.other_ns == idle.idle_ns
        assert min(asdict(idle)[n] for n in ("busy_ns", "host_wait_ns", "kernel_wait_ns", "other_ns")) >= 0
    timeline = device_timeline(events)
    for device in idle_by_device(capture, links):
        own = events.take(links.run[device_of(events, links.run) == device.device])
        alone = device_timeline(own)
        assert (alone.total, alone.idle) == (device.span_ns, device.idle_ns)
    assert len(idle_by_stream(capture, links)) == len(np.unique(queue_of(events, links.run)))

    total = sum(k.total_ns for k in kernels(runs))
    assert (
        sum(c.total_ns for c in kernels_by_config(runs)) == total == activity_time(events).kernel or not links.run.size
    )
    compute = sum(k.total_ns for k in kernels(runs) if k.kind == "compute")
    assert sum(asdict(precision(runs)).values() if precision(runs) else [0]) == compute

    found = launches(events, links, queue_order(events, links.run))
    if found.latency_ns is not None:
        parts = [found.latency_ns, found.overhead_ns, found.queue_wait_ns]
        assert parts[0]["total"] == parts[1]["total"] + parts[2]["total"]
        assert min(min(p.values()) for p in parts) >= 0
        for counts in (found.histogram.latency, found.histogram.overhead, found.histogram.queue_wait):
            assert sum(counts) == len(np.unique(links.call_of_run[links.call_of_run >= 0]))
    assert sum(c.count for c in found.by_call) == found.count
    assert sum(c.runs for c in found.by_call) + found.runs_without_launch == len(links.run)

    talk = communication(events, collective_runs(events, links))
    if talk is not None:
        assert talk.exposed_ns + talk.overlapped_ns == talk.total_ns == timeline.communication
        assert talk.exposed_ns == timeline.exposed_communication
        assert all(0 <= c.exposed_ns <= c.total_ns for c in talk.collectives)
    waits = synchronisation(events)
    assert sum(c.total_ns for c in waits.calls) == sum(o.total_ns for o in waits.by_operator)


@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(table, random):
    events = table.events()
    order = list(range(len(events)))
    random.shuffle(order)
    assert analyse(events.take(np.array(order, dtype=np.int64))) == analyse(events)


@given(tables(), st.sampled_from([1, 999, 1_751_410_836_000_000_000]))
def test_the_time_of_day_does_not_matter(table, shift):
    events = table.events()
    moved = replace(events, ts_ns=events.ts_ns + shift)
    assert analyse(moved, origin=shift) == analyse(events)


@given(tables())
def test_lanes_without_events_do_not_matter(table):
    events = table.events()
    more = replace(
        events, lanes=[*events.lanes, Lane("thread", "idle", tid="9"), Lane("stream", "s", device=3, stream=1)]
    )
    assert analyse(more) == analyse(events)


@settings(max_examples=30)
@given(tables())
def test_a_stray_time_far_off_breaks_nothing(table):
    """Lanes times span would not fit in 64 bits."""
    for tid in range(1, 60):
        table.op("far", 1_700_000_000_000_000_000 + tid, 5, tid)
        table.op("near", 500, 5, tid)
    found = {o.name: o for o in operators(table.events(), link(table.events()))}
    assert found["far"].host_self_ns == 59 * 5
    assert found["near"].host_total_ns == 59 * 5
