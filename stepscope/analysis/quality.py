"""What weakens the numbers: every code of a data quality note, and the notes that only analyses can make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from stepscope.analysis.autograd import Autograd
from stepscope.analysis.capture import Capture
from stepscope.analysis.device_counters import CounterValues
from stepscope.analysis.launches import Launches, Links
from stepscope.analysis.memory import DeviceMemory
from stepscope.analysis.operators import Calls
from stepscope.analysis.select import device_of, device_work
from stepscope.analysis.steps import Steps
from stepscope.schema import NONE, Events, Kind, Note, Notes

#: Code -> what happened and what it means for the numbers. docs/metrics.md is made from this.
CODES = {
    "no_events": "The source holds no event that could be used; there is nothing to measure.",
    "invalid_duration": "Events without a usable duration (missing, negative, not a number) were left out.",
    "invalid_timestamp": "Events whose start is missing, 0 or before all others' epoch were left out.",
    "missing_field": "Records lack a field that every event needs; those of use were kept, the others left out.",
    "unusable_counter": "Values of hardware counters are no numbers, or none that a counter reaches; they were left "
    "out.",
    "unusable_value": "Values that a file tells of events and devices are NaN, infinite or sizes that no memory has; "
    "they were left out, the events kept.",
    "missing_size": "Allocation records tell no size; the memory levels are without them, nothing else is.",
    "damaged_event": "Event records could not be decoded and were left out.",
    "repaired_text": "Text that its format forbids (bad escapes, control characters, NaN) was repaired and kept.",
    "truncated": "The file ends in the middle; everything before was kept, sums are too low by what is missing.",
    "concatenated": "The file holds more than one trace; only the first was read.",
    "unpaired_event": "Begin events without an end, or the reverse, were left out.",
    "unsupported_phase": "Events of a form that is not read were left out.",
    "unknown_category": "Events of categories that this version does not know are kept and shown, and are in no class.",
    "unknown_part": "Parts of the file are of a kind that this version does not know, or damaged; they were left out.",
    "programs_left_out": "Programs that XLA compiled were too large to keep; their operations tell no FLOPs and bytes.",
    "damaged_program": "Programs that XLA compiled are damaged or cut; their operations may lack FLOPs and bytes.",
    "exported_curves": "The file is an export of stepscope's timeline. The curves in it, which are made of its events "
    "or of the monitor's samples, were left out.",
    "dropped_instants": "Instants of no length that tell nothing were left out.",
    "rank_conflict": "Metadata and file name tell different ranks; the metadata were taken.",
    "rank_unknown": "Neither metadata nor file name tell a rank.",
    "duplicate_rank": "Several workers that may have run at the same time say that they are one rank; kept apart.",
    "unreadable": "A worker could not be read; the other workers' numbers do not include it.",
    "unreadable_window": "A deep window is damaged; its steps have no activity.",
    "unfinished_recording": "The process was killed, hangs, or lost its disk: what came after is missing.",
    "damaged_meta": "worker.json of a recorded worker cannot be read in full; its steps are there, what else it tells "
    "may not be.",
    "damaged_stream": "Parts of an always-on stream could not be decoded; steps or samples are missing.",
    "analysis_failed": "An analysis met events that it cannot handle; its numbers are null, the others hold.",
    "rule_failed": "A rule met numbers that it cannot handle; it has no finding, the others stand.",
    "no_steps": "There is no step marker, so nothing is known by step.",
    "inferred_steps": "Steps were inferred, since there is no marker.",
    "incomplete_step": "Steps were cut: the recording, or that of device work, begins or stops inside them. They are "
    "kept, with complete = false, and not in step_time_ns.",
    "nested_step": "Step markers inside other markers were left out, so that steps do not overlap.",
    "averaged_steps": "Steps were timed several at once; each was given its share.",
    "overlap_on_thread": "Calls on one thread overlap without nesting; the overlap counts in the self time of both.",
    "overlap_on_stream": "Device records overlap on their stream. All are kept; the clipped times of kernels count the "
    "overlap once.",
    "launch_without_run": "Launch calls have no device record: it was lost, or the call started nothing.",
    "run_without_launch": "Device work has no launch call in the trace: launched earlier, or its record lost. "
    "It extends no step and, without an external id, is no operator's.",
    "guessed_thread": "Backward nodes carry numbers that several threads used; they were given to the likeliest one.",
    "relative_memory": "Allocations were recorded without totals; memory levels are lower bounds.",
    "clock_skew": "Device work starts before its launch call: the clocks of host and device disagree.",
    "clock_step": "The wall clock was set during the run; times before and after differ.",
    "clock_unknown": "The file does not tell what time its events are counted from; they start at 0, durations hold.",
    "device_numbering": "Allocators and device work number the devices otherwise; memory and work of one GPU stand "
    "under two numbers.",
    "requested_but_absent": "The capture asked for data that are not there; their numbers are null or too low.",
    "window_postponed": "Another profiler was active when a deep window was due, or broke one off.",
    "flight_recorder": "A deep window opened by itself after a slow step or a loss that is no number; its steps are "
    "those that came next, and may not be usual ones.",
    "loss_not_finite": "The loss became infinite or no number; what the training computes since then may mean nothing.",
    "overhead_shed": "The profiler cost more than its budget, and stopped measuring some of what it did before.",
    "window_not_converted": "A deep window was recorded but not converted; the profiler's own file was kept.",
    "never_stopped": "The script never stopped the recording; it ended when the next one began.",
    "second_profiler": "A second stepscope profiler in one process was refused.",
    "hook_failed": "A hook switched itself off after an error; what it measured is missing from then on.",
    "unclosed_phase": "Exceptions passed the end of phases by; they are missing.",
    "other_threads": "Phases of threads other than the training thread were not recorded.",
    "phases_unknown": "The hook could not tell phases apart; those times are null.",
    "host_time_only": "Times are of host calls, which return before the device is done.",
    "dropped_spans": "Spans came faster than they were written; a million wait at most, later ones are missing.",
    "storage_stalled": "The run folder did not answer for 5 s or longer; nothing is missing for that, "
    "what was recorded meanwhile waited in memory.",
    "recording_stopped": "The recorder switched itself off; there are no always-on data from then on.",
    "out_of_memory": "The kernel ended processes of the training's container for want of memory, such as a worker of "
    "its DataLoader, or the training.",
    "monitor_stopped": "The resource monitor ended early.",
    "monitor_source_failed": "A source of the resource monitor failed; its metrics are missing.",
    "gpu_not_readable": "The monitor cannot read a GPU; it has no samples.",
    "gpu_metric_absent": "A GPU does not give one of its metrics to the monitor.",
    "cpu_counters_absent": "The monitor was asked for counters of the CPU that it cannot read here.",
}

#: Header switches of a capture, and the kind of row that each should have brought.
_REQUESTED = {"profile_memory": (Kind.MEMORY, "allocations"), "with_stack": (Kind.PYTHON, "Python frames")}
_SHAPES = '"Input Dims"'


def step_notes(steps: Steps, events: int) -> list[Note]:
    """Notes about step markers. ``events`` is how many events there are in all."""
    notes = Notes()
    if len(steps) == 0 and events:
        notes.add(
            "no_steps",
            "No step marker was recorded: the hooks mark steps, so do prof.step() and, in JAX, StepTraceAnnotation.",
        )
    inferred = int(steps.inferred.sum())
    notes.add("inferred_steps", f"No step was marked; steps are inferred: {steps.rule}.", inferred)
    cut = int((~steps.complete).sum())
    notes.add("incomplete_step", "The recording, or that of device work, starts or stops inside a step.", cut)
    notes.add("nested_step", "A step marker inside another one was left out.", steps.nested)
    notes.add(
        "averaged_steps", "Steps were timed several at once; each was given its share.", int((steps.averaged > 1).sum())
    )
    return notes.list()


def event_notes(events: Events) -> list[Note]:
    """A note about events that no analysis takes."""
    notes = Notes()
    notes.add(
        "unknown_category",
        "Events of categories that this version does not know are shown on the timeline and are in no class.",
        int(np.count_nonzero(events.of_kind(Kind.OTHER))),
    )
    return notes.list()


def call_notes(calls: Calls, autograd: Autograd) -> list[Note]:
    """Notes about operators: self times and backward passes that are not exact."""
    notes = Notes()
    notes.add(
        "overlap_on_thread",
        "Calls on one thread overlap without nesting; the overlap counts in the self time of both.",
        calls.overlapping,
    )
    notes.add(
        "guessed_thread",
        "Several threads used the numbers of backward nodes; the nodes were given to the thread with the most matches.",
        autograd.guessed,
    )
    return notes.list()


def memory_notes(found: Sequence[DeviceMemory] | None, events: Events) -> list[Note]:
    """Notes about allocation records."""
    notes = Notes()
    notes.add(
        "missing_size",
        "Allocation records without a size were left out of the memory levels.",
        int(np.count_nonzero(events.of_kind(Kind.MEMORY) & (events.bytes == NONE))),
    )
    notes.add(
        "relative_memory",
        "The source does not tell how much is allocated in all; memory levels are lower bounds.",
        sum(m.allocations + m.frees for m in found or () if not m.is_absolute),
    )
    differently = numbered_differently([m.device for m in found or ()], events)
    if differently is not None:
        notes.add("device_numbering", differently)
    return notes.list()


def numbered_differently(memory: Iterable[int | None], events: Events) -> str | None:
    """A sentence where no device of an allocator is one that work ran on; None where the numbers fit.

    Args:
        memory: device of each allocator, None for the host.
        events: with the device work.
    """
    told = {device for device in memory if device is not None}
    work = set(np.unique(device_of(events, device_work(events))).tolist())
    if not told or not work or told & work:
        return None
    names, where = (", ".join(f"GPU {i}" for i in sorted(of)) for of in (told, work))
    return (
        f"The allocator tells of {names}, the device work of {where}: they count the devices differently, as on ROCm, "
        "and may mean the same ones."
    )


def launch_notes(capture: Capture, links: Links, launched: Launches) -> list[Note]:
    """Notes about launches and runs that do not meet."""
    notes = Notes()
    launching = np.unique(capture.window_of(links.call))
    working = np.unique(capture.window_of(links.run))
    notes.add(
        "requested_but_absent",
        "Launches were recorded but no device work at all: the profiler delivered no kernel records, so device times "
        "read as 0. Another profiler on this GPU, missing permissions, or a range profiler, which reads counters in "
        "place of times, are the usual reasons.",
        len(np.setdiff1d(launching, working)),
    )
    notes.add(
        "launch_without_run",
        "Launch calls have no device record: their records were lost, or the calls started nothing.",
        launched.without_run,
    )
    notes.add(
        "run_without_launch",
        "Device work has no launch call in the trace (launched before the recording began, or its record was lost); "
        "it extends no step.",
        int(np.count_nonzero(links.call_of_run == NONE)),
    )
    notes.add(
        "clock_skew",
        "Device work starts before its launch call does: the clocks of host and device disagree by that much.",
        launched.before_call,
    )
    return notes.list()


def overlap_notes(overlaps: int) -> list[Note]:
    """A note about device records that overlap on their stream."""
    notes = Notes()
    notes.add(
        "overlap_on_stream",
        "Device records overlap on one stream; all are kept, and the clipped times of kernels count the overlaps once.",
        overlaps,
    )
    return notes.list()


def counter_notes(found: CounterValues) -> list[Note]:
    """Notes about hardware counters."""
    notes = Notes()
    what = "Values of hardware counters that are no numbers, or out of all range, were left out."
    notes.add("unusable_counter", what, found.unusable)
    return notes.list()


def request_notes(events: Events, header: dict) -> list[Note]:
    """Notes about what the capture asked for and did not get."""
    notes = Notes()

    def asks_for(switch: str) -> bool:
        return str(header.get(switch, 0)) in ("1", "True")

    for switch, (kind, what) in _REQUESTED.items():
        if asks_for(switch) and not events.of_kind(kind).any():
            notes.add("requested_but_absent", f"The capture asked for {what} ({switch}) but holds none.")
    if asks_for("record_shapes") and not any(_SHAPES in text for text in events.args_values):
        notes.add("requested_but_absent", "The capture asked for input shapes (record_shapes) but holds none.")
    return notes.list()
