"""The summary as text: one screen (``report``) or six lines (``brief``)."""

from __future__ import annotations

from typing import Any

from stepscope.errors import StepscopeError
from stepscope.report import format as fmt
from stepscope.report.findings import findings, verdict_line
from stepscope.report.ranks import ranks

TOP = 6


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
    """One screen.

    Args:
        summary: the contract, in full or in short (``stepscope.summary.overview``).
        worker: the full part of the worker to show in detail.
    """
    lines = _head(summary)
    if len(summary["workers"]) > 1:
        lines += ["", "Workers", *ranks(summary), "", f"In detail: {fmt.name(worker['worker'], 100)}"]
    for title, body in (
        ("Where the time goes, by phase of the loop", _shares(worker, "phase_total_ns", "phased_steps")),
        ("Where the time goes, by activity", _shares(worker, "activity_total_ns", "deep_steps")),
        ("Devices", _devices(worker)),
        ("Host", _host(summary, worker)),
        ("Top kernels", _kernels(worker)),
        ("Memory copies", _copies(worker)),
        ("Top operators", _operators(worker)),
        ("Input pipeline (tf.data)", _tf_data(worker)),
        ("Top modules", _modules(worker)),
        ("Top modules, host time in sampled steps", _sampled_modules(worker)),
        ("Memory allocated in the windows", _memory(worker)),
        ("Annotations", _annotations(worker)),
        ("Data quality", _quality(worker, summary.get("problems", []))),
    ):
        if body:
            lines += ["", title, *body]
    return "\n".join(lines)


def all_ranks(summary: dict[str, Any]) -> str:
    """All workers beside each other, and none of them in detail."""
    if summary["across_workers"] is None:
        raise StepscopeError(f"{summary['run']}: there is one worker only, and none to compare it with.")
    return "\n".join((*_head(summary), "", "Workers", *ranks(summary, everyone=True)))


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
    devices = sorted({fmt.name(d["name"] or "unnamed device") for w in workers for d in w["devices"]})
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
    totals = _known(worker["phase_total_ns"]) or _known(worker["activity_total_ns"])
    whole = sum(totals.values())
    if not whole:
        return fmt.NOT_MEASURED
    shares = sorted(totals.items(), key=lambda item: -item[1])
    return ", ".join(f"{n} {fmt.percent(t / whole)}" for n, t in shares if t * 1000 >= whole)


def _known(totals: dict[str, int | None] | None) -> dict[str, int]:
    """The parts that were measured; they add up to the time of the steps that have them."""
    return {name: ns for name, ns in (totals or {}).items() if ns is not None}


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


def _shares(worker: dict[str, Any], field: str, counted: str) -> list[str]:
    totals, steps = _known(worker[field]), worker["coverage"][counted]
    total = sum(totals.values())
    if not total:
        return []
    rows = [["", f"mean of {fmt.count(steps, 'step')}", "share"]]
    rows += [[n, fmt.time(t / steps), fmt.percent(t / total)] for n, t in totals.items() if t]
    return fmt.table(rows, right=(1, 2))


