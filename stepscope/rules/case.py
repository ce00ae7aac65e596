"""What rules look at: the numbers of one worker, and what several rules derive from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from stepscope.analysis.operator_modes import GRAPH_OPERATOR
from stepscope.analysis.phases import Phases
from stepscope.analysis.steps import Steps
from stepscope.rules.finding import Gain, Place
from stepscope.rules.parameters import Parameters
from stepscope.rules.samples import Samples

#: Classes of the activity partition in which no device works.
IDLE_CLASSES = ("runtime", "dataloader", "cpu", "other")


@dataclass(frozen=True)
class Basis:
    """What a share is a share of: the time of so many steps, or of a capture without steps (``steps`` 0)."""

    ns: int
    steps: int

    @property
    def what(self) -> str:
        return "step time" if self.steps else "capture"

    def ratio(self, ns: float) -> float:
        return ns / self.ns

    def gain(self, ns: float, formula: str) -> Gain:
        ns = min(ns, self.ns)  # work beside or outside of the steps may add up to more than all of them
        return Gain(round(ns / self.steps) if self.steps else None, ns / self.ns, formula)


@dataclass(frozen=True, eq=False)
class Case:
    """One worker as the rules see it. A part that is missing or was not measured is None or empty.

    Args:
        worker: the worker's part of the summary contract, without ``steps``.
        steps, activity, phases: its steps in columns, as ``summary.Analysis`` has them.
        samples: the samples of its monitor, which sees the whole host.
        limits: the thresholds.
    """

    worker: Mapping[str, Any]
    steps: Steps | None = None
    activity: Mapping[str, np.ndarray] | None = None
    phases: Phases | None = None
    samples: Samples = field(default_factory=Samples)
    limits: Parameters = field(default_factory=Parameters)

    # -- what ran -----------------------------------------------------------------------------------

    @property
    def framework(self) -> str:
        return self.worker.get("framework") or "unknown"

    @property
    def has_device(self) -> bool:
        used = self.worker.get("gpu") or any(m["device"] is not None for m in self.rows("memory"))
        return bool(used or self.worker.get("devices") or self.samples.each("gpu"))

    @property
    def is_cut(self) -> bool:
        """Whether the end of the file is missing: device work often stands there, behind all that the host did."""
        return any(note["code"] == "truncated" for note in self.rows("quality"))

    @property
    def computes_on_cpu(self) -> bool:
        """Whether there is no device, and operators make up a fair part of what was recorded in depth."""
        if self.has_device or self.deep is None or not self.deep.steps:
            return False
        return self.deep.ratio(self.activity_ns("cpu")) >= 0.2

    def rows(self, part: str) -> list[dict[str, Any]]:
        """A list of the contract; empty where its analysis failed."""
        return self.worker.get(part) or []

    @property
    def operators(self) -> list[dict[str, Any]]:
        """Operators that took time of the host. Where TensorFlow's executor ran some, those alone: the other names are
        its own calls and those of its runtime, which wait for the threads on which operators run."""
        told = [o for o in self.rows("operators") if o.get("host_self_ns")]
        of_graph = [o for o in told if GRAPH_OPERATOR.fullmatch(o["name"])] if self.framework == "tensorflow" else []
        return of_graph or told

    @property
    def hlo(self) -> list[dict[str, Any]]:
        """Operations that XLA compiled, where they are most of what operators did: then operators are its wrappers."""
        where = "device" if self.has_device else "host"
        modes = self.worker.get("operator_modes") or {}
        told = {name: ns for name, ns in modes.items() if ns and name.startswith(where)}
        return self.rows("hlo_operations") if 2 * told.get(f"{where}_compiled_ns", 0) > sum(told.values()) else []

    # -- the step, by activity of the deep windows -----------------------------------------------------

    @cached_property
    def deep(self) -> Basis | None:
        """The steps whose activity is known; without steps, the capture from the first to the last device work."""
        if self.steps is not None and self.activity is not None and self._worked.any():
            return Basis(max(int(self.steps.duration_ns[self._worked].sum()), 1), int(self._worked.sum()))
        total = (self.worker.get("timeline_ns") or {}).get("total")
        return Basis(total, 0) if total and not (self.steps is not None and len(self.steps)) else None

    @cached_property
    def _worked(self) -> np.ndarray:
        """Mask of the steps of deep windows."""
        assert self.steps is not None
        return self.steps.deep

    def activity_ns(self, name: str) -> int:
        """Time of one class of ``deep``: of the activity partition, or idle for all those without device work."""
        if self.deep is None:
            return 0
        if self.deep.steps == 0:
            part = {"kernel": "compute", "idle": "idle"}.get(name, f"exposed_{name}")
            return self.worker["timeline_ns"].get(part) or 0
        return int(self._activity(name)[self._worked].sum())

    def kernels_ns(self, kernels: Iterable[Mapping[str, Any]]) -> float:
        """The part of the class ``kernel`` that these compute kernels are: by their share of all kernels'
        durations, which may overlap and lie outside of the steps.
        """
        total = sum(k["total_ns"] for k in self.rows("kernels") if k["kind"] == "compute")
        return sum(k["total_ns"] for k in kernels) / total * self.activity_ns("kernel") if total else 0.0

    def _activity(self, name: str) -> np.ndarray:
        assert self.activity is not None
        if name == "idle":
            return np.sum([self.activity[part] for part in IDLE_CLASSES], axis=0)
        return self.activity[name]

    @property
    def device_worked(self) -> bool:
        """Whether device work was recorded: without it, idle time means nothing."""
        return self.deep is not None and bool((self.worker.get("timeline_ns") or {}).get("total"))

    # -- why the device idled: the parts are disjoint ----------------------------------------------------

    @cached_property
    def idle_for_input_ns(self) -> int:
        """At most the time in which the device idled for want of a batch: min(idle, input wait), step by step."""
        if not self.device_worked or not self.deep or not self.deep.steps:
            return 0
        idle = self._activity("idle")
        wait = self._phase("input_wait")
        if wait is None:
            assert self.activity is not None
            return int(self.activity["dataloader"][self._worked].sum())
        return int(np.minimum(idle, wait)[self._worked].sum())

    @cached_property
    def idle_for_sync_ns(self) -> int:
        """Idle time that began while the host waited for the device: it had launched nothing further."""
        calls = (self.worker.get("synchronisation") or {}).get("by_operator") or []
        drained = sum(c.get("drained_ns") or 0 for c in calls)
        return max(0, min(drained, self.activity_ns("idle") - self.idle_for_input_ns))

    @cached_property
    def idle_for_host_ns(self) -> int:
        """Of the rest, what ended with work that the host had launched too late."""
        return round(self._idle_rest_ns * self._idle_share("host_wait_ns"))

    @cached_property
    def idle_for_others_ns(self) -> int:
        """Of the rest, what ended with work that had long been queued: it waited for another stream, device or rank."""
        return round(self._idle_rest_ns * self._idle_share("other_ns"))

    @property
    def _idle_rest_ns(self) -> int:
        return max(0, self.activity_ns("idle") - self.idle_for_input_ns - self.idle_for_sync_ns)

    def _idle_share(self, cause: str) -> float:
        """The share of a cause in the gaps of all devices; the host's where there is no gap at all."""
        devices = (self.worker.get("idle") or {}).get("devices") or []
        # Gaps that already count as input or synchronisation are the host's, too.
        total = sum(d["idle_ns"] for d in devices)
        rest = self._idle_rest_ns
        if total == 0 or rest == 0:
            return 1.0 if cause == "host_wait_ns" else 0.0
        other = min(
            1.0, sum(d["other_ns"] + d["kernel_wait_ns"] for d in devices) / total * self.activity_ns("idle") / rest
        )
        if cause == "host_wait_ns":
            return 1.0 - other
        queued = sum(d["other_ns"] + d["kernel_wait_ns"] for d in devices)
        return other * sum(d["other_ns"] - d["unlaunched_ns"] for d in devices) / queued if queued else 0.0

    @property
    def idle_unlaunched_ratio(self) -> float:
        """The share of the gaps of all devices that ended with work whose launch the trace does not hold."""
        devices = (self.worker.get("idle") or {}).get("devices") or []
        total = sum(d["idle_ns"] for d in devices)
        return sum(d["unlaunched_ns"] for d in devices) / total if total else 0.0

    # -- the step, by phase of the loop ------------------------------------------------------------------

    @cached_property
    def loop(self) -> Basis | None:
        """The steps whose phases are known."""
        if self.steps is None or self.phases is None or not self.phases.measured.any():
            return None
        measured = self.phases.measured
        return Basis(max(int(self.steps.host_ns[measured].sum()), 1), int(measured.sum()))

    def phase_ns(self, name: str) -> int | None:
        """Time of one phase in ``loop``; None where it cannot be seen."""
        column = self._phase(name)
        return None if column is None or self.phases is None else int(column[self.phases.measured].sum())

    def deep_phase_ns(self, name: str) -> int | None:
        """Time of one phase in ``deep``; None where it cannot be seen or there are no such steps."""
        column = self._phase(name)
        if column is None or self.deep is None or not self.deep.steps:
            return None
        return int(column[self._worked].sum())

    def _phase(self, name: str) -> np.ndarray | None:
        return None if self.phases is None else self.phases.ns.get(name)

    @property
    def from_hook(self) -> bool:
        """Whether a hook saw the loop: only then is what lies outside of phases the script's own."""
        return self.steps is not None and bool(self.steps.from_live.any())

    # -- what speaks against host times --------------------------------------------------------------------

    @cached_property
    def slowdown(self) -> float | None:
        """Median step in deep windows / median of the others: what the framework's profiler does to the host."""
        if self.steps is None:
            return None
        deep, complete = self.steps.deep, self.steps.complete
        inside, outside = self.steps.duration_ns[deep & complete], self.steps.duration_ns[~deep & complete]
        if len(inside) == 0 or len(outside) < 5:
            return None
        return float(np.median(inside) / max(np.median(outside), 1))

    @property
    def host_confidence(self) -> str:
        """Of findings about the host's time in deep windows: the profiler slows it, by how much is often unknown."""
        return "high" if self.slowdown is not None and self.slowdown < 1.1 else "medium"

    @property
    def slowed(self) -> list[str]:
        """Counter-evidence for findings about the host's time in deep windows."""
        if self.slowdown is not None and self.slowdown >= 1.3:
            return [
                f"Steps in deep windows took {self.slowdown:.1f} times as long as the others: the framework's profiler "
                "slows the host down, so this share is too high."
            ]
        if self.deep is not None and self.slowdown is None:
            return ["The framework's profiler lengthens the host's time, so this share is an upper bound."]
        return []

    # -- where to look ---------------------------------------------------------------------------------------

    def worst_step(self, by: str, phase: bool = False) -> list[Place]:
        """The step that spends most on one class or phase; one of a deep window if there is any."""
        column = self._phase(by) if phase else (self._activity(by) if self.activity is not None else None)
        if column is None or self.steps is None or len(self.steps) == 0:
            return []
        among = self.steps.deep if self.steps.deep.any() else np.ones(len(self.steps), bool)
        if phase and self.phases is not None and (among & self.phases.measured).any():
            among = among & self.phases.measured
        return [self.step_place(int(np.where(among, column, -1).argmax()))]

    def step_place(self, at: int) -> Place:
        assert self.steps is not None
        return Place("step", str(self.steps.label[at]), int(self.steps.start_ns[at]), int(self.steps.duration_ns[at]))
