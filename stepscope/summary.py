"""The summary contract: everything the Summary and Step breakdown tabs show, as plain data.

All times are integer ns, sizes bytes, ratios 0..1. A value that was not measured is None. Definitions of the
numbers stand in the docstrings of ``stepscope.analysis`` and, collected, in docs/metrics.md.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np

from stepscope.analysis.activity import activity_by_step
from stepscope.analysis.annotations import annotation_times
from stepscope.analysis.autograd import Autograd, link_backward
from stepscope.analysis.capture import Capture, merge
from stepscope.analysis.collectives import collective_runs, communication
from stepscope.analysis.device_timeline import DeviceTimeline, device_timeline
from stepscope.analysis.gpu import gpus
from stepscope.analysis.idle import KERNEL_WAIT_THRESHOLD_NS, idle_by_device, idle_by_stream
from stepscope.analysis.kernel_runs import kernel_runs
from stepscope.analysis.kernels import (
    ActivityTime,
    Precision,
    activity_time,
    kernels,
    kernels_by_config,
    overlaps_on_queue,
    precision,
)
from stepscope.analysis.launches import Links, launches, link
from stepscope.analysis.memcpy import copies, memory_operations
from stepscope.analysis.memory import memory
from stepscope.analysis.modules import module_owners, modules
from stepscope.analysis.operators import operator_calls, operators, operators_by_shape
from stepscope.analysis.overhead import overhead
from stepscope.analysis.percentiles import nearest_rank
from stepscope.analysis.phase_markers import marked_phases
from stepscope.analysis.phases import MicroSteps, PhaseRows, Phases, micro_steps, partition, recorded_phases
from stepscope.analysis.quality import (
    call_notes,
    event_notes,
    launch_notes,
    memory_notes,
    overlap_notes,
    request_notes,
    step_notes,
)
from stepscope.analysis.queues import queue_order
from stepscope.analysis.resources import resources
from stepscope.analysis.stacks import operator_stacks
from stepscope.analysis.steps import Steps, find_steps
from stepscope.analysis.synchronisation import synchronisation
from stepscope.analysis.trust import trust
from stepscope.errors import StepscopeError
from stepscope.parallel import ordered
from stepscope.runs import Run, Worker
from stepscope.schema import ACTIVITIES, NONE, PHASES, Device, Events, Kind, Note, Notes, Window

SUMMARY_VERSION = 1
DEVICE_FIELDS = ("id", "name", "sm_count", "memory_bytes")
#: The longest of the lists that may have very many entries; the fields beside them tell how many there are in all.
LIST_ROWS = 200

log = logging.getLogger("stepscope")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Analysis:
    """All analyses of one worker.

    ``summary`` is the worker's part of the contract without ``steps``, which stay in columns here: there may
    be millions. ``steps`` is None if that analysis failed. ``activity`` and ``phases`` have one entry a step;
    ``steps.deep`` and ``phases.measured`` tell where they hold. ``micro`` are the micro batches of the steps.
    """

    summary: dict[str, Any]
    steps: Steps | None
    activity: dict[str, np.ndarray] | None
    phases: Phases | None
    micro: MicroSteps | None

    def step_rows(self) -> list[dict[str, Any]] | None:
        """The steps of the contract, one dictionary each."""
        if self.steps is None:
            return None
        s = self.steps
        micro = [NONE] * len(s) if self.micro is None else self.micro.count.tolist()
        columns = (s.id, s.start_ns, s.host_ns, s.duration_ns, s.complete, s.inferred, s.averaged)
        activity = _dictionaries(self.activity, ACTIVITIES, s.deep, len(s))
        phases = self.phases
        phase = _dictionaries(phases.ns, PHASES, phases.measured, len(s)) if phases else [None] * len(s)
        rows = zip(s.label, *(c.tolist() for c in columns), micro, activity, phase, strict=True)
        return [
            {
                "id": number if number >= 0 else None,
                "label": label,
                "start_ns": start,
                "host_ns": host,
                "duration_ns": duration,
                "complete": complete,
                "inferred": inferred,
                "averaged": averaged if averaged > 1 else None,
                "micro_steps": micro_count if micro_count != NONE else None,
                "activity_ns": activity_ns,
                "phase_ns": phase_ns,
            }
            for (
                label, number, start, host, duration, complete, inferred, averaged, micro_count, activity_ns, phase_ns
            ) in rows
        ]  # fmt: skip

    def micro_rows(self) -> list[list[dict[str, int]] | None] | None:
        """The micro batches of each step, None for a step where they are not known; in the order of ``step_rows``."""
        if self.steps is None or self.micro is None:
            return None
        out: list[list[dict[str, int]] | None] = [[] if n != NONE else None for n in self.micro.count.tolist()]
        micro = self.micro
        for step, start, length in zip(
            micro.step.tolist(), micro.start_ns.tolist(), micro.duration_ns.tolist(), strict=True
        ):
            own = out[step]
            assert own is not None
            own.append({"start_ns": start, "host_ns": length})
        return out

    def to_dict(self, micro: bool = False) -> dict[str, Any]:
        """The worker's part of the contract, steps included, on request with their micro batches."""
        steps = self.step_rows()
        if micro and steps is not None:
            for step, batches in zip(steps, self.micro_rows() or [None] * len(steps), strict=True):
                step["micro"] = batches
        return {**self.summary, "steps": steps}


