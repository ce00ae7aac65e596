"""Transfers between slices of TPUs: how long their core worked meanwhile, and how long it waited for them."""

from __future__ import annotations

import msgspec
import numpy as np

from stepscope.analysis.arguments import decode
from stepscope.analysis.select import device_of
from stepscope.schema import NONE, Events, Kind

#: What the importer (importers.megascale) calls the collectives and their operations. Other values are not its own.
_ROLES = {"collective": 1, "send": 2, "send-done": 2, "recv": 2, "recv-done": 3}


class _TransferArgs(msgspec.Struct, gc=False):
    megascale: object = None
    rendezvous: object = None


def transfer_times(events: Events) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of the collectives, and of each its slack and its stall in ns.

    The core runs its operations one after the other. The slack is the time from the begin of ``send`` to the begin of
    ``recv-done`` without the operations of transfers in between, of this or another collective; the stall is the time
    of its own four operations. Both as xprof's Megascale Stats define them.
    """
    role, meets = _roles(events)
    rows = np.flatnonzero((role == 1) & events.of_kind(Kind.COLLECTIVE))
    slack, stall = np.full(len(rows), NONE), np.full(len(rows), NONE)
    if len(rows) == 0:
        return rows, slack, stall
    own_device, own_meets = device_of(events, rows), meets[rows]
    operations = np.flatnonzero((role > 1) & events.of_kind(Kind.SYNC))
    operations = operations[np.argsort(events.ts_ns[operations], kind="stable")]
    of_device, of_meets = device_of(events, operations), meets[operations]
    done = role[operations] == 3
    for device in np.unique(own_device).tolist():
        mine, there = np.flatnonzero(own_device == device), of_device == device
        total = _Sums(events, operations[there])
        for name in np.unique(own_meets[mine]).tolist():
            one = mine[own_meets[mine] == name]
            ends = events.ts_ns[operations[there & done & (of_meets == name)]]
            one = one[np.searchsorted(ends, events.end_ns[rows[one]]) > 0]  # all but what another writer calls so
            begin, end = events.ts_ns[rows[one]], events.end_ns[rows[one]]
            last = ends[np.searchsorted(ends, end) - 1]  # begins of recv-done
            slack[one] = np.maximum(last - begin - total.between(begin, last), 0)
            stall[one] = _Sums(events, operations[there & (of_meets == name)]).between(begin, end)
    known = slack != NONE
    return rows[known], slack[known], stall[known]


def _roles(events: Events) -> tuple[np.ndarray, np.ndarray]:
    """Of each row its role (0: none) and the number of its rendezvous."""
    role, meets = np.zeros(len(events), np.int64), np.zeros(len(events), np.int64)
    telling = np.array([*('"megascale"' in text for text in events.args_values), False], bool)  # the last: no args
    rows = np.flatnonzero(telling[events.args])
    if len(rows):
        args, of = decode(events, rows, _TransferArgs)
        number: dict[str, int] = {}
        roles = [_ROLES.get(each.megascale, 0) if isinstance(each.megascale, str) else 0 for each in args]
        role[rows] = np.array(roles)[of]
        meets[rows] = np.array([number.setdefault(str(each.rendezvous), len(number)) for each in args])[of]
    return role, meets


class _Sums:
    """Durations of operations, in order of their begin, by moment."""

    def __init__(self, events: Events, rows: np.ndarray) -> None:
        self._begin = events.ts_ns[rows]
        self._before = np.concatenate(([0], np.cumsum(events.dur_ns[rows])))

    def between(self, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Of the operations that begin in [begin, end)."""
        return self._before[np.searchsorted(self._begin, end)] - self._before[np.searchsorted(self._begin, begin)]
