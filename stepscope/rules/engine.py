"""Runs the rules, and puts what they find into the order in which it matters."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.confidence import judged, judged_of_run
from stepscope.rules.finding import CONFIDENCES, SEVERITIES, Finding
from stepscope.rules.parameters import Parameters
from stepscope.rules.registry import RULES, Rule, added_rules
from stepscope.rules.straggler import straggler
from stepscope.rules.verdict import Bound, bound

log = logging.getLogger("stepscope")

#: Names of workers that a finding lists.
MAX_WORKERS = 16


@dataclass(frozen=True)
class Found:
    """What the rules find on one worker, the most important first; what bounds its step; which rules failed."""

    findings: list[Finding]
    bound: Bound | None
    failed: list[str]


def find(case: Case, rules: Iterable[Rule] | None = None) -> Found:
    """Findings about one worker. A rule that fails leaves a sentence in ``failed``, and the others stand.

    Args:
        case: the worker.
        rules: those to ask; all, with those of installed packages, if None.
    """
    findings, failed = [], []
    for rule in (*RULES, *added_rules()) if rules is None else rules:
        try:
            finding = rule(case)
            if finding is not None:
                findings.append(judged(finding, case))
        except Exception as error:
            log.debug("the rule %s failed", rule, exc_info=True)
            failed.append(f"The rule {getattr(rule, '__name__', rule)} failed ({type(error).__name__}: {error}).")
    try:
        bounds = bound(case)
    except Exception as error:
        bounds = None
        failed.append(f"What bounds the step is not known ({type(error).__name__}: {error}).")
    return Found(sorted(findings, key=_importance, reverse=True), bounds, failed)


def of_run(
    by_worker: Sequence[Sequence[Finding]],
    across: Mapping[str, Any] | None,
    limits: Parameters | None = None,
    cpu: Mapping[str, float] | None = None,
    workers: Sequence[Mapping[str, Any]] = (),
) -> list[Finding]:
    """Findings about a run: what several workers share is told once, as the worst of them has it.

    Args:
        by_worker: the findings of each worker.
        across: ``across_workers`` of the contract; None for a run of one worker.
        limits: the thresholds.
        cpu: the median use of all CPUs of each host, where a monitor saw it.
        workers: their parts of the contract, for their data quality notes.
    """
    same: dict[str, list[Finding]] = {}
    for finding in (f for findings in by_worker for f in findings):
        same.setdefault(finding.rule, []).append(finding)
    found = [_told_once(findings) for findings in same.values()]
    slow = straggler(across, limits or Parameters(), cpu or {})
    return sorted([*found, *([judged_of_run(slow, workers)] if slow else [])], key=_importance, reverse=True)


def _importance(finding: Finding) -> tuple[int, float, int]:
    sure = CONFIDENCES.index(finding.confidence) + 1
    gain = finding.gain.ratio if finding.gain else 0.0
    return SEVERITIES.index(finding.severity), gain * sure, sure


def _told_once(same: list[Finding]) -> Finding:
    """The worst of several workers' findings, with the names of all that have one. Where a file ends early, what is
    cut off looks like idle time: such a worker is told of only where no other has the finding."""
    whole = [f for f in same if "truncated" not in f.weakened_by] or same
    worst = max(whole, key=_importance)
    if len(same) == 1:
        return worst
    cut = len(same) - len(whole)
    early = [f"Not told here: {fmt.count(cut, 'more worker')} of which the file ends early."] if cut else []
    names = [name for finding in [worst, *(f for f in same if f is not worst)] for name in finding.workers]
    return replace(
        worst,
        message=f"{worst.message[:-1]} (the worst of {len(whole)} workers)." if len(whole) > 1 else worst.message,
        counter_evidence=[*worst.counter_evidence, *early],
        workers=names[:MAX_WORKERS],
        more_workers=max(0, len(names) - MAX_WORKERS),
    )
