"""Every number that stepscope computes, with its definition: what docs/metrics.md and the viewer's Data tab list."""

from __future__ import annotations

from typing import Any

from stepscope.analysis.activity import activity_by_step
from stepscope.analysis.annotations import Annotation
from stepscope.analysis.collective_sums import Collective
from stepscope.analysis.collectives import Communication
from stepscope.analysis.device_counters import CountedRanges, DeviceCounter
from stepscope.analysis.device_phases import device_phases
from stepscope.analysis.device_timeline import DeviceTimeline
from stepscope.analysis.gpu import Gpu
from stepscope.analysis.histogram import Histogram
from stepscope.analysis.hlo_ops import HloOperation
from stepscope.analysis.idle import Idle
from stepscope.analysis.inference import Batching, Inference, LatencyPart
from stepscope.analysis.job_times import JobTimes
from stepscope.analysis.kernels import ActivityTime, Kernel, KernelConfig, Precision
from stepscope.analysis.launches import CallLaunches, Launches, LaunchHistogram
from stepscope.analysis.loader import Loader
from stepscope.analysis.memcpy import Copies, MemoryOperation
from stepscope.analysis.memory import DeviceMemory
from stepscope.analysis.memory_moments import Alive, Growth
from stepscope.analysis.modules import Module
from stepscope.analysis.operator_modes import OperatorModes
from stepscope.analysis.operators import Operator, ShapedOperator
from stepscope.analysis.overhead import Overhead
from stepscope.analysis.phases import Phases
from stepscope.analysis.queue_depth import QueueDepth
from stepscope.analysis.ranks import Excess, Imbalance, Rank
from stepscope.analysis.resources import Resource
from stepscope.analysis.sampled_modules import SampledModule
from stepscope.analysis.stacks import OperatorStack
from stepscope.analysis.step_work import Difference
from stepscope.analysis.steps import Steps
from stepscope.analysis.synchronisation import SyncByOperator, SyncCalls, Synchronisation
from stepscope.analysis.tf_data import TfData, TfDataStage
from stepscope.analysis.throughput import Throughput
from stepscope.analysis.trust import Trust
from stepscope.analysis.unit_row import DeviceUnit
from stepscope.analysis.work_curves import WorkCurves
from stepscope.compare.parts import Parts
from stepscope.compare.quantities import Quantity
from stepscope.compare.work import Work
from stepscope.hlo.memory import LiveBuffer, ProgramMemory
from stepscope.schema import Device
from stepscope.summary import micro_step_time, step_time
from stepscope.summary.across import AcrossWorkers
from stepscope.summary.across_collectives import CollectiveOfAll
from stepscope.summary.parts import coverage_of

