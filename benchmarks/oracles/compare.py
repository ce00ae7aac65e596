"""Compares stepscope's figures with those of independent tools on real traces, to 1 us on each.

    python benchmarks/oracles/compare.py [--traces FOLDER] [--offline]

HolisticTraceAnalysis and xprof are installed from the package index, each into a virtual environment of its own in
the system's folder for temporary files. Where that fails (or with ``--offline``) the figures that lie beside the
traces in ``oracles.json`` stand in for two of them. docs/agreement.md explains every difference of definition; where
one exists, their definition is applied to our events here. Ends with status 1 if a figure disagrees.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from stepscope.analysis import intervals
from stepscope.analysis.capture import Capture, merge
from stepscope.analysis.hlo_ops import hlo_runs
from stepscope.analysis.idle import idle_by_stream
from stepscope.analysis.kernel_runs import kernel_runs
from stepscope.analysis.kernels import kernels
from stepscope.analysis.launches import Links, link
from stepscope.analysis.memcpy import memory_operations
from stepscope.analysis.select import covered, device_work
from stepscope.analysis.steps import find_steps
from stepscope.errors import StepscopeError
from stepscope.hlo.programs import Programs
from stepscope.importers import import_file
from stepscope.schema import NONE, Events, Kind, Window
from stepscope.tables.hlo_work import HloWork

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from measuring import python_with

HERE = Path(__file__).resolve().parent
TOLERANCE_US = 1.0
HTA = ("HolisticTraceAnalysis==0.5.0", "pandas<3")
XPROF = ("xprof==2.24.2",)
#: The launch calls that HolisticTraceAnalysis pairs with runs.
PAIRED_CALLS = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync")

Row = tuple[str, float, float]  # figure, ours, theirs


class Report:
    """Prints one line a figure and keeps whether all agree."""

    def __init__(self) -> None:
        self.figures = self.different = 0

    def add(self, source: str, rows: Iterator[Row] | list[Row]) -> None:
        rows = list(rows)
        worst = max((abs(ours - theirs) for _, ours, theirs in rows), default=0.0)
        bad = [row for row in rows if not abs(row[1] - row[2]) <= TOLERANCE_US]
        self.figures += len(rows)
        self.different += len(bad)
        print(f"  {source:58s} {len(rows):5d} figures, {len(bad):2d} differ, largest difference {worst:.3f}")
        for figure, ours, theirs in bad:
            print(f"      {figure[:90]}: ours {ours:.3f}, theirs {theirs:.3f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--traces", type=Path, default=HERE.parents[2] / "shared" / "traces")
    parser.add_argument("--offline", action="store_true", help="install nothing; use oracles.json")
    options = parser.parse_args()
    report = Report()
    stored = options.traces / "oracles.json"
    oracles = json.loads(stored.read_text())["traces"] if stored.is_file() else {}

    print("HolisticTraceAnalysis (us)")
    hta = None if options.offline else python_with("hta", *HTA)
    for path in sorted(options.traces.glob("kineto/*")):
        theirs = None if hta is None else run(hta, HERE / "hta_figures.py", path)
        known = oracles.get(f"kineto/{path.name}")
        source = path.name.removesuffix(".pt.trace.json.gz")
        if theirs is None and known:
            theirs, source = of_oracles(known), f"{source} (oracles.json)"
        if theirs is None:
            print(f"  {source:58s} the tool gives no figures")
            continue
        report.add(source, against_hta(import_file(path), theirs))

    print("TraceLens and an independent reference, from oracles.json (us)")
    for name, known in oracles.items():
        report.add(Path(name).name.removesuffix(".pt.trace.json.gz"), against_stored(options.traces / name, known))

    print("xprof (us)")
    xprof = None if options.offline else python_with("xprof", *XPROF)
    if xprof is None:
        print("  not installed")
    else:
        with tempfile.TemporaryDirectory() as folder:
            for path in (*sorted(options.traces.glob("xplane/*")), *trained(Path(folder))):
                theirs = run(xprof, HERE / "xprof_figures.py", path)
                if theirs is not None:
                    report.add(path.name, against_xprof(import_file(path), theirs))

    print(f"{report.figures} figures compared, {report.different} differ by more than {TOLERANCE_US:g} us")
    return 1 if report.different or not report.figures else 0


# Their tools


def run(python: Path, script: Path, *arguments: object) -> dict | None:
    """What the script prints, None if the tool fails on this file."""
    command = [str(c) for c in (python, script, *arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None


def trained(folder: Path) -> list[Path]:
    """An XPlane file with steps, if TensorFlow is here."""
    made = subprocess.run(
        [sys.executable, HERE / "train_for_xplane.py", folder], capture_output=True, text=True, check=False
    )
    return [Path(made.stdout.splitlines()[-1])] if made.returncode == 0 else []


def of_oracles(known: dict) -> dict:
    """The figures of ``hta_figures.py`` that oracles.json holds."""
    found = known["hta_ns"]
    (breakdown,) = found["temporal_breakdown"]["result"]
    _, table = found["gpu_kernel_breakdown"]["result"]
    launches = found["cuda_kernel_launch_stats"]["result"]
    sums = {row["index"]: row["0"] for row in launches["sum"]}
    return {
        "idle": breakdown["idle_time(us)"],
        "compute": breakdown["compute_time(us)"],
        "non_compute": breakdown["non_compute_time(us)"],
        "total": breakdown["kernel_time(us)"],
        "communication_alone": None,  # cut to whole us interval by interval
        "overlap_percent": found["comm_comp_overlap"]["result"][0]["comp_comm_overlap_pctg"],
        # without counts: a list cut to ten names takes a mean over sums
        "kernels": {row["name"]: [row["sum (us)"], None] for row in table if row["name"] != "others"},
        "launches": [int(launches["n"]), *(sums[c] for c in ("cpu_duration", "gpu_duration", "launch_delay"))],
        "idle_by_stream": [],
    }


# Our figures by their definitions


def against_hta(window: Window, theirs: dict) -> Iterator[Row]:
    """HolisticTraceAnalysis keeps device work whose launch call starts before the last of several steps ends."""
    capture = merge([window.events])
    capture, links = launched_in_steps(capture, link(capture.events))
    events = capture.events
    kinds = ((Kind.KERNEL,), (Kind.COLLECTIVE,), (Kind.MEMCPY, Kind.MEMSET))
    compute, talk, memory = (covered(events, np.flatnonzero(events.of_kind(*k))) for k in kinds)
    busy = intervals.length(intervals.unite((compute, talk, memory)))
    work = device_work(events)
    total = int(events.end_ns[work].max() - events.ts_ns[work].min()) if len(work) else 0
    bare = intervals.subtract(talk, compute)
    yield "idle", (total - busy) / 1e3, theirs["idle"]
    yield "compute", intervals.length(compute) / 1e3, theirs["compute"]
    yield "non-compute", (busy - intervals.length(compute)) / 1e3, theirs["non_compute"]
    yield "first to last work", total / 1e3, theirs["total"]
    if theirs["communication_alone"] is not None:
        both = intervals.length(intervals.intersect(bare, memory))
        alone = intervals.length(bare) - both
        yield "exposed communication without copies", alone / 1e3, theirs["communication_alone"]
        yield "exposed communication beside copies", both / 1e3, theirs["communication_and_memory"]
        lone = intervals.subtract(intervals.subtract(memory, compute), talk)
        yield "exposed copies and fills", intervals.length(lone) / 1e3, theirs["memory_alone"]
    if theirs["overlap_percent"] is not None and len(talk):
        hidden = intervals.length(intervals.intersect(talk, compute))
        yield "overlap (%)", 100 * hidden / intervals.length(talk), theirs["overlap_percent"]
    yield from totals(events, theirs["kernels"])
    yield from pairs(events, links, theirs["launches"])
    yield from idle_causes(capture, links, theirs["idle_by_stream"])


def launched_in_steps(capture: Capture, links: Links) -> tuple[Capture, Links]:
    """The events without device work that was launched after the last step, or whose launch is not known."""
    events = capture.events
    steps = find_steps(Events.empty(), capture, links)
    if len(np.unique(steps.id)) < 2:
        return capture, links
    kept = np.ones(len(events), bool)
    linked = links.call_of_run != NONE
    kept[links.run] = False
    called = events.ts_ns[links.call[links.call_of_run[linked]]]
    kept[links.run[linked]] = called <= steps.host_end_ns.max()
    capture = merge([events.take(kept)])
    return capture, link(capture.events)


def totals(events: Events, theirs: dict[str, list]) -> Iterator[Row]:
    """Time and count by name of kernels, collectives, copies and fills."""
    ours = {k.name: (k.total_ns, k.count) for k in kernels(kernel_runs(events))}
    rows = np.flatnonzero(events.of_kind(Kind.MEMCPY, Kind.MEMSET))
    for name in np.unique(events.name[rows]).tolist():
        dur = events.dur_ns[rows][events.name[rows] == name]
        ours[events.names[name]] = (int(dur.sum()), len(dur))
    for name, (total_us, count) in theirs.items():
        total_ns, runs = ours.get(name, (0, 0))
        yield f"time of {name}", total_ns / 1e3, total_us
        if count is not None:
            yield f"runs of {name}", runs, count
    if sum(m.count for m in memory_operations(events)) != len(rows):
        raise AssertionError("memory operations do not add up")


def pairs(events: Events, links: Links, theirs: list[float]) -> Iterator[Row]:
    """Launch calls of four names with their runs."""
    hit = links.call_of_run != NONE
    call, run = links.call[links.call_of_run[hit]], links.run[hit]
    paired = np.isin(events.name[call], [i for i, n in enumerate(events.names) if n in PAIRED_CALLS])
    call, run = call[paired], run[paired]
    delay = np.maximum(events.ts_ns[run] - events.end_ns[call], 0)
    yield "launch pairs", len(run), theirs[0]
    yield "time of launch calls", events.dur_ns[call].sum() / 1e3, theirs[1]
    yield "time of launched work", events.dur_ns[run].sum() / 1e3, theirs[2]
    yield "launch delay", delay.sum() / 1e3, theirs[3]


def idle_causes(capture: Capture, links: Links, theirs: list[list]) -> Iterator[Row]:
    """Idle time of each stream by cause, where no records overlap on it."""
    fields = {"host_wait": "host_wait_ns", "kernel_wait": "kernel_wait_ns", "other": "other_ns"}
    for idle in idle_by_stream(capture, links):
        causes = {cause: us for stream, cause, us in theirs if stream == idle.stream}
        if not causes or idle.idle_ns / 1e3 - sum(causes.values()) > TOLERANCE_US:
            continue
        for cause, field in fields.items():
            yield f"{cause} of stream {idle.stream}", getattr(idle, field) / 1e3, causes.get(cause, 0.0)


def against_stored(path: Path, known: dict) -> Iterator[Row]:
    """All device work, fills counted as computation as TraceLens does."""
    events = import_file(path).events
    kinds = ((Kind.KERNEL, Kind.MEMSET), (Kind.COLLECTIVE,), (Kind.MEMCPY,))
    compute, talk, copies = (covered(events, np.flatnonzero(events.of_kind(*k))) for k in kinds)
    exclusive = [intervals.length(own) / 1e3 for own in intervals.exclusive((compute, talk, copies))]
    work = device_work(events)
    total = (events.end_ns[work].max() - events.ts_ns[work].min()) / 1e3
    ours = dict(zip(("computation", "exposed_comm", "exposed_memcpy"), exclusive, strict=True))
    ours |= {"busy": sum(exclusive), "idle": total - sum(exclusive), "total": total}
    ours |= {"total_comm": intervals.length(talk) / 1e3, "total_memcpy": intervals.length(copies) / 1e3}
    for row in known["tracelens_unlinked"]["result"]:
        name = row["type"].removesuffix("_time")
        yield f"TraceLens {name}", ours[name], row["ms"] * 1e3
    reference = known["all_device_events"]
    yield "reference busy", ours["busy"], reference["busy_ms"] * 1e3
    yield "reference launch pairs", int((link(events).call_of_run != NONE).sum()), reference["launches"]["joined"]


def against_xprof(window: Window, theirs: dict) -> Iterator[Row]:
    """xprof sums kernels over devices; input is the union of IteratorGetNext operations inside a step's marker. It has
    HLO operations of devices only, and counts an operation's work for each of its kernels: the work of one is compared.
    """
    events = window.events
    capture = merge([events])
    links = link(events)
    ours = {k.name: (k.total_ns, k.count) for k in kernels(kernel_runs(events, links))}
    for name, (count, total_us) in theirs["kernels"].items():
        total_ns, runs = ours.get(name, (0, 0))
        yield f"time of {name}", total_ns / 1e3, total_us
        yield f"runs of {name}", runs, count
    runs_of_hlo = hlo_runs(events)
    work = HloWork.of(runs_of_hlo, Programs(window.programs), None)
    own = np.bincount(runs_of_hlo.op, runs_of_hlo.self_ns, len(runs_of_hlo.ops))
    ops = {f"{key.program_id} {key.op}": i for i, key in enumerate(runs_of_hlo.ops)}
    for name, (self_us, mflop, mbyte) in theirs["hlo"].items():
        yield f"self time of HLO {name}", own[ops[name]] / 1e3, self_us
        yield f"MFLOP of HLO {name}", work.flops[ops[name]] / 1e6, mflop
        yield f"MB of HLO {name}", work.bytes[ops[name]] / 1e6, mbyte
    steps = find_steps(Events.empty(), capture, links)
    waits = np.array([name.startswith("IteratorGetNext") for name in events.names], dtype=bool)
    waiting = covered(events, np.flatnonzero(waits[events.name]))
    inside = intervals.length_within(waiting, steps.host_start_ns, steps.host_end_ns)
    at = {number: i for i, number in enumerate(steps.id.tolist())}
    for label, (step_ms, input_ms) in theirs["steps"].items():
        i = at.get(int(label))
        yield f"time of step {label}", 0.0 if i is None else steps.host_ns[i] / 1e3, step_ms * 1e3
        yield f"input of step {label}", 0.0 if i is None else inside[i] / 1e3, input_ms * 1e3


if __name__ == "__main__":
    try:
        sys.exit(main())
    except StepscopeError as error:
        sys.exit(str(error))
