"""The contract's entry of a worker that could not be read."""

from __future__ import annotations

from typing import Any

from stepscope.analysis.device_timeline import DeviceTimeline
from stepscope.analysis.kernels import ActivityTime, Precision
from stepscope.analysis.operator_modes import OperatorModes
from stepscope.errors import StepscopeError
from stepscope.schema import Note
from stepscope.summary.judgement import judge
from stepscope.summary.parts import fields_of
from stepscope.workers import Worker

#: Members of the contract that nothing is known of where no event could be read.
_NOT_MEASURED = (
    "rank", "world_size", "host", "pid", "job", "overhead", "loader", "throughput", "bound", "steps",
    "activity_total_ns", "phase_total_ns", "device_phases", "gpu", "device_units", "device_counters", "idle", "kernels",
    "kernels_by_launch_config", "kernel_launch_config_count", "memcpy", "memory_operations", "synchronisation",
    "tf_data", "inference", "communication", "launches", "hlo_operations", "operators", "operators_by_shape",
    "operators_by_shape_total", "operator_stacks", "modules", "modules_total", "sampled_modules", "memory",
    "annotations", "annotation_count", "annotations_others", "step_time_ns", "micro_step_time_ns",
)  # fmt: skip
_COVERAGE = ("steps", "deep_steps", "phased_steps", "windows", "first_ns", "last_ns")


def unreadable_worker(worker: Worker, error: StepscopeError) -> dict[str, Any]:
    """The contract's entry of a worker that could not be read: no event of it is kept, and all else is not measured."""
    unreadable: dict[str, Any] = {
        "worker": worker.id,
        "framework": "unknown",
        "devices": [],
        "events": 0,
        "findings": [],
        "coverage": dict.fromkeys(_COVERAGE),
        "timeline_ns": fields_of(DeviceTimeline, None),
        "activity_time_ns": fields_of(ActivityTime, None),
        "precision_ns": fields_of(Precision, None),
        "operator_modes": fields_of(OperatorModes, None),
        **dict.fromkeys(_NOT_MEASURED),
    }
    judge(unreadable, [Note("unreadable", 1, str(error))])
    return unreadable
