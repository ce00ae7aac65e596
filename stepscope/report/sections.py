"""The sections of the screen about one worker: each a list of lines, empty where there is nothing to tell."""

from __future__ import annotations

from typing import Any

from stepscope.report import format as fmt

#: Rows of a table.
TOP = 6
_MODES = ("eager", "graph", "compiled", "unknown")


def known(totals: dict[str, int | None] | None) -> dict[str, int]:
    """The parts that were measured; they add up to the time of the steps that have them."""
    return {name: ns for name, ns in (totals or {}).items() if ns is not None}


def shares(worker: dict[str, Any], field: str, counted: str) -> list[str]:
    totals, steps = known(worker[field]), worker["coverage"][counted]
    total = sum(totals.values())
    if not total:
        return []
    rows = [["", f"mean of {fmt.count(steps, 'step')}", "share"]]
    rows += [[n, fmt.time(t / steps), fmt.percent(t / total)] for n, t in totals.items() if t]
    return fmt.table(rows, right=(1, 2))


def devices(worker: dict[str, Any]) -> list[str]:
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
        held = talk["stall_ns"]
        stall = "" if held is None else f", other work waited {fmt.time(held)} for it"
        lines.append(
            f"  communication {fmt.time(talk['total_ns'])}, {fmt.percent(talk['overlap'])} of it beside computation"
            f"{stall}; longest {fmt.name(longest['name'])}{bus}"
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


def host(summary: dict[str, Any], worker: dict[str, Any]) -> list[str]:
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


def kernels(worker: dict[str, Any]) -> list[str]:
    kernels = worker["kernels"] or []
    total = sum(k["total_ns"] for k in kernels)
    rows = [["", "time", "share", "runs", "mean"]]
    for k in kernels[:TOP]:
        share = fmt.percent(k["total_ns"] / total if total else None)
        rows.append([fmt.name(k["name"]), fmt.time(k["total_ns"]), share, f"{k['count']:,}", fmt.time(k["mean_ns"])])
    return fmt.table(rows, right=(1, 2, 3, 4)) if kernels else []


def copies(worker: dict[str, Any]) -> list[str]:
    rows = [
        [kind, fmt.count(c["count"], "copy", "copies"), fmt.time(c["time_ns"])]
        + ([fmt.size(c["bytes"]), fmt.rate(c["bytes_per_s"])] if c["bytes"] is not None else ["size unknown", ""])
        for kind, c in (worker["memcpy"] or {}).items()
    ]
    return fmt.table(rows, right=(1, 2, 3, 4))


def tf_data(worker: dict[str, Any]) -> list[str]:
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


def inference(worker: dict[str, Any]) -> list[str]:
    """Requests and what they took, and the batches that they waited for."""
    found = worker["inference"]
    if found is None:
        return []
    rate = "" if found["requests_per_s"] is None else f", {found['requests_per_s']:,.1f}/s"
    in_flight = "" if found["in_flight"] is None else f", {found['in_flight']:.2f} in flight"
    rows = [["", "mean", "p50", "p90", "p99", "longest"], ["latency", *_spread(found["latency_ns"])]]
    batches = found["batches"]
    if batches is not None:
        if batches["wait_ns"] is not None:
            rows.append(["wait for a batch", *_spread(batches["wait_ns"])])
        rows.append(["batch", *_spread(batches["duration_ns"])])
    lines = [f"  {fmt.count(found['count'], 'request')}{rate}{in_flight}", *fmt.table(rows, right=(1, 2, 3, 4, 5))]
    if batches is not None and batches["size_mean"] is not None:
        padding = "" if batches["padding_ratio"] is None else f", {fmt.percent(batches['padding_ratio'])} padding"
        lines.append(
            f"  {fmt.count(batches['count'], 'batch', 'batches')} of {batches['size_mean']:.2f} items{padding}"
        )
    parts = [part for part in found["parts"] or [] if part["share"] > 0]
    if parts:
        told = ", ".join(f"{part['part'].replace('_', ' ')} {fmt.percent(part['share'])}" for part in parts)
        lines.append(f"  of the latency: {told}")
    if found["late"]:
        lines.append(f"  {fmt.count(found['late'], 'request')} ended before device work that they launched")
    return lines


def _spread(times: dict[str, float]) -> list[str]:
    return [fmt.time(times[key]) for key in ("mean", "p50", "p90", "p99", "max")]


def operator_modes(worker: dict[str, Any]) -> list[str]:
    """How much ran where, and how much of either one by one; nothing where all ran in one way on one side."""
    ran = known(worker["operator_modes"])
    sides = {
        side: {name.split("_")[1]: ns for name, ns in ran.items() if name.startswith(key) and ns}
        for side, key in (("the host", "host"), ("devices", "device"))
    }
    sums = {side: sum(modes.values()) for side, modes in sides.items() if modes}
    if len(sums) < 2 and worker["framework"] != "tensorflow" and not any(len(modes) > 1 for modes in sides.values()):
        return []
    lines = []
    for side, total in sums.items():
        placed = f" ({fmt.percent(total / sum(sums.values()))} of both)" if len(sums) > 1 else ""
        modes = ", ".join(f"{mode} {fmt.percent(sides[side][mode] / total)}" for mode in _MODES if mode in sides[side])
        lines.append(f"  on {side} {fmt.time(total)}{placed}: {modes}")
    return lines


def hlo_operations(worker: dict[str, Any]) -> list[str]:
    operations = worker["hlo_operations"] or []
    total = sum(o["self_ns"] for o in operations)
    rows = [["", "self", "share", "executions"]]
    for o in operations[:TOP]:
        share = fmt.percent(o["self_ns"] / total if total else None)
        rows.append([fmt.name(o["op"]), fmt.time(o["self_ns"]), share, f"{o['executions']:,}"])
    return fmt.table(rows, right=(1, 2, 3)) if operations else []


def operators(worker: dict[str, Any]) -> list[str]:
    operators = worker["operators"] or []
    columns = {"device self": "device_self_ns", "host self": "host_self_ns", "host total": "host_total_ns"}
    if operators and operators[0]["device_self_ns"] is None:
        del columns["device self"]
    rows = [["", *columns, "calls"]]
    rows += [
        [fmt.name(o["name"]), *(fmt.time(o[f]) for f in columns.values()), f"{o['count']:,}"] for o in operators[:TOP]
    ]
    return fmt.table(rows, right=range(1, len(rows[0]))) if operators else []


def modules(worker: dict[str, Any]) -> list[str]:
    modules = [m for m in worker["modules"] or [] if m["path"]]
    side = "host" if not modules or modules[0]["forward_device_total_ns"] is None else "device"
    rows = [["", f"forward {side}", f"backward {side}", "calls"]]
    for m in modules[:TOP]:
        times = [m[f"{part}_{side}_total_ns"] for part in ("forward", "backward")]
        calls = "" if m["calls"] is None else f"{m['calls']:,}"
        rows.append([fmt.name("/".join(m["path"][-3:])), *("-" if t is None else fmt.time(t) for t in times), calls])
    return fmt.table(rows, right=(1, 2, 3)) if modules else []


def sampled_modules(worker: dict[str, Any]) -> list[str]:
    """Where no deep window tells of modules: what the always-on stream has of them."""
    modules = [] if worker["modules"] else worker["sampled_modules"] or []
    rows = [["", "forward a step", "without inner modules", "calls a step"]]
    for m in modules[:TOP]:
        times = [fmt.time(m[f"forward_host_{part}_ns"] / m["steps"]) for part in ("total", "self")]
        rows.append([fmt.name(m["name"]), *times, f"{m['calls'] / m['steps']:,.3g}"])
    return fmt.table(rows, right=(1, 2, 3)) if modules else []


def memory(worker: dict[str, Any]) -> list[str]:
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


def annotated_regions(worker: dict[str, Any]) -> list[str]:
    annotations = worker["annotations"] or []
    rows = [["", "time", "p50", "p99", "count"]]
    for a in annotations[:TOP]:
        times = [fmt.time(a[f]) for f in ("total_ns", "p50_ns", "p99_ns")]
        rows.append([fmt.name(a["name"]), *times, f"{a['count']:,}"])
    return fmt.table(rows, right=(1, 2, 3, 4)) if annotations else []


def quality(worker: dict[str, Any], problems: list[str]) -> list[str]:
    rows = [[n["code"], f"{n['count']:,}", fmt.name(n["detail"], 160)] for n in worker["quality"]]
    trust = [f"  {worker['trust']['sentence']}"] if rows else []
    return trust + fmt.table(rows, right=(1,)) + [f"  {fmt.name(p, 200)}" for p in problems]
