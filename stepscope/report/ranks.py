"""The workers of a run beside each other, as text."""

from __future__ import annotations

from typing import Any

from stepscope.report import format as fmt

#: Workers that are listed, the slowest; a file of hundreds is read by scripts.
LISTED = 16
#: Ranks that are named.
_NAMED = 8


def ranks(summary: dict[str, Any], everyone: bool = False) -> list[str]:
    """Lines on who is slow and why; the slowest workers only, unless ``everyone`` is asked for."""
    across = summary["across_workers"]
    busy = {w["worker"]: _busy(w) for w in summary["workers"]}
    rows = across["ranks"]
    hidden = 0
    if not everyone and len(rows) > LISTED:
        rows = sorted(rows, key=lambda r: -(r["delta_ns"] or 0))[:LISTED]
        hidden = len(across["ranks"]) - LISTED
    table = [["worker", "rank", "steps", "p50", "to median", "slowest in", "GPU busy", "mostly in"]]
    for r in rows:
        excess = r["excess"]
        table.append(
            [
                fmt.name(r["worker"], 48),
                "?" if r["rank"] is None else str(r["rank"]),
                f"{r['steps']:,}",
                "-" if r["p50_ns"] is None else fmt.time(r["p50_ns"]),
                "-" if r["delta_ns"] is None else _signed(r["delta_ns"]),
                f"{r['slowest']:,}",
                "-" if busy[r["worker"]] is None else fmt.percent(busy[r["worker"]]),
                f"{excess['part']} {_signed(excess['ns'])}" if excess and (r["delta_ns"] or 0) > 0 else "-",
            ]
        )
    lines = [f"  {line}" for line in _sentences(across)] + fmt.table(table, right=(1, 2, 3, 4, 5, 6))
    return [*lines, f"  and {hidden:,} faster ones; --ranks lists all"] if hidden else lines


def _sentences(across: dict[str, Any]) -> list[str]:
    told = []
    if across["attempts"] > 1:
        told.append(f"{across['attempts']:,} attempts of the job; only workers of the same one are compared")
    found = across["imbalance"]
    if found["excess_ns"] is not None:
        what = "step without exposed communication" if found["measure"] == "own" else "step"
        told.append(
            f"the slowest worker's {what} takes {fmt.time(found['excess_ns'])} ({fmt.percent(found['ratio'])} of it) "
            f"more than the mean of all, over {fmt.count(found['steps'], 'step')}"
        )
    elif across["steps"]:
        parts = "the parts of " if found["measure"] == "own" else ""
        told.append(f"no two workers measured {parts}the same step: only the means of each stand beside each other")
    early = [fmt.name(r["worker"], 48) for r in across["ranks"] if r["ends_early"]]
    if early:
        named = ", ".join(early[:_NAMED]) + (", ..." if len(early) > _NAMED else "")
        told.append(f"files that end early: {named}; of these only whole steps are compared, not their parts")
    if across["missing_rank_count"]:
        named = ", ".join(map(str, across["missing_ranks"][:_NAMED]))
        more = ", ..." if across["missing_rank_count"] > _NAMED else ""
        told.append(f"{across['missing_rank_count']:,} of {across['world_size']:,} ranks are missing: {named}{more}")
    return told


def _busy(worker: dict[str, Any]) -> float | None:
    busy = [g["utilization_steps"] for g in worker["gpu"] or [] if g["utilization_steps"] is not None]
    return sum(busy) / len(busy) if busy else None


def _signed(ns: float) -> str:
    return f"{'-' if ns < 0 else '+'}{fmt.time(abs(ns))}"
