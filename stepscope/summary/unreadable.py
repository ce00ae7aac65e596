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


def unreadable_worker(worker: Worker, error: StepscopeError) -> dict[str, Any]:
    """The contract's entry of a worker that could not be read."""
    empty = dict.fromkeys(("rank", "world_size", "host", "pid"))
    unreadable: dict[str, Any] = {
        "worker": worker.id,
        **empty,
        "framework": "unknown",
        "devices": [],
        "events": 0,
        "coverage": {"steps": 0, "deep_steps": 0, "phased_steps": 0, "windows": 0, "first_ns": None, "last_ns": None},
        "job": None,
        "overhead": None,
        "loader": None,
        "throughput": None,
        "findings": [],
        "bound": None,
        "steps": [],
        "activity_total_ns": None,
        "phase_total_ns": None,
        "device_phases": None,
        "gpu": [],
        "timeline_ns": fields_of(DeviceTimeline, None),
        "idle": None,
        "activity_time_ns": fields_of(ActivityTime, None),
        "precision_ns": fields_of(Precision, None),
        "kernels": [],
        "kernels_by_launch_config": [],
        "kernel_launch_config_count": 0,
        "memcpy": {},
        "memory_operations": [],
        "synchronisation": None,
        "tf_data": None,
        "inference": None,
        "device_units": None,
        "device_counters": None,
        "communication": None,
        "launches": None,
        "operator_modes": fields_of(OperatorModes, None),
        "hlo_operations": None,
        "operators": [],
        "operators_by_shape": None,
        "operators_by_shape_total": None,
        "operator_stacks": None,
        "modules": None,
        "modules_total": None,
        "sampled_modules": None,
        "memory": None,
        "annotations": [],
        "annotation_count": 0,
        "annotations_others": None,
        "step_time_ns": None,
        "micro_step_time_ns": None,
    }
    judge(unreadable, [Note("unreadable", 1, str(error))])
    return unreadable
