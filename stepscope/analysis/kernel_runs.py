"""Every kernel run with what is told about it: the rows from which the kernel tables are summed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepscope.analysis.arguments import OperatorArgs, decode
from stepscope.analysis.kernel_names import PRECISIONS, on_matrix_units, precision_of, precision_of_types
from stepscope.analysis.launch_config import LaunchConfigs, launch_configs
from stepscope.analysis.launches import Links, operators_around
from stepscope.analysis.queues import queue_order
from stepscope.schema import NONE, Device, Events, Kind

_OTHER = PRECISIONS.index("other")


@dataclass(frozen=True, eq=False)
class KernelRuns:
    """Runs of kernels and collectives; all arrays have one entry a run.

    ``rows`` are rows of ``events``. ``clipped_ns`` is the part of the run that no earlier run of its stream
    covers. ``precision`` points into ``PRECISIONS``. ``matrix`` tells runs on Tensor or Matrix Cores.
    """

    events: Events
    rows: np.ndarray
    name: np.ndarray
    dur_ns: np.ndarray
    clipped_ns: np.ndarray
    communication: np.ndarray
    precision: np.ndarray
    matrix: np.ndarray
    configs: LaunchConfigs


def kernel_runs(
    events: Events,
    links: Links | None = None,
    devices: Sequence[Device] = (),
    around: np.ndarray | None = None,
) -> KernelRuns:
    """Look up each run once.

    The precision is that of the kernel's name; where the name tells nothing, that of the operator that
    launched it, by its input types, if they were recorded.

    Args:
        around: ``operators_around`` the calls of the links, where that is known already.
    """
    rows = np.flatnonzero(events.of_kind(Kind.KERNEL, Kind.COLLECTIVE))
    queues = queue_order(events, rows)
    clipped = np.maximum(queues.end_ns - np.maximum(queues.start_ns, queues.reach_ns), 0)[queues.position]
    name = events.name[rows].astype(np.int64)
    used = np.unique(name).tolist()
    of_name = np.full(len(events.names) + 1, _OTHER, np.int64)
    matrix = np.zeros(len(events.names) + 1, bool)
    of_name[used] = [PRECISIONS.index(precision_of(events.names[n])) for n in used]
    matrix[used] = [on_matrix_units(events.names[n]) for n in used]
    communication = events.kind[rows] == Kind.COLLECTIVE
    precision = of_name[name]
    if links is not None:
        silent = np.flatnonzero((precision == _OTHER) & ~communication)
        around = operators_around(events, links) if around is None else around
        precision[silent] = _of_operators(events, links, rows[silent], around)
    configs = launch_configs(events, rows, links, devices)
    return KernelRuns(events, rows, name, events.dur_ns[rows], clipped, communication, precision, matrix[name], configs)


def _of_operators(events: Events, links: Links, rows: np.ndarray, around: np.ndarray) -> np.ndarray:
    """Precision of each run by the input types of the innermost operator around its launch."""
    out = np.full(len(rows), _OTHER, np.int64)
    call_of_run = np.full(len(events) + 1, NONE, np.int64)
    call_of_run[links.run] = links.call_of_run
    call = call_of_run[rows]
    linked = np.flatnonzero(call != NONE)
    operator = around[call[linked]]
    linked, operator = linked[operator != NONE], operator[operator != NONE]
    args, at = decode(events, operator, OperatorArgs)
    of_types: dict[bytes, int] = {}
    codes = [_precision_code(bytes(a.types), of_types) for a in args]
    out[linked] = np.array(codes, np.int64)[at]
    return out


def _precision_code(types: bytes, known: dict[bytes, int]) -> int:
    """Place in ``PRECISIONS`` of what a JSON list of input types tells; ``known`` keeps the answers."""
    if types not in known:
        found = json.loads(types) if types else None
        names = [t for t in found if isinstance(t, str)] if isinstance(found, list) else []
        known[types] = PRECISIONS.index(precision_of_types(names))
    return known[types]