def summarize(run: Run, micro: bool = False, executor: Executor | None = None) -> dict[str, Any]:
    """The whole contract for one run. A worker that cannot be read is kept, with a note that says why.

    Args:
        run: what to summarise.
        micro: also list the micro batches of each step, under ``micro``.
        executor: analyses the workers, several at once if it has several processes.

    Raises:
        StepscopeError: no worker could be read.
    """
    analyses: list[Analysis] = []
    refused: list[StepscopeError] = []
    workers = []
    for worker, analysis in zip(run.workers, ordered(executor, _analysis_or_error, run.workers), strict=True):
        if isinstance(analysis, StepscopeError):
            refused.append(analysis)
            workers.append(_unreadable(worker, analysis))
            continue
        analyses.append(analysis)
        workers.append(analysis.to_dict(micro))
    if not analyses:
        raise refused[0] if refused else StepscopeError(f"{run.path}: this run has no worker to read yet.")
    resources = run_resources(run.workers)
    for worker, about in zip(run.workers, workers, strict=True):
        note_damage(worker, about)
    _name_apart(workers)
    note_ranks(workers)
    return {
        "schema": SUMMARY_VERSION,
        "run": run.name,
        "workers": workers,
        "step_time_ns": step_time(a.steps for a in analyses),
        "micro_step_time_ns": micro_step_time((a.steps, a.micro) for a in analyses),
        "resources": resources,
        "findings": [],
        "problems": list(run.problems),
    }


def _analysis_or_error(worker: Worker) -> Analysis | StepscopeError:
    try:
        return analyse_worker(worker)
    except StepscopeError as error:
        return error


def summarize_worker(worker: Worker) -> dict[str, Any]:
    """One worker's part of the contract.

    Raises:
        StepscopeError: the worker cannot be read.
    """
    return analyse_worker(worker).to_dict()


