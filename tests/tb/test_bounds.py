"""The summary that a page gets stays small, however much a trace holds, and tells what it leaves out."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stepscope.analysis.extremes import extremes
from stepscope_tensorboard.answers import json_bytes
from stepscope_tensorboard.bounds import bounded

LONG = "void at::native::vectorized_elementwise_kernel<4, " + 3000 * "x" + ">"


def kernel(i: int, name: str = LONG) -> dict[str, Any]:
    return {"name": f"{name}{i}", "kind": "compute", "count": 1, "total_ns": 1000 - i}


def allocator(device: int) -> dict[str, Any]:
    ts = [10**18 + 1000 * i for i in range(1000)]
    path = ["Model_0", *(f"DecoderLayer_{i}" for i in range(20))]
    return {
        "device": device,
        "peak_bytes": 999,
        "peak_ns": ts[999],
        "curve": {"ts_ns": ts, "allocated": list(range(1000)), "reserved": [2000] * 1000},
        "at_peak": {
            "earlier_bytes": 0,
            "operators": [{"name": LONG, "count": 1, "bytes": 1}] * 50,
            "modules": [{"name": path, "count": 1, "bytes": 1}] * 50,
        },
        "operators": [{"name": "aten::mm", "count": 1, "bytes": 1}] * 50,
        "largest": [{"ts_ns": ts[0], "bytes": 1, "freed_ns": None, "operator": None, "module": path}] * 20,
    }


def test_the_summary_of_a_very_large_trace_is_below_500_kb() -> None:
    rows = [kernel(i) for i in range(1000)]
    stacks = [{"name": "aten::mm", "stack": [f"model.py({i}): forward" for i in range(64)], "count": 1}] * 100
    calls = [{"operator": LONG, "name": "cudaEventQuery", "count": 1, "total_ns": 1}] * 200
    about = bounded(
        {
            "kernels": rows,
            "kernels_by_launch_config": rows,
            "kernel_launch_config_count": 9000,
            "operators": [{**row, "kernels": [kernel(k) for k in range(5)]} for row in rows],
            "operators_by_shape": rows,
            "operators_by_shape_total": 8000,
            "operator_stacks": stacks,
            "modules": [{"path": [f"Layer_{k}" for k in range(i % 30)], "calls": 1} for i in range(1000)],
            "modules_total": 7000,
            "annotations": [{**row, "count": 2, "total_ns": 10} for row in rows],
            "annotation_count": 1500,
            "annotations_others": {"count": 500, "total_ns": 900, "p50_ns": 1},
            "communication": {"total_ns": 5, "collectives": rows, "collective_count": 3000},
            "synchronisation": {"calls": calls, "records": calls, "by_operator": calls, "by_operator_count": 600},
            "idle": {"devices": rows, "streams": rows, "stream_count": 1200},
            "memory": [allocator(d) for d in range(16)],
            "devices": rows,
            "gpu": rows,
        },
        origin_ns=10**18,
    )
    assert len(json_bytes(about)) < 480_000  # the rest of the answer is small
    assert (about["kernel_count"], about["kernel_launch_config_count"], about["operators_by_shape_total"]) == (
        1000,
        9000,
        8000,
    )
    assert 20 < len(about["kernels"]) < 1000
    left = 1000 - len(about["annotations"])
    assert left > 0
    assert about["annotations_others"] == {"count": 2 * left + 500, "total_ns": 10 * left + 900}
    assert about["kernels"] == rows[: len(about["kernels"])]
    assert (about["communication"]["total_ns"], about["communication"]["collective_count"]) == (5, 3000)
    assert (about["idle"]["stream_count"], about["memory_count"], len(about["memory"])) == (1200, 16, 8)


def test_shares_are_of_the_time_of_all_entries_also_of_those_cut_off() -> None:
    rows = [{"name": f"{LONG}{i}", "host_self_ns": 10 if i else None} for i in range(1000)]
    about = bounded({"operators": rows, "modules": None}, 0)
    assert len(about["operators"]) < 1000
    assert about["list_ns"] == {"operators": 9990, "operators_on_devices": 0}


def test_short_lists_stay_whole_and_what_was_not_measured_stays_null() -> None:
    worker = {"kernels": [kernel(0, "gemm")], "modules": None, "memory": None, "communication": None, "rank": 3}
    about = bounded(worker, 0)
    assert (about["kernels"], about["kernel_count"]) == (worker["kernels"], 1)
    assert (about["modules"], about["modules_total"], about["memory"], about["memory_count"]) == (None,) * 4
    assert (about["communication"], about["rank"]) == (None, 3)
    assert worker == {
        "kernels": [kernel(0, "gemm")],
        "modules": None,
        "memory": None,
        "communication": None,
        "rank": 3,
    }


def test_times_of_memory_count_from_the_origin() -> None:
    (memory,) = bounded({"memory": [allocator(0)]}, 10**18)["memory"]
    curve = memory["curve"]
    assert memory["peak_ns"] == 999_000
    assert curve["ts_ns"] == [1000 * level for level in curve["allocated"]]
    assert (curve["allocated"][0], max(curve["allocated"])) == (0, 999)
    assert len(curve["ts_ns"]) == len(curve["allocated"]) == len(curve["reserved"]) <= 800
    assert (memory["largest"][0]["ts_ns"], memory["largest"][0]["freed_ns"]) == (0, None)


@given(st.lists(st.integers(0, 10**12), max_size=300), st.integers(6, 40))
def test_few_points_keep_the_ends_and_the_extremes(values: list[int], most: int) -> None:
    array = np.asarray(values, np.int64)
    kept = extremes(array, most)
    assert len(kept) == min(len(kept), most, len(values))
    assert (np.diff(kept) > 0).all()
    if values:
        assert (kept[0], kept[-1]) == (0, len(values) - 1)
        assert (array[kept].min(), array[kept].max()) == (min(values), max(values))
