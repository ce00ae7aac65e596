"""How sure a finding is: what data quality notes and counter-evidence take from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from stepscope.analysis.trust import TOPICS, WEAKENS
from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import CONFIDENCES, Finding

#: Notes whose count is single events among many: few of them change no share.
COUNTED = frozenset(
    {
        "invalid_duration", "invalid_timestamp", "missing_field", "missing_size", "damaged_event", "unpaired_event",
        "unknown_category", "overlap_on_thread", "overlap_on_stream", "launch_without_run", "run_without_launch",
        "guessed_thread", "clock_skew", "incomplete_step", "nested_step",
    }
)  # fmt: skip
#: Share of all events from which such notes count.
FROM_RATIO = 0.01
#: Fewer steps than this in the evidence are a sample too small to be sure.
FEW_STEPS = 3


def judged(finding: Finding, case: Case) -> Finding:
    """The finding with its confidence, and the notes that weaken it."""
    weak = [note for note in case.rows("quality") if _weakens(note, finding)]
    lost = sum(_matters(note, case.worker.get("events") or 0) for note in weak)
    against = list(finding.counter_evidence)
    device_side = {"step activity", "device times", "launches"} & set(finding.rests_on)
    if device_side and case.deep is not None and 0 < case.deep.steps < FEW_STEPS:
        against.append(f"The capture in depth holds only {fmt.count(case.deep.steps, 'step')}.")
        lost += 1
    if device_side and case.slowdown is not None and case.slowdown >= 1.3:
        lost += 1
    level = CONFIDENCES[max(0, CONFIDENCES.index(finding.confidence) - lost)]
    codes = [note["code"] for note in weak]
    return replace(finding, confidence=level, weakened_by=codes, counter_evidence=against)


def _weakens(note: Mapping[str, Any], finding: Finding) -> bool:
    return not set(finding.rests_on).isdisjoint(WEAKENS.get(note["code"], tuple(TOPICS)))


def _matters(note: Mapping[str, Any], events: int) -> bool:
    return note["code"] not in COUNTED or note["count"] >= FROM_RATIO * max(events, 1)
