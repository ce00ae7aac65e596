"""What weakens the numbers: gaps and contradictions that only the analyses can see."""

from __future__ import annotations

from stepscope.analysis.launches import Launches
from stepscope.analysis.steps import Steps
from stepscope.schema import Events, Kind, Note, Notes

#: Header switches of a capture, and the kind of row that each should have brought.
_REQUESTED = {"profile_memory": (Kind.MEMORY, "allocations"), "with_stack": (Kind.PYTHON, "Python frames")}


def step_notes(steps: Steps, events: int) -> list[Note]:
    """Notes about step markers. ``events`` is how many events there are in all."""
    notes = Notes()
    if len(steps) == 0 and events:
        notes.add("no_steps", "No step marker was recorded; call prof.step() or use the stepscope hook to get steps.")
    cut = int((~steps.complete).sum())
    notes.add("incomplete_step", "The recording of device work starts or stops inside a step.", cut)
    notes.add("nested_step", "A step marker inside another one was left out.", steps.nested)
    return notes.list()


def launch_notes(launched: Launches) -> list[Note]:
    """Notes about launches and runs that do not meet."""
    notes = Notes()
    if launched.without_run == launched.count and launched.runs_without_launch == 0:
        notes.add(
            "requested_but_absent",
            "The host launched device work but no device record is there: the profiler lost them all, so device "
            "times read as 0.",
            launched.count,
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
        launched.runs_without_launch,
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
        "Device records overlap on one stream; all are kept, and clipped_ns counts the overlaps once.",
        overlaps,
    )
    return notes.list()


def request_notes(events: Events, header: dict) -> list[Note]:
    """Notes about what the capture asked for and did not get."""
    notes = Notes()
    for switch, (kind, what) in _REQUESTED.items():
        if str(header.get(switch, 0)) in ("1", "True") and not events.of_kind(kind).any():
            notes.add("requested_but_absent", f"The capture asked for {what} ({switch}) but holds none.")
    return notes.list()
