"""Every analysis, run on one worker."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, TypeVar

from stepscope.analysis.activity import activity_by_step
from stepscope.analysis.annotations import annotation_times
from stepscope.analysis.autograd import link_backward
from stepscope.analysis.capture import merge
from stepscope.analysis.device_counters import counter_values
from stepscope.analysis.device_phases import device_phases
from stepscope.analysis.gpu import gpus
from stepscope.analysis.hlo_ops import hlo_operations, hlo_runs
from stepscope.analysis.inference import inference
from stepscope.analysis.job_times import job_times
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
from stepscope.analysis.launches import launches, link, operators_around
from stepscope.analysis.loader import loader, with_shapes
from stepscope.analysis.memcpy import copies, memory_operations
from stepscope.analysis.memory import memory
from stepscope.analysis.modules import module_owners, modules
from stepscope.analysis.operator_modes import OperatorModes, operator_modes
from stepscope.analysis.operators import operator_calls, operators, operators_by_shape
from stepscope.analysis.overhead import overhead
from stepscope.analysis.phases import micro_steps
from stepscope.analysis.quality import (
    call_notes,
    counter_notes,
    event_notes,
    launch_notes,
    memory_notes,
    overlap_notes,
    request_notes,
    step_notes,
)
from stepscope.analysis.queues import queue_order
from stepscope.analysis.sampled_modules import sampled_modules
from stepscope.analysis.stacks import operator_stacks
from stepscope.analysis.step_collectives import step_collectives
from stepscope.analysis.steps import find_steps
from stepscope.analysis.tf_data import tf_data
from stepscope.analysis.throughput import throughput
from stepscope.errors import StepscopeError
from stepscope.rules import Parameters
from stepscope.schema import ACTIVITIES, PHASES, Note, Notes, Window
from stepscope.summary.analysed import Analysis
from stepscope.summary.distributions import micro_step_time, step_time
from stepscope.summary.findings import add_findings
from stepscope.summary.judgement import judge
from stepscope.summary.parts import (
    LIST_ROWS,
    annotations_part,
    collectives_of,
    communication_part,
    coverage_of,
    device_phases_part,
    devices_of,
    fields_of,
    idle_part,
    launches_part,
    phase_rows_of,
    phases_of,
    plain,
    synchronisation_part,
    timeline_part,
    totals,
)
from stepscope.summary.units import counted_work, counters_part, units_part
from stepscope.workers import Worker, programs_of

DEVICE_FIELDS = ("id", "name", "sm_count", "memory_bytes")

log = logging.getLogger("stepscope")
T = TypeVar("T")


def analyse_worker(worker: Worker, limits: Parameters | None = None) -> Analysis:
    """Run every analysis on one worker. One that fails leaves a note ``analysis_failed``; its fields are None.

    Args:
        worker: which.
        limits: thresholds of the rules.

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
    backward = attempt("the backward pass", link_backward, events)
    # The two that take longest, a third of the time, go on beside the others: numpy's work on many rows leaves Python
    # to them. Their results are asked for, and what failed is noted, in the order in which they stand below.
    beside = ThreadPoolExecutor(1, thread_name_prefix="stepscope-analysis")
    calling = _begun(beside, operator_calls, events, links, backward)
    acting = _begun(beside, activity_by_step, events, steps)
    beside.shutdown(wait=False)
    queues = attempt("device queues", lambda e, found: queue_order(e, found.run), events, links)
    launched = attempt("launches", launches, events, links, queues)
    if links is not None and launched is not None:
        noted(launch_notes(capture, links, launched))
    noted(attempt("overlaps", lambda e, found: overlap_notes(overlaps_on_queue(e, found)), events, queues))
    for window in windows:
        noted(request_notes(window.events, window.header))

    timeline = attempt("the device timeline", timeline_part, windows)
    sums = attempt("activity times", activity_time, events)
    devices = devices_of(windows, meta)
    around = attempt("launches", operators_around, events, links)
    runs = attempt("kernels", lambda e: kernel_runs(e, links, devices, around), events)
    kernel_list = attempt("kernels", kernels, runs)
    config_list = attempt("launch configurations", kernels_by_config, runs)
    copy_list = attempt("memory copies", copies, events)
    memory_list = attempt("memory operations", memory_operations, events)
    idle = attempt("idle times", idle_part, capture, links)
    waits = attempt("synchronisation", synchronisation_part, capture)
    pipelines = attempt("tf.data pipelines", tf_data, events)
    served = attempt("requests", lambda found: inference(live, events, capture.bounds, found), links)
    collectives = attempt("communication", collectives_of, windows, events, links, queues)
    talk = attempt("communication", communication_part, events, collectives)
    in_steps = attempt("communication by step", step_collectives, events, collectives, steps)
    calls = attempt("operators", calling, events, links, backward)
    noted(attempt("operators", call_notes, calls, backward))
    operator_list = attempt("operators", operators, events, links, calls)
    modes = attempt(
        "operator modes", lambda e, found: operator_modes(e, found, worker.framework, around), events, links
    )
    compiled = None if worker.framework == "pytorch" else attempt("HLO operations", hlo_runs, events)
    hlo_list = attempt("HLO operations", hlo_operations, compiled)
    shapes = attempt("operators by shape", operators_by_shape, events, calls)
    stacks = attempt("call stacks", operator_stacks, events, calls)
    owners = attempt("modules", module_owners, events, backward)
    module_list = attempt("modules", modules, events, links, calls, owners)
    memory_of = attempt("memory", lambda c: memory(c, owners), capture)
    noted(memory_notes(memory_of, events))
    noted(event_notes(events))
    sampled_list = attempt("sampled modules", sampled_modules, live)
    named = attempt("annotations", annotation_times, live, events)
    activity = attempt("step activity", acting, events, steps)
    phase_rows = attempt("step phases", phase_rows_of, live, capture, steps, links, backward, meta.get("phases", ()))
    phases = attempt("step phases", phases_of, live, phase_rows, steps)
    on_device = None if steps is None else attempt("device phases", lambda rows: device_phases(rows, steps), live)
    micro = attempt("micro steps", micro_steps, phase_rows, steps)
    loaded = attempt("the loader", loader, events, meta)
    loaded = attempt("the batch size", with_shapes, loaded, events, steps) or loaded
    rate = attempt("throughput", lambda known, s: throughput(known, s, micro), loaded, steps)
    job = attempt("the job's times", job_times, steps, meta)
    cost = attempt("the profiler's overhead", overhead, live, steps, meta)
    gpu_list = attempt("device use", gpus, events, steps, runs)
    work = attempt(
        "counted work",
        lambda e, g: counted_work(e, g, calls, compiled, devices, lambda: programs_of(worker)),
        events,
        gpu_list,
    )
    counted = attempt("hardware counters", counter_values, events)
    noted(attempt("hardware counters", counter_notes, counted))
    units = attempt(
        "device units",
        lambda e, s, g: units_part(e, s, g, collectives, devices, work, counted),
        events,
        steps,
        gpu_list,
    )
    counter_lists = attempt("hardware counters", counters_part, events, links, counted)
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
        "coverage": coverage_of(live, capture, steps, phases),
        "job": job and asdict(job),
        "overhead": cost and asdict(cost),
        "loader": loaded and asdict(loaded),
        "throughput": rate and asdict(rate),
        "steps": None,
        "activity_total_ns": None if steps is None else totals(activity, ACTIVITIES, steps.deep),
        "phase_total_ns": None if phases is None else totals(phases.ns, PHASES, phases.measured),
        "device_phases": device_phases_part(on_device),
        "gpu": plain(gpu_list),
        "device_units": units,
        "device_counters": counter_lists,
        "timeline_ns": timeline,
        "idle": idle,
        "activity_time_ns": fields_of(ActivityTime, sums),
        "precision_ns": fields_of(Precision, precisions),
        "kernels": plain(kernel_list),
        "kernels_by_launch_config": plain(config_list and config_list[:LIST_ROWS]),
        "kernel_launch_config_count": None if config_list is None else len(config_list),
        "memcpy": None if copy_list is None else {kind: asdict(c) for kind, c in copy_list.items()},
        "memory_operations": plain(memory_list),
        "synchronisation": waits,
        "tf_data": pipelines and asdict(pipelines),
        "inference": served and asdict(served),
        "communication": talk,
        "launches": launches_part(launched) if windows else None,
        "operator_modes": fields_of(OperatorModes, modes),
        "hlo_operations": plain(hlo_list),
        "operators": plain(operator_list),
        "operators_by_shape": plain(shapes and shapes[0]),
        "operators_by_shape_total": shapes and shapes[1],
        "operator_stacks": plain(stacks),
        "modules": plain(module_list and module_list[0]),
        "modules_total": module_list and module_list[1],
        "sampled_modules": plain(sampled_list),
        "memory": plain(memory_of),
        **annotations_part(named),
        "step_time_ns": step_time([steps]),
        "micro_step_time_ns": micro_step_time([(steps, micro)]),
    }
    judge(summary, notes.list())
    analysis = Analysis(summary, steps, activity, phases, micro, in_steps, on_device)
    add_findings(worker, analysis, limits)
    return analysis


def _begun(beside: ThreadPoolExecutor, analysis: Callable[..., T], *inputs: Any) -> Callable[..., T]:
    """An analysis that goes on already, to be attempted on the same inputs."""
    if any(i is None for i in inputs):
        return analysis
    found = beside.submit(analysis, *inputs)
    return lambda *_: found.result()


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
