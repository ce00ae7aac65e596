"""Thresholds of the rules. Each rule's docstring says where its defaults come from."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

from stepscope.errors import StepscopeError


@dataclass(frozen=True)
class Parameters:
    """Shares are 0..1; ``with_text`` sets some of them by name."""

    # of the step time
    input_warning: float = 0.05
    input_critical: float = 0.20
    communication_warning: float = 0.10
    communication_critical: float = 0.30
    host_warning: float = 0.15
    host_critical: float = 0.50
    synchronisation_warning: float = 0.05
    synchronisation_critical: float = 0.20
    copies_warning: float = 0.05
    copies_critical: float = 0.20
    pageable_info: float = 0.01
    pageable_warning: float = 0.05
    matrix_warning: float = 0.10
    unfused_warning: float = 0.20
    device_waits_warning: float = 0.15
    small_grid_warning: float = 0.20
    optimizer_info: float = 0.10
    optimizer_warning: float = 0.20
    optimizer_gain: float = 0.02
    validation_info: float = 0.10
    validation_warning: float = 0.25
    outside_phases_warning: float = 0.10
    outside_phases_critical: float = 0.30
    overhead_info: float = 0.01
    overhead_warning: float = 0.05
    straggler_warning: float = 0.10
    straggler_critical: float = 0.20
    outlier_warning: float = 0.05
    start_info: float = 0.05
    start_warning: float = 0.20
    # of something else
    short_kernel_ratio: float = 0.30
    pause_ms: float = 1.0
    small_grid_efficiency: float = 0.50
    small_grid_busy: float = 0.30
    dominant_ratio: float = 0.30
    memory_warning: float = 0.90
    memory_critical: float = 0.97
    growth_ratio: float = 0.05
    # the built-in rules of SageMaker Debugger
    batch_size_cpu_p95: float = 0.70
    batch_size_gpu_p95: float = 0.70
    batch_size_gpu_memory_p95: float = 0.70
    cpu_bottleneck_share: float = 0.50
    cpu_bottleneck_cpu: float = 0.90
    cpu_bottleneck_gpu: float = 0.10
    io_bottleneck_share: float = 0.50
    io_bottleneck_iowait: float = 0.50
    io_bottleneck_gpu: float = 0.10
    low_gpu_p95: float = 0.70
    low_gpu_p5: float = 0.10
    load_balancing_distance: float = 0.50
    loader_workers_min: float = 0.70
    loader_workers_max: float = 2.00
    outlier_factor: float = 1.5
    outlier_steps: int = 20
    start_factor: float = 2.0
    start_s: float = 60.0
    initialization_s: float = 1200.0
    patience_samples: int = 100
    batch_wait_warning: float = 0.30
    batch_wait_requests: int = 20

    def with_text(self, settings: Iterable[str]) -> Parameters:
        """A copy with some values set: ``["input_warning=0.1"]``.

        Raises:
            StepscopeError: there is no such parameter, or the value is no number from 0.
        """
        known = {f.name: f.type for f in fields(self)}
        values: dict[str, Any] = {}
        for text in settings:
            name, _, number = text.partition("=")
            if name not in known:
                raise StepscopeError(f"{text}: there is no threshold {name!r}; docs/rules.md lists them.")
            try:
                values[name] = int(number) if known[name] == "int" else float(number)
            except ValueError:
                values[name] = math.nan
            if not 0 <= values[name] < math.inf:
                raise StepscopeError(f"{text}: give a number from 0, such as {name}={getattr(self, name)}.")
        return replace(self, **values)