def _devices(worker: dict[str, Any]) -> list[str]:
    known = {d["id"]: d for d in worker["devices"]}
    lines = []
    for gpu in worker["gpu"] or []:
        only = worker["devices"][0] if len(worker["devices"]) == len(worker["gpu"]) == 1 else {}
        device = known.get(gpu["device"], only)  # ROCm numbers its queues' devices otherwise than the header
        memory = f", {fmt.size(device['memory_bytes'])}" if device.get("memory_bytes") else ""
        busy = (
            f"busy {fmt.percent(gpu['utilization_steps'])} of the steps, "
            f"{fmt.percent(gpu['utilization_window'])} of the window"
            if gpu["utilization_steps"] is not None
            else "no steps to relate its work to"
        )
        lines.append(f"  {gpu['device']} {fmt.name(device.get('name') or 'unnamed device')}{memory}: {busy}")
    timeline = worker["timeline_ns"]
    if timeline["total"]:
        parts = ("compute", "exposed_communication", "exposed_memcpy", "exposed_memset", "idle")
        shares = ", ".join(
            f"{p.replace('_', ' ')} {fmt.percent(timeline[p] / timeline['total'])}" for p in parts if timeline[p]
        )
        lines.append(f"  whole capture of {fmt.time(timeline['total'])}: {shares}")
    lines += _device_idle(worker)
    launched = worker["launches"]
    if launched and launched["count"]:
        waited, queued = launched["latency_ns"], launched["queue_wait_ns"]
        late = (
            f", kernel start after launch p50 {fmt.time(waited['p50'])}, p99 {fmt.time(waited['p99'])}, "
            f"{fmt.percent(queued['total'] / waited['total'] if waited['total'] else 0)} of it behind earlier work"
            if waited
            else ""
        )
        lines.append(f"  {launched['count']:,} launches, {launched['linked']:,} linked to their runs{late}")
    talk = worker["communication"]
    if talk and talk["total_ns"]:
        longest = next(c for c in talk["collectives"] if c["device"])
        rate = longest["busbw_bytes_per_s"]
        bus = f" at {fmt.rate(rate)} bus bandwidth" if rate is not None else ""
        lines.append(
            f"  communication {fmt.time(talk['total_ns'])}, {fmt.percent(talk['overlap'])} of it beside computation; "
            f"longest {fmt.name(longest['name'])}{bus}"
        )
    return lines


def _device_idle(worker: dict[str, Any]) -> list[str]:
    """Why the devices were idle, all together."""
    devices = (worker["idle"] or {}).get("devices") or []
    total = sum(d["idle_ns"] for d in devices)
    if not total:
        return []
    causes = {"the host": "host_wait_ns", "the start of queued work": "kernel_wait_ns", "other": "other_ns"}
    shares = {cause: sum(d[field] for d in devices) for cause, field in causes.items()}
    told = ", ".join(f"{cause} {fmt.percent(ns / total)}" for cause, ns in shares.items() if ns)
    return [f"  idle {fmt.time(total)} between first and last work, waiting for: {told}"]


def _host(summary: dict[str, Any], worker: dict[str, Any]) -> list[str]:
    metrics = (summary["resources"] or {}).get(worker["host"] or "unknown", {})
    units = {"cpu": fmt.percent, "iowait": fmt.percent, "memory_used": fmt.size, "gpu": fmt.percent}
    units |= {"process_memory": fmt.size, "gpu_memory_used": fmt.size}
    rows = [["", "p50", "p95", "max"]]
    rows += [
        [m.replace("_", " "), *(show(metrics[m][q]) for q in ("p50", "p95", "max"))]
        for m, show in units.items()
        if m in metrics
    ]
    return fmt.table(rows, right=(1, 2, 3)) if len(rows) > 1 else []


def _kernels(worker: dict[str, Any]) -> list[str]:
    kernels = worker["kernels"] or []
    total = sum(k["total_ns"] for k in kernels)
    rows = [["", "time", "share", "runs", "mean"]]
    for k in kernels[:TOP]:
        share = fmt.percent(k["total_ns"] / total if total else None)
        rows.append([fmt.name(k["name"]), fmt.time(k["total_ns"]), share, f"{k['count']:,}", fmt.time(k["mean_ns"])])
    return fmt.table(rows, right=(1, 2, 3, 4)) if kernels else []


def _copies(worker: dict[str, Any]) -> list[str]:
    rows = [
        [kind, fmt.count(c["count"], "copy").replace("copys", "copies"), fmt.time(c["time_ns"])]
        + ([fmt.size(c["bytes"]), fmt.rate(c["bytes_per_s"])] if c["bytes"] is not None else ["size unknown", ""])
        for kind, c in (worker["memcpy"] or {}).items()
    ]
    return fmt.table(rows, right=(1, 2, 3, 4))


