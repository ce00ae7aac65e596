"""Writes docs/metrics.md from the docstrings of the analyses: ``python docs/make_metrics.py``.

The text before "Metrics:" in a docstring is the section's definition; each line after it is "name: meaning".
A test fails where metrics.md is not what this script makes.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from stepscope import monitor
from stepscope.analysis import quality
from stepscope.analysis.activity import activity_by_step
from stepscope.analysis.annotations import Annotation
from stepscope.analysis.collectives import Collective, Communication
from stepscope.analysis.device_timeline import DeviceTimeline
from stepscope.analysis.gpu import Gpu
from stepscope.analysis.histogram import Histogram
from stepscope.analysis.idle import Idle
from stepscope.analysis.kernels import ActivityTime, Kernel, KernelConfig, Precision
from stepscope.analysis.launches import CallLaunches, Launches, LaunchHistogram
from stepscope.analysis.loader import Loader
from stepscope.analysis.memcpy import Copies, MemoryOperation
from stepscope.analysis.memory import DeviceMemory
from stepscope.analysis.modules import Module
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
from stepscope.definitions import split
from stepscope.summary import micro_step_time, step_time
from stepscope.summary.across import AcrossWorkers

TARGET = Path(__file__).with_name("metrics.md")

HEAD = """<!-- Made by docs/make_metrics.py from the docstrings of stepscope/analysis. Do not edit. -->
# Every number and its definition

`stepscope summary PATH --format json` prints these numbers and the TensorBoard tab shows them. All times are
integer nanoseconds, sizes bytes, ratios 0 to 1. `null` means that a value was not measured, which is never 0.
Percentiles are by nearest rank: a value that occurred, never an interpolation.

*Host* rows are events of CPU threads, *device work* is kernels, collectives, copies and fills on a device's queues.
Time sums over threads or streams count every thread and stream; what is called a union counts each moment once.
"""

#: Title, place in the JSON, unit of the entries whose name does not tell, and the docstring.
SECTIONS: list[tuple[str, str, str, Any]] = [
    ("Steps", "workers[].steps[]", "", Steps),
    ("Step activity", "workers[].steps[].activity_ns", "ns", activity_by_step),
    ("Step phases", "workers[].steps[].phase_ns", "ns", Phases),
    ("Step time of the run", "step_time_ns", "ns", step_time),
    ("Micro step time", "micro_step_time_ns, workers[].micro_step_time_ns", "ns", micro_step_time),
    ("Workers beside each other", "across_workers", "", AcrossWorkers),
    ("Imbalance", "across_workers.imbalance", "", Imbalance),
    ("One worker beside the others", "across_workers.ranks[]", "", Rank),
    ("Where a worker is slow", "across_workers.ranks[].excess", "", Excess),
    ("Loader", "workers[].loader", "", Loader),
    ("Throughput", "workers[].throughput", "", Throughput),
    ("Overhead of the profiler", "workers[].overhead", "", Overhead),
    ("Device use", "workers[].gpu[]", "ratio", Gpu),
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
    ("Launches", "workers[].launches", "", Launches),
    ("Launches by call", "workers[].launches.by_call[]", "", CallLaunches),
    ("Launch histogram", "workers[].launches.histogram", "launches", LaunchHistogram),
    ("Queue depth", "tables/launches: queues[]", "", QueueDepth),
    ("Operators", "workers[].operators[]", "", Operator),
    ("Operators by shape", "workers[].operators_by_shape[]", "", ShapedOperator),
    ("Operators by call stack", "workers[].operator_stacks[]", "", OperatorStack),
    ("Modules", "workers[].modules[]", "", Module),
    ("Modules in sampled steps", "workers[].sampled_modules[]", "", SampledModule),
    ("Memory", "workers[].memory[]", "", DeviceMemory),
    ("Annotations", "workers[].annotations[]", "", Annotation),
    ("Durations in bins", "the viewer's histograms", "", Histogram),
    ("One step beside the usual one", "the viewer's Step breakdown", "", Difference),
    ("Trust", "workers[].trust", "", Trust),
    ("Resources", "resources.<host>.<metric>", "that of the metric", Resource),
]


def page() -> str:
    """The whole of metrics.md."""
    parts = [HEAD]
    for title, place, unit, documented in SECTIONS:
        text, metrics = as_markdown(documented)
        rows = [f"| `{name}` | {unit_of(name, unit)} | {meaning} |" for name, meaning in metrics]
        source = f"`{documented.__module__}.{documented.__name__}`"
        parts.append(
            f"\n## {title}\n`{place}`, computed by {source}\n\n{text}\n\n| name | unit | meaning |\n|---|---|---|"
        )
        parts.append("\n".join(rows))
    parts.append("\n## Metrics of the resource monitor\n")
    parts.append(_monitor_table())
    parts.append(
        "\n## Data quality codes\n`workers[].quality[]`: what was dropped, repaired, guessed or absent, and how often. "
        "Nothing is left out without one.\n\n| code | meaning |\n|---|---|"
    )
    parts.append("\n".join(f"| `{code}` | {meaning} |" for code, meaning in quality.CODES.items()))
    return "\n".join(parts) + "\n"


def as_markdown(documented: Any) -> tuple[str, list[tuple[str, str]]]:
    """The text of a docstring as Markdown, and its entries under "Metrics:"."""
    text, entries = split(documented)
    return text.replace("``", "`"), [
        (name, meaning.replace("``", "`").replace("|", "\\|")) for name, meaning in entries
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
        **dict.fromkeys(("active", "idle", "active_by_index", "overlap"), "ratio"),
        "count": "",
        "samples": "",
        "samples_per_s": "1/s",
        "complete": "true or false",
        "inferred": "true or false",
    }.get(name, default)


def _monitor_table() -> str:
    doc = inspect.getdoc(monitor) or ""
    return "\n".join(line.replace("``", "`") for line in doc.splitlines() if line.startswith("|"))


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
