"""How far the numbers of a worker can be trusted: what each data quality note weakens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepscope.schema import Note

#: What a reader looks at -> the fields of the worker (and of the run) that show it.
TOPICS: dict[str, tuple[str, ...]] = {
    "steps": ("steps", "step_time_ns", "micro_step_time_ns"),
    "step activity": ("steps[].activity_ns",),
    "phases": ("steps[].phase_ns", "steps[].micro_steps", "micro_step_time_ns"),
    "device times": ("gpu", "timeline_ns", "idle", "activity_time_ns", "precision_ns", "device_units"),
    "hardware counters": ("device_counters", "device_units"),
    "kernels": ("kernels", "kernels_by_launch_config"),
    "memory operations": ("memcpy", "memory_operations"),
    "communication": ("communication",),
    "launches": ("launches", "synchronisation"),
    "operators": ("operators", "operator_modes", "hlo_operations", "operators_by_shape", "operator_stacks"),
    "modules": ("modules", "sampled_modules"),
    "memory": ("memory",),
    "annotations": ("annotations", "inference"),
    "resources": ("resources",),
    "the rank": ("rank", "world_size"),
    "the time of day": ("steps[].start_ns", "coverage"),
}

_DEVICE = ("step activity", "device times", "kernels", "memory operations", "communication")
_HOST = ("step activity", "launches", "operators", "modules", "annotations")
_DEEP = (*_DEVICE, *_HOST[1:], "memory", "hardware counters")
_ALWAYS_ON = ("steps", "phases", "annotations")

#: Topics that a note of each code weakens. Where the note is about single events, the numbers lack these events.
WEAKENS: dict[str, tuple[str, ...]] = {
    "no_events": ("steps", "phases", *_DEEP),
    "invalid_duration": ("steps", "phases", *_DEEP),
    "invalid_timestamp": ("steps", "phases", *_DEEP),
    "missing_field": ("steps", "phases", *_DEEP),
    "missing_size": ("memory",),
    "unusable_counter": ("hardware counters",),
    "unusable_value": ("hardware counters", "operators", "memory operations", "memory"),
    "damaged_event": ("steps", "phases", *_DEEP),
    "repaired_text": (),
    "truncated": ("steps", "phases", *_DEEP),
    "concatenated": ("steps", "phases", *_DEEP),
    "unpaired_event": ("steps", "phases", *_HOST),
    "unsupported_phase": ("annotations",),
    "unknown_category": ("step activity", "device times"),
    "unknown_part": ("steps", "phases", *_DEEP),
    "damaged_program": ("operators",),
    "exported_curves": (),
    "dropped_instants": (),
    "programs_left_out": (),
    "rank_conflict": ("the rank",),
    "rank_unknown": ("the rank",),
    "duplicate_rank": ("the rank",),
    "unreadable": tuple(TOPICS),
    "unreadable_window": _DEEP,
    "unfinished_recording": ("steps", "phases"),
    "damaged_meta": ("the rank", "phases"),
    "damaged_stream": (*_ALWAYS_ON, "resources"),
    "analysis_failed": (),
    "rule_failed": (),
    "no_steps": ("steps", "step activity", "phases"),
    "inferred_steps": ("steps", "step activity", "phases"),
    "incomplete_step": ("steps", "step activity", "phases"),
    "nested_step": ("steps",),
    "averaged_steps": ("steps",),
    "overlap_on_stream": ("kernels", "launches"),
    "overlap_on_thread": ("operators",),
    "launch_without_run": (*_DEVICE, "launches", "operators", "modules"),
    "run_without_launch": ("steps", "launches", "operators", "modules"),
    "guessed_thread": ("operators", "modules", "phases"),
    "relative_memory": ("memory",),
    "device_numbering": ("memory",),
    "clock_skew": ("launches",),
    "clock_step": ("steps", "phases", "the time of day"),
    "clock_unknown": ("the time of day",),
    "requested_but_absent": _DEEP,
    "window_postponed": _DEEP,
    "flight_recorder": (),
    "loss_not_finite": (),
    "overhead_shed": ("phases", "modules"),
    "window_not_converted": _DEEP,
    "never_stopped": (),
    "second_profiler": (),
    "hook_failed": (*_ALWAYS_ON, *_DEEP),
    "unclosed_phase": ("phases",),
    "other_threads": ("phases",),
    "phases_unknown": ("phases",),
    "host_time_only": ("phases",),
    "dropped_spans": _ALWAYS_ON,
    "storage_stalled": (),
    "recording_stopped": _ALWAYS_ON,
    "out_of_memory": (),
    "monitor_stopped": ("resources",),
    "monitor_source_failed": ("resources",),
    "gpu_not_readable": ("resources",),
    "gpu_metric_absent": ("resources",),
    "cpu_counters_absent": (),
}

#: Codes whose count is events that were left out.
LEFT_OUT = frozenset({"invalid_duration", "invalid_timestamp", "damaged_event", "unpaired_event", "unsupported_phase"})
#: Codes whose count is instants that were left out, and that no number misses.
MARKS = frozenset({"dropped_instants"})
#: Topics that the sentence names before it says "and others".
_NAMED = 4


@dataclass(frozen=True)
class Weakness:
    """One note, and the fields whose numbers it weakens."""

    code: str
    count: int
    fields: list[str]


@dataclass(frozen=True)
class Trust:
    """What all data quality notes of a worker mean for its numbers.

    Metrics:
        sentence: the whole in one sentence
        events_kept: events that the numbers stand on
        events_left_out: events that could not be read or used, as far as they could be counted
        weakens: for each note its code, its count, and the fields of the summary that it weakens; none where the
            note is harmless
    """

    sentence: str
    events_kept: int
    events_left_out: int
    weakens: list[Weakness]


def trust(notes: Sequence[Note], events: int) -> Trust:
    """Judge the notes of one worker that has this many events. A code of another version weakens all fields."""
    weakens = []
    topics: set[str] = set()
    for note in notes:
        hit = WEAKENS.get(note.code, tuple(TOPICS))
        topics |= set(hit)
        weakens.append(Weakness(note.code, note.count, list(dict.fromkeys(f for t in hit for f in TOPICS[t]))))
    left_out = sum(n.count for n in notes if n.code in LEFT_OUT)
    named = [topic for topic in TOPICS if topic in topics]
    return Trust(_sentence(notes, named, events, left_out), events, left_out, weakens)


def _sentence(notes: Sequence[Note], topics: list[str], events: int, left_out: int) -> str:
    if not notes:
        return "Nothing was left out, repaired or guessed: the numbers stand as recorded."
    lost = "no event was left out"
    if any(n.code in MARKS for n in notes):
        lost = "only marks that take no time were left out"
    if left_out:
        lost = f"{left_out:,} of {events + left_out:,} events were left out"
    codes = sorted((n.code for n in notes), key=lambda code: -len(WEAKENS.get(code, TOPICS)))  # what weighs most first
    if topics:
        codes = [code for code in codes if WEAKENS.get(code, TOPICS)]
    causes = ", ".join(code.replace("_", " ") for code in codes[:_NAMED])
    causes += " and others" if len(codes) > _NAMED else ""
    if not topics:
        return f"The numbers stand: {lost}, and the notes ({causes}) weaken none of them."
    *first, last = topics[:_NAMED] if len(topics) <= _NAMED else [*topics[:_NAMED], "others"]
    named = f"{', '.join(first)} and {last}" if first else last
    return f"Read {named} with care ({causes}); {lost}."
