"""Properties of whole files through import and summary: what must change nothing changes nothing.

The order of events in a file, the time of day, compression, how ranks are put into folders, an idle worker.
"""

import gzip
import json
import random
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from stepscope.runs import open_run
from stepscope.summary import summarize
from tests.builders import BASE_NS, TraceBuilder
from tests.generated import Training

SEEDS = range(6)
YEAR_NS = 365 * 86_400 * 10**9


@cache
def trained(seed: int) -> TraceBuilder:
    return Training(seed, rank=seed).trace


def copy_of(trace: TraceBuilder) -> TraceBuilder:
    other = TraceBuilder(base_ns=trace.base_ns)
    other.header, other.events = dict(trace.header), list(trace.events)
    return other


def workers(path: Path) -> dict[int | None, dict[str, Any]]:
    """The workers of a run by rank, without what the file's name and place tell."""
    return {w["rank"]: {k: v for k, v in w.items() if k != "worker"} for w in summarize(open_run(path))["workers"]}


def alone(trace: TraceBuilder, folder: Path, name: str = "trace") -> dict[str, Any]:
    (worker,) = workers(trace.write(folder / f"{name}.pt.trace.json")).values()
    return worker


def shifted(value: Any, shift_ns: int) -> Any:
    """Plain data with every time of day moved; other numbers are far smaller."""
    if isinstance(value, dict):
        return {k: shifted(v, shift_ns) for k, v in value.items()}
    if isinstance(value, list):
        return [shifted(v, shift_ns) for v in value]
    is_time = isinstance(value, int) and not isinstance(value, bool) and value >= BASE_NS // 2
    return value + shift_ns if is_time else value


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_events_in_the_file(seed, tmp_path):
    mixed = copy_of(trained(seed))
    random.Random(seed).shuffle(mixed.events)
    assert alone(mixed, tmp_path, "mixed") == alone(trained(seed), tmp_path)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shift_ns", [1, YEAR_NS, -YEAR_NS - 123_456_789])
def test_the_time_of_day(seed, shift_ns, tmp_path):
    moved = copy_of(trained(seed))
    moved.header["baseTimeNanoseconds"] = BASE_NS + shift_ns
    assert alone(moved, tmp_path, "moved") == shifted(alone(trained(seed), tmp_path), shift_ns)


@pytest.mark.parametrize("seed", SEEDS)
def test_compressed_or_plain(seed, tmp_path):
    plain = trained(seed).write(tmp_path / "plain.pt.trace.json")
    packed = tmp_path / "packed.pt.trace.json.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert workers(packed) == workers(plain)


def test_ranks_in_one_folder_or_each_alone(tmp_path):
    for seed in SEEDS:
        trained(seed).write(tmp_path / "all" / f"rank{seed}.pt.trace.json")
    together = workers(tmp_path / "all")
    assert set(together) == set(SEEDS)
    for seed in SEEDS:
        assert together[seed] == alone(trained(seed), tmp_path, f"alone{seed}")


def test_steps_of_a_run_are_those_of_its_workers(tmp_path):
    for seed in SEEDS:
        trained(seed).write(tmp_path / "all" / f"rank{seed}.pt.trace.json")
    run = summarize(open_run(tmp_path / "all"))
    durations = sorted(s["duration_ns"] for w in run["workers"] for s in w["steps"] if s["complete"])
    assert run["step_time_ns"]["count"] == len(durations)
    assert run["step_time_ns"]["mean"] * len(durations) == pytest.approx(sum(durations))
    assert (run["step_time_ns"]["min"], run["step_time_ns"]["max"]) == (durations[0], durations[-1])


def test_a_worker_without_events(tmp_path):
    for seed in SEEDS:
        trained(seed).write(tmp_path / "all" / f"rank{seed}.pt.trace.json")
    before, run_before = workers(tmp_path / "all"), summarize(open_run(tmp_path / "all"))
    TraceBuilder(rank=99, world_size=8).write(tmp_path / "all" / "rank99.pt.trace.json")
    after, run_after = workers(tmp_path / "all"), summarize(open_run(tmp_path / "all"))
    assert [n["code"] for n in after.pop(99)["quality"]] == ["no_events"]
    assert after == before
    for field in ("step_time_ns", "micro_step_time_ns", "resources", "findings"):
        assert run_after[field] == run_before[field]


