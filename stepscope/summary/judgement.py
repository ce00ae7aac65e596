"""Data quality notes in the contract, and what they mean for its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from stepscope.analysis.trust import trust
from stepscope.schema import Note
from stepscope.workers import Worker


def judge(worker: dict[str, Any], notes: list[Note]) -> None:
    """Put data quality notes and what they mean into a worker's part of the contract."""
    worker["quality"] = [asdict(n) for n in notes]
    worker["trust"] = asdict(trust(notes, worker.get("events", 0)))


def notes_of(worker: dict[str, Any]) -> list[Note]:
    return [Note(**n) for n in worker["quality"]]


def note_damage(worker: Worker, about: dict[str, Any]) -> None:
    """Add what proved damaged after the analysis, when the monitor's samples were read."""
    known = {note["detail"] for note in about["quality"]}
    late = [n for n in worker.notes if n.code == "damaged_stream" and n.detail not in known]
    if late:
        judge(about, [*notes_of(about), *late])


def note_ranks(workers: Sequence[dict[str, Any]], recorded_ns: Sequence[tuple[int, int] | None]) -> None:
    """Add the notes that only a look at all workers of a run can give: ranks told twice, or not at all.

    A job that is started anew records its ranks again: a rank is told twice where two recordings of it may have gone on
    at the same time.

    Args:
        workers: of the contract, of each at least ``rank`` and ``quality``.
        recorded_ns: begin and end of each one's recording; None where that is not told.
    """
    of_rank: dict[int, list[tuple[int, int] | None]] = {}
    for worker, span in zip(workers, recorded_ns, strict=True):
        if worker["rank"] is not None:
            of_rank.setdefault(worker["rank"], []).append(span)
    for worker, span in zip(workers, recorded_ns, strict=True):
        rank, quality = worker["rank"], worker["quality"]
        same = 0 if rank is None else sum(_may_meet(span, other) for other in of_rank[rank])  # itself among them
        if rank is None and len(workers) > 1 and not any(n["code"] == "rank_unknown" for n in quality):
            detail = "Neither the file's metadata nor its name tells the rank."
            judge(worker, [*notes_of(worker), Note("rank_unknown", 1, detail)])
        elif same > 1:
            detail = f"{same} workers of this run say that they are rank {rank}; they are kept apart."
            judge(worker, [*notes_of(worker), Note("duplicate_rank", 1, detail)])


def _may_meet(a: tuple[int, int] | None, b: tuple[int, int] | None) -> bool:
    return a is None or b is None or (a[0] <= b[1] and b[0] <= a[1])
