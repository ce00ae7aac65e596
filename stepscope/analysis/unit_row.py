"""One unit of a device, as a row: what it achieved against the most that it can do, or why that is not known."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DeviceUnit:
    """One unit of a device. Rates are those while the unit worked, over the whole capture.

    Rows with ``measured`` = counter are sums or means of what hardware counters told (``device_counters``).

    Metrics:
        device: ordinal of the device
        unit: which: compute, multiprocessors, warps, matrix_units, arithmetic, memory, memory_hlo, copy_to_device,
            copy_from_device, copy_peer, interconnect; of counters the counter's name, of TPUs the unit's
        label: what a page calls it
        busy: share of the time of the steps in which the unit worked; null where only its use is told
        achieved: how much it did, in ``quantity``; null where it was not measured, and ``why`` tells the reason
        peak: the most that it can do, in ``quantity``: all of the time, all multiprocessors or warps, the maker's
            figure of a rate; null where it is not known, and ``why`` tells the reason
        quantity: what both are in: ns, multiprocessors, warps, ratio, flop_per_s, bytes_per_s, bytes, percent, cycles,
            instructions, flop
        utilization: achieved / peak; above 1 where caches serve what an operation is counted to read
        measured: trace (the records' own times and sizes), estimated (from launch configurations, names of kernels or
            shapes) or counter; null where it was not measured
        basis: of what achieved is
        why: why achieved or peak is null; null where both are told
    """

    device: int
    unit: str
    label: str
    busy: float | None
    achieved: float | None
    peak: float | None
    quantity: str
    utilization: float | None
    measured: str | None
    basis: str
    why: str | None


def unit_row(
    device: int,
    unit: str,
    label: str,
    quantity: str,
    achieved: float | None = None,
    peak: float | None = None,
    measured: str = "trace",
    busy: float | None = None,
    basis: str = "",
    why: str | None = None,
) -> DeviceUnit:
    """One row. ``why`` is left out of one of which both are told."""
    return DeviceUnit(
        device=device,
        unit=unit,
        label=label,
        busy=busy,
        achieved=achieved,
        peak=peak,
        quantity=quantity,
        utilization=achieved / peak if achieved is not None and peak else None,
        measured=None if achieved is None else measured,
        basis=basis,
        why=None if achieved is not None and peak else why,
    )