def analyse_worker(worker: Worker) -> Analysis:
    """Run every analysis on one worker. One that fails leaves a note ``analysis_failed``; its fields are None.

    Raises:
        StepscopeError: the worker cannot be read.
    """
    notes = Notes()
    live = worker.live()  # first: the worker's notes tell what of it was damaged
    windows = _windows(worker, notes)
    capture = merge([w.events for w in windows])
    meta = worker.meta or {}

    def attempt(what: str, analysis: Callable[..., T], *inputs: Any) -> T | None:
        if any(i is None for i in inputs):  # what it builds on failed, and has its note
            return None
        try:
            return analysis(*inputs)
        except Exception as error:
            log.debug("analysis %s failed", what, exc_info=True)
            notes.add("analysis_failed", f"The analysis of {what} failed ({type(error).__name__}: {error}).")
            return None

    def noted(found: list[Note] | None) -> None:
        notes.extend(found or [])

    events = capture.events
    links = attempt("launches", link, events)
    steps = attempt("steps", find_steps, live, capture, links)
    if steps is not None:
        noted(step_notes(steps, len(live) + len(events)))
    queues = attempt("device queues", lambda e, found: queue_order(e, found.run), events, links)
    launched = attempt("launches", launches, events, links, queues)
    if links is not None and launched is not None:
        noted(launch_notes(capture, links, launched))
    noted(attempt("overlaps", lambda e, found: overlap_notes(overlaps_on_queue(e, found)), events, queues))
    for window in windows:
        noted(request_notes(window.events, window.header))

    timeline = attempt("the device timeline", _timeline, windows)
    sums = attempt("activity times", activity_time, events)
    devices = _devices(windows, meta)
    runs = attempt("kernels", lambda e: kernel_runs(e, links, devices), events)
    kernel_list = attempt("kernels", kernels, runs)
    config_list = attempt("launch configurations", kernels_by_config, runs)
    copy_list = attempt("memory copies", copies, events)
    memory_list = attempt("memory operations", memory_operations, events)
    idle = attempt("idle times", _idle, capture, links)
    waits = attempt("synchronisation", _synchronisation, events)
    talk = attempt("communication", _communication, windows, events, links)
    backward = attempt("the backward pass", link_backward, events)
    calls = attempt("operators", operator_calls, events, links, backward)
    noted(attempt("operators", call_notes, calls, backward))
    operator_list = attempt("operators", operators, events, links, calls)
    shapes = attempt("operators by shape", operators_by_shape, events, calls)
    stacks = attempt("call stacks", operator_stacks, events, calls)
    owners = attempt("modules", module_owners, events, backward)
    module_list = attempt("modules", modules, events, links, calls, owners)
    memory_of = attempt("memory", lambda c: memory(c, owners), capture)
    noted(memory_notes(memory_of, events))
    noted(event_notes(events))
    annotation_list = attempt("annotations", annotation_times, live, events)
    activity = attempt("step activity", activity_by_step, events, steps)
    phase_rows = attempt("step phases", _phase_rows, live, capture, steps, links, backward, meta.get("phases", ()))
    phases = attempt("step phases", _phases, live, phase_rows, steps)
    micro = attempt("micro steps", micro_steps, phase_rows, steps)
    cost = attempt("the profiler's overhead", overhead, live, steps, meta)
    gpu_list = attempt("device use", gpus, events, steps, runs)
    precisions = attempt("precisions", precision, runs)
    summary = {
        "worker": worker.id,
        "rank": worker.rank,
        "world_size": worker.world_size,
        "host": worker.host,
        "pid": worker.pid,
        "framework": worker.framework,
        "devices": [{f: getattr(d, f) for f in DEVICE_FIELDS} for d in devices],
        "events": len(live) + len(events),
        "coverage": _coverage(live, capture, steps),
        "overhead": cost and asdict(cost),
        "steps": None,
        "activity_total_ns": None if steps is None else _totals(activity, ACTIVITIES, steps.deep),
        "phase_total_ns": None if phases is None else _totals(phases.ns, PHASES, phases.measured),
        "gpu": _plain(gpu_list),
        "timeline_ns": timeline,
        "idle": idle,
        "activity_time_ns": _fields_of(ActivityTime, sums),
        "precision_ns": _fields_of(Precision, precisions),
        "kernels": _plain(kernel_list),
        "kernels_by_launch_config": _plain(config_list and config_list[:LIST_ROWS]),
        "kernel_launch_config_count": None if config_list is None else len(config_list),
        "memcpy": None if copy_list is None else {kind: asdict(c) for kind, c in copy_list.items()},
        "memory_operations": _plain(memory_list),
        "synchronisation": waits,
        "communication": talk,
        "launches": _launches(launched) if windows else None,
        "operators": _plain(operator_list),
        "operators_by_shape": _plain(shapes and shapes[0]),
        "operators_by_shape_total": shapes and shapes[1],
        "operator_stacks": _plain(stacks),
        "modules": _plain(module_list and module_list[0]),
        "modules_total": module_list and module_list[1],
        "memory": _plain(memory_of),
        "annotations": _plain(annotation_list),
        "micro_step_time_ns": micro_step_time([(steps, micro)]),
    }
    _judge(summary, notes.list())
    return Analysis(summary, steps, activity, phases, micro)