#: Title, place in the JSON, unit of the entries whose name does not tell, and the docstring.
SECTIONS: list[tuple[str, str, str, Any]] = [
    ("Coverage", "workers[].coverage", "", coverage_of),
    ("The job over time", "workers[].job", "", JobTimes),
    ("Steps", "workers[].steps[]", "", Steps),
    ("Step activity", "workers[].steps[].activity_ns", "ns", activity_by_step),
    ("Step phases", "workers[].steps[].phase_ns", "ns", Phases),
    ("Step phases on a device", "workers[].device_phases", "ns", device_phases),
    ("Step time of the run", "step_time_ns", "ns", step_time),
    ("Micro step time", "micro_step_time_ns, workers[].micro_step_time_ns", "ns", micro_step_time),
    ("Workers beside each other", "across_workers", "", AcrossWorkers),
    ("Collectives of all workers", "across_workers.collectives[]", "", CollectiveOfAll),
    ("Imbalance", "across_workers.imbalance", "", Imbalance),
    ("One worker beside the others", "across_workers.ranks[]", "", Rank),
    ("Where a worker is slow", "across_workers.ranks[].excess", "", Excess),
    ("Loader", "workers[].loader", "", Loader),
    ("Throughput", "workers[].throughput", "", Throughput),
    ("Overhead of the profiler", "workers[].overhead", "", Overhead),
    ("Devices", "workers[].devices[]", "", Device),
    ("Device use", "workers[].gpu[]", "ratio", Gpu),
    ("Units of the devices", "workers[].device_units[]", "", DeviceUnit),
    ("Hardware counters of devices", "workers[].device_counters.counters[]", "", DeviceCounter),
    ("Counters by kernel and operator", "workers[].device_counters.kernels[], .operators[]", "", CountedRanges),
    ("Device use over time", "timeline/curves: series[]", "ratio", WorkCurves),
    ("Device timeline", "workers[].timeline_ns", "ns", DeviceTimeline),
    ("Idle time", "workers[].idle.devices[], .streams[]", "", Idle),
    ("Sums of device activity", "workers[].activity_time_ns", "ns", ActivityTime),
    ("Precision", "workers[].precision_ns", "ns", Precision),
    ("Kernels", "workers[].kernels[]", "", Kernel),
    ("Kernels by launch configuration", "workers[].kernels_by_launch_config[]", "", KernelConfig),
    ("Memory copies", "workers[].memcpy.<direction>", "", Copies),
    ("Memory operations", "workers[].memory_operations[]", "", MemoryOperation),
    ("Communication", "workers[].communication", "", Communication),
    ("Collectives", "workers[].communication.collectives[]", "", Collective),
    ("Synchronisation", "workers[].synchronisation", "", Synchronisation),
    ("Synchronising calls", "workers[].synchronisation.calls[], .records[]", "", SyncCalls),
    ("Synchronising calls by operator", "workers[].synchronisation.by_operator[]", "", SyncByOperator),
    ("Input pipelines of tf.data", "workers[].tf_data", "", TfData),
    ("Stages of tf.data", "workers[].tf_data.stages[]", "", TfDataStage),
    ("Requests of inference", "workers[].inference", "", Inference),
    ("What requests spend their time on", "workers[].inference.parts[]", "", LatencyPart),
    ("Batches of requests", "workers[].inference.batches", "", Batching),
    ("Launches", "workers[].launches", "", Launches),
    ("Launches by call", "workers[].launches.by_call[]", "", CallLaunches),
    ("Launch histogram", "workers[].launches.histogram", "launches", LaunchHistogram),
    ("Queue depth", "tables/launches: queues[]", "", QueueDepth),
    ("Operator placement and eager share", "workers[].operator_modes", "ns", OperatorModes),
    ("Operations that XLA compiled", "workers[].hlo_operations[]", "", HloOperation),
    ("Operators", "workers[].operators[]", "", Operator),
    ("Operators by shape", "workers[].operators_by_shape[]", "", ShapedOperator),
    ("Operators by call stack", "workers[].operator_stacks[]", "", OperatorStack),
    ("Modules", "workers[].modules[]", "", Module),
    ("Modules in sampled steps", "workers[].sampled_modules[]", "", SampledModule),
    ("Memory", "workers[].memory[]", "", DeviceMemory),
    ("Memory at a moment", "memory/alive: alive", "", Alive),
    ("Memory after each step", "memory/steps: growth", "", Growth),
    ("Memory of a compiled program", "xla/memory: memory", "bytes", ProgramMemory),
    ("Buffers of a compiled program", "xla/memory: buffers[]", "", LiveBuffer),
    ("Annotations", "workers[].annotations[], .annotations_others", "", Annotation),
    ("Durations in bins", "the viewer's histograms", "", Histogram),
    ("One step beside the usual one", "the viewer's Step breakdown", "", Difference),
    ("Two workers: headline", "stepscope compare: headline[]", "", Quantity),
    ("Two workers: parts of a step", "stepscope compare: parts.phase, parts.activity", "", Parts),
    ("Two workers: operators, kernels, modules", "stepscope compare: work.<table>", "", Work),
    ("Trust", "workers[].trust", "", Trust),
    ("Resources", "resources.<host>.<metric>", "that of the metric", Resource),
]


def unit_of(name: str, default: str) -> str:
    if name.endswith("_ns"):
        return "ns"
    if name.endswith("_bytes"):
        return "bytes"
    return {
        "bytes": "bytes",
        "bytes_per_s": "bytes/s",
        "algbw_bytes_per_s": "bytes/s",
        "busbw_bytes_per_s": "bytes/s",
        "needed_algbw_bytes_per_s": "bytes/s",
        "needed_busbw_bytes_per_s": "bytes/s",
        **dict.fromkeys(("active", "idle", "active_by_index", "mean_by_index", "overlap"), "ratio"),
        "count": "",
        "samples": "",
        "steps": "",
        **dict.fromkeys(("samples_per_s", "requests_per_s", "batches_per_s"), "1/s"),
        "complete": "true or false",
        "inferred": "true or false",
    }.get(name, default)
