"""One sentence for the whole: the first finding, or what bounds the step where nothing is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stepscope.report import format as fmt
from stepscope.rules.case import Case
from stepscope.rules.finding import Finding

#: Parts of the latency of requests (analysis.inference), as a sentence names them.
_REQUEST_PARTS = {
    "host_before": "the host's work before anything else",
    "batch_wait": "waiting for a batch",
    "batch": "the batch's work on the host",
    "to_device": "copying to the device",
    "device": "the device's work",
    "from_device": "copying from the device",
    "host": "the host's work",
    "host_after": "the host's work after everything else",
}


@dataclass(frozen=True)
class Bound:
    """What bounds a worker's step.

    Metrics:
        by: what takes most of the step: device, communication, copies, input, host, cpu; requests where there are no
            steps, but requests of inference; unknown where that is not recorded
        sentence: the same with numbers
    """

    by: str
    sentence: str


@dataclass(frozen=True)
class Verdict:
    """What to know first.

    Metrics:
        sentence: the message of the first finding that is critical or a warning; else what bounds the step
        severity: that of the finding; without one, ok where a device or the CPU computes most of the time, info where
            something else takes it, unknown where nothing was measured
        rule: the finding's rule, null where no finding is told
        bound: what bounds the step of the first worker of which that is known; null where it is of none
    """

    sentence: str
    severity: str
    rule: str | None
    bound: Bound | None


def verdict(findings: Sequence[Finding], bounds: Sequence[Bound | None], noted: bool = False) -> Verdict:
    """One sentence for a run.

    Args:
        findings: in their order.
        bounds: of each worker.
        noted: whether there are data quality notes.
    """
    known = next((b for b in bounds if b is not None), None)
    for finding in findings:
        if finding.severity != "info":
            return Verdict(finding.message, finding.severity, finding.rule, known)
    if known is None:
        why = "; the notes on data quality tell why" if noted else ""
        return Verdict(f"There are no steps and no device work to judge{why}.", "unknown", None, None)
    return Verdict(known.sentence, "ok" if known.by in ("device", "cpu") else "info", None, known)


def bound(case: Case) -> Bound | None:
    """What bounds the step; None where nothing was measured."""
    found = _bound(case)
    if found is None or not case.is_cut:
        return found
    return Bound("unknown", f"{found.sentence[:-1]}, as far as the incomplete file tells.")


def _bound(case: Case) -> Bound | None:
    if case.device_worked and case.deep is not None:
        return _device_bound(case)
    if case.loop is not None:
        return _loop_bound(case)
    if served := _requests(case):
        return Bound("requests", served)
    largest = _largest_operator(case)
    return Bound("cpu", f"CPU-bound: {largest}.") if largest else None


def _device_bound(case: Case) -> Bound:
    basis = case.deep
    assert basis is not None
    shares = {name: basis.ratio(case.activity_ns(name)) for name in ("kernel", "communication", "memcpy", "idle")}
    most = max(shares, key=lambda name: shares[name])
    share, whole = fmt.percent(shares[most]), basis.what
    if most == "kernel":
        kernel = _largest([k for k in case.rows("kernels") if k["kind"] == "compute"], "name", "total_ns")
        largest = f"; the largest is {kernel} of the compute kernels' time" if kernel else ""
        if operation := _largest(case.hlo, "op", "self_ns"):
            largest = f"; the largest HLO operation is {operation} of the time of all"
        return Bound("device", f"GPU-bound: kernels cover {share} of the {whole}{largest}.")
    if most == "communication":
        return Bound("communication", f"Communication-bound: collectives alone take {share} of the {whole}.")
    if most == "memcpy":
        return Bound("copies", f"Bound by copies: they alone take {share} of the {whole}.")
    if case.idle_for_input_ns * 2 > case.activity_ns("idle"):
        return Bound("input", f"Input-bound: no device works for {share} of the {whole}, most of it for want of data.")
    if case.idle_unlaunched_ratio > 0.5:
        return Bound("unknown", f"No device works for {share} of the {whole}; the trace lacks what launched its work.")
    return Bound("host", f"Host-bound: no device works for {share} of the {whole}.")


def _loop_bound(case: Case) -> Bound | None:
    basis = case.loop
    assert basis is not None
    assert case.phases is not None
    parts = {name: case.phase_ns(name) or 0 for name in case.phases.ns}
    compute = {n: parts[n] for n in ("forward", "backward", "optimizer", "compute") if parts.get(n)}
    if not compute:
        return None
    share = fmt.percent(basis.ratio(sum(compute.values())))
    names = " and ".join(compute) if len(compute) < 3 else ", ".join(list(compute)[:-1]) + " and " + list(compute)[-1]
    take = "takes" if len(compute) == 1 else "take"
    if case.has_device:
        more = "no deep window tells more" if case.deep is None else "the capture holds no work of the device"
        # The host returns from most calls before the device is done, so this says who launches, not what takes long.
        return Bound("unknown", f"On the host {names} {take} {share} of the step time; {more}.")
    largest = _largest_operator(case)
    return Bound("cpu", f"CPU-bound: {names} {take} {share} of the step time{'; ' + largest if largest else ''}.")


def _requests(case: Case) -> str | None:
    """How long requests of inference took, and the largest part of it."""
    found = case.worker.get("inference")
    if not found:
        return None
    latency = found["latency_ns"]
    told = f"Half of the requests took at most {fmt.time(latency['p50'])}, 99 of 100 {fmt.time(latency['p99'])}"
    largest = max(found["parts"] or [], key=lambda part: part["share"], default=None)
    if largest is None:
        return f"{told}."
    return f"{told}; {_REQUEST_PARTS[largest['part']]} takes {fmt.percent(largest['share'])} of their time."


def _largest_operator(case: Case) -> str | None:
    """Of a worker that computes on its CPU; of what XLA compiled the operation in it."""
    if not case.computes_on_cpu:
        return None
    if operation := _largest(case.hlo, "op", "self_ns"):
        return f"the largest HLO operation is {operation} of the time of all"
    operator = _largest(case.operators, "name", "host_self_ns")
    return operator and f"the largest operator is {operator} of the operators' time"


def _largest(rows: Sequence[dict[str, Any]], name: str, field: str) -> str | None:
    """The row with the most of a field, with its share."""
    told = [row for row in rows if row.get(field)]
    if not told:
        return None
    top = max(told, key=lambda row: row[field])
    return f"{fmt.name(top[name], 60)} with {fmt.percent(top[field] / sum(row[field] for row in told))}"