def step_time(steps: Iterable[Steps | None]) -> dict[str, Any] | None:
    """Distribution of ``duration_ns`` over the complete steps of all workers; None if there is none.

    Incomplete steps are left out: how long they would have been is not known.

    Metrics:
        count: complete steps of all workers
        mean: sum of the durations / count
        p50: median
        p90: 90th percentile
        p95: 95th percentile
        p99: 99th percentile
        min: shortest
        max: longest
    """
    return _distribution([s.duration_ns[s.complete] for s in steps if s is not None])


def micro_step_time(found: Iterable[tuple[Steps | None, MicroSteps | None]]) -> dict[str, Any] | None:
    """Distribution of the micro batches' host time over the complete steps; None where they are not known.

    A micro batch begins where the loop waits for it (the first one: with the step) and ends where the next one
    begins or the step ends. Without gradient accumulation each step is one micro batch.

    Metrics:
        count: micro batches of all complete steps
        mean: sum of the durations / count
        p50: median
        p90: 90th percentile
        p95: 95th percentile
        p99: 99th percentile
        min: shortest
        max: longest
    """
    return _distribution([m.duration_ns[s.complete[m.step]] for s, m in found if s is not None and m is not None])


def _distribution(parts: list[np.ndarray]) -> dict[str, Any] | None:
    values = np.concatenate([np.empty(0, np.int64), *parts])
    if len(values) == 0:
        return None
    p50, p90, p95, p99 = nearest_rank(values, 50, 90, 95, 99)
    return {
        "count": len(values),
        "mean": int(values.sum()) / len(values),
        "p50": p50,
        "p90": p90,
        "p95": p95,
        "p99": p99,
        "min": int(values.min()),
        "max": int(values.max()),
    }


def run_resources(workers: Iterable[Worker]) -> dict[str, Any] | None:
    """Distributions of the resource monitors' samples by host; None where there was no monitor."""
    by_host: dict[str, list] = {}
    for worker in workers:
        try:
            table = worker.monitor()
        except StepscopeError:
            continue
        if table is not None and table.num_rows:
            by_host.setdefault(worker.host or "unknown", []).append(table)
    if not by_host:
        return None
    return {host: {m: asdict(r) for m, r in resources(tables).items()} for host, tables in by_host.items()}


def note_damage(worker: Worker, about: dict[str, Any]) -> None:
    """Add what proved damaged after the analysis, when the monitor's samples were read."""
    known = {note["detail"] for note in about["quality"]}
    late = [n for n in worker.notes if n.code == "damaged_stream" and n.detail not in known]
    if late:
        _judge(about, [*_notes_of(about), *late])


def note_ranks(workers: Sequence[dict[str, Any]]) -> None:
    """Add the notes that only a look at all workers of a run can give: ranks told twice, or not at all."""
    ranks = Counter(w["rank"] for w in workers if w["rank"] is not None)
    for worker in workers:
        rank, quality = worker["rank"], worker["quality"]
        if rank is None and len(workers) > 1 and not any(n["code"] == "rank_unknown" for n in quality):
            detail = "Neither the file's metadata nor its name tells the rank."
            _judge(worker, [*_notes_of(worker), Note("rank_unknown", 1, detail)])
        elif rank is not None and ranks[rank] > 1:
            detail = f"{ranks[rank]} workers of this run say that they are rank {rank}; they are kept apart."
            _judge(worker, [*_notes_of(worker), Note("duplicate_rank", 1, detail)])


