"""How sure a finding is: what data quality notes and counter-evidence take from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    finding, lost = _weakened(finding, case.worker)
    against = list(finding.counter_evidence)
    device_side = {"step activity", "device times", "launches"} & set(finding.rests_on)
    if device_side and case.deep is not None and 0 < case.deep.steps < FEW_STEPS:
        against.append(f"The capture in depth holds only {fmt.count(case.deep.steps, 'step')}.")
        lost += 1
    if device_side and case.slowdown is not None and case.slowdown >= 1.3:
        lost += 1
    return replace(finding, confidence=_less(finding.confidence, lost), counter_evidence=against)


def judged_of_run(finding: Finding, workers: Iterable[Mapping[str, Any]]) -> Finding:
    """A finding about a run, by the notes of those of its workers that it names: what their data lack may be all that
    sets them apart."""
    confidence = finding.confidence
    for worker in workers:
        if worker["worker"] not in finding.workers:
            continue
        weaker, lost = _weakened(finding, worker)
        confidence = min(confidence, _less(finding.confidence, lost), key=CONFIDENCES.index)
        codes = [code for code in weaker.weakened_by if code not in finding.weakened_by]
        if lost and codes:
            causes = ", ".join(codes).replace("_", " ")
            said = f"Read the times of {fmt.name(worker['worker'], 40)} with care ({causes})."
            finding = replace(finding, counter_evidence=[*finding.counter_evidence, said])
        finding = replace(finding, weakened_by=[*finding.weakened_by, *codes])
    return replace(finding, confidence=confidence)


def _weakened(finding: Finding, worker: Mapping[str, Any]) -> tuple[Finding, int]:
    """With the codes of the worker's notes that weaken it, and how many of them matter."""
    weak = [note for note in worker.get("quality") or [] if _weakens(note, finding)]
    lost = sum(_matters(note, worker.get("events") or 0) for note in weak)
    return replace(finding, weakened_by=[note["code"] for note in weak]), lost


def _less(confidence: str, by: int) -> str:
    return CONFIDENCES[max(0, CONFIDENCES.index(confidence) - by)]


def _weakens(note: Mapping[str, Any], finding: Finding) -> bool:
    return not set(finding.rests_on).isdisjoint(WEAKENS.get(note["code"], tuple(TOPICS)))


def _matters(note: Mapping[str, Any], events: int) -> bool:
    return note["code"] not in COUNTED or note["count"] >= FROM_RATIO * max(events, 1)
