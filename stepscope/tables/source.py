"""What the tables of one worker are made from: the analyses of its events, each made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from stepscope.analysis.allocations import Allocator, allocators
from stepscope.analysis.autograd import Autograd, link_backward
from stepscope.analysis.capture import merge
from stepscope.analysis.ceilings import Ceilings, ceilings_of
from stepscope.analysis.collective_sums import CollectiveRuns
from stepscope.analysis.collectives import collective_runs
from stepscope.analysis.hlo_ops import hlo_runs
from stepscope.analysis.kernel_runs import KernelRuns, kernel_runs
from stepscope.analysis.launches import Launches, LaunchTimes, Links, launch_times, launches, link
from stepscope.analysis.modules import Owners, module_owners
from stepscope.analysis.operators import Calls, operator_calls
from stepscope.analysis.order import coded
from stepscope.analysis.queue_depth import QueueDepth, queue_depths
from stepscope.analysis.queues import QueueOrder, queue_order
from stepscope.analysis.request_parts import RequestParts, request_parts
from stepscope.analysis.requests import Requests, find_requests
from stepscope.analysis.select import device_of
from stepscope.hlo.programs import Programs
from stepscope.hlo.views import ProgramViews
from stepscope.schema import NONE, Device, Events, Lane, Program
from stepscope.tables.hlo_work import HloWork
from stepscope.timeline import LIVE_BASE, Timeline
from stepscope.timeline.segment import Segment

#: Between the names of a module's path.
PATH = " / "


class Source:
    """The events of a timeline at one moment.

    Rows of ``events`` (the deep windows) have the numbers of the timeline; those of ``live``, the always-on stream,
    ``LIVE_BASE`` less.

    Args:
        devices: known besides those that the windows tell.
        programs: reads what XLA compiled; asked when a table of its operations is made.
    """

    def __init__(
        self,
        timeline: Timeline,
        devices: Sequence[Device] = (),
        programs: Callable[[], Iterable[Program]] = tuple,
    ) -> None:
        segments = timeline.segments()
        self.version = timeline.version
        self.origin_ns = timeline.origin_ns
        self.capture = merge([s.events for s in segments if s.base < LIVE_BASE])
        self.events: Events = self.capture.events
        self.live: Events = merge([_on_lanes(s, timeline) for s in segments if s.base >= LIVE_BASE]).events
        self._windows = [s.events for s in segments if s.base < LIVE_BASE]
        self._group_sizes = dict(timeline.group_sizes)
        known = {device.id: device for device in devices} | timeline.devices
        self._devices = [device for _, device in sorted(known.items())]
        self._programs = programs
        self.steps = timeline.steps()

    # -- analyses -------------------------------------------------------------------------------------

    @cached_property
    def links(self) -> Links:
        return link(self.events)

    @cached_property
    def queues(self) -> QueueOrder:
        return queue_order(self.events, self.links.run)

    @cached_property
    def launch_times(self) -> LaunchTimes:
        return launch_times(self.events, self.links, self.queues)

    @cached_property
    def queue_depths(self) -> list[QueueDepth]:
        return queue_depths(self.events, self.links)

    @cached_property
    def launched(self) -> Launches:
        return launches(self.events, self.links, self.queues)

    @cached_property
    def runs(self) -> KernelRuns:
        return kernel_runs(self.events, self.links, self._devices)

    @cached_property
    def collectives(self) -> CollectiveRuns:
        return collective_runs(self.events, self.links, self._group_sizes, self._windows, self.queues)

    @property
    def is_amd(self) -> bool:
        return any(device.is_amd for device in self._devices)

    @cached_property
    def backward(self) -> Autograd:
        return link_backward(self.events)

    @cached_property
    def calls(self) -> Calls:
        return operator_calls(self.events, self.links, self.backward)

    @cached_property
    def owners(self) -> Owners | None:
        return module_owners(self.events, self.backward)

    @cached_property
    def allocators(self) -> list[Allocator] | None:
        return allocators(self.capture, self.owners)

    @cached_property
    def requests(self) -> Requests:
        """Requests of inference."""
        return find_requests(self.live, self.events)

    @cached_property
    def request_parts(self) -> RequestParts:
        return request_parts(self.requests, self.links)

    @cached_property
    def hlo(self) -> HloWork:
        runs = hlo_runs(self.events)
        return HloWork.of(runs, self.programs, self._ceilings(runs.rows) if runs.on_device else None)

    @cached_property
    def programs(self) -> Programs:
        """What XLA compiled of what ran in the windows."""
        return Programs(self._programs())

    @cached_property
    def program_views(self) -> ProgramViews:
        return ProgramViews(self.programs)

    @cached_property
    def ceilings(self) -> Ceilings | None:
        """Those of the devices on which anything ran."""
        return self._ceilings(self.links.run)

    def _ceilings(self, rows: np.ndarray) -> Ceilings | None:
        """Those of the devices of these rows, if they are of one known model.

        Where the records number the devices otherwise than the list does (on AMD), of all that are listed.
        """
        used = set(np.unique(self.events.device[rows]).tolist())
        devices = [device for device in self._devices if device.id in used] or self._devices
        found = {ceilings_of(device) for device in devices} if len(rows) else set()
        return found.pop() if len(found) == 1 else None

    # -- columns that several tables have -------------------------------------------------------------

    @cached_property
    def operator_of_run(self) -> np.ndarray:
        """The name (index into ``events.names``) of the operator that launched each run of ``links``."""
        hit = self.calls.of_run != NONE
        out = np.full(len(hit), NONE, np.int64)
        out[hit] = self.events.name[self.calls.rows[self.calls.of_run[hit]]]
        return out

    @cached_property
    def module_of_run(self) -> np.ndarray:
        """The module of each run of ``links``, ``NONE`` for none."""
        if self.owners is None:
            return np.full(len(self.links.run), NONE, np.int64)
        return self.owners.find_runs(self.links, self.calls)[0]

    def module_of(self, rows: np.ndarray) -> np.ndarray:
        """The module of each host row, ``NONE`` for none."""
        return np.full(len(rows), NONE, np.int64) if self.owners is None else self.owners.find(rows)[0]

    @cached_property
    def module_paths(self) -> list[str]:
        return [] if self.owners is None else [PATH.join(self.owners.path(i)) for i in range(len(self.owners))]

    @cached_property
    def call_of_run(self) -> np.ndarray:
        """The row of the launch call of each run of ``links``, ``NONE`` where it is not in the trace."""
        hit = self.links.call_of_run != NONE
        out = np.full(len(hit), NONE, np.int64)
        out[hit] = self.links.call[self.links.call_of_run[hit]]
        return out

    def position_of_run(self, rows: np.ndarray) -> np.ndarray:
        """Where rows of device work stand in ``links.run``, which is sorted."""
        return np.searchsorted(self.links.run, rows)

    def moments(self, rows: np.ndarray) -> np.ndarray:
        """Starts of rows, in ns after the timeline's origin."""
        return self.events.ts_ns[rows] - self.origin_ns

    def stream_of(self, rows: np.ndarray) -> tuple[np.ndarray, list[str]]:
        """For each row of device work the number of its device and stream, and what these are called."""
        device = device_of(self.events, rows)
        stream = np.where(self.events.stream[rows] != NONE, self.events.stream[rows], -2 - self.events.lane[rows])
        streams, of_stream = coded(stream)
        pairs, code = coded(device * len(streams) + of_stream)  # by device, then stream
        told = [(pair // len(streams), int(streams[pair % len(streams)])) for pair in pairs.tolist()]
        names = [f"GPU {d}, stream {s}" if s >= 0 else f"GPU {d}, {self.events.lanes[-2 - s].name}" for d, s in told]
        return code, names

    @cached_property
    def thread_names(self) -> list[str]:
        """What the lanes of ``events`` are called."""
        return [lane.name or f"thread {lane.tid}" for lane in self.events.lanes]

    def steps_at(self, at_ns: np.ndarray, told: np.ndarray) -> np.ndarray:
        """The step that rows belong to: the one that their source tells, else that which holds a moment of theirs;
        ``NONE`` outside steps."""
        number, start, end = self.steps
        if len(start) == 0:
            return told.copy()
        order = np.argsort(start, kind="stable")
        at = np.searchsorted(start[order], at_ns, "right") - 1
        found = order[np.maximum(at, 0)]
        inside = (at >= 0) & (at_ns < end[found])
        return np.where(told != NONE, told, np.where(inside, number[found], NONE))


def _on_lanes(segment: Segment, timeline: Timeline) -> Events:
    """The always-on stream with the lanes of the timeline, which its events alone lack."""
    ids, lane = np.unique(segment.lane, return_inverse=True)
    lanes = [Lane("thread", timeline.lanes.by_id[i].name, tid=str(i)) for i in ids.tolist()]
    return replace(segment.events, lane=lane.reshape(-1).astype(np.int32), lanes=lanes)