def _judge(worker: dict[str, Any], notes: list[Note]) -> None:
    """Put data quality notes and what they mean into a worker's part of the contract."""
    worker["quality"] = [asdict(n) for n in notes]
    worker["trust"] = asdict(trust(notes, worker.get("events", 0)))


def _notes_of(worker: dict[str, Any]) -> list[Note]:
    return [Note(**n) for n in worker["quality"]]


def _windows(worker: Worker, notes: Notes) -> list[Window]:
    """The readable windows, and into ``notes`` what is known of their quality."""
    windows: list[Window] = []
    try:
        for window in worker.windows():
            windows.append(window)
    except StepscopeError as error:
        if worker.meta is None:  # a trace file: nothing else is known of this worker
            raise
        notes.add("unreadable_window", str(error))
    notes.extend(worker.notes)
    for window in windows:
        # A recorded worker knows its rank from the job, whatever the profiler's file says.
        notes.extend([n for n in window.notes if n.code != "rank_unknown" or worker.rank is None])
    return windows


def _timeline(windows: list[Window]) -> dict[str, int | None]:
    parts = [t for t in (device_timeline(w.events) for w in windows) if t is not None]
    return _fields_of(DeviceTimeline, sum(parts, start=DeviceTimeline()) if parts else None)


def _idle(capture: Capture, links: Links) -> dict[str, Any]:
    streams = idle_by_stream(capture, links)
    return {
        "kernel_wait_threshold_ns": KERNEL_WAIT_THRESHOLD_NS,
        "devices": _plain(idle_by_device(capture, links)),
        "streams": _plain(streams[:LIST_ROWS]),
        "stream_count": len(streams),
    }


def _communication(windows: list[Window], events: Events, links: Links) -> dict[str, Any] | None:
    sizes: dict[str, int] = {}
    for window in windows:
        told = window.header.get("distributedInfo")
        groups = told.get("pg_config") if isinstance(told, dict) else None
        for group in groups if isinstance(groups, list) else ():
            if isinstance(group, dict) and isinstance(group.get("pg_size"), int):
                sizes[str(group.get("pg_name"))] = group["pg_size"]
    found = communication(events, collective_runs(events, links, sizes))
    if found is None:
        return None
    return {
        **asdict(replace(found, collectives=found.collectives[:LIST_ROWS])),
        "collective_count": len(found.collectives),
    }


def _synchronisation(events: Events) -> dict[str, Any]:
    found = synchronisation(events)
    bounded = replace(found, by_operator=found.by_operator[:LIST_ROWS])
    return {**asdict(bounded), "by_operator_count": len(found.by_operator)}


def _phase_rows(
    live: Events, capture: Capture, steps: Steps, links: Links, backward: Autograd, visible: Iterable[str]
) -> PhaseRows:
    """Phases from where the steps come from: the always-on stream, or the deep windows without one.

    A trace of another tool has no rows for phases, but much that marks them.
    """
    if len(live):
        return recorded_phases(live, visible)
    if capture.events.of_kind(Kind.PHASE).any():
        return recorded_phases(capture.events, visible)
    return marked_phases(capture.events, steps, links, backward)


def _phases(live: Events, rows: PhaseRows, steps: Steps) -> Phases:
    """A step that only a deep window saw beside an always-on stream has no phases: the stream lost its part."""
    phases = partition(rows, steps)
    return replace(phases, measured=phases.measured & steps.from_live) if len(live) else phases


