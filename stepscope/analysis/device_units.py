"""The units of each device: what each achieved, against the most that it can do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepscope.analysis import intervals
from stepscope.analysis.ceilings import Ceilings, ceilings_of
from stepscope.analysis.collectives import CollectiveRuns
from stepscope.analysis.counted_work import CountedWork
from stepscope.analysis.gpu import Gpu
from stepscope.analysis.memcpy import direction
from stepscope.analysis.select import covered, device_of
from stepscope.analysis.steps import Steps
from stepscope.analysis.unit_row import DeviceUnit, unit_row
from stepscope.schema import NONE, Device, Events, Kind

_NEEDS_STEPS = "It is measured against the steps, and none was captured in depth."
_NO_LINK = "Peak not known: a trace does not tell over which link the device is attached."
_NO_NETWORK = "Peak not known: a trace does not tell over which links the ranks talk."
_NO_MODEL = "Peak not known: the device's model is not told, or its data sheet is not listed."


def device_units(
    events: Events,
    steps: Steps,
    found: Sequence[Gpu],
    collectives: CollectiveRuns | None,
    devices: Sequence[Device],
    work: Sequence[CountedWork] = (),
) -> list[DeviceUnit]:
    """The units of every device that ran anything, device by device.

    Args:
        events: deep windows.
        steps: the worker's steps.
        found: how busy the devices are, which these rows repeat.
        collectives: those of ``events``.
        devices: what is known of the devices.
        work: of each device whose operations could be counted.
    """
    deep = steps.deep
    in_steps = intervals.union(steps.start_ns[deep], steps.end_ns[deep])
    copied = np.flatnonzero(events.of_kind(Kind.MEMCPY, Kind.MEMSET))
    places = device_of(events, copied)
    out: list[DeviceUnit] = []
    for gpu in found:
        device = device_named(gpu.device, devices)
        one = _Device(gpu.device, device, in_steps, ceilings_of(device) if device else None)
        out += one.kernels(gpu)
        out += one.counted([each for each in work if each.device == gpu.device])
        out += one.copies(events, copied[places == gpu.device])
        out.append(one.interconnect(events, collectives))
    return out


def device_named(ordinal: int, devices: Sequence[Device]) -> Device | None:
    """The device of this ordinal; any, where none has it and all are alike (ROCm numbers those of its queues apart)."""
    told = {(each.name, each.sm_count, each.memory_bytes) for each in devices}
    return next((each for each in devices if each.id == ordinal), devices[0] if len(told) == 1 else None)


@dataclass(frozen=True, eq=False)
class _Device:
    """Makes the rows of one device."""

    ordinal: int
    device: Device | None
    in_steps: np.ndarray
    roof: Ceilings | None

    def row(self, unit: str, label: str, quantity: str, *told: Any, **more: Any) -> DeviceUnit:
        return unit_row(self.ordinal, unit, label, quantity, *told, **more)

    def busy(self, events: Events, rows: np.ndarray) -> float | None:
        """Share of the steps that these rows cover."""
        whole = intervals.length(self.in_steps)
        return intervals.length(intervals.intersect(covered(events, rows), self.in_steps)) / whole if whole else None

    def kernels(self, gpu: Gpu) -> Iterator[DeviceUnit]:
        """Busy time, multiprocessors, warps and matrix units, as ``Gpu`` has them."""
        is_amd = self.device is not None and self.device.is_amd
        steps_ns = intervals.length(self.in_steps) or None
        yield self.row(
            "compute",
            "Any kernel",
            "ns",
            gpu.busy_ns,
            steps_ns,
            busy=gpu.utilization_steps,
            basis="time of the steps in which a kernel or a collective ran",
            why=_NEEDS_STEPS,
        )
        count = self.device.sm_count if self.device else None
        yield self._scaled(
            "multiprocessors",
            "Compute units" if is_amd else "Multiprocessors",
            "multiprocessors",
            gpu.sm_efficiency,
            count,
            basis="mean over the steps of those that the grids of the running kernels fill",
            why="It needs steps, and kernel records or launch calls that tell the grid.",
        )
        yield self._scaled(
            "warps",
            "Wavefronts per CU" if is_amd else "Warps per SM",
            "warps",
            gpu.occupancy,
            self._warps(),
            basis="achieved occupancy of the kernels in the steps, weighted by duration",
            why="It needs kernel records that tell the occupancy; those of this trace do not.",
        )
        yield self.row(
            "matrix_units",
            "Matrix Cores" if is_amd else "Tensor Cores",
            "ratio",
            gpu.tensor_core_time,
            1.0,
            "estimated",
            basis="share of the kernel time whose kernels are named after them; a lower bound",
            why="It needs kernels that start in a step.",
        )

    def counted(self, work: Sequence[CountedWork]) -> Iterator[DeviceUnit]:
        """Arithmetic, and where it is counted the traffic of the memory."""
        if not work:
            yield self.row(
                "arithmetic",
                "Arithmetic",
                "flop_per_s",
                why="It needs matrix products or convolutions of one device with recorded shapes (record_shapes=True), "
                "or programs that XLA compiled.",
            )
        for each in work:
            rate = each.flops * 1e9 / each.flops_ns if each.flops_ns else None
            yield self.row(
                "arithmetic",
                "Arithmetic",
                "flop_per_s",
                rate,
                each.flops * 1e9 / each.peak_ns if each.peak_ns else None,
                "estimated",
                basis=f"FLOPs of {each.of} over their device time; the peak is that of their types",
                why=_NO_MODEL,
            )
            if each.bytes_ns:
                yield self.row(
                    "memory_hlo",
                    "Memory, by HLO",
                    "bytes_per_s",
                    each.bytes * 1e9 / each.bytes_ns,
                    self.roof.bytes_per_s if self.roof else None,
                    "estimated",
                    basis=f"bytes accessed by {each.of} over their device time, caches in no count",
                    why=_NO_MODEL,
                )

    def copies(self, events: Events, rows: np.ndarray) -> Iterator[DeviceUnit]:
        """Memory by copies inside the device and fills, and the copy engines."""
        names, at = np.unique(events.name[rows], return_inverse=True)
        fill = events.kind[rows] == Kind.MEMSET
        way = np.array([direction(events.names[n]) for n in names.tolist()], object)[at]
        inside = ~fill & (way == "DtoD")
        yield self._moved(
            "memory",
            "Memory, by copies",
            events,
            rows[fill | inside],
            1 + inside[fill | inside].astype(np.int64),
            self.roof.bytes_per_s if self.roof else None,
            "bytes of {count} fills and copies inside the device, these both read and written, over their time",
            "No copy inside the device and no fill of known size is in the capture.",
            _NO_MODEL,
        )
        engines = [
            ("copy_to_device", "Copies to device", "HtoD", "to the device"),
            ("copy_from_device", "Copies to host", "DtoH", "to the host"),
        ]
        if (way == "PtoP").any():
            engines.append(("copy_peer", "Copies to peers", "PtoP", "between devices"))
        for unit, label, which, words in engines:
            yield self._moved(
                unit,
                label,
                events,
                rows[~fill & (way == which)],
                1,
                None,
                f"bytes of {{count}} copies {words} over their time",
                f"No copy {words} of known size is in the capture.",
                _NO_LINK,
            )

    def interconnect(self, events: Events, runs: CollectiveRuns | None) -> DeviceUnit:
        """Bus bandwidth of the collectives on the device."""
        rows = np.zeros(0, np.int64) if runs is None else runs.rows
        own = np.zeros(0, bool)
        if runs is not None:
            own = runs.on_device & (device_of(events, rows) == self.ordinal)
        rate = runs.busbw[own] if runs is not None else np.zeros(0)
        took = events.dur_ns[rows[own]].astype(np.float64)
        known = np.isfinite(rate) & (took > 0)
        total = float(took[known].sum())
        return self.row(
            "interconnect",
            "Interconnect",
            "bytes_per_s",
            float((rate[known] * took[known]).sum()) / total if total else None,
            busy=self.busy(events, rows[own]) if own.any() else None,
            basis=f"bus bandwidth of {int(known.sum()):,} collectives, waits for other ranks included: a lower bound",
            why=_NO_NETWORK
            if total
            else "The messages of the collectives are not told."
            if own.any()
            else "No collective is in the capture.",
        )

    def _moved(
        self,
        unit: str,
        label: str,
        events: Events,
        rows: np.ndarray,
        times: np.ndarray | int,
        peak: float | None,
        basis: str,
        absent: str,
        no_peak: str,
    ) -> DeviceUnit:
        size, took = events.bytes[rows], events.dur_ns[rows]
        known = size != NONE
        traffic = int(np.where(known, size * times, 0).sum())
        total = int(took[known].sum())
        return self.row(
            unit,
            label,
            "bytes_per_s",
            traffic * 1e9 / total if total else None,
            peak,
            busy=self.busy(events, rows) if len(rows) else None,
            basis=basis.format(count=f"{int(known.sum()):,}"),
            why=no_peak if total else absent,
        )

    def _scaled(
        self, unit: str, label: str, quantity: str, ratio: float | None, whole: int | None, basis: str, why: str
    ) -> DeviceUnit:
        """A ratio of so many parts; of those whose number is not told, the ratio itself."""
        return self.row(
            unit,
            label,
            quantity if whole else "ratio",
            None if ratio is None else ratio * (whole or 1),
            float(whole or 1),
            "estimated",
            basis=basis,
            why=why,
        )

    def _warps(self) -> int | None:
        """Warps that a multiprocessor holds, where the trace's header tells its threads."""
        told = self.device.properties if self.device else {}
        threads, size = told.get("maxThreadsPerMultiprocessor"), told.get("warpSize")
        if not isinstance(threads, int) or not isinstance(size, int) or not 0 < size <= threads < 1 << 20:
            return None
        return threads // size
