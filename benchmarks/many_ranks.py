"""Makes a run of many ranks as a distributed training leaves it: always-on steps and phases, one deep window each."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from stepscope.schema import LIVE_SCHEMA, NONE, Device, Events, Kind, Lane, Window
from stepscope.store import RunFolder, StreamWriter, write_window

T0_NS = 1_700_000_000_000_000_000
STEP_NS = 20_000_000
_PHASES = ("input_wait", "forward", "backward", "optimizer")


def make_run(path: Path, ranks: int, steps: int, deep_steps: int, kernels: int, seed: int = 0) -> None:
    """Write a run folder. Every step ends in one all-reduce that waits for the last rank to come, and the host for it.

    Rank 5 computes an eighth longer than the others, rank 17 waits for input in every seventh step, and one rank
    lacks at the end.

    Args:
        path: the run folder to make.
        ranks: workers.
        steps: steps of each, in the always-on stream.
        deep_steps: steps in the middle that the deep window covers.
        kernels: kernels in each of them.
        seed: of the small differences between steps and ranks.
    """
    rng = np.random.default_rng(seed)
    compute = (STEP_NS * (1 + rng.normal(0, 0.01, (ranks, steps)))).astype(np.int64)
    wait = np.full((ranks, steps), STEP_NS // 50, np.int64)
    if ranks > 5:
        compute[5] += STEP_NS // 8
    if ranks > 17:
        wait[17, ::7] += STEP_NS // 4
    length = (compute + wait).max(axis=0) + STEP_NS // 20
    start = T0_NS + np.concatenate(([0], np.cumsum(length[:-1] + 50_000)))
    for rank in range(ranks):
        folder = RunFolder(path).create_worker(rank, f"node{rank // 8:02d}", 4000 + rank)
        meta = {"rank": rank, "world_size": ranks + 1, "host": f"node{rank // 8:02d}", "pid": 4000 + rank}
        meta |= {"framework": "pytorch", "phases": list(_PHASES), "started_ns": T0_NS, "notes": []}
        folder.write_meta({**meta, "ended_ns": int(start[-1] + length[-1])})
        StreamWriter(folder.live_path(), LIVE_SCHEMA).append(_live(start, length, compute[rank], wait[rank]))
        if deep_steps:
            first = (steps - deep_steps) // 2
            deep = slice(first, first + deep_steps)
            window = _window(start[deep], length[deep], compute[rank, deep], wait[rank, deep], first, kernels)
            write_window(folder.new_window(), window)


def _live(start: np.ndarray, length: np.ndarray, compute: np.ndarray, wait: np.ndarray) -> dict[str, list]:
    """A step as hooks write it: its phases, then itself."""
    n = len(start)
    forward, optimizer = compute // 3, np.full(n, STEP_NS // 40)
    parts = [wait, forward, length - wait - forward - optimizer, optimizer]
    begins = [start + sum(parts[:i]) for i in range(len(parts))]
    table = [(Kind.PHASE, name, b, d) for name, b, d in zip(_PHASES, begins, parts, strict=True)]
    table.append((Kind.STEP, "step", start, length))

    def woven(columns: list[np.ndarray]) -> list:
        return np.stack(columns, axis=1).ravel().tolist()

    return {
        "kind": [int(kind) for kind, *_ in table] * n,
        "name": [name for _, name, *_ in table] * n,
        "ts_ns": woven([b for *_, b, _ in table]),
        "dur_ns": woven([d for *_, d in table]),
        "step": np.repeat(np.arange(n), len(table)).tolist(),
        "tid": [1] * (n * len(table)),
        "args": [None] * (n * len(table)),
    }


def _window(
    start: np.ndarray, length: np.ndarray, compute: np.ndarray, wait: np.ndarray, first: int, kernels: int
) -> Window:
    n = len(start)
    each = compute // kernels
    at = ((start + wait)[:, None] + each[:, None] * np.arange(kernels)).ravel()
    dur = np.repeat(each * 9 // 10, kernels)
    name = np.tile(np.arange(kernels), n)
    reduce_at = start + wait + compute
    names = [f"kernel_{i}" for i in range(kernels)]
    names += ["cudaLaunchKernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ProfilerStep", "cudaStreamSynchronize"]
    launch, reduce, marker, blocked = range(kernels, kernels + 4)
    runs_at, runs_ns = np.concatenate((at, reduce_at)), np.concatenate((dur, start + length - reduce_at))
    runs = len(runs_at)
    parts = [  # ts, dur, lane, name, kind, step
        (start, length, 0, marker, Kind.STEP, np.arange(first, first + n)),
        (runs_at - 8_000, np.full(runs, 4_000), 0, launch, Kind.LAUNCH, NONE),
        (runs_at, runs_ns, 1, np.concatenate((name, np.full(n, reduce))), Kind.KERNEL, NONE),
        (reduce_at - 4_000, start + length - reduce_at + 4_000, 0, blocked, Kind.SYNC, NONE),
    ]
    columns = {
        c: np.concatenate([np.broadcast_to(part[i], len(part[0])) for part in parts])
        for i, c in enumerate(("ts_ns", "dur_ns", "lane", "name", "kind", "step"))
    }
    columns["kind"] = np.where(columns["name"] == reduce, Kind.COLLECTIVE, columns["kind"])
    ids = np.arange(runs)
    columns["correlation"] = np.concatenate((np.full(n, NONE), ids, ids, np.full(n, NONE)))
    columns["device"] = np.where(columns["lane"] == 1, 0, NONE)
    columns["stream"] = np.where(columns["lane"] == 1, 7, NONE)
    lanes = [Lane("thread", "main", "1", "1"), Lane("stream", "stream 7", "0", "7", device=0, stream=7)]
    events = Events.from_columns(columns, names, lanes)
    return Window(events, framework="pytorch", devices=[Device(0, "NVIDIA H100 80GB HBM3", 132, 80 << 30)])