def _devices(windows: list[Window], meta: dict[str, Any]) -> list[Device]:
    """Devices by id, from the windows, else from worker.json."""
    known = {f.name for f in fields(Device)}
    told = [Device(**{k: v for k, v in d.items() if k in known}) for d in meta.get("devices", []) if "id" in d]
    found = {d.id: d for d in (*told, *(d for w in windows for d in w.devices))}
    return [device for _, device in sorted(found.items())]


def _coverage(live: Events, capture: Capture, steps: Steps | None) -> dict[str, Any]:
    """How much of the job the numbers stand for."""
    tables = [t for t in (live, capture.events) if len(t)]
    return {
        "steps": None if steps is None else len(steps),
        "deep_steps": None if steps is None else int(np.count_nonzero(steps.deep)),
        "windows": len(capture),
        "first_ns": min((int(t.ts_ns.min()) for t in tables), default=None),
        "last_ns": max((int(t.end_ns.max()) for t in tables), default=None),
    }


def _launches(launched: Any) -> dict[str, Any] | None:
    return None if launched is None else {k: v for k, v in asdict(launched).items() if k != "before_call"}


def _plain(rows: Sequence[Any] | None) -> list[dict[str, Any]] | None:
    return None if rows is None else [asdict(r) for r in rows]


def _fields_of(kind: type, value: Any) -> dict[str, Any]:
    """The fields of a result, all None where there is none."""
    return {f.name: getattr(value, f.name, None) for f in fields(kind)}


def _totals(
    columns: dict[str, np.ndarray] | None, names: tuple[str, ...], holds: np.ndarray
) -> dict[str, int | None] | None:
    """Sums over the steps where the columns hold; None if there is no such step."""
    if columns is None or not holds.any():
        return None
    return {n: int(columns[n][holds].sum()) if n in columns else None for n in names}


def _dictionaries(
    columns: dict[str, np.ndarray] | None, names: tuple[str, ...], holds: np.ndarray, count: int
) -> list[dict[str, int | None] | None]:
    """One dictionary a step, with None for columns that are absent; None for steps where nothing holds."""
    if columns is None:
        return [None] * count
    lists = [columns[n].tolist() if n in columns else [None] * count for n in names]
    rows = (dict(zip(names, values, strict=True)) for values in zip(*lists, strict=True))
    return [row if ok else None for row, ok in zip(rows, holds.tolist(), strict=True)]


def _unreadable(worker: Worker, error: StepscopeError) -> dict[str, Any]:
    """The contract's entry of a worker that could not be read."""
    empty = dict.fromkeys(("rank", "world_size", "host", "pid"))
    unreadable: dict[str, Any] = {
        "worker": worker.id,
        **empty,
        "framework": "unknown",
        "devices": [],
        "events": 0,
        "coverage": {"steps": 0, "deep_steps": 0, "windows": 0, "first_ns": None, "last_ns": None},
        "overhead": None,
        "steps": [],
        "activity_total_ns": None,
        "phase_total_ns": None,
        "gpu": [],
        "timeline_ns": _fields_of(DeviceTimeline, None),
        "idle": None,
        "activity_time_ns": _fields_of(ActivityTime, None),
        "precision_ns": _fields_of(Precision, None),
        "kernels": [],
        "kernels_by_launch_config": [],
        "kernel_launch_config_count": 0,
        "memcpy": {},
        "memory_operations": [],
        "synchronisation": None,
        "communication": None,
        "launches": None,
        "operators": [],
        "operators_by_shape": None,
        "operators_by_shape_total": None,
        "operator_stacks": None,
        "modules": None,
        "modules_total": None,
        "memory": None,
        "annotations": [],
        "micro_step_time_ns": None,
    }
    _judge(unreadable, [Note("unreadable", 1, str(error))])
    return unreadable


def _name_apart(workers: Sequence[dict[str, Any]]) -> None:
    """Make the names of workers unique within the run."""
    taken: set[str] = set()
    for worker in workers:
        name, n = worker["worker"], 2
        while worker["worker"] in taken:
            worker["worker"], n = f"{name}#{n}", n + 1
        taken.add(worker["worker"])
