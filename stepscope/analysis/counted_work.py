"""FLOPs of all operations of a worker whose work is known, beside the device time that they took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepscope.analysis.ceilings import Ceilings
from stepscope.analysis.operator_work import COUNTED, operator_work
from stepscope.analysis.operators import Calls
from stepscope.schema import Events


@dataclass(frozen=True)
class CountedWork:
    """FLOPs and bytes of the operations whose work is known, on one device, and the device time of these.

    ``peak_ns`` is the time that the FLOPs would take at the peaks for their types, None where these are not known.
    ``of`` says which operations were counted.
    """

    device: int
    of: str
    flops: int
    flops_ns: int
    peak_ns: float | None
    bytes: int = 0
    bytes_ns: int = 0


def counted_operators(events: Events, calls: Calls, used: Sequence[int], roof: Ceilings | None) -> list[CountedWork]:
    """PyTorch's matrix products and convolutions with recorded shapes, as the table of operators sums them.

    Args:
        events: deep windows.
        calls: operators of ``events``.
        used: the devices that ran anything; of several, calls do not tell on which they worked.
        roof: peaks of the device.
    """
    if not calls.has_device or len(used) != 1:
        return []
    wanted = np.array([name in COUNTED for name in events.names], bool)
    at = np.flatnonzero(wanted[events.name[calls.rows]])
    code, works = operator_work(events, calls.rows[at])
    took = np.bincount(code, calls.device_total_ns[at], len(works)).astype(np.int64).tolist()
    times = np.bincount(code, calls.device_total_ns[at] > 0, len(works)).astype(np.int64).tolist()
    known = [(w, ns, n) for w, ns, n in zip(works, took, times, strict=True) if w is not None and n]
    if not known:
        return []
    flops = sum(w.flops * n for w, _, n in known)
    peak_ns = None
    if roof is not None:
        peak_ns = 1e9 * sum(w.flops * n / roof.flop_per_s[roof.precision(w.type, True, w.tf32)] for w, _, n in known)
    of = "matrix products and convolutions"
    return [CountedWork(used[0], of, flops, sum(ns for _, ns, _ in known), peak_ns)]
