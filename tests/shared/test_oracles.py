"""Agreement with independent tools on real traces: HolisticTraceAnalysis, TraceLens, a vectorised reference.

Their figures lie in ``oracles.json`` beside the traces. Differences of definition are written out here: the
first keeps only linked device work launched before the last step ends, the second counts fills as computation.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from stepscope.analysis import intervals
from stepscope.analysis.capture import merge
from stepscope.analysis.device_timeline import device_timeline
from stepscope.analysis.kernel_runs import kernel_runs
from stepscope.analysis.kernels import kernels
from stepscope.analysis.launches import link
from stepscope.analysis.select import covered
from stepscope.analysis.steps import find_steps
from stepscope.importers import import_file
from stepscope.schema import NONE, Events, Kind

TRACES = Path(__file__).resolve().parents[3] / "shared" / "traces"
ORACLES = TRACES / "oracles.json"

pytestmark = pytest.mark.skipif(not ORACLES.is_file(), reason="no ../shared/traces here")


@pytest.fixture(scope="module", params=["v100_ddp_rank1of2", "a100_ddp_rank0of2"])
def trace(request):
    """Events of a trace and what the other tools say about it."""
    path = f"kineto/{request.param}.pt.trace.json.gz"
    return import_file(TRACES / path).events, json.loads(ORACLES.read_text())["traces"][path]


def about(us):
    """Microseconds of another tool as ns, within the 1 us that its floats and rounding may differ by."""
    return pytest.approx(us * 1000, abs=1000)


def test_temporal_breakdown(trace):
    events, oracle = trace
    found, expected = device_timeline(events), oracle["all_device_events"]["hta_like"]
    assert found.compute == about(expected["compute_us"])
    assert found.idle == about(expected["idle_us"])
    assert found.total - found.compute - found.idle == about(expected["non_compute_us"])


def test_exposed_times_where_fills_are_computation(trace):
    events, oracle = trace
    expected = oracle["all_device_events"]["tracelens_like"]
    kinds = ((Kind.KERNEL, Kind.MEMSET), (Kind.COLLECTIVE,), (Kind.MEMCPY,))
    sets = [covered(events, np.flatnonzero(events.of_kind(*k))) for k in kinds]
    found = [intervals.length(own) for own in intervals.exclusive(sets)]
    names = ("computation_ms", "exposed_comm_ms", "exposed_memcpy_ms")
    assert found == [about(expected[n] * 1000) for n in names]


def test_overlap_of_communication_and_computation(trace):
    events, oracle = trace
    compute, communication = (
        covered(events, np.flatnonzero(events.of_kind(k))) for k in (Kind.KERNEL, Kind.COLLECTIVE)
    )
    share = intervals.length(intervals.intersect(compute, communication)) / intervals.length(communication)
    assert share * 100 == pytest.approx(oracle["all_device_events"]["comm_comp_overlap_pctg"])


def test_kernel_totals_of_work_launched_in_the_steps(trace):
    events, oracle = trace
    links = link(events)
    steps = find_steps(Events.empty(), merge([events]), links)
    linked = links.call_of_run != NONE
    called_ns = events.ts_ns[links.call[links.call_of_run[linked]]]
    kept = links.run[linked][called_ns < steps.host_end_ns.max()]
    found = {k.name: k.total_ns for k in kernels(kernel_runs(events.take(kept)))}
    table = oracle["hta_ns"]["gpu_kernel_breakdown"]["result"][1]
    common = [row for row in table if row["name"] in found]
    assert len(common) > 8
    for row in common:
        assert found[row["name"]] == about(row["sum (us)"]), row["name"]


def test_launch_pairs_and_delays(trace):
    events, oracle = trace
    expected = oracle["all_device_events"]["launches"]
    links = link(events)
    linked = links.call_of_run != NONE
    assert np.count_nonzero(linked) == expected["joined"]
    calls, runs = links.call[links.call_of_run[linked]], links.run[linked]
    names = np.array([events.text(c) for c in calls.tolist()])
    theirs = np.isin(names, ("cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync"))
    assert np.count_nonzero(theirs) == expected["hta_names"]
    delay = np.maximum(events.ts_ns[runs] - events.end_ns[calls], 0)
    assert int(delay[theirs].sum()) == about(expected["delay_us"])
    assert int(events.dur_ns[calls][theirs].sum()) == about(expected["cpu_dur_us"])
    assert int(events.dur_ns[runs][theirs].sum()) == about(expected["gpu_dur_us"])
