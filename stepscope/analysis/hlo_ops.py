"""Which events are runs of operations that XLA compiled, and how often each operation was executed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from stepscope.analysis.groups import Groups
from stepscope.analysis.nesting import nest
from stepscope.schema import DEVICE_WORK, NONE, Events, Kind


class OpKey(NamedTuple):
    """An operation as its events name it; ``program_id`` is None where they tell only the program's name."""

    program_id: int | None
    program: str
    op: str


@dataclass(frozen=True, eq=False)
class HloRuns:
    """Runs of HLO operations: kernels on a device where any tell their operation, else the host's events (a CPU).

    ``rows`` are rows of the event table, ascending; ``op`` is the place of each one's operation in ``ops``. ``self_ns``
    is its duration without the runs inside it on its lane (those of a loop's body, of a call). ``executions`` has one
    entry an operation.
    """

    rows: np.ndarray
    op: np.ndarray
    dur_ns: np.ndarray
    self_ns: np.ndarray
    ops: list[OpKey]
    executions: np.ndarray
    on_device: bool

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class HloOperation:
    """An operation that XLA compiled: its kernels on devices, or where no kernel tells its operation, its runs on the
    host.

    Metrics:
        program: the compiled program (HLO module)
        program_id: its number, since many have one name; null where the events do not tell it
        op: the operation, as the program names it
        runs: kernels, or events on the host
        executions: how often it was executed: on each device as often as the kernel of its own that ran there least
            often
        total_ns: sum of the durations of its runs
        self_ns: the same without other HLO operations inside of them, those of a loop's body for example
    """

    program: str
    program_id: int | None
    op: str
    runs: int
    executions: int
    total_ns: int
    self_ns: int


def hlo_operations(runs: HloRuns) -> list[HloOperation]:
    """Sums of the runs by operation, those with the most self time first."""
    by_op = Groups(runs.op)
    sums = zip(by_op.keys, by_op.count, by_op.sum(runs.dur_ns), by_op.sum(runs.self_ns), strict=True)
    found = [
        HloOperation(
            key.program, key.program_id, key.op, int(count), int(runs.executions[op]), int(total_ns), int(self_ns)
        )
        for op, count, total_ns, self_ns in sums
        for key in (runs.ops[op],)
    ]
    return sorted(found, key=lambda each: (-each.self_ns, each.program, each.op))


def hlo_runs(events: Events) -> HloRuns:
    """The runs in these events.

    One execution of an operation may take several kernels, a library's for example. It was executed as often on a
    device as the kernel of its own that ran there least often.
    """
    ops: dict[OpKey, int] = {}
    of_args = np.full(len(events.args_values) + 1, NONE, np.int64)  # the last stands for no args
    for i, text in enumerate(events.args_values):
        key = _key(text) if '"hlo_op"' in text else None
        if key is not None:
            of_args[i] = ops.setdefault(key, len(ops))
    op = of_args[events.args]
    told = op != NONE
    on_device = told & events.of_kind(*DEVICE_WORK)
    has_device = bool(on_device.any())
    rows = np.flatnonzero(on_device if has_device else told & events.of_kind(Kind.OP))
    tree = nest(events, rows)
    in_order = np.argsort(tree.rows)
    own = tree.self_ns(events)[in_order]
    executions = _executions(events, rows, op[rows], len(ops))
    return HloRuns(rows, op[rows], events.dur_ns[rows], own, list(ops), executions, has_device)


def hlo_runs_where(events: Events, runs: HloRuns, own: np.ndarray) -> HloRuns:
    """Some of the runs, those of one device for example, with the executions that these stand for.

    Args:
        events: that ``runs`` are of.
        own: mask of ``runs``.
    """
    rows, op = runs.rows[own], runs.op[own]
    executions = _executions(events, rows, op, len(runs.ops))
    return HloRuns(rows, op, runs.dur_ns[own], runs.self_ns[own], runs.ops, executions, runs.on_device)


def _key(text: str) -> OpKey | None:
    try:
        args = json.loads(text)
        op, program, number = args["hlo_op"], args.get("hlo_module") or "", args.get("program_id")
    except (ValueError, KeyError, TypeError):
        return None
    return OpKey(number if isinstance(number, int) else None, str(program), str(op))


def _executions(events: Events, rows: np.ndarray, op: np.ndarray, count: int) -> np.ndarray:
    out = np.zeros(count, np.int64)
    if len(rows) == 0:
        return out
    device = events.device[rows].astype(np.int64) + 1
    place = op * (int(device.max()) + 1) + device
    kernels = Groups(place * len(events.names) + events.name[rows])
    least = Groups(kernels.keys // len(events.names))
    np.add.at(out, least.keys // (int(device.max()) + 1), least.min(kernels.count))
    return out
