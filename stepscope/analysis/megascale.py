"""Transfers between slices of TPUs: how long their core worked meanwhile, and how long it waited for them."""

from __future__ import annotations

import json

import numpy as np

from stepscope.analysis.select import device_of
from stepscope.schema import Events


def transfer_times(events: Events) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of the collectives, and of each its slack and its stall in ns.

    The core runs its operations one after the other. The slack is the time from the begin of ``send`` to the begin of
    ``recv-done`` without the operations of transfers in between, of this or another collective; the stall is the time
    of its own four operations. Both as xprof's Megascale Stats define them.
    """
    role = np.zeros(len(events.args_values) + 1, np.int64)  # 1 collective, 2 operation, 3 recv-done; the last: no args
    rendezvous: dict[str, int] = {}
    meets = np.zeros(len(role), np.int64)
    for i, text in enumerate(events.args_values):
        if '"megascale"' in text:
            told = json.loads(text)
            role[i] = {"collective": 1, "recv-done": 3}.get(told["megascale"], 2)
            meets[i] = rendezvous.setdefault(str(told.get("rendezvous")), len(rendezvous))
    rows = np.flatnonzero(role[events.args] == 1)
    slack, stall = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64)
    if len(rows) == 0:
        return rows, slack, stall
    own_device, own_meets = device_of(events, rows), meets[events.args[rows]]
    operations = np.flatnonzero(role[events.args] > 1)
    operations = operations[np.argsort(events.ts_ns[operations], kind="stable")]
    of_device, of_meets = device_of(events, operations), meets[events.args[operations]]
    done = role[events.args[operations]] == 3
    for device in np.unique(own_device).tolist():
        mine, there = np.flatnonzero(own_device == device), of_device == device
        total = _Sums(events, operations[there])
        for name in np.unique(own_meets[mine]).tolist():
            one = mine[own_meets[mine] == name]
            begin, end = events.ts_ns[rows[one]], events.end_ns[rows[one]]
            ends = events.ts_ns[operations[there & done & (of_meets == name)]]
            last = ends[np.searchsorted(ends, end) - 1]  # begins of recv-done
            slack[one] = np.maximum(last - begin - total.between(begin, last), 0)
            stall[one] = _Sums(events, operations[there & (of_meets == name)]).between(begin, end)
    return rows, slack, stall


class _Sums:
    """Durations of operations, in order of their begin, by moment."""

    def __init__(self, events: Events, rows: np.ndarray) -> None:
        self._begin = events.ts_ns[rows]
        self._before = np.concatenate(([0], np.cumsum(events.dur_ns[rows])))

    def between(self, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Of the operations that begin in [begin, end)."""
        return self._before[np.searchsorted(self._begin, end)] - self._before[np.searchsorted(self._begin, begin)]
