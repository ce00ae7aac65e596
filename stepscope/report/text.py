"""The summary as text: one screen (``report``) or six lines (``brief``)."""

from __future__ import annotations

from typing import Any

from stepscope.errors import StepscopeError
from stepscope.report import format as fmt
from stepscope.report import sections, units
from stepscope.report.findings import findings, verdict_line
from stepscope.report.ranks import ranks
from stepscope.report.width import fold
from stepscope.summary.headline import device_names


def brief(summary: dict[str, Any]) -> str:
    """Six lines: what ran, the verdict, step times, where the time goes, how busy the machine was, data quality."""
    workers = summary["workers"]
    notes: dict[str, int] = {}
    for worker in workers:
        for note in worker["quality"]:
            notes[note["code"]] = notes.get(note["code"], 0) + note["count"]
    return "\n".join(
        (
            f"run      {fmt.name(summary['run'])}: {_what_ran(workers)}",
            f"verdict  {verdict_line(summary)}",
            f"steps    {_step_line(summary)}",
            f"time     {_time_line(workers)}",
            f"busy     {_busy_line(summary)}",
            "quality  " + (", ".join(f"{code} {n:,}" for code, n in notes.items()) or "nothing to note"),
        )
    )


def report(summary: dict[str, Any], worker: dict[str, Any]) -> str:
    """One screen, as wide as ``stepscope.report.width.fitted`` says.

    Args:
        summary: the contract, in full or in short (``stepscope.summary.overview``).
        worker: the full part of the worker to show in detail.
    """
    lines = _head(summary)
    if len(summary["workers"]) > 1:
        lines += ["", "Workers", *ranks(summary), "", f"In detail: {fmt.name(worker['worker'], 100)}"]
    for title, body in (
        ("Where the time goes, by phase of the loop", sections.shares(worker, "phase_total_ns", "phased_steps")),
        ("Where the time goes, by activity", sections.shares(worker, "activity_total_ns", "deep_steps")),
        ("Devices", sections.devices(worker)),
        ("Units of the devices", units.device_units(worker)),
        ("Hardware counters", units.hardware_counters(worker)),
        ("Host", sections.host(summary, worker)),
        ("Top kernels", sections.kernels(worker)),
        ("Memory copies", sections.copies(worker)),
        ("How operators ran", sections.operator_modes(worker)),
        ("Top HLO operations", sections.hlo_operations(worker)),
        ("Top operators", sections.operators(worker)),
        ("Input pipeline (tf.data)", sections.tf_data(worker)),
        ("Requests of inference", sections.inference(worker)),
        ("Top modules", sections.modules(worker)),
        ("Top modules, host time in sampled steps", sections.sampled_modules(worker)),
        ("Memory allocated in the windows", sections.memory(worker)),
        ("Annotations", sections.annotated_regions(worker)),
        ("Data quality", sections.quality(worker, summary.get("problems", []))),
    ):
        if body:
            lines += ["", title, *body]
    return "\n".join(fold(lines))


def all_ranks(summary: dict[str, Any]) -> str:
    """All workers beside each other, and none of them in detail."""
    if summary["across_workers"] is None:
        raise StepscopeError(f"{summary['run']}: there is one worker only, and none to compare it with.")
    return "\n".join(fold((*_head(summary), "", "Workers", *ranks(summary, everyone=True))))


def _head(summary: dict[str, Any]) -> list[str]:
    lines = [
        f"Run {fmt.name(summary['run'])}: {_what_ran(summary['workers'])}",
        f"Steps: {_step_line(summary)}",
        f"Verdict: {verdict_line(summary)}",
    ]
    found = findings(summary)
    return [*lines, "", "Findings", *found] if found else lines


def choose(workers: list[dict[str, Any]], which: str | None) -> int:
    """The position of the worker with this name or rank; the first one for None.

    Raises:
        StepscopeError: there is none.
    """
    if which is None:
        return 0
    for i, worker in enumerate(workers):
        if which in (worker["worker"], str(worker["rank"])):
            return i
    names = ", ".join(w["worker"] for w in workers[:8])
    raise StepscopeError(f"no worker of this run has the name or rank {which}; there are {names}.")


def _what_ran(workers: list[dict[str, Any]]) -> str:
    frameworks = sorted({w["framework"] for w in workers})
    devices = sorted({fmt.name(name) for w in workers for name in device_names(w)})
    return ", ".join((fmt.count(len(workers), "worker"), *frameworks, *(devices or ["no accelerator"])))


def _step_line(summary: dict[str, Any]) -> str:
    times = summary["step_time_ns"]
    total = sum(w["coverage"]["steps"] or 0 for w in summary["workers"])
    if times is None:
        return "none with a measured time" if total else "none"
    deep = sum(w["coverage"]["deep_steps"] or 0 for w in summary["workers"])
    left_out = total - times["count"]
    parts = [
        f"{times['count']:,}" + (f" complete, {left_out:,} incomplete" if left_out else ""),
        f"{deep:,} in depth" if deep != total else "all in depth",
        f"p50 {fmt.time(times['p50'])}",
        f"p95 {fmt.time(times['p95'])}",
        f"max {fmt.time(times['max'])}",
    ]
    rate = summary["throughput_samples_per_s"]
    if rate is not None:
        parts.append(f"{rate:,.4g} samples/s")
    micro = summary["micro_step_time_ns"]
    if micro and micro["count"] > times["count"]:
        parts.append(f"{micro['count']:,} micro batches of p50 {fmt.time(micro['p50'])}")
    return ", ".join(parts)


def _time_line(workers: list[dict[str, Any]]) -> str:
    worker = next((w for w in workers if w["coverage"]["steps"]), workers[0])
    totals = sections.known(worker["phase_total_ns"]) or sections.known(worker["activity_total_ns"])
    whole = sum(totals.values())
    if not whole:
        return fmt.NOT_MEASURED
    shares = sorted(totals.items(), key=lambda item: -item[1])
    return ", ".join(f"{n} {fmt.percent(t / whole)}" for n, t in shares if t * 1000 >= whole)


def _busy_line(summary: dict[str, Any]) -> str:
    gpus = [g["utilization_steps"] for w in summary["workers"] for g in w["gpu"] or []]
    known = sorted(u for u in gpus if u is not None)
    shown = []
    if len(known) == 1:
        shown.append(f"GPU {fmt.percent(known[0])} of the steps")
    elif known:
        shown.append(f"{len(known)} GPUs {fmt.percent(known[0])} to {fmt.percent(known[-1])} of the steps")
    for metrics in (summary["resources"] or {}).values():
        if "cpu" in metrics:
            shown.append(f"CPU {fmt.percent(metrics['cpu']['p50'])} (p95 {fmt.percent(metrics['cpu']['p95'])})")
        if "memory_used" in metrics:
            shown.append(f"memory {fmt.size(metrics['memory_used']['max'])}")
    return ", ".join(shown) or fmt.NOT_MEASURED
