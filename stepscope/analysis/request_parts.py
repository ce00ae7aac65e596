"""What each request of inference spent its time on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stepscope.analysis import intervals
from stepscope.analysis.batches import position_in
from stepscope.analysis.handoffs import region_of
from stepscope.analysis.launches import Links
from stepscope.analysis.memcpy import operation_labels
from stepscope.analysis.queues import reach
from stepscope.analysis.requests import Requests
from stepscope.schema import NONE, Kind

#: The parts in the order in which a request passes through them.
PARTS = ("host_before", "batch_wait", "batch", "to_device", "device", "from_device", "host", "host_after")
#: Classes of device work, in the order in which a moment is given to them.
_DEVICE = ("device", "to_device", "from_device")
_CLASSES = (*_DEVICE, "batch_wait", "batch")
#: Requests whose intervals are held at once: all requests of a batch have all of its device work.
_BLOCK = 2048


@dataclass(frozen=True, eq=False)
class RequestParts:
    """Parts of the requests that a deep window holds, in their order; they sum to the latency exactly.

    ``request`` are positions in ``Requests``, ``ns`` one array a part (None where the capture cannot tell it), ``late``
    a mask of those that ended before device work which they launched. ``batch_device_ns`` is the time of each batch in
    which kernels ran that it launched, None without device work.
    """

    request: np.ndarray
    ns: dict[str, np.ndarray | None]
    late: np.ndarray
    batch_device_ns: np.ndarray | None


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Intervals of some class that each belong to one of ``count`` owners, sorted by owner."""

    count: int
    owner: np.ndarray
    start_ns: np.ndarray
    end_ns: np.ndarray

    @classmethod
    def of(cls, count: int, owner: np.ndarray, start_ns: np.ndarray, end_ns: np.ndarray) -> _Pieces:
        order = np.argsort(owner, kind="stable")
        return cls(count, owner[order], start_ns[order], end_ns[order])

    def among(self, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The pieces of each of some owners, which may repeat: the position in ``owners``, start and end."""
        first = np.searchsorted(self.owner, np.arange(self.count + 1))
        count = first[owners + 1] - first[owners]
        position = np.repeat(np.arange(len(owners)), count)
        before = np.cumsum(count) - count
        at = np.arange(len(position)) - before[position] + first[owners][position]
        return position, self.start_ns[at], self.end_ns[at]


def request_parts(requests: Requests, links: Links) -> RequestParts:
    """The parts of all requests in deep windows.

    Of a request the device work counts that was launched in it, on its thread or where that handed work to, and all
    that its batches launched.
    """
    events, batches = requests.deep, requests.batches
    mine = np.flatnonzero(~requests.from_live)
    has_device = len(links.run) > 0
    in_request, in_batch = _device_work(requests, links, mine)

    late = np.zeros(len(mine), bool)
    for own in in_request.values():
        late[own.owner[own.end_ns > requests.end_ns[mine][own.owner]]] = True

    place = np.full(len(requests), NONE, np.int64)
    place[mine] = np.arange(len(mine))
    task, batch = requests.task, batches.batch_of_task[requests.task]
    asked, begun = events.ts_ns[batches.task[task]], events.ts_ns[batches.rows[batch]]
    owner = place[requests.request_of_task]
    waits = _Pieces.of(len(mine), owner, asked, begun)
    runs = _Pieces.of(len(mine), owner, begun, events.ends_ns(batches.rows[batch]))
    order = np.argsort(owner, kind="stable")
    owner, batch = owner[order], batch[order]

    blocks = []
    for low in range(0, len(mine), _BLOCK):
        block = np.arange(low, min(low + _BLOCK, len(mine)))
        first, last = np.searchsorted(owner, (low, low + _BLOCK))
        pieces: dict[str, list[np.ndarray]] = {}
        for name in _DEVICE:
            direct = in_request[name].among(block)
            at, start, end = in_batch[name].among(batch[first:last])
            shared = owner[first:last][at] - low, start, end
            pieces[name] = [np.concatenate(both) for both in zip(direct, shared, strict=True)]
        pieces["batch_wait"], pieces["batch"] = list(waits.among(block)), list(runs.among(block))
        blocks.append(_partition(requests.start_ns[mine[block]], requests.end_ns[mine[block]], pieces))
    empty = np.empty(0, np.int64)
    known = dict.fromkeys(PARTS, True) | dict.fromkeys(_DEVICE, has_device)
    known |= dict.fromkeys(("batch_wait", "batch"), len(batches) > 0)
    ns = {part: np.concatenate([empty, *(b[part] for b in blocks)]) if known[part] else None for part in PARTS}
    return RequestParts(mine, ns, late, _busy_ns(in_batch["device"]) if has_device else None)


def _device_work(requests: Requests, links: Links, mine: np.ndarray) -> tuple[dict[str, _Pieces], dict[str, _Pieces]]:
    """Runs by class that a request launched outside of batches (owner: the position in ``mine``), and in a batch."""
    events, batches = requests.deep, requests.batches
    rows = requests.row[mine]
    owner = region_of(events, np.concatenate((rows, batches.rows)), links.call)
    of_run = np.full(len(links.run), NONE, np.int64)
    hit = links.call_of_run != NONE
    of_run[hit] = owner[links.call_of_run[hit]]
    is_batch = np.isin(of_run, batches.rows)
    kind = _classes(requests, links.run)
    found: tuple[dict[str, _Pieces], dict[str, _Pieces]] = ({}, {})
    alone = (of_run != NONE) & ~is_batch
    for number, name in enumerate(_DEVICE):
        for pieces, regions, told in zip(found, (rows, batches.rows), (alone, is_batch), strict=True):
            run = links.run[told & (kind == number)]
            at = position_in(regions, of_run[told & (kind == number)])
            pieces[name] = _Pieces.of(len(regions), at, events.ts_ns[run], events.ends_ns(run))
    return found


def _classes(requests: Requests, runs: np.ndarray) -> np.ndarray:
    """Which of ``_DEVICE`` each run is: copies between host and device, and all else that runs on a device."""
    events = requests.deep
    out = np.zeros(len(runs), np.int64)
    rows, labels, at = operation_labels(events)
    number = {"HtoD": 1, "DtoH": 2}
    of_row = np.array([number.get(label[1] or "", 0) for label in labels], np.int64)[at]
    is_copy = events.kind[runs] == Kind.MEMCPY
    out[is_copy] = of_row[np.searchsorted(rows, runs[is_copy])]
    return out


def _partition(start_ns: np.ndarray, end_ns: np.ndarray, pieces: dict[str, list[np.ndarray]]) -> dict[str, np.ndarray]:
    """The exclusive parts of requests, each of which gets a stretch of one common axis for itself."""
    length = end_ns - start_ns
    base = np.cumsum(length + 1) - length - 1
    sets = []
    for name in _CLASSES:
        owner, start, end = pieces[name]
        low, high = start_ns[owner], end_ns[owner]
        shift = base[owner] - low
        sets.append(intervals.union(np.clip(start, low, high) + shift, np.clip(end, low, high) + shift))
    top = base + length
    out = {
        name: intervals.length_within(own, base, top)
        for name, own in zip(_CLASSES, intervals.exclusive(sets), strict=True)
    }
    seen = intervals.unite(sets)
    first = np.searchsorted(seen[:, 0], base)
    last = np.searchsorted(seen[:, 0], top) - 1
    some = last >= first
    out["host_before"], out["host_after"] = np.zeros_like(length), np.zeros_like(length)
    out["host_before"][some] = seen[first[some], 0] - base[some]
    out["host_after"][some] = top[some] - seen[last[some], 1]
    out["host"] = length - np.sum(list(out.values()), axis=0, dtype=np.int64)
    return out


def _busy_ns(pieces: _Pieces) -> np.ndarray:
    """The time that the pieces of each owner cover."""
    order = np.lexsort((pieces.start_ns, pieces.owner))
    owner, start, end = pieces.owner[order], pieces.start_ns[order], pieces.end_ns[order]
    first = np.append(True, owner[1:] != owner[:-1])[: len(owner)]
    out = np.zeros(pieces.count, np.int64)
    np.add.at(out, owner, np.maximum(end - np.maximum(start, reach(start, end, first)), 0))
    return out
