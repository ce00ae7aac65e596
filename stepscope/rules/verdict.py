"""One sentence for the whole: the first finding, or what bounds the step where nothing is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding


@dataclass(frozen=True)
class Verdict:
    """What to know first.

    Metrics:
        sentence: the message of the first finding that is critical or a warning; else what bounds the step
        severity: that of the finding; ok where none is critical or a warning; unknown where nothing was measured
        rule: the finding's rule, null where no finding is told
        bound: what takes most of the step: device computation, communication, copies, the host, the CPU, or null
    """

    sentence: str
    severity: str
    rule: str | None
    bound: str | None


def verdict(findings: Sequence[Finding], cases: Sequence[Case]) -> Verdict:
    """``findings`` in their order; ``cases`` are the workers, the first of which stands for all."""
    bounds = [b for b in map(bound, cases) if b is not None]
    what = bounds[0][0] if bounds else None
    for finding in findings:
        if finding.severity != "info":
            return Verdict(finding.message, finding.severity, finding.rule, what)
    if not bounds:
        noted = any(case.rows("quality") for case in cases)
        why = "; the notes on data quality tell why" if noted else ""
        return Verdict(f"There are no steps and no device work to judge{why}.", "unknown", None, None)
    return Verdict(bounds[0][1], "ok", None, what)


def bound(case: Case) -> tuple[str | None, str] | None:
    """What takes most of the step, and a sentence on it; None where nothing was measured."""
    if case.device_worked and case.deep is not None:
        return _device_bound(case)
    if case.loop is not None:
        return _host_bound(case)
    operator = _largest(case.rows("operators"), "host_self_ns")
    if operator is None or case.has_device:
        return None
    return "the CPU", f"CPU-bound: the largest operator is {operator}."


def _device_bound(case: Case) -> tuple[str, str]:
    basis = case.deep
    assert basis is not None
    shares = {name: basis.ratio(case.activity_ns(name)) for name in ("kernel", "communication", "memcpy", "idle")}
    most = max(shares, key=lambda name: shares[name])
    share, whole = fmt.percent(shares[most]), basis.what
    kernel = _largest([k for k in case.rows("kernels") if k["kind"] == "compute"], "total_ns")
    if most == "kernel":
        largest = f"; the largest is {kernel} of the kernel time" if kernel else ""
        return "device computation", f"GPU-bound: kernels cover {share} of the {whole}{largest}."
    if most == "communication":
        return "communication", f"Communication-bound: collectives alone take {share} of the {whole}."
    if most == "memcpy":
        return "copies", f"Bound by copies: they alone take {share} of the {whole}."
    return "the host", f"Host-bound: no device works for {share} of the {whole}."


def _host_bound(case: Case) -> tuple[str | None, str] | None:
    basis = case.loop
    assert basis is not None
    assert case.phases is not None
    parts = {name: case.phase_ns(name) or 0 for name in case.phases.ns}
    compute = {n: parts[n] for n in ("forward", "backward", "optimizer", "compute") if parts.get(n)}
    if not compute:
        return None
    share = fmt.percent(basis.ratio(sum(compute.values())))
    names = " and ".join(compute) if len(compute) < 3 else ", ".join(list(compute)[:-1]) + " and " + list(compute)[-1]
    operator = None if case.has_device else _largest(case.rows("operators"), "host_self_ns")
    largest = f"; the largest operator is {operator} of the operators' time" if operator else ""
    if case.has_device:
        return None, f"{names.capitalize()} take {share} of the step time on the host; no deep window tells more."
    return "the CPU", f"CPU-bound: {names} take {share} of the step time{largest}."


def _largest(rows: Sequence[dict[str, Any]], field: str) -> str | None:
    """The row with the most of a field, with its share."""
    told = [row for row in rows if row.get(field)]
    if not told:
        return None
    top = max(told, key=lambda row: row[field])
    return f"{fmt.name(top['name'], 60)} with {fmt.percent(top[field] / sum(row[field] for row in told))}"
