"""Shapes of traces that break naive readers: thousands of threads, very deep stacks, one name a kernel."""

from stepscope.runs import open_run
from stepscope.summary import summarize
from tests.builders import TraceBuilder

THREADS, DEPTH, RANKS = 4000, 2000, 2


def built(rank: int) -> TraceBuilder:
    """One step; a kernel of its own for each thread (1 to 4000 ns long), and a stack of 2000 frames around one."""
    trace = TraceBuilder(rank=rank, world_size=RANKS).step(7, 0, 100_000)
    for i in range(DEPTH):
        trace.python(f"f.py({i}): level_{i}", i, 50_000 - 2 * i)
    trace.op("aten::deep", 20_000, 100).launch(20_010, 5, THREADS + 1)
    trace.kernel("deep", 20_020, 500, correlation=THREADS + 1)
    for i in range(THREADS):
        at = 30 + 2 * i
        trace.op(f"aten::op{i % 100}", at, 2, tid=10_000 + i)
        trace.launch(at + 0.5, 0.5, i + 1, tid=10_000 + i)
        trace.kernel(f"kernel_{i}", 60_000 + 5 * i, f"{(i + 1) / 1000:.3f}", stream=9, correlation=i + 1)
    return trace


def test_totals_are_exact(tmp_path):
    for rank in range(RANKS):
        built(rank).write(tmp_path / f"rank{rank}.pt.trace.json", gzip=rank == 1)
    workers = summarize(open_run(tmp_path))["workers"]
    assert [w["rank"] for w in workers] == [0, 1]
    for worker in workers:
        kernels = {k["name"]: k["total_ns"] for k in worker["kernels"]}
        assert kernels == {"deep": 500_000} | {f"kernel_{i}": i + 1 for i in range(THREADS)}
        launches = worker["launches"]
        assert (launches["count"], launches["linked"]) == (THREADS + 1, THREADS + 1)
        operators = {o["name"]: o for o in worker["operators"]}
        for i in range(100):
            own = operators[f"aten::op{i}"]
            assert (own["count"], own["host_total_ns"]) == (THREADS // 100, 2000 * THREADS // 100)
            assert own["device_self_ns"] == sum(range(i + 1, THREADS + 1, 100))
        (stack,) = [s["stack"] for s in worker["operator_stacks"] if s["name"] == "aten::deep"]
        assert stack[-1] == f"f.py({DEPTH - 1}): level_{DEPTH - 1}"
        assert worker["steps"][0]["activity_ns"]["kernel"] == 500_000 + sum(range(1, THREADS + 1))
        assert worker["quality"] == []
