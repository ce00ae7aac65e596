"""One of the two workers that are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stepscope.summary.headline import device_names


@dataclass(frozen=True, eq=False)
class Side:
    """A worker's part of the summary (without its steps), what its monitor saw, and the name of its run."""

    run: str
    worker: Mapping[str, Any]
    resources: Mapping[str, Mapping[str, Any]] | None = None

    def covered(self, name: str) -> int:
        """``coverage`` of steps; 0 where the analysis of the steps failed."""
        return self.worker["coverage"][name] or 0

    def monitored(self) -> dict[str, Any]:
        """What the monitor saw, by metric."""
        return {metric: seen for metrics in (self.resources or {}).values() for metric, seen in metrics.items()}

    def devices(self) -> list[str]:
        """What the worker's devices are called, each once."""
        return device_names(self.worker)

    def precision(self) -> str | None:
        """The precision of most of the kernels' time; None where no name tells."""
        known = {name: ns for name, ns in self.worker["precision_ns"].items() if ns and name != "other"}
        return max(known, key=lambda name: known[name]) if known else None

    def batch_size(self) -> int | None:
        loader = self.worker["loader"]
        return None if loader is None else loader["batch_size"]

    def about(self) -> dict[str, Any]:
        """Who this is, as plain data."""
        names = ("worker", "rank", "world_size", "host", "framework")
        return {
            "run": self.run,
            **{name: self.worker[name] for name in names},
            "devices": self.devices(),
            "precision": self.precision(),
            "batch_size": self.batch_size(),
            **{name: self.covered(name) for name in ("steps", "deep_steps", "phased_steps", "windows")},
        }


def lacking(a: bool, b: bool, what: str) -> str | None:
    """The reason why a pair cannot be compared, None where it can.

    Args:
        a, b: whether each side lacks it.
        what: what a side lacks, after "has".
    """
    if a and b:
        return f"Neither has {what}."
    return f"{'A' if a else 'B'} does not have {what}." if a or b else None
