"""Prints HolisticTraceAnalysis' figures for one Kineto trace as JSON; times in us.

Runs with a Python that has HolisticTraceAnalysis and pandas < 3, not stepscope. With ``--plain`` the figures are
those of the tool as it is; else three things are put right before its analyses run, so that only definitions and no
accidents are compared:

- It takes every event that names a stream for work of a device, so synchronisation records and operators with a
  stream among their arguments too. They are taken out.
- Device work whose launch call is not in the trace is joined to event number 0. It is joined to none.
- The breakdown by type cuts every interval to whole microseconds. It gets the times in nanoseconds.
"""

from __future__ import annotations

import json
import os
import sys

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"  # read on import: else times are rounded to whole us

from hta.trace_analysis import TraceAnalysis

DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset")
ALL_KERNELS = {"num_kernels": 10**9, "duration_ratio": 1.0}


def figures(path: str, plain: bool) -> dict:
    tool = TraceAnalysis(trace_files={0: path}, trace_dir="/", include_last_profiler_step=True)
    names = tool.t.symbol_table.get_sym_table()
    events = tool.t.traces[0]
    category = events["cat"].map(lambda code: names[code].lower())
    foreign = events["stream"].ne(-1) & ~category.isin(DEVICE_WORK)
    foreign_by_category = category[foreign].value_counts().to_dict()
    if not plain:
        events = events[~foreign].copy()
        events.loc[events["stream"].ne(-1) & events["index_correlation"].eq(0), "index_correlation"] = -1
    tool.t.traces[0] = events.copy()  # the analyses sort in place

    (breakdown,) = tool.get_temporal_breakdown(visualize=False).to_dict("records")
    types, kernels = tool.get_gpu_kernel_breakdown(visualize=False, **ALL_KERNELS)
    by_type = dict(zip(types["kernel_type"], types["sum"].astype(float), strict=True))
    if not plain:
        in_ns = events.copy()
        in_ns[["ts", "dur", "end"]] = (in_ns[["ts", "dur", "end"]] * 1000).round()
        tool.t.traces[0] = in_ns
        types, _ = tool.get_gpu_kernel_breakdown(visualize=False, **ALL_KERNELS)
        by_type = dict(zip(types["kernel_type"], types["sum"] / 1000, strict=True))
        tool.t.traces[0] = events.copy()
    launches = tool.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]
    idle, _ = tool.get_idle_time_breakdown(ranks=[0], visualize=False)
    try:
        overlap = float(tool.get_comm_comp_overlap(visualize=False)["comp_comm_overlap_pctg"].iloc[0])
    except (IndexError, KeyError, ValueError):  # it cannot handle traces without communication
        overlap = None
    return {
        "foreign": foreign_by_category,
        "idle": breakdown["idle_time(us)"],
        "compute": breakdown["compute_time(us)"],
        "non_compute": breakdown["non_compute_time(us)"],
        "total": breakdown["kernel_time(us)"],
        "communication_alone": by_type.get("COMMUNICATION", 0.0),
        "communication_and_memory": by_type.get("COMMUNICATION overlapping MEMORY", 0.0),
        "memory_alone": by_type.get("MEMORY", 0.0),
        "overlap_percent": overlap,
        "kernels": {
            row["name"]: [row["sum (us)"], round(row["sum (us)"] / row["mean (us)"]) if row["mean (us)"] else None]
            for row in kernels.to_dict("records")
        },
        "launches": [
            len(launches),
            *(float(launches[c].sum()) for c in ("cpu_duration", "gpu_duration", "launch_delay")),
        ],
        "idle_by_stream": [[int(r["stream"]), r["idle_category"], r["idle_time"]] for r in idle.to_dict("records")],
    }


if __name__ == "__main__":
    print(json.dumps(figures(sys.argv[1], "--plain" in sys.argv)))
