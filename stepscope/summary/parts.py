"""Members of a worker's part of the contract that take more than one analysis, or are bounded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import numpy as np

from stepscope.analysis.annotations import Annotation
from stepscope.analysis.autograd import Autograd
from stepscope.analysis.capture import Capture
from stepscope.analysis.collective_messages import group_sizes
from stepscope.analysis.collective_sums import CollectiveRuns
from stepscope.analysis.collectives import collective_runs, communication
from stepscope.analysis.device_phases import DevicePhases
from stepscope.analysis.device_timeline import DeviceTimeline, device_timeline
from stepscope.analysis.idle import KERNEL_WAIT_THRESHOLD_NS, idle_by_device, idle_by_stream
from stepscope.analysis.launches import Links
from stepscope.analysis.phase_markers import marked_phases
from stepscope.analysis.phases import PhaseRows, Phases, partition, recorded_phases
from stepscope.analysis.queues import QueueOrder
from stepscope.analysis.steps import Steps
from stepscope.analysis.synchronisation import synchronisation
from stepscope.schema import Device, Events, Kind, Window

#: The longest of the lists that may have very many entries; the fields beside them tell how many there are in all.
LIST_ROWS = 200


def timeline_part(windows: list[Window]) -> dict[str, int | None]:
    parts = [t for t in (device_timeline(w.events) for w in windows) if t is not None]
    return fields_of(DeviceTimeline, sum(parts, start=DeviceTimeline()) if parts else None)


def idle_part(capture: Capture, links: Links) -> dict[str, Any]:
    streams = idle_by_stream(capture, links)
    return {
        "kernel_wait_threshold_ns": KERNEL_WAIT_THRESHOLD_NS,
        "devices": plain(idle_by_device(capture, links)),
        "streams": plain(streams[:LIST_ROWS]),
        "stream_count": len(streams),
    }


def collectives_of(windows: list[Window], events: Events, links: Links, queues: QueueOrder) -> CollectiveRuns:
    sizes = group_sizes(window.header for window in windows)
    return collective_runs(events, links, sizes, [window.events for window in windows], queues)


def communication_part(events: Events, runs: CollectiveRuns) -> dict[str, Any] | None:
    found = communication(events, runs)
    if found is None:
        return None
    return {
        **asdict(replace(found, collectives=found.collectives[:LIST_ROWS])),
        "collective_count": len(found.collectives),
    }


def annotations_part(found: tuple[list[Annotation], Annotation | None, int] | None) -> dict[str, Any]:
    listed, others, names = found or (None, None, None)
    return {
        "annotations": plain(listed),
        "annotation_count": names,
        "annotations_others": others and asdict(others),
    }


def synchronisation_part(capture: Capture) -> dict[str, Any]:
    found = synchronisation(capture.events, capture.bounds)
    bounded = replace(found, by_operator=found.by_operator[:LIST_ROWS])
    return {**asdict(bounded), "by_operator_count": len(found.by_operator)}


def phase_rows_of(
    live: Events, capture: Capture, steps: Steps, links: Links, backward: Autograd, visible: Iterable[str]
) -> PhaseRows:
    """Phases from where the steps come from: the always-on stream, or the deep windows without one.

    A trace of another tool has no rows for phases, but much that marks them.
    """
    if len(live):
        return recorded_phases(live, visible)
    if capture.events.of_kind(Kind.PHASE).any():
        return recorded_phases(capture.events, visible)
    return marked_phases(capture.events, steps, links, backward)


def phases_of(live: Events, rows: PhaseRows, steps: Steps) -> Phases:
    """A step that only a deep window saw beside an always-on stream has no phases: the stream lost its part."""
    phases = partition(rows, steps)
    return replace(phases, measured=phases.measured & steps.from_live) if len(live) else phases


def device_phases_part(found: DevicePhases | None) -> dict[str, Any] | None:
    """The sums over the steps that were timed on a device, and how many there are."""
    if found is None:
        return None
    sums = {name: int(values[found.measured].sum()) for name, values in found.ns.items()}
    return {"steps": int(found.measured.sum()), "total_ns": sums, "queue_p50_ns": found.queue_p50_ns}


def devices_of(windows: list[Window], meta: dict[str, Any]) -> list[Device]:
    """Devices by id, from the windows, else from worker.json."""
    known = {f.name for f in fields(Device)}
    told = [Device(**{k: v for k, v in d.items() if k in known}) for d in meta.get("devices", []) if "id" in d]
    found = {d.id: d for d in (*told, *(d for w in windows for d in w.devices))}
    return [device for _, device in sorted(found.items())]


def coverage_of(live: Events, capture: Capture, steps: Steps | None, phases: Phases | None) -> dict[str, Any]:
    """How much of the job the numbers stand for; null where the analysis of the steps failed.

    Metrics:
        steps: steps in all
        deep_steps: those in deep windows, of which activity is known; ``activity_total_ns`` sums over them
        phased_steps: those of which phases are known; ``phase_total_ns`` sums over them
        windows: deep windows
        first_ns: start of the first event, Unix time
        last_ns: end of the last event, Unix time
    """
    tables = [t for t in (live, capture.events) if len(t)]
    return {
        "steps": None if steps is None else len(steps),
        "deep_steps": None if steps is None else int(np.count_nonzero(steps.deep)),
        "phased_steps": None if phases is None else int(np.count_nonzero(phases.measured)),
        "windows": len(capture),
        "first_ns": min((int(t.ts_ns.min()) for t in tables), default=None),
        "last_ns": max((int(t.end_ns.max()) for t in tables), default=None),
    }


def launches_part(launched: Any) -> dict[str, Any] | None:
    return None if launched is None else {k: v for k, v in asdict(launched).items() if k != "before_call"}


def totals(
    columns: dict[str, np.ndarray] | None, names: tuple[str, ...], holds: np.ndarray
) -> dict[str, int | None] | None:
    """Sums over the steps where the columns hold; None if there is no such step."""
    if columns is None or not holds.any():
        return None
    return {n: int(columns[n][holds].sum()) if n in columns else None for n in names}


def plain(rows: Sequence[Any] | None) -> list[dict[str, Any]] | None:
    return None if rows is None else [asdict(r) for r in rows]


def fields_of(kind: type, value: Any) -> dict[str, Any]:
    """The fields of a result, all None where there is none."""
    return {f.name: getattr(value, f.name, None) for f in fields(kind)}