@pytest.mark.parametrize("seed", SEEDS)
def test_parts_sum_to_wholes(seed, tmp_path):
    worker = alone(trained(seed), tmp_path)
    assert worker["quality"] == []
    kernels = [e for e in trained(seed).events if e["cat"] == "kernel"]
    total = sum(int(e["dur"]) * 1000 for e in kernels)
    assert sum(k["total_ns"] for k in worker["kernels"]) == worker["activity_time_ns"]["kernel"] == total
    assert sum(k["count"] for k in worker["kernels"]) == len(kernels)
    compute = sum(k["total_ns"] for k in worker["kernels"] if k["kind"] == "compute")
    assert sum(worker["precision_ns"].values()) == compute
    for step in worker["steps"]:
        assert sum(step["activity_ns"].values()) == step["duration_ns"]
        assert sum(v for v in step["phase_ns"].values() if v is not None) == step["host_ns"]
        assert step["micro_steps"] == 1
    for field, parts in (("activity_total_ns", "activity_ns"), ("phase_total_ns", "phase_ns")):
        for name, value in worker[field].items():
            assert value is None or value == sum(s[parts][name] for s in worker["steps"])
    timeline = worker["timeline_ns"]
    exposed = ("compute", "exposed_communication", "exposed_memcpy", "exposed_memset", "idle")
    assert sum(timeline[p] for p in exposed) == timeline["total"]
    launches = worker["launches"]
    assert launches["linked"] + launches["without_run"] == launches["count"] == len(kernels) + len(worker["steps"])
    copies = sum(c["time_ns"] for c in worker["memcpy"].values())
    assert copies == worker["activity_time_ns"]["memcpy"]
    work = total + copies
    assert sum(o["device_self_ns"] for o in worker["operators"]) <= work
    modules = worker["modules"]
    assert sum(m["forward_device_self_ns"] + m["backward_device_self_ns"] for m in modules) == work
    (memory,) = worker["memory"]
    assert memory["end_bytes"] == memory["start_bytes"] + memory["allocated_bytes"] - memory["freed_bytes"]
    shapes = {o["name"]: 0 for o in worker["operators"]}
    for entry in worker["operators_by_shape"]:
        shapes[entry["name"]] += entry["count"]
    assert shapes == {o["name"]: o["count"] for o in worker["operators"]}


def test_the_whole_contract_is_strict_json(tmp_path):
    for seed in SEEDS:
        trained(seed).write(tmp_path / f"rank{seed}.pt.trace.json")
    found = summarize(open_run(tmp_path), micro=True)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    for worker in found["workers"]:
        for step in worker["steps"]:
            assert sum(m["host_ns"] for m in step["micro"]) == step["host_ns"]


def test_a_copy_of_the_folder_tells_the_same(tmp_path):
    for seed in SEEDS:
        trained(seed).write(tmp_path / "one" / f"rank{seed}.pt.trace.json")
    shutil.copytree(tmp_path / "one", tmp_path / "two" / "with spaces" / "ü")
    assert workers(tmp_path / "two" / "with spaces" / "ü") == workers(tmp_path / "one")


def test_events_of_the_same_span_in_any_order(tmp_path):
    """Nothing tells which of them is the outer one, but it must not be their place in the file."""
    trace = TraceBuilder(rank=0).step(1, 0, 100)
    for name in ("aten::b", "aten::a", "aten::c"):
        trace.op(name, 10, 50).python(f"nn.Module: {name}", 5, 60)
    trace.launch(20, 5, 1).kernel("k", 70, 20, correlation=1)
    turned = copy_of(trace)
    turned.events.reverse()
    assert alone(turned, tmp_path, "turned") == alone(trace, tmp_path)
