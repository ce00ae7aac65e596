"""Findings: what is slow in a run and what to do about it. One rule a file; docs/rules.md lists them.

A rule is a function of a ``Case``, one worker's numbers, that returns a ``Finding`` or None. Others can be added by
packages: an entry point of the group ``stepscope.rules`` names such a function.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import entry_points

from stepscope.rules.batch_size import batch_size
from stepscope.rules.case import Case
from stepscope.rules.confidence import judged
from stepscope.rules.cpu_bottleneck import cpu_bottleneck
from stepscope.rules.data_parallel import data_parallel
from stepscope.rules.device_waits import device_waits
from stepscope.rules.dominant_kernel import dominant_kernel
from stepscope.rules.exposed_communication import exposed_communication
from stepscope.rules.exposed_copies import exposed_copies
from stepscope.rules.finding import CONFIDENCES, SEVERITIES, Finding, Gain, Place
from stepscope.rules.host_bound import host_bound
from stepscope.rules.host_communication import host_communication
from stepscope.rules.input_bound import input_bound
from stepscope.rules.io_bottleneck import io_bottleneck
from stepscope.rules.load_balancing import load_balancing
from stepscope.rules.loader_workers import loader_workers
from stepscope.rules.low_gpu_utilization import low_gpu_utilization
from stepscope.rules.matrix_units import matrix_units
from stepscope.rules.memory_growth import memory_growth
from stepscope.rules.memory_near_capacity import memory_near_capacity
from stepscope.rules.optimizer_share import optimizer_share
from stepscope.rules.outside_phases import outside_phases
from stepscope.rules.pageable_copies import pageable_copies
from stepscope.rules.parameters import Parameters
from stepscope.rules.profiler_overhead import profiler_overhead
from stepscope.rules.samples import Samples
from stepscope.rules.slow_start import slow_start
from stepscope.rules.small_grids import small_grids
from stepscope.rules.step_outlier import step_outlier
from stepscope.rules.straggler import straggler
from stepscope.rules.synchronisation import synchronisation
from stepscope.rules.unfused_kernels import unfused_kernels
from stepscope.rules.validation_share import validation_share
from stepscope.rules.verdict import Verdict, verdict

__all__ = [
    "RULES", "RUN_RULES", "Case", "Finding", "Found", "Gain", "Parameters", "Place", "Samples", "Verdict", "find",
]  # fmt: skip

log = logging.getLogger("stepscope")

Rule = Callable[[Case], Finding | None]

#: Rules about one worker, in the order in which docs/rules.md tells them.
RULES: tuple[Rule, ...] = (
    input_bound, host_bound, synchronisation, device_waits, exposed_communication, host_communication, exposed_copies,
    pageable_copies, matrix_units, unfused_kernels, small_grids, dominant_kernel, optimizer_share, outside_phases,
    validation_share, step_outlier, slow_start, memory_near_capacity, memory_growth, cpu_bottleneck, io_bottleneck,
    low_gpu_utilization, load_balancing, batch_size, loader_workers, data_parallel, profiler_overhead,
)  # fmt: skip
#: Rules about all workers of a run together.
RUN_RULES: tuple[Callable[[Sequence[Case]], Finding | None], ...] = (straggler,)

#: Names of workers that a finding lists.
MAX_WORKERS = 16


@dataclass(frozen=True)
class Found:
    """All findings, the most important first; the verdict on them; and a sentence on each rule that failed."""

    findings: list[Finding]
    verdict: Verdict
    failed: list[str]


def find(cases: Sequence[Case], rules: Iterable[Rule] | None = None) -> Found:
    """What the rules find on the workers of a run. What several workers share is told once, of the worst of them.

    A rule that fails leaves a sentence in ``failed``, and the others stand.
    """
    failed: dict[str, None] = {}
    by_rule: dict[str, list[Finding]] = {}
    for rule in (*RULES, *added_rules()) if rules is None else rules:
        for case in cases:
            finding = _attempt(rule, case, failed)
            if finding is not None:
                named = replace(judged(finding, case), workers=[str(case.worker.get("worker"))])
                by_rule.setdefault(finding.rule, []).append(named)
    found = [_told_once(same, len(cases)) for same in by_rule.values()]
    for run_rule in RUN_RULES if rules is None else ():
        about_run = _attempt(run_rule, cases, failed)
        if about_run is not None:
            found.append(about_run)
    found.sort(key=_importance, reverse=True)
    return Found(found, verdict(found, cases), list(failed))


@cache
def added_rules() -> tuple[Rule, ...]:
    """Rules that installed packages add; one that cannot be loaded is logged and left out."""
    rules = []
    for entry in entry_points(group="stepscope.rules"):
        try:
            rules.append(entry.load())
        except Exception as error:
            log.warning("The rule %s (%s) cannot be loaded: %r", entry.name, entry.value, error)
    return tuple(rules)


def _attempt(
    rule: Callable[..., Finding | None], about: Case | Sequence[Case], failed: dict[str, None]
) -> Finding | None:
    try:
        finding = rule(about)
        if finding is not None and not isinstance(finding, Finding):
            raise TypeError(f"it returned {type(finding).__name__}, not a Finding")
    except Exception as error:
        log.debug("the rule %s failed", rule, exc_info=True)
        name = getattr(rule, "__name__", repr(rule))
        failed[f"The rule {name} failed ({type(error).__name__}: {error})."] = None
        return None
    return finding


def _importance(finding: Finding) -> tuple[int, float, int]:
    sure = CONFIDENCES.index(finding.confidence) + 1
    gain = finding.gain.ratio if finding.gain else 0.0
    return SEVERITIES.index(finding.severity), gain * sure, sure


def _told_once(same: list[Finding], workers: int) -> Finding:
    """The worst of several workers' findings, with the names of all that have one."""
    worst = max(same, key=_importance)
    if workers == 1:
        return worst
    names = [w for finding in [worst, *(f for f in same if f is not worst)] for w in finding.workers]
    message = worst.message
    if len(same) > 1:
        message = f"{message[:-1]} (the worst of {len(same)} workers)."
    return replace(worst, message=message, workers=names[:MAX_WORKERS], more_workers=max(0, len(names) - MAX_WORKERS))
