"""What the tables of XLA's operations share: the runs, what the programs tell of them, and sums of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stepscope.analysis.ceilings import Ceilings
from stepscope.analysis.hlo_ops import HloRuns
from stepscope.hlo.programs import Operation, Programs
from stepscope.schema import NONE
from stepscope.tables.frame import Column

#: The largest number of a column; only a damaged program's sums are above.
_MOST = 2**63 - 1024
_COST = "From the shapes in the recorded program, as XLA's cost analysis counts"
SELF = "Time of its runs without that of other HLO operations inside them (of a loop or call, those that it runs)."
COLUMNS = {
    "events": Column("count", "Runs", "count", "Kernels on a device; without one, events on the host.", shown=False),
    "executions": Column(
        "executions",
        "Executions",
        "count",
        "How often it was executed: on each device as often as the kernel of its own that ran there least often.",
        spare=2,
    ),
    "total_ns": Column("total_ns", "Total", "ns", "Sum of the durations of its runs.", shown=False),
    "self_ns": Column("self_ns", "Self", "ns", SELF),
    "share": Column("share", "Share", "share", "Self time divided by that of all HLO operations."),
    "mean_ns": Column("mean_ns", "Mean", "ns", "Self time divided by the number of executions.", spare=2),
    "flops": Column(
        "flops",
        "FLOPs",
        "flop",
        f"{_COST}: 2 a multiply-add, 1 an element of other arithmetic; transcendental functions apart. Of all "
        "executions; operations whose work is not known are in no sum.",
    ),
    "flop_share": Column(
        "flop_share", "FLOP share", "share", "FLOPs divided by those of all HLO operations.", shown=False, spare=3
    ),
    "transcendentals": Column(
        "transcendentals",
        "Transcendentals",
        "count",
        "Elements of exp, log, tanh, power, square roots and the like, of all executions.",
        shown=False,
    ),
    "bytes": Column(
        "bytes",
        "Bytes accessed",
        "bytes",
        f"{_COST}: operands and results, of slices and updates what they touch, nothing that passes inside a fusion. "
        "Of all executions. Caches are in no count.",
        spare=2,
    ),
    "flop_per_s": Column("flop_per_s", "FLOP/s", "flop_per_s", "FLOPs divided by the self time of what is counted."),
    "bytes_per_s": Column(
        "bytes_per_s", "Bytes/s", "bytes_per_s", "Bytes accessed divided by the self time of what is counted.", spare=2
    ),
    "intensity": Column(
        "intensity", "FLOP/byte", "number", "Operational intensity: FLOPs divided by bytes accessed.", spare=2
    ),
    "bound": Column(
        "bound",
        "Bound by",
        "word",
        "Memory where the FLOPs of a byte are fewer than the device can do while it reads one, else compute. Known for "
        "devices whose ceilings are listed.",
        spare=1,
    ),
    "of_roof": Column(
        "of_roof",
        "Of the roof",
        "ratio",
        "The least time that the device's ceilings allow (FLOPs by its peak for this type, or bytes by its memory "
        "bandwidth, whichever takes longer), divided by the self time. Above 1 where caches serve what is counted.",
    ),
    "lost_ns": Column(
        "lost_ns",
        "Above the roof",
        "ns",
        "Self time beyond the least time that the device's ceilings allow.",
        spare=3,
    ),
    "known": Column(
        "known", "Work known", "ratio", "Self time of operations whose FLOPs are known, divided by all.", shown=False
    ),
}


@dataclass(frozen=True, eq=False)
class HloWork:
    """Runs of HLO operations; arrays of work have one entry an operation and execution, NaN where it is not known."""

    runs: HloRuns
    operations: list[Operation | str]
    ceilings: Ceilings | None

    @classmethod
    def of(cls, runs: HloRuns, programs: Programs, ceilings: Ceilings | None) -> HloWork:
        return cls(runs, [programs.operation(*key) for key in runs.ops], ceilings)

    def told(self, name: str, missing: Any = None) -> list[Any]:
        """An attribute of each operation; of those that are not in a program ``missing``."""
        return [missing if isinstance(each, str) else getattr(each, name) or missing for each in self.operations]

    def why(self) -> list[str | None]:
        """Why FLOPs are not known, of each operation."""
        return [each if isinstance(each, str) else each.cost.why for each in self.operations]

    @cached_property
    def flops(self) -> np.ndarray:
        return self._cost("flops")

    @cached_property
    def transcendentals(self) -> np.ndarray:
        return self._cost("transcendentals")

    @cached_property
    def bytes(self) -> np.ndarray:
        return self._cost("bytes")

    @cached_property
    def least_ns(self) -> np.ndarray:
        """The least time of one execution that the ceilings allow."""
        if self.ceilings is None:
            return np.full(len(self.operations), np.nan)
        return np.maximum(self.flops / self._peaks, self.bytes / self.ceilings.bytes_per_s) * 1e9

    @cached_property
    def bound(self) -> list[str | None]:
        """By what each operation is bound."""
        if self.ceilings is None:
            return [None] * len(self.operations)
        with np.errstate(invalid="ignore"):
            compute = self.flops / self._peaks >= self.bytes / self.ceilings.bytes_per_s
        known = np.isfinite(self.flops) & np.isfinite(self.bytes) & (self.bytes > 0)
        return ["compute" if c else "memory" if k else None for c, k in zip(compute & known, known, strict=True)]

    @cached_property
    def precisions(self) -> list[str | None]:
        """Which of the device's peaks holds for each operation."""
        roof = self.ceilings
        return [
            None if roof is None or isinstance(each, str) else roof.precision(each.type, each.is_matrix)
            for each in self.operations
        ]

    @cached_property
    def _peaks(self) -> np.ndarray:
        return np.array(
            [
                np.nan if name is None or self.ceilings is None else self.ceilings.flop_per_s[name]
                for name in self.precisions
            ],
            float,
        )

    def _cost(self, name: str) -> np.ndarray:
        values = [None if isinstance(each, str) else getattr(each.cost, name) for each in self.operations]
        return np.array([np.nan if value is None else value for value in values], float)

    # -- sums -----------------------------------------------------------------------------------------

    @cached_property
    def _op_self_ns(self) -> np.ndarray:
        return np.bincount(self.runs.op, self.runs.self_ns, len(self.runs.ops))

    def sums(self, groups: Sequence[np.ndarray], count: int) -> dict[str, Any]:
        """Columns by their keys, for ``count`` groups of operations.

        Args:
            groups: of each operation a group, or ``NONE``; an operation counts in one group of each array.
        """
        runs = self.runs
        ops = len(runs.ops)
        of_op = {
            "events": np.bincount(runs.op, minlength=ops).astype(float),
            "executions": runs.executions.astype(float),
            "total_ns": np.bincount(runs.op, runs.dur_ns, ops),
            "self_ns": self._op_self_ns,
        }
        known = np.isfinite(self.flops)
        both = known & np.isfinite(self.bytes)
        roofed = np.isfinite(self.least_ns)
        parts = {
            "flops": self.flops * runs.executions,
            "transcendentals": self.transcendentals * runs.executions,
            "bytes": self.bytes * runs.executions,
            "flops_ns": np.where(known, self._op_self_ns, np.nan),
            "bytes_ns": np.where(np.isfinite(self.bytes), self._op_self_ns, np.nan),
            "both_flops": np.where(both, self.flops * runs.executions, np.nan),
            "both_bytes": np.where(both, self.bytes * runs.executions, np.nan),
            "least_ns": self.least_ns * runs.executions,
            "roofed_ns": np.where(roofed, self._op_self_ns, np.nan),
            "lost_ns": np.maximum(self._op_self_ns - self.least_ns * runs.executions, 0),
        }
        found = {key: _sum(values, groups, count) for key, values in (of_op | parts).items()}
        with np.errstate(divide="ignore", invalid="ignore"):
            derived = {
                "share": found["self_ns"] / self._op_self_ns.sum(),
                "flop_share": found["flops"] / np.nansum(parts["flops"]),
                "mean_ns": found["self_ns"] / found["executions"],
                "flop_per_s": found["flops"] / found["flops_ns"] * 1e9,
                "bytes_per_s": found["bytes"] / found["bytes_ns"] * 1e9,
                "intensity": found["both_flops"] / found["both_bytes"],
                "of_roof": found["least_ns"] / found["roofed_ns"],
                "known": np.nan_to_num(found["flops_ns"]) / found["self_ns"],
            }
        out: dict[str, Any] = found | derived
        for key in ("events", "executions", "total_ns", "self_ns", "flops", "transcendentals", "bytes", "lost_ns"):
            out[key] = [None if np.isnan(v) else round(min(v, _MOST)) for v in out[key].tolist()]
        for key in derived:
            out[key] = [v if np.isfinite(v) else None for v in out[key].tolist()]
        return out


def _sum(values: np.ndarray, groups: Sequence[np.ndarray], count: int) -> np.ndarray:
    """Sums of what is known; NaN where nothing is."""
    total, some = np.zeros(count), np.zeros(count, bool)
    for group in groups:
        at = np.flatnonzero((group != NONE) & np.isfinite(values))
        np.add.at(total, group[at], values[at])
        some[group[at]] = True
    return np.where(some, total, np.nan)
