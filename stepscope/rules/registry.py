"""The rules, and how packages add theirs."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points

from stepscope.rules.batch_size import batch_size
from stepscope.rules.batch_wait import batch_wait
from stepscope.rules.case import Case
from stepscope.rules.cpu_bottleneck import cpu_bottleneck
from stepscope.rules.cpu_contention import cpu_contention
from stepscope.rules.data_parallel import data_parallel
from stepscope.rules.device_waits import device_waits
from stepscope.rules.dominant_kernel import dominant_kernel
from stepscope.rules.exposed_communication import exposed_communication
from stepscope.rules.exposed_copies import exposed_copies
from stepscope.rules.finding import Finding
from stepscope.rules.host_bound import host_bound
from stepscope.rules.host_communication import host_communication
from stepscope.rules.input_bound import input_bound
from stepscope.rules.io_bottleneck import io_bottleneck
from stepscope.rules.load_balancing import load_balancing
from stepscope.rules.loader_workers import loader_workers
from stepscope.rules.low_gpu_utilization import low_gpu_utilization
from stepscope.rules.matrix_units import matrix_units
from stepscope.rules.memory_growth import memory_growth
from stepscope.rules.memory_near_capacity import memory_near_capacity
from stepscope.rules.optimizer_share import optimizer_share
from stepscope.rules.outside_phases import outside_phases
from stepscope.rules.pageable_copies import pageable_copies
from stepscope.rules.profiler_overhead import profiler_overhead
from stepscope.rules.slow_start import slow_start
from stepscope.rules.small_grids import small_grids
from stepscope.rules.step_outlier import step_outlier
from stepscope.rules.synchronisation import synchronisation
from stepscope.rules.unfused_kernels import unfused_kernels
from stepscope.rules.validation_share import validation_share

log = logging.getLogger("stepscope")

Rule = Callable[[Case], Finding | None]

#: In the order in which docs/rules.md tells them.
RULES: tuple[Rule, ...] = (
    input_bound, host_bound, synchronisation, device_waits, exposed_communication, host_communication, exposed_copies,
    pageable_copies, matrix_units, unfused_kernels, small_grids, dominant_kernel, optimizer_share, outside_phases,
    validation_share, step_outlier, slow_start, memory_near_capacity, memory_growth, cpu_bottleneck, cpu_contention,
    io_bottleneck, low_gpu_utilization, load_balancing, batch_size, loader_workers, data_parallel, batch_wait,
    profiler_overhead,
)  # fmt: skip

#: Entry points of this group name functions like those above.
GROUP = "stepscope.rules"


@cache
def added_rules() -> tuple[Rule, ...]:
    """Rules that installed packages add; one that cannot be loaded is logged and left out."""
    rules = []
    for entry in entry_points(group=GROUP):
        try:
            rules.append(entry.load())
        except Exception as error:
            log.warning("The rule %s (%s) cannot be loaded: %r", entry.name, entry.value, error)
    return tuple(rules)
