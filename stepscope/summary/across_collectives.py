"""The collectives of all workers of a run together, from their rollups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from stepscope.analysis.collective_slack import SOURCES

_MOST = 200


@dataclass(frozen=True)
class CollectiveOfAll:
    """A collective in the process groups of one description and size, over the workers that ran it.

    Sums over the workers, of their listed collectives (see Collectives, which defines the terms). Groups without a
    description go by their name. At most 200, the largest totals first.

    Metrics:
        name: the collective
        group: description or name of the process groups, null where it is not told
        group_size: ranks of the group, null where it is not told
        device: true on a device, false for a library that communicates on the host
        workers: workers that ran it
        count: runs
        total_ns: sum of the durations
        exposed_ns: the parts of the runs in which no compute kernel ran; null on the host
        slack_ns: sum of the slacks that are known, null if none is
        slack_known: runs whose slack is known
        slack_from: the weakest of what the workers' slacks are known from
        stall_ns: time in which something waited for it, null if no slack is known
        in_slack: runs that took no longer than their slack, null if no slack is known
        most_stalled: the worker with the longest mean stall a run, null where nothing waited
        bytes: sum of the messages that are known, null if none is
        algbw_bytes_per_s: largest algorithm bandwidth of a worker: that of the one that waited least for others
        busbw_bytes_per_s: the same of the bus bandwidths
        needed_algbw_bytes_per_s: largest algorithm bandwidth that a worker needs to hide it; null where none is known
        needed_busbw_bytes_per_s: the same of the bus bandwidths
    """

    name: str
    group: str | None
    group_size: int | None
    device: bool
    workers: int
    count: int
    total_ns: int
    exposed_ns: int | None
    slack_ns: int | None
    slack_known: int
    slack_from: str | None
    stall_ns: int | None
    in_slack: int | None
    most_stalled: str | None
    bytes: int | None
    algbw_bytes_per_s: float | None
    busbw_bytes_per_s: float | None
    needed_algbw_bytes_per_s: float | None
    needed_busbw_bytes_per_s: float | None


def collectives_of_all(
    communication: Iterable[Mapping[str, Any] | None], names: Iterable[str]
) -> list[CollectiveOfAll] | None:
    """The collectives of a run; None where no worker has any.

    Args:
        communication: of each worker, as its rollup has it.
        names: what the workers are called.
    """
    found: dict[tuple, list[tuple[str, Mapping[str, Any]]]] = {}
    for talk, worker in zip(communication, names, strict=True):
        for each in talk["collectives"] if talk else ():
            label = (each["name"], each["group_description"] or each["group"], each["group_size"], each["device"])
            found.setdefault(label, []).append((worker, each))
    out = [_sum(label, rows) for label, rows in found.items()]
    out.sort(key=lambda c: (-c.total_ns, c.name, c.group or "", c.group_size or 0, c.device))
    return out[:_MOST] or None


def _sum(label: tuple, rows: list[tuple[str, Mapping[str, Any]]]) -> CollectiveOfAll:
    entries = [entry for _, entry in rows]

    def total(field: str) -> int | None:
        known = [entry[field] for entry in entries if entry[field] is not None]
        return sum(known) if known else None

    def most(field: str) -> float | None:
        return max((entry[field] for entry in entries if entry[field] is not None), default=None)

    name, group, group_size, device = label
    stalled = [(entry["stall_ns"] / entry["slack_known"], worker) for worker, entry in rows if entry["stall_ns"]]
    return CollectiveOfAll(
        name=name,
        group=group,
        group_size=group_size,
        device=device,
        workers=len({worker for worker, _ in rows}),
        count=total("count") or 0,
        total_ns=total("total_ns") or 0,
        exposed_ns=total("exposed_ns"),
        slack_ns=total("slack_ns"),
        slack_known=total("slack_known") or 0,
        slack_from=SOURCES[max(SOURCES.index(entry["slack_from"]) for entry in entries)],
        stall_ns=total("stall_ns"),
        in_slack=total("in_slack"),
        most_stalled=max(stalled, key=lambda each: each[0])[1] if stalled else None,
        bytes=total("bytes"),
        algbw_bytes_per_s=most("algbw_bytes_per_s"),
        busbw_bytes_per_s=most("busbw_bytes_per_s"),
        needed_algbw_bytes_per_s=most("needed_algbw_bytes_per_s"),
        needed_busbw_bytes_per_s=most("needed_busbw_bytes_per_s"),
    )
