"""The host side on real traces: backward links as torch itself drew them, and figures that two ways must agree on."""

import gzip
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from stepscope.analysis.autograd import link_backward
from stepscope.analysis.capture import merge
from stepscope.analysis.inferred_steps import inferred_steps
from stepscope.analysis.launches import link
from stepscope.analysis.steps import find_steps
from stepscope.importers import import_file
from stepscope.runs import open_run
from stepscope.schema import Events, Kind
from stepscope.summary import summarize

TRACES = Path(__file__).resolve().parents[3] / "shared" / "traces" / "kineto"

pytestmark = pytest.mark.skipif(not TRACES.is_dir(), reason="no ../shared/traces here")


def path_of(name):
    return TRACES / f"{name}.pt.trace.json.gz"


@pytest.mark.parametrize("name", ["a100_ddp_rank0of2", "mi250_minitoy"])
def test_backward_links_are_the_arrows_that_torch_drew(name):
    document = json.loads(gzip.decompress(path_of(name).read_bytes()), parse_float=Decimal)
    base = document["baseTimeNanoseconds"]
    drawn = Counter(
        (str(e["pid"]), str(e["tid"]), base + int(Decimal(e["ts"]) * 1000))
        for e in document["traceEvents"]
        if e.get("cat") == "fwdbwd" and e["ph"] == "s"
    )
    events = import_file(path_of(name)).events
    found = link_backward(events)
    lanes = events.lanes
    forward = found.forward[found.linked].tolist()
    mine = Counter(
        (lanes[events.lane[row]].pid, lanes[events.lane[row]].tid, int(events.ts_ns[row])) for row in forward
    )
    assert len(drawn) > 3
    assert mine == drawn


@pytest.mark.parametrize("name", ["v100_resnet50_workers0", "v100_resnet50_workers4", "v100_ddp_rank1of2"])
def test_inferred_steps_are_the_marked_ones_within_1_percent(name):
    """The markers begin a moment before the fetch that the rule takes."""
    events = import_file(path_of(name)).events
    marked = np.sort(events.ts_ns[events.of_kind(Kind.STEP)])
    capture = merge([events.take(~events.of_kind(Kind.STEP))])
    found = inferred_steps(capture)
    assert len(found) == len(marked)
    assert (np.abs(np.diff(found.start_ns) - np.diff(marked)) < np.diff(marked) * 0.01).all()
    steps = find_steps(Events.empty(), capture, link(capture.events))
    assert steps.inferred.all()
    assert steps.complete.tolist() == [True] * (len(marked) - 1) + [False]


def test_the_forward_pass_is_that_of_ddp_and_the_loss():
    """DDP's own region begins with an exchange of buffers; the loss comes after it."""
    (worker,) = summarize(open_run(path_of("a100_ddp_rank0of2")))["workers"]
    of_ddp = next(a for a in worker["annotations"] if a["name"] == "DistributedDataParallel.forward")["total_ns"]
    measured = sum(s["phase_ns"]["forward"] for s in worker["steps"])
    assert of_ddp < measured < 1.02 * of_ddp


@pytest.mark.parametrize("path", sorted(TRACES.glob("*.gz")), ids=lambda path: path.name.split(".")[0])
def test_parts_sum_to_wholes(path):
    (worker,) = summarize(open_run(path))["workers"]
    assert not [n for n in worker["quality"] if n["code"] == "analysis_failed"]
    events = import_file(path).events
    work = int(events.dur_ns[events.of_kind(Kind.KERNEL, Kind.COLLECTIVE, Kind.MEMCPY, Kind.MEMSET)].sum())
    if worker["modules"]:
        own = ("forward_device_self_ns", "backward_device_self_ns")
        assert sum(m[field] or 0 for m in worker["modules"] for field in own) == work
    for memory in worker["memory"] or ():
        if memory["at_peak"]:
            alive = sum(o["bytes"] for o in memory["at_peak"]["operators"])
            assert memory["at_peak"]["earlier_bytes"] + alive == memory["peak_bytes"]
        assert memory["end_bytes"] == memory["start_bytes"] + memory["allocated_bytes"] - memory["freed_bytes"]
    for step in worker["steps"]:
        if step["phase_ns"]:
            assert sum(v for v in step["phase_ns"].values() if v is not None) == step["host_ns"]


def test_memory_levels_are_the_totals_of_the_records():
    """The reserved and allocated totals that the allocator itself wrote into each record."""
    for name in ("h100_bert_small", "h100_qwen_0p5b", "mi300_bert_small"):
        document = json.loads(gzip.decompress(path_of(name).read_bytes()))
        records = [e["args"] for e in document["traceEvents"] if e.get("name") == "[memory]"]
        on_device = [a for a in records if a["Device Type"] != 0]
        (worker,) = summarize(open_run(path_of(name)))["workers"]
        memory = worker["memory"][0]
        assert memory["peak_bytes"] == max(a["Total Allocated"] for a in on_device)
        assert memory["peak_reserved_bytes"] == max(a["Total Reserved"] for a in on_device)
        assert memory["allocations"] == sum(a["Bytes"] > 0 for a in on_device)