def _tf_data(worker: dict[str, Any]) -> list[str]:
    found = worker["tf_data"]
    if found is None:
        return []
    share = f", {fmt.percent(found['wait_ratio'])} of the loop" if found["wait_ratio"] is not None else ""
    lines = [f"  the training waited {fmt.time(found['wait_ns'])} for {fmt.count(found['fetches'], 'element')}{share}"]
    rows = [["", "in calls", "self", "calls", "buffer empty"]]
    for stage in found["stages"]:
        name = "  " * stage["depth"] + fmt.name(stage["stage"]) + (" *" if stage["path"] == found["slowest"] else "")
        empty = "" if stage["empty_ratio"] is None else fmt.percent(stage["empty_ratio"])
        rows.append([name, fmt.time(stage["total_ns"]), fmt.time(stage["self_ns"]), f"{stage['calls']:,}", empty])
    lines += fmt.table(rows, right=(1, 2, 3, 4))
    return [*lines, f"  * slowest. {found['advice']}"] if found["advice"] else lines


def _operators(worker: dict[str, Any]) -> list[str]:
    operators = worker["operators"] or []
    columns = {"device self": "device_self_ns", "host self": "host_self_ns", "host total": "host_total_ns"}
    if operators and operators[0]["device_self_ns"] is None:
        del columns["device self"]
    rows = [["", *columns, "calls"]]
    rows += [
        [fmt.name(o["name"]), *(fmt.time(o[f]) for f in columns.values()), f"{o['count']:,}"] for o in operators[:TOP]
    ]
    return fmt.table(rows, right=range(1, len(rows[0]))) if operators else []


def _modules(worker: dict[str, Any]) -> list[str]:
    modules = [m for m in worker["modules"] or [] if m["path"]]
    side = "host" if not modules or modules[0]["forward_device_total_ns"] is None else "device"
    rows = [["", f"forward {side}", f"backward {side}", "calls"]]
    for m in modules[:TOP]:
        times = [m[f"{part}_{side}_total_ns"] for part in ("forward", "backward")]
        calls = "" if m["calls"] is None else f"{m['calls']:,}"
        rows.append([fmt.name("/".join(m["path"][-3:])), *("-" if t is None else fmt.time(t) for t in times), calls])
    return fmt.table(rows, right=(1, 2, 3)) if modules else []


def _sampled_modules(worker: dict[str, Any]) -> list[str]:
    """Where no deep window tells of modules: what the always-on stream has of them."""
    modules = [] if worker["modules"] else worker["sampled_modules"] or []
    rows = [["", "forward a step", "without inner modules", "calls a step"]]
    for m in modules[:TOP]:
        times = [fmt.time(m[f"forward_host_{part}_ns"] / m["steps"]) for part in ("total", "self")]
        rows.append([fmt.name(m["name"]), *times, f"{m['calls'] / m['steps']:,.3g}"])
    return fmt.table(rows, right=(1, 2, 3)) if modules else []


def _memory(worker: dict[str, Any]) -> list[str]:
    lines = []
    for m in worker["memory"] or []:
        where = "host" if m["device"] is None else f"device {m['device']}"
        least = "" if m["is_absolute"] else "at least "
        parts = [f"  {where}: peak {least}{fmt.size(m['peak_bytes'])}"]
        if m["peak_reserved_bytes"] is not None:
            parts.append(f"{fmt.size(m['peak_reserved_bytes'])} reserved")
        if m["at_peak"]:
            parts.append(f"{fmt.size(m['at_peak']['earlier_bytes'])} of the peak from before")
            parts += [
                f"most by {fmt.name(o['name'] or 'unknown')} {fmt.size(o['bytes'])}"
                for o in m["at_peak"]["operators"][:1]
            ]
        lines.append(", ".join(parts))
    return lines


def _annotations(worker: dict[str, Any]) -> list[str]:
    annotations = worker["annotations"] or []
    rows = [["", "time", "p50", "p99", "count"]]
    for a in annotations[:TOP]:
        times = [fmt.time(a[f]) for f in ("total_ns", "p50_ns", "p99_ns")]
        rows.append([fmt.name(a["name"]), *times, f"{a['count']:,}"])
    return fmt.table(rows, right=(1, 2, 3, 4)) if annotations else []


def _quality(worker: dict[str, Any], problems: list[str]) -> list[str]:
    rows = [[n["code"], f"{n['count']:,}", fmt.name(n["detail"], 160)] for n in worker["quality"]]
    trust = [f"  {worker['trust']['sentence']}"] if rows else []
    return trust + fmt.table(rows, right=(1,)) + [f"  {fmt.name(p, 200)}" for p in problems]
